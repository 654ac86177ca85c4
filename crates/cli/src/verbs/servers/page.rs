//! A change to a file as people see it: what is different, the question whether that is meant, and what came of it.

use std::path::Path;

use contexture_host::config::edit::{Document, Line, Saved};
use contexture_host::config::{Fault, Sources};
use serde_json::{Value, json};

use super::super::print;
use crate::exit::Failure;
use crate::options::{Format, Writing};
use crate::terminal::style::Style;
use crate::terminal::text::safe_line;
use crate::terminal::{note, person};

/// A change that is ready to be written.
pub(super) struct Change<'a> {
    pub(super) document: &'a Document,
    pub(super) writing: &'a Writing,
    /// What was done to them: `added`, `removed`.
    pub(super) done: &'static str,
    pub(super) servers: Vec<String>,
    /// Servers that it was not done to, and why.
    pub(super) skipped: Vec<(String, String)>,
    /// What the entry of a server does not say any more, or says in a way that is worth a word.
    pub(super) notes: Vec<(String, String)>,
}

impl Change<'_> {
    /// Writes it, after asking if that is wanted. Whether it was written.
    pub(super) fn finish(self, ask: bool) -> Result<bool, Failure> {
        let Self { document, writing, .. } = &self;
        let is_text = writing.format == Format::Text;
        for (name, what) in self.skipped.iter().chain(&self.notes) {
            tell(is_text, &format!("{name}: {what}"));
        }
        for fault in document.notices() {
            tell(is_text, &fault.to_string());
        }
        let diff = document.diff();
        if writing.dry_run || !document.is_changed() {
            return self.report(None, &diff).map(|()| false);
        }
        if ask {
            self.ask(&diff)?;
        }
        let saved = document.save().map_err(|fault| failure(&fault))?;
        self.report(Some(&saved), &diff).map(|()| true)
    }

    fn ask(&self, diff: &[Line]) -> Result<(), Failure> {
        let file = home(&self.document.file().path);
        if person::is_there(false) {
            note(&format!("{}:", safe_line(&file)));
            rendered(diff, Style::of_stderr()).iter().for_each(|line| note(line));
        }
        match person::agrees(&format!("Write this to {}?", safe_line(&file)))? {
            Some(true) => Ok(()),
            Some(false) => Err(Failure::usage(format!("{file} is left as it was"))),
            None => {
                let hint = "--dry-run shows what would change, --yes writes it";
                Err(Failure::usage("nobody is here to agree").hint(Some(hint.to_owned())))
            }
        }
    }

    fn report(&self, saved: Option<&Saved>, diff: &[Line]) -> Result<(), Failure> {
        let pairs = |pairs: &[(String, String)]| -> Vec<Value> {
            pairs.iter().map(|(name, what)| json!({ "server": name, "what": what })).collect()
        };
        let report = json!({
            "file": self.document.file().path,
            "changed": saved.is_some(),
            "backup": saved.and_then(|saved| saved.backup.as_ref()),
            (self.done): self.servers,
            "skipped": pairs(&self.skipped),
            "notes": pairs(&self.notes),
            "diff": rendered(diff, Style::plain()),
        });
        print(self.writing.format, &report, || self.text(saved, diff))
    }

    fn text(&self, saved: Option<&Saved>, diff: &[Line]) -> String {
        let file = safe_line(&home(&self.document.file().path));
        if !self.document.is_changed() {
            return format!("nothing to change in {file}\n");
        }
        let Some(saved) = saved else {
            let lines = rendered(diff, Style::of_stdout());
            return format!("{file}:\n{}\n", lines.join("\n"));
        };
        let names: Vec<String> = self.servers.iter().map(|name| safe_line(name)).collect();
        let backup = saved
            .backup
            .as_deref()
            .map(|backup| format!("; what was there is in {}", safe_line(&home(backup))));
        format!("{} {} in {file}{}\n", self.done, names.join(", "), backup.unwrap_or_default())
    }
}

fn tell(is_text: bool, what: &str) {
    // Programs get it with the result.
    if is_text {
        note(&format!("contexture: note: {}", safe_line(what)));
    }
}

fn rendered(diff: &[Line], style: Style) -> Vec<String> {
    diff.iter()
        .map(|line| match line {
            Line::At(old, new) => style.dim(&format!("@@ -{old} +{new} @@")),
            Line::Same(text) => format!(" {}", safe_line(text)),
            Line::Gone(text) => style.red(&format!("-{}", safe_line(text))),
            Line::New(text) => style.green(&format!("+{}", safe_line(text))),
        })
        .collect()
}

/// A path as people say it.
pub(super) fn home(path: &Path) -> String {
    let home = Sources::of_process().home;
    match path.strip_prefix(&home) {
        Ok(rest) if !home.as_os_str().is_empty() => Path::new("~").join(rest).display().to_string(),
        _ => path.display().to_string(),
    }
}

pub(super) fn failure(fault: &Fault) -> Failure {
    Failure::usage(fault.to_string())
}
