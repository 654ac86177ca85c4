//! `conformance-authorization-server ADDRESS`: serves the authorization server for development until it is ended. Its first
//! line is the issuer.
//!
//! The suite has no browser: everything that its client asks for is approved.
#![allow(clippy::print_stdout, reason = "whoever started it waits for the issuer")]

use std::process::ExitCode;

use contexture_auth_server::{AuthServer, Client};

/// The client that the suite plays. Its port differs from run to run.
const CLIENT: (&str, &str) = ("conformance", "http://127.0.0.1/callback");

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Some(address) = std::env::args().nth(1) else {
        eprintln!("usage: conformance-authorization-server ADDRESS, such as 127.0.0.1:0");
        return ExitCode::from(2);
    };
    match serve(&address).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("conformance-authorization-server: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(address: &str) -> contexture::Result<()> {
    let (id, redirect) = CLIENT;
    let server = AuthServer::new().client(Client::public(id).redirect(redirect)).auto_approve("conformance");
    let bound = server.bind(address).await?;
    println!("{}", bound.issuer());
    bound.serve().await
}
