//! What the programs on the Rust peers have in common, so that they differ in nothing but the SDK: the
//! command line, the types of their tools, and the clock that a client's calls run against. It knows no SDK
//! and no protocol.

pub mod clock;
pub mod command;
pub mod offer;

use std::process::ExitCode;
use tokio::runtime::{Builder, Runtime};

/// What every part of a program returns: it ends with the message or it has done its work.
pub type Outcome<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// What `#[tokio::main]` gives, or one thread.
pub fn runtime(one_thread: bool) -> Outcome<Runtime> {
    let mut builder = if one_thread { Builder::new_current_thread() } else { Builder::new_multi_thread() };
    Ok(builder.enable_all().build()?)
}

/// Ends a program: what went wrong is for a person, so it is displayed.
pub fn end(outcome: Outcome) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
