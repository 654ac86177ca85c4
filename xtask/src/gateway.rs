//! `cargo xtask gateway`: other people's servers, all at once behind one address, and other people's clients before it.
//!
//! Behind: server-everything, server-filesystem and server-memory from npm, mcp-server-time from PyPI, each a child process
//! of the gateway. Before: programs on the TypeScript, Python and Go SDKs in every era that they speak, the Inspector's command line,
//! and ours. As in `interop`: a check that was not reported is a failure, and what a client does not have is `absent` with its
//! reason. Where there is no Go the columns of its SDK are left out, and that is said.

mod lines;

use crate::interop::served::{Served, command};
use crate::interop::{setup, table};
use crate::test::Tally;
use crate::{node, process, workspace};
use serde_json::{Value, json};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use table::Column;

/// Every check, one per line, by the exact name that the programs print.
const CHECKS: &str = "interop/gateway/checks.txt";
/// A check has some seconds; this is for a program that hangs as a whole.
const PATIENCE: Duration = Duration::from_secs(240);

/// A program on an SDK: takes the URL and the folder that the file server serves.
struct Client {
    name: &'static str,
    line: &'static [&'static str],
}

const CLIENTS: [Client; 4] = [
    Client { name: "typescript-1.32.2", line: &["node", "interop/typescript/gateway.mjs"] },
    Client {
        name: "python-1.30.0",
        line: &["interop/python/.venv-1/bin/python", "interop/python/gateway.py", "--era", "legacy"],
    },
    Client {
        name: "python-2.3.0, legacy",
        line: &["interop/python/.venv-2/bin/python", "interop/python/gateway.py", "--era", "legacy"],
    },
    Client {
        name: "python-2.3.0, modern",
        line: &["interop/python/.venv-2/bin/python", "interop/python/gateway.py", "--era", "modern"],
    },
];

const GO: [Client; 2] = [
    Client { name: "go-1.8.0, legacy", line: &["target/gateway/go-client", "2025-11-25"] },
    Client { name: "go-1.8.0, modern", line: &["target/gateway/go-client", "2026-07-28"] },
];

/// Sets up, runs every client, prints the table.
pub fn run(args: &[String]) -> Result<(), String> {
    run_counted(args, &mut Tally::default())
}

/// The same, and adds up what passed and what failed.
pub fn run_counted(args: &[String], tally: &mut Tally) -> Result<(), String> {
    if !args.is_empty() {
        return Err("usage: cargo xtask gateway".to_owned());
    }
    let root = workspace::root();
    setup::prepare_without_rmcp(&root)?;
    let stage = Stage::set(&root)?;
    let text = std::fs::read_to_string(root.join(CHECKS)).map_err(|error| format!("{CHECKS}: {error}"))?;
    let checks: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();

    let mut columns = Vec::new();
    for client in CLIENTS.iter().chain(stage.go.iter().copied().flatten()) {
        println!("… {}", client.name);
        columns.push(stage.column(client, &checks)?);
    }
    for (name, line) in stage.command_lines() {
        println!("… {name}");
        columns.push(Column::read(name.to_owned(), &checks, &lines::report(&checks, &line, &stage.folder)));
    }
    println!("\n## {} checks in {} columns", checks.len(), columns.len());
    let failed = table::print(&checks, &columns);
    *tally += Tally { passed: table::passed(&columns), failed };
    if stage.go.is_none() {
        println!("!! the Go SDK was NOT run: there is no go on this machine");
    }
    match failed {
        0 => Ok(()),
        _ => Err(format!("{failed} checks failed; what the programs said is in target/gateway")),
    }
}

/// The gateway at work, and what runs against it.
struct Stage {
    root: PathBuf,
    logs: PathBuf,
    folder: String,
    url: String,
    contexture: String,
    node: PathBuf,
    go: Option<&'static [Client]>,
    _gateway: Served,
}

