//! `cargo xtask interop`: real peers over stdio, their clients on our demo server and our client on their
//! servers, in every era that they speak.
//!
//! Nothing is skipped silently: every check of interop/checks.txt has a cell in every column, a check that a program
//! did not report is a failure, and what a peer does not have is `absent` with its reason. The programs
//! and their output are described in interop/README.md.

mod table;

use crate::test::Tally;
use crate::{process, workspace};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use table::Column;

/// Every check, one per line, by the exact name that the programs print.
const CHECKS: &str = "interop/checks.txt";

/// One library that we talk to.
struct Peer {
    name: &'static str,
    /// Eras that its client can be told to speak. `auto` probes and falls back.
    client_eras: &'static [&'static str],
    /// Takes `--era ERA -- COMMAND…`.
    client: &'static [&'static str],
    /// Eras in which our client tries its server; always also `auto`, which has to find out.
    server_eras: &'static [&'static str],
    server: &'static [&'static str],
}

const PEERS: [Peer; 4] = [
    Peer {
        name: "python-2.3.0",
        client_eras: &["legacy", "modern", "auto"],
        client: &["interop/python/.venv-2/bin/python", "interop/python/client.py"],
        server_eras: &["legacy", "modern", "auto"],
        server: &["interop/python/.venv-2/bin/python", "interop/python/server.py"],
    },
    Peer {
        name: "python-1.30.0",
        client_eras: &["legacy"],
        client: &["interop/python/.venv-1/bin/python", "interop/python/client.py"],
        server_eras: &["legacy", "auto"],
        server: &["interop/python/.venv-1/bin/python", "interop/python/server.py"],
    },
    Peer {
        name: "typescript-1.32.2",
        client_eras: &["legacy"],
        client: &["node", "interop/typescript/client.mjs"],
        server_eras: &["legacy", "auto"],
        server: &["node", "interop/typescript/server.mjs"],
    },
    Peer {
        name: "rmcp-3.8.0",
        client_eras: &["legacy", "modern", "auto"],
        client: &["interop/rmcp/target/debug/rmcp-client"],
        server_eras: &["legacy", "modern", "auto"],
        server: &["interop/rmcp/target/debug/rmcp-server"],
    },
];

/// A program has ten seconds for each check; this is for one that hangs as a whole.
const PATIENCE: Duration = Duration::from_secs(300);

/// Sets up, runs every peer in both directions, prints the table.
pub fn run(args: &[String]) -> Result<(), String> {
    run_counted(args, &mut Tally::default())
}

/// The same, and adds up what passed and what failed.
pub fn run_counted(args: &[String], tally: &mut Tally) -> Result<(), String> {
    let only = match args {
        [] => None,
        [flag, name] if flag == "--only" => Some(name.as_str()),
        _ => return Err("usage: cargo xtask interop [--only PEER]".to_owned()),
    };
    let peers: Vec<&Peer> =
        PEERS.iter().filter(|peer| only.is_none_or(|only| peer.name.starts_with(only))).collect();
    if peers.is_empty() {
        let names: Vec<&str> = PEERS.iter().map(|peer| peer.name).collect();
        return Err(format!("there is no such peer; there are {}", names.join(", ")));
    }
    let root = workspace::root();
    prepare(&root)?;
    let ours = Ours::build(&root)?;
    let logs = root.join("target/interop");
    std::fs::create_dir_all(&logs).map_err(|error| format!("target/interop: {error}"))?;

    let text = std::fs::read_to_string(root.join(CHECKS)).map_err(|error| format!("{CHECKS}: {error}"))?;
    let checks: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    if checks.is_empty() {
        return Err(format!("{CHECKS} names no check"));
    }

    let mut columns = Vec::new();
    for peer in &peers {
        for era in peer.client_eras {
            let theirs = with_era(peer.client, era, &ours.server);
            let name = format!("{} client → ours, {era}", peer.name);
            columns.push(column(&root, &logs, name, &checks, &theirs));
        }
        for era in peer.server_eras {
            let server: Vec<String> = peer.server.iter().map(|part| (*part).to_owned()).collect();
            let mine = with_era(&[&ours.client], era, &server);
            let name = format!("ours → {} server, {era}", peer.name);
            columns.push(column(&root, &logs, name, &checks, &mine));
        }
    }
    let failures = table::print(&checks, &columns);
    *tally += Tally { passed: table::passed(&columns), failed: failures };
    if failures > 0 {
        return Err(format!("{failures} checks failed; the programs' stderr is in target/interop"));
    }
    println!("interop: {} checks in {} columns, none failed", checks.len(), columns.len());
    if only.is_some() {
        println!("!! ONLY {}: the other peers were not run", peers[0].name);
    }
    Ok(())
}

