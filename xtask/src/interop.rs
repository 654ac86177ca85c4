//! `cargo xtask interop`: real peers over stdio and HTTP, their clients on our demo server and our client on their
//! servers, in every era that they speak; and their clients on each other's servers with `contexture bridge` between them.
//!
//! Nothing is skipped silently: every check of interop/checks.txt, and over HTTP every check of `observed`, has a
//! cell in every column, a check that a program did not report is a failure, and what a peer does not have is
//! `absent` with its reason. The programs and their output are described in interop/README.md.

mod bridged;
mod observed;
pub mod relay;
mod runs;
pub mod served;
pub mod setup;
pub mod table;
mod wire;

use crate::test::Tally;
use crate::{process, workspace};
use runs::Run;
use std::path::{Path, PathBuf};
use table::Column;

/// Every check, one per line, by the exact name that the programs print.
const CHECKS: &str = "interop/checks.txt";

const LEGACY: &[&str] = &["legacy"];
/// `auto` probes and falls back.
const LEGACY_OR_AUTO: &[&str] = &["legacy", "auto"];
const ALL: &[&str] = &["legacy", "modern", "auto"];

/// How client and server are connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// The client starts the server.
    Stdio,
    /// Streamable HTTP, with sessions in the legacy era.
    Http,
    /// The same without sessions and without streams: how many servers are deployed.
    HttpStateless,
    /// The transport of 2024-11-05.
    HttpSse,
}

impl Over {
    const EVERY: [Self; 4] = [Self::Stdio, Self::Http, Self::HttpStateless, Self::HttpSse];

    /// As it is written in the names of columns, and after `--over`.
    fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::HttpStateless => "http-stateless",
            Self::HttpSse => "http+sse",
        }
    }

    /// Where every server here has it.
    fn path(self) -> &'static str {
        match self {
            Self::Stdio => "",
            Self::Http | Self::HttpStateless => "/mcp",
            Self::HttpSse => "/sse",
        }
    }
}

/// One library that we talk to.
struct Peer {
    name: &'static str,
    /// Eras that its client can be told to speak.
    client_eras: &'static [&'static str],
    /// Takes `--era ERA -- COMMAND…`, or a URL instead of the command.
    client: &'static [&'static str],
    /// Eras in which our client tries its server; always also `auto`, which has to find out.
    server_eras: &'static [&'static str],
    /// Takes `--listen ADDRESS` for HTTP.
    server: &'static [&'static str],
    over: &'static [Over],
}

const PEERS: [Peer; 4] = [
    Peer {
        name: "python-2.3.0",
        client_eras: ALL,
        client: &["interop/python/.venv-2/bin/python", "interop/python/client.py"],
        server_eras: ALL,
        server: &["interop/python/.venv-2/bin/python", "interop/python/server.py"],
        over: &[Over::Stdio, Over::Http, Over::HttpStateless],
    },
    Peer {
        name: "python-1.30.0",
        client_eras: LEGACY,
        client: &["interop/python/.venv-1/bin/python", "interop/python/client.py"],
        server_eras: LEGACY_OR_AUTO,
        server: &["interop/python/.venv-1/bin/python", "interop/python/server.py"],
        over: &Over::EVERY,
    },
    Peer {
        name: "typescript-1.32.2",
        client_eras: LEGACY,
        client: &["node", "interop/typescript/client.mjs"],
        server_eras: LEGACY_OR_AUTO,
        server: &["node", "interop/typescript/server.mjs"],
        over: &Over::EVERY,
    },
    Peer {
        name: "rmcp-3.8.0",
        client_eras: ALL,
        client: &["interop/rmcp/target/debug/rmcp-client"],
        server_eras: ALL,
        server: &["interop/rmcp/target/debug/rmcp-server"],
        over: &[Over::Stdio, Over::Http, Over::HttpStateless],
    },
];

/// Sets up, runs every peer in both directions, prints the tables.
pub fn run(args: &[String]) -> Result<(), String> {
    run_counted(args, &mut Tally::default())
}

/// The same, and adds up what passed and what failed.
pub fn run_counted(args: &[String], tally: &mut Tally) -> Result<(), String> {
    let chosen = Chosen::parse(args)?;
    let root = workspace::root();
    setup::prepare(&root)?;
    let ours = if chosen.themselves { None } else { Some(Ours::build(&root)?) };
    let logs = root.join("target/interop");
    std::fs::create_dir_all(&logs).map_err(|error| format!("target/interop: {error}"))?;

    let text = std::fs::read_to_string(root.join(CHECKS)).map_err(|error| format!("{CHECKS}: {error}"))?;
    let checks: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    if checks.is_empty() {
        return Err(format!("{CHECKS} names no check"));
    }
    let over_http: Vec<&str> = checks.iter().copied().chain(observed::CHECKS).collect();

    let runs = ours.map_or_else(|| chosen.runs_of_their_own(), |ours| chosen.runs(&ours));
    let columns =
        runs::all(&root, &logs, &runs, |run| if run.over == Over::Stdio { &checks } else { &over_http });
    let (stdio, http): (Vec<_>, Vec<_>) =
        runs.iter().zip(columns).partition(|(run, _)| run.over == Over::Stdio);
    let mut failures = 0;
    for (title, checks, columns) in [("stdio", &checks, stdio), ("HTTP", &over_http, http)] {
        let columns: Vec<Column> = columns.into_iter().map(|(_, column)| column).collect();
        if !columns.is_empty() {
            println!("\n## {title}: {} checks in {} columns", checks.len(), columns.len());
            let failed = table::print(checks, &columns);
            *tally += Tally { passed: table::passed(&columns), failed };
            failures += failed;
        }
    }
    if failures > 0 {
        return Err(format!("{failures} checks failed; what the programs said is in target/interop"));
    }
    println!("interop: {} columns, none failed", runs.len());
    if let Some(what) = chosen.left_out() {
        println!("!! {what}");
    }
    Ok(())
}