impl Stage {
    fn set(root: &Path) -> Result<Self, String> {
        process::run(workspace::cargo().args(["build", "--locked", "-p", "contexture-cli", "--bins"]))?;
        let logs = root.join("target/gateway");
        let folder = logs.join("files");
        std::fs::create_dir_all(&folder).map_err(|error| format!("target/gateway: {error}"))?;
        let write = |path: PathBuf, text: &str| {
            std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
        };
        write(folder.join("hello.txt"), "read through the gateway\n")?;
        // What an earlier run remembered would be found again.
        let memory = logs.join("memory.json");
        let _ = std::fs::remove_file(&memory);
        let node = node::new_enough("the gateway's proof", &root.join("interop/gateway"))?;
        let config = logs.join("contexture.json");
        write(config.clone(), &configuration(root, &node, &folder, &memory).to_string())?;

        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        let contexture = target.join("debug/contexture").to_string_lossy().into_owned();
        let line = [&contexture, "run", "--config", &config.to_string_lossy()].map(str::to_owned);
        let gateway = Served::start(root, &line, &logs.join("gateway.stderr"))?;
        let url = format!("http://{}/mcp", gateway.address);
        let folder = folder.to_string_lossy().into_owned();
        let go = built_with_go(root, &logs)?.then_some(&GO[..]);
        Ok(Self { root: root.into(), logs, folder, url, contexture, node, go, _gateway: gateway })
    }

    /// Runs a program to its end and reads its report.
    fn column(&self, client: &Client, checks: &[&str]) -> Result<Column, String> {
        let stem: String =
            client.name.chars().map(|char| if char.is_ascii_alphanumeric() { char } else { '-' }).collect();
        let path = |ending: &str| self.logs.join(format!("{stem}.{ending}"));
        let create = |path: &Path| File::create(path).map_err(|error| format!("{}: {error}", path.display()));
        let line: Vec<String> = client.line.iter().map(|word| (*word).to_owned()).collect();
        let mut child = command(&self.root, &line)?
            .args([&self.url, &self.folder])
            .stdin(Stdio::null())
            .stdout(create(&path("jsonl"))?)
            .stderr(create(&path("stderr"))?)
            .spawn()
            .map_err(|error| format!("{}: {error}", client.name))?;
        let ended = process::end_within(&mut child, PATIENCE);
        let text = std::fs::read_to_string(path("jsonl")).unwrap_or_default();
        let mut column = Column::read(client.name.to_owned(), checks, &text);
        match ended {
            Ok(status) if status.success() || column.failed() => {}
            Ok(status) => column.notes.push(format!("the program ended with {status}")),
            Err(what) => column.notes.push(what),
        }
        Ok(column)
    }

    /// Clients that are run anew for every check.
    fn command_lines(&self) -> [(&'static str, lines::Line); 2] {
        let inspector = self.root.join("interop/gateway/node_modules/@modelcontextprotocol/inspector");
        [
            ("inspector-2.12.0 --cli", lines::Line::inspector(&self.node, &inspector, &self.url)),
            ("contexture call", lines::Line::ours(&self.contexture, &self.url)),
        ]
    }
}

/// Four servers, as one would write them down.
fn configuration(root: &Path, node: &Path, folder: &Path, memory: &Path) -> Value {
    let packages = root.join("interop/gateway/node_modules/@modelcontextprotocol");
    let node_server = |name: &str| packages.join(name).join("dist/index.js");
    json!({
        "servers": {
            "everything": { "command": node, "args": [node_server("server-everything")] },
            "files": { "command": node, "args": [node_server("server-filesystem"), folder] },
            "memory": {
                "command": node,
                "args": [node_server("server-memory")],
                "env": { "MEMORY_FILE_PATH": memory },
            },
            "time": {
                "command": root.join("interop/gateway/.venv/bin/mcp-server-time"),
                "args": ["--local-timezone", "UTC"],
            },
        },
        "policy": { "default": "allow" },
    })
}

/// Whether there is a Go to build the program with. One that cannot build it is a failure.
fn built_with_go(root: &Path, logs: &Path) -> Result<bool, String> {
    if !process::succeeds(Command::new("go").arg("version")) {
        return Ok(false);
    }
    let mut build = Command::new("go");
    build.args(["build", "-o"]).arg(logs.join("go-client")).arg(".").current_dir(root.join("interop/go"));
    process::run(&mut build).map(|()| true)
}
