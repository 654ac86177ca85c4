//! `cargo xtask oauth`: logging in, with parts that are not ours and a person at a real browser.
//!
//! Our clients and our protected demo with oidc-provider as the authorization server; then other people's SDKs with
//! our demo and our authorization server. Every column has two demos (a token of one is shown to the other) and an issuer
//! of its own, and logs in with headless Chromium. As in `interop`: a check that was not reported is a failure, and what
//! a program does not have is `absent` with its reason. The programs are described in interop/README.md.

mod binary;
mod browser;
mod seen;
mod stage;

use crate::interop::served::command;
use crate::interop::{setup, table};
use crate::test::Tally;
use crate::{node, process, workspace};
use browser::Browser;
use stage::{Files, Issuer, Stage};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use table::Column;

/// What the programs check, one per line, by the exact names that they print.
const CHECKS: &str = "interop/oauth/checks.txt";
/// What is checked here, after they have ended.
const SEEN: [&str; 2] = ["consent page", "what the issuer saw"];

/// How many columns at once: they mostly wait, for browsers and for tokens to expire.
const LANES: usize = 2;
/// A check has a minute; this is for a program that hangs as a whole.
const PATIENCE: Duration = Duration::from_secs(240);

const USAGE: &str = "usage: cargo xtask oauth [--only TEXT]";

/// Who logs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    /// Our library, in a program of its own.
    Library,
    /// `contexture`, by its verbs.
    Binary,
    /// A program on somebody else's SDK.
    Peer(&'static [&'static str]),
}

/// One column.
struct Run {
    name: &'static str,
    who: Who,
    /// What the client calls itself when it registers.
    client: &'static str,
    issuer: Issuer,
}

const RUNS: [Run; 6] = [
    Run {
        name: "ours, oidc-provider",
        who: Who::Library,
        client: "contexture-interop",
        issuer: Issuer::OidcProvider,
    },
    Run {
        name: "contexture, oidc-provider",
        who: Who::Binary,
        client: "contexture",
        issuer: Issuer::OidcProvider,
    },
    Run { name: "ours, our issuer", who: Who::Library, client: "contexture-interop", issuer: Issuer::Ours },
    Run {
        name: "typescript-1.32.2, our issuer",
        who: Who::Peer(&["node", "interop/typescript/oauth.mjs"]),
        client: "typescript-sdk",
        issuer: Issuer::Ours,
    },
    Run {
        name: "python-1.30.0, our issuer",
        who: Who::Peer(&["interop/python/.venv-1/bin/python", "interop/python/oauth.py"]),
        client: "python-sdk",
        issuer: Issuer::Ours,
    },
    Run {
        name: "python-2.3.0, our issuer",
        who: Who::Peer(&["interop/python/.venv-2/bin/python", "interop/python/oauth.py"]),
        client: "python-sdk",
        issuer: Issuer::Ours,
    },
];

/// What every column needs.
struct Parts {
    root: PathBuf,
    logs: PathBuf,
    /// A node that oidc-provider runs on.
    node: PathBuf,
    browser: Browser,
    /// The binary, and the program on our library.
    contexture: PathBuf,
    library: PathBuf,
}

/// Sets up, runs every column, prints the table.
pub fn run(args: &[String]) -> Result<(), String> {
    run_counted(args, &mut Tally::default())
}

/// The same, and adds up what passed and what failed.
pub fn run_counted(args: &[String], tally: &mut Tally) -> Result<(), String> {
    let only = match args {
        [] => "",
        [flag, text] if flag == "--only" => text.as_str(),
        _ => return Err(USAGE.to_owned()),
    };
    let runs: Vec<&Run> = RUNS.iter().filter(|run| run.name.contains(only)).collect();
    if runs.is_empty() {
        let names: Vec<&str> = RUNS.iter().map(|run| run.name).collect();
        return Err(format!("there is no such column; there are: {}", names.join("; ")));
    }
    let parts = Parts::prepare()?;
    let text =
        std::fs::read_to_string(parts.root.join(CHECKS)).map_err(|error| format!("{CHECKS}: {error}"))?;
    let checks: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).chain(SEEN).collect();
    let columns = run_all(&parts, &runs, &checks);
    println!("\n## Logging in: {} checks in {} columns", checks.len(), columns.len());
    let failed = table::print(&checks, &columns);
    *tally += Tally { passed: table::passed(&columns), failed };
    if failed > 0 {
        return Err(format!("{failed} checks failed; what the programs said is in target/interop"));
    }
    println!("oauth: {} columns, none failed", columns.len());
    if runs.len() < RUNS.len() {
        println!("!! ONLY a part was run");
    }
    Ok(())
}

