//! Running one client against one server, for each column of the tables.
//!
//! Several at a time: the programs mostly wait. Each has a server of its own, so that no run sees what another did.

use super::Over;
use super::observed::Observed;
use super::relay::{Heard, Relay};
use super::served::{self, Served};
use super::table::Column;
use super::wire;
use crate::process;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A program has ten seconds for each check; this is for one that hangs as a whole.
const PATIENCE: Duration = Duration::from_secs(300);

/// One column: a client, and the server that it is run against.
pub struct Run {
    /// Peer, direction, era and transport.
    pub name: String,
    /// How the two are connected.
    pub over: Over,
    /// The client's command line, up to its target.
    pub client: Vec<String>,
    /// The server's command line.
    pub server: Vec<String>,
    /// Whether that is our demo.
    pub ours_serves: bool,
}

/// Runs all, and returns their columns in the same order.
pub fn all<'a>(
    root: &Path,
    logs: &Path,
    runs: &[Run],
    checks: impl Fn(&Run) -> &'a [&'a str] + Sync,
) -> Vec<Column> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let lanes = std::thread::available_parallelism().map_or(2, usize::from).clamp(2, 4);
    std::thread::scope(|scope| {
        for _ in 0..lanes {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::SeqCst);
                    let Some(run) = runs.get(index) else { return };
                    println!("… {}", run.name);
                    let column = run.column(root, logs, checks(run));
                    done.lock().unwrap_or_else(PoisonError::into_inner).push((index, column));
                }
            });
        }
    });
    let mut columns = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    columns.sort_by_key(|(index, _)| *index);
    columns.into_iter().map(|(_, column)| column).collect()
}

/// The files of one run.
struct Files {
    report: PathBuf,
    client: PathBuf,
    server: PathBuf,
    wire: PathBuf,
}

impl Files {
    fn of(logs: &Path, name: &str) -> Self {
        let stem: String =
            name.chars().map(|char| if char.is_ascii_alphanumeric() { char } else { '-' }).collect();
        let file = |ending: &str| logs.join(format!("{stem}.{ending}"));
        Self {
            report: file("jsonl"),
            client: file("stderr"),
            server: file("server.stderr"),
            wire: file("wire"),
        }
    }
}

impl Run {
    /// Runs the client to its end and reads its report.
    fn column(&self, root: &Path, logs: &Path, checks: &[&str]) -> Column {
        let files = Files::of(logs, &self.name);
        let (ended, observed) = match self.over {
            Over::Stdio => (self.client(root, &self.server, &files), String::new()),
            Over::Http | Over::HttpStateless | Over::HttpSse => match self.over_http(root, &files) {
                Ok((ended, observed)) => (ended, observed),
                Err(what) => (Err(what), String::new()),
            },
        };
        let text = std::fs::read_to_string(&files.report).unwrap_or_default() + &observed;
        let _ = std::fs::write(&files.report, &text);
        let mut column = Column::read(self.name.clone(), checks, &text);
        if let Err(what) = ended
            && (!column.failed() || text.is_empty())
        {
            // A program that reports success and ends badly did not succeed.
            column.notes.push(what);
        }
        column
    }

    /// How the client ended, and what passed between it and the server.
    fn over_http(&self, root: &Path, files: &Files) -> Result<(Result<(), String>, String), String> {
        // What an earlier run left must not be taken for this one's.
        let _ = std::fs::remove_file(&files.report);
        let server = Served::start(root, &self.server, &files.server)?;
        let relay = Relay::to(server.address).map_err(|error| format!("the relay: {error}"))?;
        let url = format!("http://{}{}", relay.address, self.over.path());
        let ended = self.client(root, &[url], files);
        drop(server);
        let heard = relay.stop();
        let _ = std::fs::write(&files.wire, transcript(&heard));
        let exchanges = heard.iter().map(wire::exchanges).collect::<Result<Vec<_>, _>>()?;
        let observed = Observed::new(self.over, self.ours_serves, exchanges.into_iter().flatten().collect());
        Ok((ended, observed.report()))
    }

    fn client(&self, root: &Path, target: &[String], files: &Files) -> Result<(), String> {
        let create = |path: &Path| File::create(path).map_err(|error| format!("{}: {error}", path.display()));
        let mut child = served::command(root, &self.client)?
            .args(target)
            .stdin(Stdio::null())
            .stdout(create(&files.report)?)
            .stderr(create(&files.client)?)
            .spawn()
            .map_err(|error| format!("{}: {error}", self.client[0]))?;
        match process::end_within(&mut child, PATIENCE)? {
            status if status.success() => Ok(()),
            status => Err(format!("the program ended with {status}")),
        }
    }
}

/// What was said, for a person to read.
fn transcript(heard: &[Heard]) -> String {
    let mut text = String::new();
    for (number, Heard { asked, answered, .. }) in heard.iter().enumerate() {
        for (who, bytes) in [("client", asked), ("server", answered)] {
            text += &format!("=== connection {number}, {who}\n{}\n", String::from_utf8_lossy(bytes));
        }
    }
    text
}
