//! The binary as people use it: every verb against the demo over a real pipe, with a judge listening.

#[path = "cli/arguments.rs"]
mod arguments;
#[path = "cli/auth_server.rs"]
mod auth_server;
#[path = "cli/ends.rs"]
mod ends;
#[path = "cli/guarded.rs"]
mod guarded;
#[path = "cli/login.rs"]
mod login;
#[path = "cli/people.rs"]
mod people;
#[path = "cli/policy.rs"]
mod policy;
#[path = "cli/story.rs"]
mod story;
#[path = "cli/strangers.rs"]
mod strangers;
#[path = "cli/tap.rs"]
mod tap;
#[path = "cli/tape.rs"]
mod tape;
#[path = "cli/urls.rs"]
mod urls;
#[path = "cli/verbs.rs"]
mod verbs;

use std::process::{Command, Output, Stdio};

use serde_json::Value;

const BINARY: &str = env!("CARGO_BIN_EXE_contexture");

/// How a run ended and what it said.
struct Run {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Run {
    fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {:?}", self.stdout))
    }

    /// The one line of JSON on standard error.
    fn error(&self) -> Value {
        let last = self.stderr.lines().last().unwrap_or_default();
        let line: Value = serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {last:?}"));
        line["error"].clone()
    }
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("text"),
            stderr: String::from_utf8(output.stderr).expect("text"),
        }
    }
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(BINARY);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env_remove("RUST_LOG").env_remove("NO_COLOR");
    command
}

/// Runs with these arguments, without a terminal. What is said inside the process is judged.
fn run(arguments: &[&str]) -> Run {
    let tape = tape::Tape::new();
    let output = command(arguments).env(tape::VARIABLE, tape.path()).output().expect("the binary runs");
    tape.judge();
    output.into()
}

/// Runs a verb on the demo as a process of its own; what the two say is judged.
fn on_demo(arguments: &[&str]) -> Run {
    on_demo_with(arguments, "")
}

/// The same with arguments for the demo.
fn on_demo_with(arguments: &[&str], demo: &str) -> Run {
    let target = tap::target(demo);
    let target: Vec<&str> = target.iter().map(String::as_str).collect();
    run(&[arguments, &target].concat())
}
