//! Every chore of the project, one verb each: `cargo xtask <verb>`.
//!
//! This file is the table of contents. A verb is a function from its arguments to success or a sentence
//! that says what went wrong; everything that it prints before that is for people.
#![allow(clippy::print_stdout, reason = "a chore talks to the person who started it")]
#![allow(unreachable_pub, reason = "a binary has no outside")]

mod bench;
mod budget;
mod cli;
mod conformance;
mod gateway;
mod interop;
mod node;
mod oauth;
mod packages;
mod process;
mod requirements;
mod test;
mod tidy;
mod workspace;

use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask <verb>

  test [--quick]        everything: format, lints, tests, features, docs, tidy, interop, gateway,
                        cli, oauth, conformance, budget
                        --quick: format, lints, tests, tidy
  tidy [--uncovered]    design invariants, house rules, dependencies, requirement coverage
                        --uncovered: also list every SHOULD and MAY without a test
  interop [...]         real peers over stdio and HTTP, both directions
  gateway               other people's servers at once behind our gateway, and their clients before it
  cli [--only SERVER]   every verb in a real terminal, on servers that are not ours
  recordings            the most used verbs in a terminal, as pictures for docs/cli.md
  oauth [--only TEXT]   logging in: with another issuer and a real browser, and other clients with our issuer
  conformance [...]     the official suite on our server, client, issuer and gateway, strictly
  budget [--write]      allocations and instructions of one call, against bench/budget.toml
                        --write: renew the file
  bench [...]           speed, CPU and memory beside other libraries, over stdio and HTTP
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some((verb, rest)) = args.split_first() else {
        print!("{USAGE}");
        return ExitCode::from(2);
    };
    let result = match verb.as_str() {
        "test" => test::run(rest),
        "tidy" => tidy::run(rest),
        "interop" => interop::run(rest),
        "gateway" => gateway::run(rest),
        "oauth" => oauth::run(rest),
        "cli" => cli::run(rest),
        "recordings" => cli::recordings::run(rest),
        "conformance" => conformance::run(rest),
        "budget" => budget::run(rest),
        "bench" => bench::run(rest),
        "help" | "--help" | "-h" => {
            print!("{USAGE}");
            Ok(())
        }
        other => Err(format!("there is no verb `{other}`\n\n{USAGE}")),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            // An empty sentence: the verb has said everything itself.
            if !message.is_empty() {
                eprintln!("xtask {verb}: {message}");
            }
            ExitCode::FAILURE
        }
    }
}
