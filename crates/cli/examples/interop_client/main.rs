//! Our client as the driver of other people's servers: the counterpart of the programs in `interop/`.
//!
//! `interop_client [--era legacy|modern|auto] [--stateless] -- COMMAND… | URL` runs every check of
//! `interop/checks.txt` and prints one line of JSON for each. The contract is in `interop/README.md`; nothing here
//! knows a peer.

mod checks;
mod peer;

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use contexture::revision::Revision;
use peer::Peer;

/// The names of the checks, in order.
const CHECKS: &str = include_str!("../../../../interop/checks.txt");
const PATIENCE: Duration = Duration::from_secs(10);

/// What a check found wrong.
#[derive(Debug)]
enum Failure {
    /// The server did something else than the contract says.
    Wrong(String),
    /// The era has no such feature.
    Absent(String),
}

/// A detail, or what is wrong.
type Outcome = Result<String, Failure>;

impl From<contexture::Error> for Failure {
    fn from(error: contexture::Error) -> Self {
        Self::Wrong(error.to_string())
    }
}

/// What a server without sessions cannot do in the legacy era: nothing of its own accord reaches the client.
const NEEDS_SESSION: [&str; 9] = [
    "resources/subscribe updated",
    "logging setLevel + messages",
    "progress",
    "sampling",
    "elicitation accept",
    "elicitation decline",
    "roots",
    "list_changed",
    "resume",
];

/// What is asked for on the command line.
struct Arguments {
    revisions: Vec<Revision>,
    /// Whether the server has no sessions.
    stateless: bool,
    /// A command line, or a URL.
    target: Vec<OsString>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Some(Arguments { revisions, stateless, target }) = arguments() else {
        eprintln!("usage: interop_client [--era legacy|modern|auto] [--stateless] -- COMMAND ARGS… | URL");
        return ExitCode::from(2);
    };
    let mut failed = false;
    let peer = match tokio::time::timeout(PATIENCE, Peer::connect(&revisions, target)).await {
        Ok(connected) => connected.map_err(|error| error.to_string()),
        Err(_) => Err("no connection within ten seconds".to_owned()),
    };
    for check in CHECKS.lines().filter(|line| !line.trim().is_empty()) {
        let outcome = match &peer {
            Ok(_) if stateless && NEEDS_SESSION.contains(&check) => {
                Err(Failure::Absent("the server has no sessions".to_owned()))
            }
            Ok(peer) => tokio::time::timeout(PATIENCE, checks::run(check, peer))
                .await
                .unwrap_or_else(|_| Err(Failure::Wrong("no end within ten seconds".to_owned()))),
            Err(reason) => Err(Failure::Wrong(reason.clone())),
        };
        failed |= report(check, outcome);
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn arguments() -> Option<Arguments> {
    let mut words = std::env::args_os().skip(1);
    let (mut revisions, mut stateless) = (Revision::ALL.to_vec(), false);
    loop {
        match words.next()?.to_str()? {
            "--" => break,
            "--stateless" => stateless = true,
            "--era" => {
                revisions = match words.next()?.to_str()? {
                    "legacy" => Revision::LEGACY.to_vec(),
                    "modern" => Revision::MODERN.to_vec(),
                    "auto" => Revision::ALL.to_vec(),
                    _ => return None,
                }
            }
            _ => return None,
        }
    }
    let target: Vec<OsString> = words.collect();
    (!target.is_empty()).then_some(Arguments { revisions, stateless, target })
}

/// Prints the line of a check; says whether it failed.
#[allow(clippy::print_stdout, reason = "the report is the output")]
fn report(check: &str, outcome: Outcome) -> bool {
    let (status, detail) = match outcome {
        Ok(detail) => ("ok", detail),
        Err(Failure::Wrong(detail)) => ("fail", detail),
        Err(Failure::Absent(detail)) => ("absent", detail),
    };
    println!("{}", serde_json::json!({ "check": check, "status": status, "detail": detail }));
    status == "fail"
}
