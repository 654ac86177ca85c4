//! `conformance-server ADDRESS [legacy|modern]`: serves the server under test until it is ended, in every era or in one
//! alone. Its first line is the URL.
#![allow(clippy::print_stdout, reason = "whoever started it waits for the URL")]

use std::process::ExitCode;

use contexture::revision::{Era, Revision};
use contexture_conformance::server::server;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (address, era) = match words[..] {
        [address] => (address, None),
        [address, "legacy"] => (address, Some(Era::Legacy)),
        [address, "modern"] => (address, Some(Era::Modern)),
        _ => {
            eprintln!("usage: conformance-server ADDRESS [legacy|modern]; an address is 127.0.0.1:0, say");
            return ExitCode::from(2);
        }
    };
    match serve(address, era).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("conformance-server: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(address: &str, era: Option<Era>) -> contexture::Result<()> {
    let spoken: Vec<Revision> =
        Revision::ALL.iter().copied().filter(|known| era.is_none_or(|era| known.era() == era)).collect();
    let bound = server().revisions(&spoken).into_http()?.bind(address).await?;
    println!("{}", bound.url());
    bound.serve().await
}
