//! Our client as the driver of other people's servers: the counterpart of the programs in `interop/`.
//!
//! `interop_client [--era legacy|modern|auto] -- COMMAND…` runs every check of `interop/checks.txt` and
//! prints one line of JSON for each. The contract is in `interop/README.md`; nothing here knows a peer.

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

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Some((revisions, command)) = arguments() else {
        eprintln!("usage: interop_client [--era legacy|modern|auto] -- COMMAND ARGS…");
        return ExitCode::from(2);
    };
    let mut failed = false;
    let peer = match tokio::time::timeout(PATIENCE, Peer::connect(&revisions, command)).await {
        Ok(connected) => connected.map_err(|error| error.to_string()),
        Err(_) => Err("no connection within ten seconds".to_owned()),
    };
    for check in CHECKS.lines().filter(|line| !line.trim().is_empty()) {
        let outcome = match &peer {
            Ok(peer) => tokio::time::timeout(PATIENCE, checks::run(check, peer))
                .await
                .unwrap_or_else(|_| Err(Failure::Wrong("no end within ten seconds".to_owned()))),
            Err(reason) => Err(Failure::Wrong(reason.clone())),
        };
        failed |= report(check, outcome);
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn arguments() -> Option<(Vec<Revision>, Vec<OsString>)> {
    let mut arguments = std::env::args_os().skip(1);
    let mut revisions = Revision::ALL.to_vec();
    loop {
        match arguments.next()?.to_str()? {
            "--" => break,
            "--era" => {
                revisions = match arguments.next()?.to_str()? {
                    "legacy" => Revision::LEGACY.to_vec(),
                    "modern" => Revision::MODERN.to_vec(),
                    "auto" => Revision::ALL.to_vec(),
                    _ => return None,
                }
            }
            _ => return None,
        }
    }
    let command: Vec<OsString> = arguments.collect();
    (!command.is_empty()).then_some((revisions, command))
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
