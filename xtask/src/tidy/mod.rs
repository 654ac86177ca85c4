//! `cargo xtask tidy`: the design's invariants and the house rules, checked.
//!
//! Every rule reports all that it finds, as `file:line: what to do`; one run shows everything. Rules judge
//! text, so they are exact about what they say and silent about what they cannot know; the compiler and
//! clippy hold what they can hold, and nothing here repeats them except where an `allow` could undo it.

mod allowed;
mod boundaries;
mod coverage;
mod dependencies;
mod imports;
mod layout;
mod leaks;
mod licence;
mod source;
mod words;

use crate::workspace;
use source::Source;

/// One thing to put right.
#[derive(Debug)]
pub struct Finding {
    /// The rule's name, as `xtask/allowed.txt` uses it.
    pub rule: &'static str,
    /// The file, relative to the root.
    pub path: String,
    /// 1-based; 0 for the file as a whole.
    pub line: usize,
    /// What is wrong and what to do.
    pub message: String,
}

impl Finding {
    fn new(rule: &'static str, path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { rule, path: path.to_owned(), line, message: message.into() }
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.path)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        write!(f, ": [{}] {}", self.rule, self.message)
    }
}

/// Runs every rule; an error if anything was found.
pub fn run(args: &[String]) -> Result<(), String> {
    let mut list_uncovered = false;
    for arg in args {
        match arg.as_str() {
            "--uncovered" => list_uncovered = true,
            other => return Err(format!("tidy does not know `{other}`")),
        }
    }
    let root = workspace::root();
    let files = workspace::files(&root)?;
    let sources = Source::all(&files);

    let mut findings = Vec::new();
    findings.extend(sources.iter().flat_map(layout::check));
    findings.extend(sources.iter().flat_map(boundaries::check));
    findings.extend(sources.iter().flat_map(words::check));
    findings.extend(leaks::check(&files, &leaks::secrets(&root)));
    let mut findings = allowed::apply(&files, findings);
    findings.extend(dependencies::check(&files));
    findings.extend(coverage::check(&files, &sources, list_uncovered));

    if findings.is_empty() {
        println!("tidy: {} files, nothing to put right", files.len());
        return Ok(());
    }
    println!();
    findings.iter().for_each(|finding| println!("{finding}"));
    Err(format!("{} things to put right (listed above)", findings.len()))
}
