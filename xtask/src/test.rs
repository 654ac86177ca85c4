//! `cargo xtask test`: everything that has to hold before a commit, in one command.
//!
//! Steps run in order and stop at the first failure; the summary lists all of them with their times, also
//! those that did not run. It installs what it needs and says so. The last line is `N passed, N failed`, for
//! programs that read it.

mod counts;
mod schemas;
mod tally;

use crate::{budget, cli, conformance, gateway, interop, oauth, packages, process, tidy, workspace};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
pub use tally::Tally;

/// Adds what it has counted to the tally.
type Action = Box<dyn Fn(&mut Tally) -> Result<(), String>>;
type Step = (&'static str, Action);

/// Every cargo feature set that someone can ask for and that the workspace's own build does not cover.
const FEATURES: [(&str, &[&str]); 5] = [
    ("features: none", &["--no-default-features"]),
    ("features: server", &["--no-default-features", "--features", "server"]),
    ("features: client", &["--no-default-features", "--features", "client"]),
    ("features: server, macros", &["--no-default-features", "--features", "server,macros"]),
    ("features: all", &["--all-features"]),
];

/// Runs the steps.
pub fn run(args: &[String]) -> Result<(), String> {
    let quick = match args {
        [] => false,
        [flag] if flag == "--quick" => true,
        _ => return Err("usage: cargo xtask test [--quick]".to_owned()),
    };
    let counts = counts::directory()?;
    let mut results: Vec<(&str, Option<Duration>, Result<(), String>)> = Vec::new();
    let (mut failed, mut tally) = (false, Tally::default());
    for (name, step) in steps(quick, counts) {
        if failed {
            results.push((name, None, Ok(())));
            continue;
        }
        println!("\n== {name}");
        let start = Instant::now();
        let result = step(&mut tally);
        failed = result.is_err();
        results.push((name, Some(start.elapsed()), result));
    }
    println!(
        "\n== summary{}",
        if quick {
            " (--quick: no feature sets, docs, interop, gateway, cli, oauth, conformance or budget)"
        } else {
            ""
        }
    );
    for (name, time, result) in &results {
        match (time, result) {
            (None, _) => println!("   not run            {name}"),
            (Some(time), Ok(())) => println!("   ok     {:>8.1} s  {name}", time.as_secs_f64()),
            (Some(time), Err(what)) => println!("   FAILED {:>8.1} s  {name}: {what}", time.as_secs_f64()),
        }
    }
    if failed {
        // A step that counts nothing (formatting, say) is one failure.
        tally.failed = tally.failed.max(1);
    }
    println!("\n{} passed, {} failed", tally.passed, tally.failed);
    // The summary has said it all, and that line is to be the last.
    if failed { Err(String::new()) } else { Ok(()) }
}

fn steps(quick: bool, counts: PathBuf) -> Vec<Step> {
    let mut steps: Vec<Step> = vec![
        ("tools", Box::new(|_| tools())),
        ("format", cargo(&["fmt", "--all", "--check"])),
        ("lints", cargo(&["clippy", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"])),
        ("tests", Box::new(move |tally| tests(&counts, tally))),
    ];
    if !quick {
        for (name, flags) in FEATURES {
            let args: Vec<&str> =
                ["check", "--locked", "-p", "contexture"].iter().chain(flags).copied().collect();
            steps.push((name, cargo(&args)));
        }
        steps.push(("docs", Box::new(|_| docs())));
    }
    steps.push(("tidy", Box::new(|_| tidy::run(&[]))));
    if !quick {
        steps.push(("interop", Box::new(|tally| interop::run_counted(&[], tally))));
        // After the peers, whose set-up brings node.
        steps.push(("gateway", Box::new(|tally| gateway::run_counted(&[], tally))));
        steps.push(("cli", Box::new(|tally| cli::run_counted(&[], tally))));
        steps.push(("oauth", Box::new(|tally| oauth::run_counted(&[], tally))));
        steps.push(("conformance", Box::new(|tally| conformance::run_counted(&[], tally))));
        steps.push(("budget", Box::new(|tally| budget::run_counted(&[], tally))));
    }
    steps
}

fn cargo(args: &[&str]) -> Action {
    let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
    Box::new(move |_| process::run(workspace::cargo().args(&args)))
}

/// rustfmt and clippy, which a minimal toolchain does not have, and a terminal that programs can drive.
fn tools() -> Result<(), String> {
    for (component, subcommand) in [("rustfmt", "fmt"), ("clippy", "clippy")] {
        if !process::succeeds(workspace::cargo().args([subcommand, "--version"])) {
            process::run(Command::new("rustup").args(["component", "add", component]))
                .map_err(|error| format!("{component} is missing and could not be installed: {error}"))?;
        }
    }
    // Stories are played in a real terminal.
    if !process::succeeds(Command::new("tmux").arg("-V")) {
        packages::install("the tests of the command line need", &["tmux"])?;
    }
    Ok(())
}

/// All of them, also after a failure: the closing line counts what there is.
fn tests(counts: &Path, tally: &mut Tally) -> Result<(), String> {
    let mut command = workspace::cargo();
    command.args(["test", "--locked", "--workspace", "--no-fail-fast"]).env(counts::VARIABLE, counts);
    let schemas = schemas::directory();
    if let Some(directory) = &schemas {
        command.env(schemas::VARIABLE, directory);
    }
    let result = process::run_heard(&mut command, |line| *tally += Tally::of_line(line));
    let validated = counts::report(counts, &schemas::missing(schemas.as_deref()));
    result.and(validated)
}

/// Libraries only: the binary has the name of the library, and its pages would overwrite each other.
fn docs() -> Result<(), String> {
    let mut command = workspace::cargo();
    command.args(["doc", "--locked", "--workspace", "--no-deps", "--all-features", "--lib"]);
    process::run(command.env("RUSTDOCFLAGS", "-D warnings"))
}
