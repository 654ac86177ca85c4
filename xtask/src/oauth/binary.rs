//! `contexture` by its verbs: what a person would type, one command after the other, each a process of its own that
//! finds what the one before has kept.

use super::stage::{Files, SCOPE, SCOPED, SECONDS, Stage};
use super::{PATIENCE, Parts, seen};
use crate::interop::table::{self, Cell};
use crate::process;
use std::fs::OpenOptions;
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The exit code of a verb that needs a login and has nobody to ask.
const LOGIN_NEEDED: i32 = 3;

/// A check of `checks.txt`, and how it is made here.
type Check = (&'static str, fn(&Typed<'_>) -> Result<Cell, String>);

const CHECKS: [Check; 6] = [
    ("401 names the metadata", |_| absent("the binary shows no headers; it says that a login is needed")),
    ("login in the browser", log_in),
    ("tools/call", |typed| typed.echo()),
    ("refresh after expiry", refresh),
    ("step-up", step_up),
    ("token of another server refused", |_| absent("the binary never shows a token to anyone")),
];

/// Makes them all and writes the report.
pub fn play(parts: &Parts, stage: &Stage, files: &Files) -> Result<(), String> {
    let typed = Typed { parts, files, url: stage.url() };
    for (check, run) in CHECKS {
        files.add(&table::line(check, &run(&typed).unwrap_or_else(Cell::Fail)))?;
    }
    Ok(())
}

fn absent(why: &str) -> Result<Cell, String> {
    Ok(Cell::Absent(why.to_owned()))
}

/// Without a login nothing works and the hint says why; with one, the binary tells what it knows and no secret.
fn log_in(typed: &Typed<'_>) -> Result<Cell, String> {
    let before = typed.run(&["tools", "list", "--", &typed.url])?;
    if before.code != Some(LOGIN_NEEDED) || !before.stderr.contains("contexture login") {
        return Err(format!("before a login: {before:?}"));
    }
    typed.run(&["login", &typed.url])?.succeeded()?;
    let known = typed.run(&["auth", &typed.url])?.succeeded()?;
    // Every JWT begins so.
    if known.stdout.contains("eyJ") || !known.stdout.contains("http://127.0.0.1") {
        return Err(format!("what is known has no issuer, or a token: {}", known.stdout));
    }
    match seen::opened(&typed.files.browser) {
        1 => Ok(Cell::Ok),
        visits => Err(format!("{visits} visits to the browser")),
    }
}

fn refresh(typed: &Typed<'_>) -> Result<Cell, String> {
    std::thread::sleep(Duration::from_secs(SECONDS + 1));
    typed.echo()?;
    match seen::opened(&typed.files.browser) {
        1 => Ok(Cell::Ok),
        visits => Err(format!("{visits} visits to the browser: the token was not refreshed")),
    }
}

/// A verb that has nobody to ask says that a login is needed, for more than was granted; after it, the call works.
fn step_up(typed: &Typed<'_>) -> Result<Cell, String> {
    let call = ["call", SCOPED, "--", &typed.url];
    let refused = typed.run(&call)?;
    if refused.code != Some(LOGIN_NEEDED) || !refused.stderr.contains("contexture login") {
        return Err(format!("before the second login: {refused:?}"));
    }
    typed.run(&["login", "--scope", SCOPE, &typed.url])?.succeeded()?;
    typed.run(&call)?.succeeded()?;
    match seen::opened(&typed.files.browser) {
        2 => Ok(Cell::Ok),
        visits => Err(format!("{visits} visits to the browser")),
    }
}

/// Where the commands are typed.
struct Typed<'a> {
    parts: &'a Parts,
    files: &'a Files,
    url: String,
}

/// What came of one.
#[derive(Debug)]
struct Ended {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Ended {
    fn succeeded(self) -> Result<Self, String> {
        if self.code == Some(0) { Ok(self) } else { Err(format!("{self:?}")) }
    }
}

impl Typed<'_> {
    fn echo(&self) -> Result<Cell, String> {
        let said = self.run(&["call", "echo", "message=hello", "--", &self.url])?.succeeded()?;
        if said.stdout.contains("hello") { Ok(Cell::Ok) } else { Err(format!("{said:?}")) }
    }

    fn run(&self, args: &[&str]) -> Result<Ended, String> {
        let log = &self.files.client;
        let unwritable = |error: std::io::Error| format!("{}: {error}", log.display());
        let length = log.metadata().map_or(0, |file| file.len());
        let errors = OpenOptions::new().create(true).append(true).open(log).map_err(unwritable)?;
        let mut child = Command::new(&self.parts.contexture)
            .args(args)
            .envs(self.parts.browser.environment(&self.files.browser))
            .env("XDG_DATA_HOME", &self.files.store)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .map_err(|error| format!("contexture: {error}"))?;
        let code = process::end_within(&mut child, PATIENCE)?.code();
        let mut stdout = String::new();
        if let Some(mut said) = child.stdout.take() {
            said.read_to_string(&mut stdout).map_err(|error| format!("contexture {args:?}: {error}"))?;
        }
        let all = std::fs::read(log).map_err(unwritable)?;
        let new = all.get(usize::try_from(length).unwrap_or(0)..).unwrap_or_default();
        Ok(Ended { code, stdout, stderr: String::from_utf8_lossy(new).into_owned() })
    }
}
