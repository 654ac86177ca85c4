//! `cargo xtask bench --perf`: where one HTTP server spends its time under load, with perf. For whoever makes
//! something faster; nothing is kept.

use super::options::Options;
use super::peers::{Language, PEERS, Start, named};
use super::setup;
use crate::process::capture;
use std::path::Path;
use std::process::Command;

/// Builds the server with its symbols, loads it, and prints the symbols above half a percent.
pub(super) fn run(bench: &Path, (name, setting): &(String, String), options: &Options) -> Result<(), String> {
    let peer = named(name).filter(|peer| peer.http && peer.language == Language::Rust).ok_or_else(|| {
        let names: Vec<_> =
            PEERS.iter().filter(|peer| peer.language == Language::Rust).map(|peer| peer.name).collect();
        format!("there is no server `{name}` in Rust; there are {}", names.join(", "))
    })?;
    setup::cargo(bench, "drive", "release")?;
    setup::cargo(bench, peer.package, "profiling")?;
    let work = if options.work.contains('@') { options.work.clone() } else { format!("{}@32", options.work) };
    let tools = if work.starts_with("tool") || work.starts_with("list") { 100 } else { 0 };
    let start = Start { profile: "profiling", setting, tools, streams: work.starts_with("steps") };
    let file = bench.join("target/profiling/perf.data").to_string_lossy().into_owned();
    let mut drive = Command::new(bench.join("target/release/drive"));
    drive.args(["http", "--setting", setting, "--work", &work, "--perf", &file, "--retries", "0"]);
    drive
        .args(["--seconds", &options.seconds.max(3).to_string(), "--script"])
        .arg(bench.join("http/load.lua"));
    drive.arg("--").args(peer.http_command(bench, start));
    println!("{name}, {setting}: {}", capture(&mut drive)?.trim());
    for sort in ["dso", "dso,symbol"] {
        let mut perf = Command::new("perf");
        perf.args([
            "report",
            "--stdio",
            "--no-children",
            "--percent-limit",
            "0.5",
            "--sort",
            sort,
            "-i",
            &file,
        ]);
        println!();
        for line in capture(&mut perf)?.lines().filter(|line| line.contains('%') && !line.starts_with('#')) {
            let words: Vec<_> = line.split_whitespace().filter(|word| *word != "-").collect();
            println!("{}", words.join(" ").chars().take(140).collect::<String>());
        }
    }
    Ok(())
}
