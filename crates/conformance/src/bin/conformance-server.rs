//! `conformance-server ADDRESS`: serves the server under test until it is ended. Its first line is the URL.
#![allow(clippy::print_stdout, reason = "whoever started it waits for the URL")]

use std::process::ExitCode;

use contexture_conformance::server::server;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Some(address) = std::env::args().nth(1) else {
        eprintln!("usage: conformance-server ADDRESS, such as 127.0.0.1:0");
        return ExitCode::from(2);
    };
    match serve(&address).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("conformance-server: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(address: &str) -> contexture::Result<()> {
    let bound = server().into_http()?.bind(address).await?;
    println!("{}", bound.url());
    bound.serve().await
}
