//! `cargo xtask cli`: every verb of the command line, typed into a real terminal, on servers that are not ours.
//!
//! The demo, server-everything and server-filesystem from npm, and servers on the Python and the Go SDK: a column for
//! each, a story for each row. What is typed and what is on the screen is kept in target/cli. At the end of every column, and of
//! the whole run, nothing may be left: no process, no temporary file, no lock. Where there is no Go, its column is left out, and
//! that is said.

mod leftovers;
#[path = "../../crates/cli/tests/screen/pane.rs"]
mod pane;
pub mod recordings;
mod scene;
mod servers;
mod stories;
mod transcripts;

use crate::interop::{setup, table};
use crate::test::Tally;
use crate::{node, packages, process, workspace};
use scene::Scene;
use servers::Server;
use std::path::{Path, PathBuf};
use std::process::Command;
use table::{Cell, Column};

/// What a story comes to: done, not for this server (and why), or what went wrong.
pub type Told = Result<Option<&'static str>, String>;
/// A story about a server, by its name in the table.
pub type Story = (&'static str, fn(&Scene, &Server) -> Told);

const USAGE: &str = "usage: cargo xtask cli [--only SERVER]";

/// Sets up, plays everything, prints the table.
pub fn run(args: &[String]) -> Result<(), String> {
    run_counted(args, &mut Tally::default())
}

/// The same, and adds up what passed and what failed.
pub fn run_counted(args: &[String], tally: &mut Tally) -> Result<(), String> {
    let only = match args {
        [] => "",
        [flag, name] if flag == "--only" => name.as_str(),
        _ => return Err(USAGE.to_owned()),
    };
    // What is named in a terminal is named from anywhere.
    let root = workspace::root().canonicalize().map_err(|error| format!("the workspace: {error}"))?;
    let stage = Stage::set(&root)?;
    let servers: Vec<Server> = stage.servers.iter().filter(|it| it.name.contains(only)).cloned().collect();
    if servers.is_empty() {
        return Err(format!("there is no server {only}; {USAGE}"));
    }
    let stories: Vec<Story> =
        stories::ALL.iter().chain(&transcripts::ALL).chain(&leftovers::ALL).copied().collect();
    let checks: Vec<&str> = stories.iter().map(|(name, _)| *name).collect();
    let columns: Vec<Column> = servers.iter().map(|server| stage.column(server, &stories)).collect();
    println!("\n## {} stories in {} columns", checks.len(), columns.len());
    let failed = table::print(&checks, &columns);
    let left = leftovers::of_run(&stage.within);
    *tally += Tally { passed: table::passed(&columns), failed: failed + u64::from(left.is_err()) };
    if !stage.has_go {
        println!("!! the Go SDK was NOT run: there is no go on this machine");
    }
    left?;
    match failed {
        0 => Ok(()),
        _ => Err(format!("{failed} stories failed; what was on the screen is in target/cli")),
    }
}

/// What every column needs.
struct Stage {
    logs: PathBuf,
    /// The folder of this run, in which all that is temporary is.
    within: PathBuf,
    contexture: PathBuf,
    servers: Vec<Server>,
    has_go: bool,
}

impl Stage {
    fn set(root: &Path) -> Result<Self, String> {
        if !process::succeeds(Command::new("tmux").arg("-V")) {
            packages::install("the stories of the command line need", &["tmux"])?;
        }
        setup::prepare_without_rmcp(root)?;
        process::run(workspace::cargo().args(["build", "--locked", "-p", "contexture-cli", "--bins"]))?;
        let logs = root.join("target/cli");
        // Short: the name of a socket has little room.
        let within = std::env::temp_dir().join(format!("contexture-cli-{}", std::process::id()));
        for folder in [&logs, &within] {
            std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        let node = node::new_enough("the stories of the command line", &root.join("interop/gateway"))?;
        let go = built_with_go(root, &logs)?;
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        let contexture = target.join("debug/contexture");
        let contexture =
            contexture.canonicalize().map_err(|error| format!("{}: {error}", contexture.display()))?;
        let servers = servers::all(root, &node, go.as_deref());
        Ok(Self { logs, within, contexture, servers, has_go: go.is_some() })
    }

    /// Plays all stories about a server, one after the other, in one terminal.
    fn column(&self, server: &Server, stories: &[Story]) -> Column {
        println!("… {}", server.title);
        let log = self.logs.join(format!("{}.screen", server.name));
        let scene = match Scene::open(&self.contexture, &self.within, &log, server) {
            Ok(scene) => scene,
            Err(what) => {
                let cells = stories.iter().map(|_| Cell::Fail("not played".to_owned())).collect();
                return Column { name: server.title.to_owned(), cells, notes: vec![what] };
            }
        };
        let play = |(name, story): &Story| {
            scene.title(name);
            match story(&scene, server) {
                Ok(None) => Cell::Ok,
                Ok(Some(why)) => Cell::Absent(why.to_owned()),
                Err(what) => {
                    // Whatever still runs would be in the way of the next story.
                    scene.recover();
                    Cell::Fail(what)
                }
            }
        };
        let cells = stories.iter().map(play).collect();
        Column { name: server.title.to_owned(), cells, notes: Vec::new() }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.within);
    }
}

/// The server on the Go SDK, if there is a Go to build it with. One that cannot build it is a failure.
fn built_with_go(root: &Path, logs: &Path) -> Result<Option<PathBuf>, String> {
    if !process::succeeds(Command::new("go").arg("version")) {
        return Ok(None);
    }
    let program = logs.join("go-server");
    let mut build = Command::new("go");
    build.args(["build", "-o"]).arg(&program).arg("./server").current_dir(root.join("interop/go"));
    process::run(&mut build).map(|()| Some(program))
}