/// Which peers are run, and over what.
struct Chosen {
    peers: Vec<&'static Peer>,
    over: Option<Over>,
    /// Each peer's client on its own server: shows whether the programs are right, without us.
    themselves: bool,
}

const USAGE: &str = "usage: cargo xtask interop [--only PEER] [--over TRANSPORT] [--themselves]; \
                     TRANSPORT is stdio, http, http-stateless or http+sse";

impl Chosen {
    fn parse(args: &[String]) -> Result<Self, String> {
        let mut chosen = Self { peers: PEERS.iter().collect(), over: None, themselves: false };
        let mut args = args.iter();
        while let Some(flag) = args.next() {
            match flag.as_str() {
                "--only" => {
                    let name = args.next().ok_or(USAGE)?;
                    chosen.peers.retain(|peer| peer.name.starts_with(name.as_str()));
                }
                "--over" => {
                    let name = args.next().ok_or(USAGE)?;
                    let known = Over::EVERY.into_iter().find(|over| over.name() == name);
                    chosen.over = Some(known.ok_or(USAGE)?);
                }
                "--themselves" => chosen.themselves = true,
                _ => return Err(USAGE.to_owned()),
            }
        }
        if chosen.peers.is_empty() {
            let names: Vec<&str> = PEERS.iter().map(|peer| peer.name).collect();
            return Err(format!("there is no such peer; there are {}", names.join(", ")));
        }
        Ok(chosen)
    }

    /// What a partial run must not be mistaken for.
    fn left_out(&self) -> Option<String> {
        if self.themselves {
            return Some("the peers among themselves: nothing of ours was run".to_owned());
        }
        if self.peers.len() == PEERS.len() && self.over.is_none() {
            return None;
        }
        let names: Vec<&str> = self.peers.iter().map(|peer| peer.name).collect();
        let over = self.over.map_or("every transport", Over::name);
        Some(format!("ONLY {} over {over}: the rest was not run", names.join(", ")))
    }

    /// Each peer with each transport that it has.
    fn pairs(&self) -> impl Iterator<Item = (&'static Peer, Over)> {
        let peers = self.peers.iter().copied();
        let pairs = peers.flat_map(|peer| peer.over.iter().map(move |over| (peer, *over)));
        pairs.filter(|(_, over)| self.over.is_none_or(|only| only == *over))
    }

    /// Both directions, in every era.
    fn runs(&self, ours: &Ours) -> Vec<Run> {
        let mut runs = Vec::new();
        for (peer, over) in self.pairs() {
            if over == Over::HttpStateless {
                // What a server lacks is of interest to our client only; the modern era has no sessions anyway.
                let name = format!("ours → {} server, {}", peer.name, how("legacy", over));
                let client = with_era(vec![ours.client.clone(), "--stateless".to_owned()], "legacy");
                let server = owned(peer.server).into_iter().chain(["--stateless".to_owned()]).collect();
                runs.push(Run { name, over, client, server, ours_serves: false });
                continue;
            }
            for era in peer.client_eras {
                let name = format!("{} client → ours, {}", peer.name, how(era, over));
                let client = with_era(owned(peer.client), era);
                runs.push(Run { name, over, client, server: ours.server.clone(), ours_serves: true });
            }
            for era in peer.server_eras {
                let name = format!("ours → {} server, {}", peer.name, how(era, over));
                let client = with_era(vec![ours.client.clone()], era);
                runs.push(Run { name, over, client, server: owned(peer.server), ours_serves: false });
            }
        }
        runs.extend(bridged::runs(self, &ours.server[0]));
        runs
    }

    fn runs_of_their_own(&self) -> Vec<Run> {
        let mut runs = Vec::new();
        for (peer, over) in self.pairs().filter(|(_, over)| *over != Over::HttpStateless) {
            for era in peer.client_eras {
                let name = format!("{} by itself, {}", peer.name, how(era, over));
                let client = with_era(owned(peer.client), era);
                runs.push(Run { name, over, client, server: owned(peer.server), ours_serves: false });
            }
        }
        runs
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// The end of a column's name.
fn how(era: &str, over: Over) -> String {
    if over == Over::Stdio { era.to_owned() } else { format!("{era}, {}", over.name()) }
}

fn with_era(mut program: Vec<String>, era: &str) -> Vec<String> {
    program.extend(["--era".to_owned(), era.to_owned(), "--".to_owned()]);
    program
}

/// Our two programs.
struct Ours {
    server: Vec<String>,
    client: String,
}

impl Ours {
    fn build(root: &Path) -> Result<Self, String> {
        let package = ["build", "--locked", "-p", "contexture-cli"];
        process::run(workspace::cargo().args(package).args(["--bins", "--example", "interop_client"]))?;
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        let program = |name: &str| target.join("debug").join(name).to_string_lossy().into_owned();
        let server = vec![program("contexture"), "demo".to_owned()];
        Ok(Self { server, client: program("examples/interop_client") })
    }
}
