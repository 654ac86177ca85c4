//! The benchmark's program on rmcp: its servers and its client, as its documentation teaches them and, with
//! `--tuned`, the fastest that we found in its public API. It goes around nothing: tools are the macro's, and
//! guards stay on.

mod client;
mod http;
mod stdio;
mod tools;

use bench_program::{Outcome, command::Command, end, runtime};
use std::process::ExitCode;

fn main() -> ExitCode {
    end(run())
}

fn run() -> Outcome {
    match Command::read()? {
        Command::Stdio(serve) if serve.sync => Err("rmcp has no blocking transport: leave --sync out".into()),
        Command::Stdio(serve) => runtime(serve.tuned)?.block_on(stdio::serve(&serve)),
        Command::Http(port, serve) => runtime(serve.tuned)?.block_on(http::serve(port, &serve)),
        Command::Client(calls) => runtime(calls.tuned)?.block_on(client::call(&calls)),
    }
}