impl Parts {
    fn prepare() -> Result<Self, String> {
        let root = workspace::root();
        setup::prepare_without_rmcp(&root)?;
        let browser = Browser::prepare(&root)?;
        let node = node::new_enough("oidc-provider", &root.join("interop/oauth"))?;
        let package = ["build", "--locked", "-p", "contexture-cli"];
        process::run(workspace::cargo().args(package).args(["--bins", "--example", "oauth_client"]))?;
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        let logs = root.join("target/interop");
        std::fs::create_dir_all(&logs).map_err(|error| format!("target/interop: {error}"))?;
        let contexture = target.join("debug/contexture");
        let library = target.join("debug/examples/oauth_client");
        Ok(Self { root, logs, node, browser, contexture, library })
    }
}

/// Runs all, some at a time, and returns their columns in the same order.
fn run_all(parts: &Parts, runs: &[&Run], checks: &[&str]) -> Vec<Column> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(|| {
                while let Some((index, run)) = Some(next.fetch_add(1, Ordering::SeqCst))
                    .and_then(|index| Some((index, runs.get(index)?)))
                {
                    println!("… {}", run.name);
                    let column = run.column(parts, checks);
                    done.lock().unwrap_or_else(PoisonError::into_inner).push((index, column));
                }
            });
        }
    });
    let mut columns = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    columns.sort_by_key(|(index, _)| *index);
    columns.into_iter().map(|(_, column)| column).collect()
}

impl Run {
    /// Sets the stage, lets the program play, and looks at what the others saw.
    fn column(&self, parts: &Parts, checks: &[&str]) -> Column {
        let files = Files::of(&parts.logs, self.name);
        let ended = files.clear().and_then(|()| Stage::set(parts, self.issuer, &files)).and_then(|stage| {
            let ended = match self.who {
                Who::Binary => binary::play(parts, &stage, &files),
                Who::Library => {
                    self.play(parts, &[parts.library.to_string_lossy().into_owned()], &stage, &files)
                }
                Who::Peer(line) => {
                    let line: Vec<String> = line.iter().map(|word| (*word).to_owned()).collect();
                    self.play(parts, &line, &stage, &files)
                }
            };
            let seen = [
                seen::consent(self, &files.browser, &stage.url()),
                seen::issuer(self, &files.issuer, &stage.url()),
            ];
            let lines: Vec<String> =
                SEEN.iter().zip(seen).map(|(check, cell)| table::line(check, &cell)).collect();
            files.add(&lines.concat())?;
            ended
        });
        let text = std::fs::read_to_string(&files.report).unwrap_or_default();
        let mut column = Column::read(self.name.to_owned(), checks, &text);
        if let Err(what) = ended
            && (!column.failed() || text.is_empty())
        {
            column.notes.push(what);
        }
        column
    }

    /// Runs a program to its end; its report goes to its file.
    fn play(&self, parts: &Parts, line: &[String], stage: &Stage, files: &Files) -> Result<(), String> {
        let create = |path: &Path| File::create(path).map_err(|error| format!("{}: {error}", path.display()));
        let mut child = command(&parts.root, line)?
            .args(["--scoped", stage::SCOPED, "--", &stage.url(), &stage.other_url()])
            .envs(parts.browser.environment(&files.browser))
            .stdin(Stdio::null())
            .stdout(create(&files.report)?)
            .stderr(create(&files.client)?)
            .spawn()
            .map_err(|error| format!("{}: {error}", self.name))?;
        match process::end_within(&mut child, PATIENCE)? {
            status if status.success() => Ok(()),
            status => Err(format!("the program ended with {status}")),
        }
    }
}
