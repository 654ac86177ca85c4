//! `auth-server`, and the demo with one beside it: OAuth for development, on this machine only.
//!
//! The password comes from the environment, never from the command line, where others could read it.

use std::time::Duration;

use contexture::auth::Protection;
use contexture_auth_server::{AuthServer, Bound, Client};

use crate::demo;
use crate::exit::Failure;
use crate::options::Issuing;
use crate::terminal::note;

const PASSWORD: &str = "CONTEXTURE_AUTH_PASSWORD";

/// Serves the authorization server alone.
pub(crate) async fn serve(issuing: &Issuing) -> Result<(), Failure> {
    let server = configured(issuing).bind(&issuing.listen).await?;
    note(&format!("listening on {}", server.issuer()));
    note("This authorization server is for development: never use it for anything else.");
    if let Some(name) = &issuing.approve_all {
        note(&format!("Every request is approved in the name of {name}, without asking anybody."));
    }
    Ok(server.serve().await?)
}

fn configured(issuing: &Issuing) -> AuthServer {
    let mut server = AuthServer::new();
    for name in &issuing.users {
        server = server.user(name);
    }
    for (id, redirect) in &issuing.clients {
        server = server.client(Client::public(id).redirect(redirect));
    }
    for uri in &issuing.resources {
        server = server.resource(uri);
    }
    if !issuing.scopes.is_empty() {
        server = server.scopes(issuing.scopes.iter().collect::<contexture::Scopes>());
    }
    if let Some(seconds) = issuing.token_seconds {
        server = server.access_lifetime(Duration::from_secs(seconds));
    }
    if let Some(name) = &issuing.approve_all {
        server = server.auto_approve(name);
    }
    with_password(server)
}

fn with_password(server: AuthServer) -> AuthServer {
    match std::env::var(PASSWORD) {
        Ok(password) if !password.is_empty() => server.password(password),
        _ => server,
    }
}

/// Serves the demo to those who have a token: of this issuer, or of one that is started beside it.
pub(crate) async fn serve_protected(
    options: demo::Options,
    address: &str,
    issuer: Option<&str>,
) -> Result<(), Failure> {
    let beside = match issuer {
        Some(_) => None,
        None => Some(beside().await?),
    };
    let issuer = issuer.map(str::to_owned).or_else(|| beside.as_ref().map(Bound::issuer)).unwrap_or_default();
    let protection = Protection::new(issuer.as_str()).scopes([demo::USE]);
    let demo = demo::server(options).into_http()?.protect(protection).bind(address).await?;
    note(&format!("listening on {}", demo.url()));
    let Some(beside) = beside else { return Ok(demo.serve().await?) };
    note(&format!("authorization server for development: {issuer}"));
    let beside = names(&demo).into_iter().fold(beside, Bound::resource);
    // It is there for the demo, and goes with it.
    tokio::select! {
        served = demo.serve() => Ok(served?),
        served = beside.serve() => Ok(served?),
    }
}

/// Every name that the demo answers to. The first is meant where a client names none.
fn names(demo: &contexture::server::http::Bound) -> Vec<String> {
    let port = demo.address().port();
    let hosts = ["127.0.0.1", "localhost", "[::1]"];
    let all = hosts.iter().flat_map(|host| ["mcp", "sse"].map(|path| format!("http://{host}:{port}/{path}")));
    std::iter::once(demo.url()).chain(all).collect()
}

async fn beside() -> Result<Bound, Failure> {
    let server = with_password(AuthServer::new().scopes([demo::USE, demo::SIGN]));
    Ok(server.bind("127.0.0.1:0").await?)
}
