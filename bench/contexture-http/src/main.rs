//! An echo server on contexture over HTTP, one thread, as its front page teaches it: all features, arguments
//! validated, every guard on. One bound is not at its default: all sessions here are of one caller who
//! proves nothing, and more are opened than such callers may have.
//!
//! usage: contexture-http PORT session|stateless

use contexture::{Policy, Server, tool};

const USAGE: &str = "usage: contexture-http PORT session|stateless";

/// Says back what it is told.
#[tool]
async fn echo(message: String) -> String {
    message
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [port, mode] = args.as_slice() else { return Err(USAGE.into()) };
    let mut policy = Policy::default();
    policy.anonymous_sessions = policy.sessions;
    let server = Server::new("echo", "1.0.0").tool(echo).policy(policy).into_http()?;
    let server = match mode.as_str() {
        "session" => server,
        "stateless" => server.stateless(),
        _ => return Err(USAGE.into()),
    };
    server.serve(&format!("127.0.0.1:{port}")).await?;
    Ok(())
}
