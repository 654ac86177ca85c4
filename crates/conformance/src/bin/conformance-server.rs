//! `conformance-server ADDRESS [legacy|modern]`: serves the server under test until it is ended, in every era or in one
//! alone. Its first line is the URL.
#![allow(clippy::print_stdout, reason = "whoever started it waits for the URL")]

use std::process::ExitCode;

use contexture::revision::Revision;
use contexture_conformance::server::server;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let of = |wanted: fn(&Revision) -> bool| Revision::ALL.into_iter().filter(wanted).collect::<Vec<_>>();
    let (address, spoken) = match words[..] {
        [address] => (address, of(|_| true)),
        [address, "legacy"] => (address, of(|revision| !revision.is_modern())),
        [address, "modern"] => (address, of(|revision| revision.is_modern())),
        _ => {
            eprintln!("usage: conformance-server ADDRESS [legacy|modern]; an address is 127.0.0.1:0, say");
            return ExitCode::from(2);
        }
    };
    match serve(address, &spoken).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("conformance-server: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(address: &str, spoken: &[Revision]) -> contexture::Result<()> {
    let bound = server().revisions(spoken).into_http()?.bind(address).await?;
    println!("{}", bound.url());
    bound.serve().await
}
