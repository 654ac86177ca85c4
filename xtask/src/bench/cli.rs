//! `cargo xtask bench cli`: how long one waits for the command line, beside the Inspector's, in one run.
//!
//! Both do the same in turns, on the same server, which is already there; the median counts. A promise that is missed is
//! said, and is no failure; a binary that is too large is one.

use super::results::median;
use super::{binary, machine, options::Options};
use crate::interop::served::Served;
use crate::interop::setup;
use crate::{node, workspace};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// How much sooner ours is to be there.
const FASTER: f64 = 20.0;
/// Rounds, if nothing else is said.
const ROUNDS: &str = "15";

/// Somebody who is waited for.
struct Line {
    name: &'static str,
    program: PathBuf,
    words: Vec<String>,
    /// What must be in the answer.
    answer: &'static str,
}

/// What is done, by each of them: ours first, then the Inspector's, then what nobody can be faster than.
struct Row {
    name: &'static str,
    lines: Vec<Line>,
}

/// Builds, measures, and writes bench/CLI.md.
pub(super) fn run(bench: &Path, args: &[String]) -> Result<(), String> {
    let words: Vec<String> =
        ["--rounds", ROUNDS].map(str::to_owned).into_iter().chain(args.iter().cloned()).collect();
    let options = Options::parse(&words)?;
    let root = workspace::root();
    setup::prepare_without_rmcp(&root)?;
    let node = node::new_enough("the Inspector", &root.join("interop/gateway"))?;
    let (contexture, size) = binary::shipped()?;
    let line = [contexture.display().to_string(), "demo".to_owned()];
    let served = Served::start(&root, &line, &root.join("target/bench-cli.stderr"))?;
    let url = format!("http://{}/mcp", served.address);
    let inspector = root.join("interop/gateway/node_modules/@modelcontextprotocol/inspector");
    let mut found = Vec::new();
    for row in rows(&contexture, &node, &inspector, &url) {
        println!("… {}", row.name);
        found.push((row.name, row.measured(options.rounds)?));
    }
    let words: Vec<String> = std::iter::once("cli".to_owned()).chain(args.iter().cloned()).collect();
    let about = machine::about(&options, &words);
    let page = page(&about, &found, options.rounds, size);
    println!("{page}");
    std::fs::write(bench.join("CLI.md"), &page).map_err(|error| format!("bench/CLI.md: {error}"))?;
    println!("bench/CLI.md is written");
    binary::is_small(size)
}

fn rows(contexture: &Path, node: &Path, inspector: &Path, url: &str) -> [Row; 2] {
    let launcher = inspector.join("clients/launcher/build/index.js").display().to_string();
    let line = |name, program: &Path, words: &[&str], answer| Line {
        name,
        program: program.to_owned(),
        words: words.iter().map(|word| (*word).to_owned()).collect(),
        answer,
    };
    let ours = |words: &[&str], answer| line("contexture", contexture, words, answer);
    let theirs = |words: &[&str], answer| {
        let words: Vec<&str> = [launcher.as_str(), "--cli"].iter().chain(words).copied().collect();
        line("inspector --cli", node, &words, answer)
    };
    let nothing = || line("node, doing nothing", node, &["-e", "console.log('nothing')"], "nothing");
    let list = [url, "--transport", "http", "--method", "tools/list"];
    [
        Row {
            name: "--help",
            lines: vec![ours(&["--help"], "Usage"), theirs(&["--help"], "Usage"), nothing()],
        },
        Row {
            name: "tools list",
            lines: vec![ours(&["tools", "list", url], "echo"), theirs(&list, "echo"), nothing()],
        },
    ]
}

impl Row {
    /// Medians in milliseconds, in the order of the lines.
    fn measured(&self, rounds: usize) -> Result<Vec<(&'static str, f64)>, String> {
        let mut times = vec![Vec::new(); self.lines.len()];
        // The first round warms what the system keeps of files, and does not count.
        for round in 0..=rounds {
            for (line, times) in self.lines.iter().zip(&mut times) {
                let took = line.timed()?;
                if round > 0 {
                    times.push(took);
                }
            }
        }
        let medians =
            self.lines.iter().zip(times).filter_map(|(line, times)| Some((line.name, median(&times)?)));
        Ok(medians.collect())
    }
}

impl Line {
    /// From the start of the process to its end, in milliseconds.
    fn timed(&self) -> Result<f64, String> {
        let mut command = Command::new(&self.program);
        command.args(&self.words).stdin(Stdio::null());
        let begun = Instant::now();
        let output = command.output().map_err(|error| format!("{}: {error}", self.name))?;
        let took = begun.elapsed().as_secs_f64() * 1e3;
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        match output.status.success() && said.contains(self.answer) {
            true => Ok(took),
            false => Err(format!("{} {}: {}: {said}", self.name, self.words.join(" "), output.status)),
        }
    }
}

type Found = (&'static str, Vec<(&'static str, f64)>);

fn page(about: &[(String, String)], found: &[Found], rounds: usize, size: u64) -> String {
    let mut page = "# How long one waits for the command line\n\n".to_owned();
    let mut line = |text: String| {
        let _ = writeln!(page, "{text}");
    };
    line("Made by `cargo xtask bench cli`. From the start of the process to its end, in turns, on one machine.".into());
    line(
        "The server of `tools list` is `contexture demo --listen`, already running, over Streamable HTTP.\n"
            .into(),
    );
    for (name, value) in about.iter().filter(|(name, _)| name != "Measured") {
        line(format!("- {name}: {value}"));
    }
    line(format!("- Measured: medians of {rounds} rounds, after one that does not count"));
    line("\n| | program | ms | times ours |\n|-|-|-:|-:|".into());
    for (row, times) in found {
        let ours = times.first().map_or(0.0, |(_, ours)| *ours);
        for (name, time) in times {
            line(format!("| {row} | {name} | {time:.1} | {:.1} |", time / ours));
        }
    }
    line("\n## What was promised\n\n| promise | found | |\n|-|-|-|".into());
    let kept = |kept: bool| if kept { "kept" } else { "**missed**" };
    for (row, times) in found {
        let [(_, ours), (theirs, time), ..] = times[..] else { continue };
        let faster = time / ours;
        let promise = format!("`{row}`: at least {FASTER:.0} times faster than {theirs}");
        line(format!("| {promise} | {faster:.1} | {} |", kept(faster >= FASTER)));
    }
    let (found, promised) = (size as f64 / 1e6, binary::LARGEST / 1_000_000);
    line(format!(
        "| the binary has at most {promised} MB | {found:.1} MB | {} |",
        kept(size <= binary::LARGEST)
    ));
    page
}
