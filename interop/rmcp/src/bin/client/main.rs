//! The client on rmcp: `rmcp-client [--era legacy|modern|auto] -- COMMAND ARGS… | URL`.
//!
//! Starts the server, or reaches it over Streamable HTTP, runs every check of `checks.rs` against it,
//! prints one JSON line for each, and exits with 0 if none failed.

#![allow(deprecated, reason = "rmcp deprecates what only the legacy era has; it is to be tried too")]

mod checks;
mod expect;
mod peer;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use peer::{Era, Failure, Peer};
use serde_json::json;
use tokio::time::timeout;

const TIMEOUT: Duration = Duration::from_secs(10);
/// rmcp's own probe takes up to ten seconds before it falls back.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// rmcp kills a server that is still there three seconds after its stdin closed.
const GRACE: Duration = Duration::from_millis(2_900);

/// Prints the line of one check; whether it failed.
fn report(check: &str, outcome: Result<String, Failure>) -> bool {
    let (status, detail) = match outcome {
        Ok(detail) => ("ok", detail),
        Err(Failure::Absent(why)) => ("absent", why),
        Err(Failure::Refused(code, message)) => ("fail", format!("error {code} {message}")),
        Err(Failure::Wrong(why)) => ("fail", why),
    };
    println!("{}", json!({ "check": check, "status": status, "detail": detail }));
    status == "fail"
}

fn late() -> Failure {
    Failure::Wrong(format!("no end after {} s", TIMEOUT.as_secs()))
}

/// Runs the list; whether a check failed.
async fn run(command: &[String], era: Era) -> bool {
    let connected = match timeout(CONNECT_TIMEOUT, Peer::connect(command, era)).await {
        Ok(connected) => connected,
        Err(_) => Err("no handshake".to_owned()),
    };
    let peer = match connected {
        Ok(peer) => peer,
        Err(why) => {
            for name in checks::NAMES.iter().chain(&["close"]) {
                report(name, Err(Failure::Wrong(format!("no connection: {why}"))));
            }
            return true;
        }
    };
    let mut failed = false;
    for name in checks::NAMES {
        let outcome = timeout(TIMEOUT, checks::run(name, &peer)).await.unwrap_or_else(|_| Err(late()));
        failed |= report(name, outcome);
    }
    failed | report("close", close(peer).await)
}

async fn close(peer: Peer) -> Result<String, Failure> {
    let closing = Instant::now();
    timeout(TIMEOUT, peer.close()).await.unwrap_or_else(|_| Err(late()))?;
    let took = format!("closed after {:.2} s", closing.elapsed().as_secs_f64());
    if closing.elapsed() < GRACE { Ok(took) } else { Err(Failure::Wrong(took)) }
}

/// The era and the server's command line.
fn parse(mut arguments: impl Iterator<Item = String>) -> Option<(Era, Vec<String>)> {
    let mut era = Era::Auto;
    loop {
        match arguments.next()?.as_str() {
            "--" => break,
            "--era" => {
                era = match arguments.next()?.as_str() {
                    "legacy" => Era::Legacy,
                    "modern" => Era::Modern,
                    "auto" => Era::Auto,
                    _ => return None,
                };
            }
            _ => return None,
        }
    }
    let command: Vec<String> = arguments.collect();
    (!command.is_empty()).then_some((era, command))
}

#[tokio::main]
async fn main() -> ExitCode {
    let Some((era, command)) = parse(std::env::args().skip(1)) else {
        eprintln!("usage: rmcp-client [--era legacy|modern|auto] -- COMMAND ARGS… | URL");
        return ExitCode::from(2);
    };
    if run(&command, era).await { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
