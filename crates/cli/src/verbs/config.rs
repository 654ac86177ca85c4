//! `config`: what would be used, and what is wrong with it. Starts nothing, and shows no value of a variable or header.

use contexture_host::config::{
    Config, ServerEntry, Severity, Sources, Standing, TransportSpec, load, schema,
};
use serde_json::{Value, json};

use super::print;
use crate::exit::Failure;
use crate::options::{ConfigVerb, Policies};
use crate::recording::bare;
use crate::terminal;
use crate::terminal::text::{cut, safe_line};

/// Of the place of a server, so much is shown.
const PLACE: usize = 60;

pub(super) fn config(verb: &ConfigVerb) -> Result<(), Failure> {
    match verb {
        ConfigVerb::Show(policies) => show(policies),
        ConfigVerb::Schema => {
            terminal::print(schema().as_bytes())?;
            Ok(())
        }
    }
}

fn show(policies: &Policies) -> Result<(), Failure> {
    let mut sources = Sources::of_process();
    sources.files = policies.files.clone();
    sources.import = policies.from.iter().flat_map(|hosts| hosts.0.iter().copied()).collect();
    let config = load(&sources).map_err(|error| Failure::usage(error.to_string()))?;
    print(policies.format, &report(&config), || text(&config))
}

fn report(config: &Config) -> Value {
    let servers: Vec<Value> = config.servers.iter().map(described).collect();
    let faults: Vec<Value> = config
        .faults
        .iter()
        .map(|fault| {
            json!({
                "severity": if fault.severity == Severity::Error { "error" } else { "notice" },
                "file": fault.file,
                "line": fault.line,
                "server": fault.server,
                "what": fault.what,
            })
        })
        .collect();
    let files: Vec<Value> =
        config.files.iter().map(|file| json!({ "file": file, "found": file.is_file() })).collect();
    json!({ "name": config.name, "files": files, "servers": servers, "faults": faults })
}

/// A server in a few facts, none of them secret.
pub(super) fn described(server: &ServerEntry) -> Value {
    json!({
        "name": server.name,
        "from": server.full_name(),
        "file": server.origin.file,
        "line": server.origin.line,
        "transport": kind(server),
        "place": place(server),
        "state": state(server),
        "why": match &server.standing { Standing::Held { why } => Some(why), _ => None },
    })
}

fn text(config: &Config) -> String {
    let mut lines = Vec::new();
    for file in &config.files {
        let missing = if file.is_file() { "" } else { " (not there)" };
        lines.push(format!("read {}{missing}", safe_line(&file.display().to_string())));
    }
    for server in &config.servers {
        let place = cut(&safe_line(&place(server)), PLACE);
        lines.push(format!(
            "{:<9} {:<20} {:<5} {place}",
            state(server),
            safe_line(&server.name),
            kind(server)
        ));
    }
    for fault in &config.faults {
        let word = if fault.severity == Severity::Error { "error" } else { "notice" };
        lines.push(format!("{word}: {}", safe_line(&fault.to_string())));
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn state(server: &ServerEntry) -> &'static str {
    match server.standing {
        Standing::Enabled => "enabled",
        Standing::Disabled => "disabled",
        Standing::Held { .. } => "held",
    }
}

fn kind(server: &ServerEntry) -> &'static str {
    match &server.transport {
        TransportSpec::Stdio { .. } => "stdio",
        TransportSpec::Http { sse: true, .. } => "sse",
        TransportSpec::Http { .. } => "http",
    }
}

/// The program, or the address as far as it is nobody's secret.
fn place(server: &ServerEntry) -> String {
    match &server.transport {
        TransportSpec::Stdio { command, .. } => command.clone(),
        TransportSpec::Http { url, .. } => bare(url),
    }
}
