//! Expectations of a policy, as a table that can be kept beside it.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use contexture::model::{JsonObject, ToolAnnotations};
use contexture_host::config::Config;
use contexture_host::consent::{Case, Consent, Decision, Kind};
use serde::{Deserialize, Serialize};

use super::{principal, raw};
use crate::exit::Failure;
use crate::options::Format;
use crate::terminal::text::safe_line;
use crate::verbs::print;

/// Bytes of a table.
const BYTES: u64 = 4 * 1024 * 1024;

/// One expectation.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expectation {
    server: String,
    tool: Option<String>,
    prompt: Option<String>,
    resource: Option<String>,
    kind: Option<Kind>,
    arguments: Option<JsonObject>,
    principal: Option<String>,
    annotations: Option<ToolAnnotations>,
    /// Whether the server is trusted, if that is to be another than the configuration says.
    trusted: Option<bool>,
    expect: Decision,
}

/// What became of it.
#[derive(Serialize)]
struct Judged {
    number: usize,
    server: String,
    kind: Kind,
    name: String,
    expected: Decision,
    decision: Decision,
    because: String,
    holds: bool,
}

#[derive(Serialize)]
struct Report {
    passed: usize,
    failed: usize,
    cases: Vec<Judged>,
}

pub(super) fn test(file: &Path, config: &Config, consent: &Consent, format: Format) -> Result<(), Failure> {
    let mut cases = Vec::new();
    for (at, expected) in read(file)?.into_iter().enumerate() {
        cases.push(judge(at + 1, expected, config, consent)?);
    }
    let failed = cases.iter().filter(|case| !case.holds).count();
    let report = Report { passed: cases.len() - failed, failed, cases };
    print(format, &report, || report.cases.iter().map(Judged::line).collect())?;
    match failed {
        0 => Ok(()),
        _ => Err(Failure::tool(format!("{failed} of {} expectations do not hold", report.cases.len()))),
    }
}

fn read(file: &Path) -> Result<Vec<Expectation>, Failure> {
    let wrong = |error: &dyn std::fmt::Display| Failure::usage(format!("{}: {error}", file.display()));
    let mut text = String::new();
    let open = File::open(file).map_err(|error| wrong(&error))?;
    open.take(BYTES + 1).read_to_string(&mut text).map_err(|error| wrong(&error))?;
    if text.len() as u64 > BYTES {
        return Err(wrong(&"longer than 4 MiB"));
    }
    let table: Vec<Expectation> = serde_json::from_str(&text).map_err(|error| wrong(&error))?;
    // A table that says nothing would hold whatever the policy is.
    if table.is_empty() { Err(wrong(&"there is no expectation in it")) } else { Ok(table) }
}

fn judge(
    number: usize,
    expected: Expectation,
    config: &Config,
    consent: &Consent,
) -> Result<Judged, Failure> {
    let (kind, name) = about(number, &expected)?;
    let given = expected.arguments.as_ref().map(raw).transpose()?;
    let principal = principal(expected.principal.as_deref().unwrap_or("local"));
    let configured = config.server(&expected.server).is_some_and(|entry| entry.trusted);
    let explained = consent.explain(&Case {
        kind,
        server: &expected.server,
        trusted: expected.trusted.unwrap_or(configured),
        name: &name,
        principal: &principal,
        annotations: expected.annotations.as_ref(),
        arguments: given.as_deref(),
    });
    Ok(Judged {
        number,
        kind,
        name,
        expected: expected.expect,
        decision: explained.decision,
        holds: explained.decision == expected.expect,
        because: explained.because,
        server: expected.server,
    })
}

/// What the expectation is about: exactly one thing.
fn about(number: usize, expected: &Expectation) -> Result<(Kind, String), Failure> {
    let named = [
        (Kind::Tool, &expected.tool),
        (Kind::Prompt, &expected.prompt),
        (Kind::Resource, &expected.resource),
    ];
    let mut found: Vec<(Kind, String)> =
        named.into_iter().filter_map(|(kind, name)| Some((kind, name.clone()?))).collect();
    found.extend(expected.kind.map(|kind| (kind, String::new())));
    match (found.pop(), found.is_empty()) {
        (Some(only), true) => Ok(only),
        _ => Err(Failure::usage(format!(
            "expectation {number} needs exactly one of tool, prompt, resource and kind"
        ))),
    }
}

impl Judged {
    fn line(&self) -> String {
        let word = if self.holds { "ok    " } else { "FAILED" };
        let name = if self.name.is_empty() { self.kind.word() } else { &self.name };
        let what = format!("{} {}", safe_line(&self.server), safe_line(name));
        let expected = if self.holds { String::new() } else { format!(", not {}", self.expected) };
        format!(
            "{word} {:<3} {what}: {}{expected} ({})\n",
            self.number,
            self.decision,
            safe_line(&self.because)
        )
    }
}
