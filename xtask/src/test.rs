//! `cargo xtask test`: everything that has to hold before a commit, in one command.
//!
//! Steps run in order and stop at the first failure; the summary lists all of them with their times, also
//! those that did not run. It installs what it needs and says so.

mod counts;
mod schemas;

use crate::{interop, process, tidy, workspace};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

type Step = (&'static str, Box<dyn Fn() -> Result<(), String>>);

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
    let mut failed = false;
    for (name, step) in steps(quick, counts) {
        if failed {
            results.push((name, None, Ok(())));
            continue;
        }
        println!("\n== {name}");
        let start = Instant::now();
        let result = step();
        failed = result.is_err();
        results.push((name, Some(start.elapsed()), result));
    }
    println!("\n== summary{}", if quick { " (--quick: no feature sets, docs or interop)" } else { "" });
    for (name, time, result) in &results {
        match (time, result) {
            (None, _) => println!("   not run            {name}"),
            (Some(time), Ok(())) => println!("   ok     {:>8.1} s  {name}", time.as_secs_f64()),
            (Some(time), Err(what)) => println!("   FAILED {:>8.1} s  {name}: {what}", time.as_secs_f64()),
        }
    }
    if failed { Err("a step failed".to_owned()) } else { Ok(()) }
}

fn steps(quick: bool, counts: PathBuf) -> Vec<Step> {
    let mut steps: Vec<Step> = vec![
        ("tools", Box::new(tools)),
        ("format", cargo(&["fmt", "--all", "--check"])),
        ("lints", cargo(&["clippy", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"])),
        ("tests", Box::new(move || tests(&counts))),
    ];
    if !quick {
        for (name, flags) in FEATURES {
            let args: Vec<&str> =
                ["check", "--locked", "-p", "contexture"].iter().chain(flags).copied().collect();
            steps.push((name, cargo(&args)));
        }
        steps.push(("docs", Box::new(docs)));
    }
    steps.push(("tidy", Box::new(|| tidy::run(&[]))));
    if !quick {
        steps.push(("interop", Box::new(|| interop::run(&[]))));
    }
    steps
}

fn cargo(args: &[&str]) -> Box<dyn Fn() -> Result<(), String>> {
    let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
    Box::new(move || process::run(workspace::cargo().args(&args)))
}

/// rustfmt and clippy, which a minimal toolchain does not have.
fn tools() -> Result<(), String> {
    for (component, subcommand) in [("rustfmt", "fmt"), ("clippy", "clippy")] {
        if !process::succeeds(workspace::cargo().args([subcommand, "--version"])) {
            process::run(Command::new("rustup").args(["component", "add", component]))
                .map_err(|error| format!("{component} is missing and could not be installed: {error}"))?;
        }
    }
    Ok(())
}

fn tests(counts: &PathBuf) -> Result<(), String> {
    let mut command = workspace::cargo();
    command.args(["test", "--locked", "--workspace"]).env(counts::VARIABLE, counts);
    if let Some(directory) = schemas::directory() {
        command.env(schemas::VARIABLE, directory);
    }
    let result = process::run(&mut command);
    counts::print(counts);
    result
}

/// Libraries only: the binary has the name of the library, and its pages would overwrite each other.
fn docs() -> Result<(), String> {
    let mut command = workspace::cargo();
    command.args(["doc", "--locked", "--workspace", "--no-deps", "--all-features", "--lib"]);
    process::run(command.env("RUSTDOCFLAGS", "-D warnings"))
}