fn with_era(program: &[&str], era: &str, target: &[String]) -> Vec<String> {
    let start = program.iter().copied().chain(["--era", era, "--"]).map(str::to_owned);
    start.chain(target.iter().cloned()).collect()
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

/// Languages first (from the system's packages, if we may install them), then the peers' own packages.
fn prepare(root: &Path) -> Result<(), String> {
    let missing = missing_languages();
    if !missing.is_empty() {
        install(&missing)?;
        if !missing_languages().is_empty() {
            return Err("the peers need python3 ≥ 3.11 with venv and node ≥ 20 with npm".to_owned());
        }
    }
    // Their programs are expected in their own target directory, wherever ours is.
    let mut setup = Command::new("bash");
    process::run(setup.arg("interop/setup.sh").current_dir(root).env_remove("CARGO_TARGET_DIR"))
}

/// Debian's names of what is not there, or too old.
fn missing_languages() -> Vec<&'static str> {
    let probe = |program: &str, args: &[&str]| process::succeeds(Command::new(program).args(args));
    let mut missing = Vec::new();
    if !probe("python3", &["-c", "import venv, ensurepip, sys; sys.exit(sys.version_info < (3, 11))"]) {
        missing.extend(["python3", "python3-venv"]);
    }
    let node = probe("node", &["-e", "process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)"]);
    if !node || !probe("npm", &["--version"]) {
        missing.extend(["nodejs", "npm"]);
    }
    missing
}

fn install(packages: &[&str]) -> Result<(), String> {
    let list = packages.join(" ");
    let root_user = process::capture(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0");
    if !root_user || !process::succeeds(Command::new("apt-get").arg("--version")) {
        return Err(format!("the peers need {list}: install them (on Debian: apt-get install {list})"));
    }
    process::run(Command::new("apt-get").arg("update"))?;
    let mut command = Command::new("apt-get");
    command.args(["install", "--yes", "--no-install-recommends"]).args(packages);
    process::run(command.env("DEBIAN_FRONTEND", "noninteractive"))
}

/// Runs one program to its end and reads its report.
fn column(root: &Path, logs: &Path, name: String, checks: &[&str], line: &[String]) -> Column {
    println!("… {name}");
    let stem: String =
        name.chars().map(|char| if char.is_ascii_alphanumeric() { char } else { '-' }).collect();
    let report = logs.join(format!("{stem}.jsonl"));
    let ended = execute(root, line, &report, &logs.join(format!("{stem}.stderr")));
    let text = std::fs::read_to_string(&report).unwrap_or_default();
    let mut column = Column::read(name, checks, &text);
    if let Err(what) = ended
        && !column.failed()
    {
        // A program that reports success and ends badly did not succeed.
        column.notes.push(what);
    }
    column
}

fn execute(root: &Path, line: &[String], report: &Path, stderr: &Path) -> Result<(), String> {
    let create = |path: &Path| File::create(path).map_err(|error| format!("{}: {error}", path.display()));
    let (program, args) = line.split_first().ok_or("no program")?;
    let program = if program.contains('/') { root.join(program) } else { program.into() };
    let mut child = Command::new(program)
        .args(args)
        .current_dir(root)
        .stdin(Stdio::null())
        .stdout(create(report)?)
        .stderr(create(stderr)?)
        .spawn()
        .map_err(|error| format!("{}: {error}", line[0]))?;
    let start = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("the program ended with {status}")),
            Ok(None) if start.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(20)),
            Ok(None) => {
                let killed = child.kill().and_then(|()| child.wait());
                let how = killed.map_or_else(|error| error.to_string(), |_| "killed".to_owned());
                return Err(format!("no end after {} s: {how}", PATIENCE.as_secs()));
            }
            Err(error) => return Err(error.to_string()),
        }
    }
}
