//! One column's stage: an issuer and two demos that it protects, each on a free port of loopback, and the files
//! that everybody writes to. All of it ends when the stage is dropped.

use super::Parts;
use crate::interop::served::Served;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The tool of the demo that needs more than a login, and the scope that it needs.
pub const SCOPED: &str = "sign_guestbook";
pub const SCOPE: &str = "demo:sign";
/// How long an access token lives. Long enough for a call after a login on a slow machine, and not much longer.
pub const SECONDS: u64 = 8;

/// Whose authorization server it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Issuer {
    /// npm's, by panva.
    OidcProvider,
    /// `contexture auth-server`.
    Ours,
}

/// At work until it is dropped.
pub struct Stage {
    demo: Served,
    other: Served,
    _issuer: Served,
}

impl Stage {
    /// The issuer first: the demos are told where it is.
    pub fn set(parts: &Parts, issuer: Issuer, files: &Files) -> Result<Self, String> {
        let word = |path: &Path| path.to_string_lossy().into_owned();
        let seconds = SECONDS.to_string();
        let line = match issuer {
            Issuer::OidcProvider => vec![
                word(&parts.node),
                "interop/oauth/issuer.mjs".to_owned(),
                "--scopes".to_owned(),
                format!("demo:use {SCOPE}"),
                "--seconds".to_owned(),
                seconds,
            ],
            Issuer::Ours => {
                vec![word(&parts.contexture), "auth-server".to_owned(), "--token-seconds".to_owned(), seconds]
            }
        };
        let issuer = Served::start(&parts.root, &line, &files.issuer)?;
        let protect = format!("--protect=http://{}", issuer.address);
        let line = [word(&parts.contexture), "demo".to_owned(), protect];
        let demo = Served::start(&parts.root, &line, &files.demo)?;
        let other = Served::start(&parts.root, &line, &files.other)?;
        Ok(Self { demo, other, _issuer: issuer })
    }

    /// Where everybody logs in.
    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.demo.address)
    }

    /// Where a token of the first is shown.
    pub fn other_url(&self) -> String {
        format!("http://{}/mcp", self.other.address)
    }
}

/// What was written during one run.
pub struct Files {
    /// The program's report.
    pub report: PathBuf,
    /// What it said beside that.
    pub client: PathBuf,
    /// What the person at the browser saw.
    pub browser: PathBuf,
    pub issuer: PathBuf,
    pub demo: PathBuf,
    pub other: PathBuf,
    /// Where the binary keeps tokens.
    pub store: PathBuf,
}

impl Files {
    /// Names them after the column.
    pub fn of(logs: &Path, name: &str) -> Self {
        let stem: String =
            name.chars().map(|char| if char.is_ascii_alphanumeric() { char } else { '-' }).collect();
        let file = |ending: &str| logs.join(format!("oauth-{stem}.{ending}"));
        Self {
            report: file("jsonl"),
            client: file("stderr"),
            browser: file("browser.jsonl"),
            issuer: file("issuer.stderr"),
            demo: file("demo.stderr"),
            other: file("other.stderr"),
            store: file("store"),
        }
    }

    /// What an earlier run left must not be taken for this one's.
    pub fn clear(&self) -> Result<(), String> {
        for path in [&self.report, &self.client, &self.browser, &self.issuer, &self.store] {
            let gone = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
            match gone {
                Err(error) if path.exists() => return Err(format!("{}: {error}", path.display())),
                _ => {}
            }
        }
        Ok(())
    }

    /// Adds lines to the report.
    pub fn add(&self, lines: &str) -> Result<(), String> {
        let report = OpenOptions::new().create(true).append(true).open(&self.report);
        report
            .and_then(|mut report| report.write_all(lines.as_bytes()))
            .map_err(|error| format!("{}: {error}", self.report.display()))
    }
}
