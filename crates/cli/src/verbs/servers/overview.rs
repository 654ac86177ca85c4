//! `list` and `get`: what is configured, where, and whether it may be started. Values of variables and headers are not shown.

use std::path::{Path, PathBuf};

use contexture_host::config::edit::Document;
use contexture_host::config::{Config, HostKind, ServerEntry, Severity, Sources, load};
use serde_json::{Value, json};

use super::super::config::described;
use super::super::print;
use super::find::find;
use super::page::home;
use crate::exit::Failure;
use crate::options::{Overview, Showing};
use crate::terminal::note;
use crate::terminal::style::Style;
use crate::terminal::text::{cut, safe_line};

/// Of a server's name and place, so much is shown.
const NAME: usize = 32;
const PLACE: usize = 60;

pub(in crate::verbs) fn list(overview: &Overview) -> Result<(), Failure> {
    let hosts: Vec<HostKind> = overview.hosts.iter().flat_map(|hosts| hosts.0.iter().copied()).collect();
    let hosts = if hosts.is_empty() { HostKind::ALL.to_vec() } else { hosts };
    let mut rows = Vec::new();
    for host in hosts {
        let config = configured(host)?;
        for fault in config.faults.iter().filter(|fault| fault.severity == Severity::Error) {
            note(&format!("contexture: error: {}", safe_line(&fault.to_string())));
        }
        rows.extend(of_host(host, &config));
    }
    print(overview.format, &rows, || table(&rows))
}

/// All servers in the files of one host; also those that are broken, or hidden by others of their name.
fn of_host(host: HostKind, config: &Config) -> Vec<Value> {
    let sources = Sources::of_process();
    let (mut rows, mut seen) = (Vec::new(), Vec::new());
    for file in sources.places(host).filter(|file| file.path.is_file()) {
        // At home, the project's file and the user's can be one. What is wrong with a file has been said.
        let Ok(document) = Document::open(&sources, &file) else { continue };
        if seen.contains(&file.path) {
            continue;
        }
        let shown = document.shown();
        for name in document.servers() {
            let mut row = described_in(config, &document, name);
            if let Some(place) = shown.get(name).and_then(place_in) {
                row["place"] = place.into();
            }
            rows.push(row);
        }
        seen.push(file.path);
    }
    rows
}

fn described_in(config: &Config, document: &Document, name: &str) -> Value {
    let file = document.file();
    let is_here = |server: &&ServerEntry| server.name == name && server.origin.file == file.path;
    let fault =
        config.faults.iter().find(|fault| fault.server.as_deref() == Some(name) && fault.file == file.path);
    let is_broken = fault.is_some_and(|fault| fault.severity == Severity::Error);
    let mut row = if let Some(server) = config.servers.iter().find(is_here) {
        described(server)
    } else if let Some(server) = alone(file.host, name).filter(|server| !is_broken && is_here(&server)) {
        described(&server)
    } else {
        json!({
            "name": name,
            "from": format!("{}:{name}", file.host),
            "state": if is_broken { "broken" } else { "hidden" },
            "why": fault.map(|fault| fault.what.as_str()),
        })
    };
    row["file"] = json!(file.path);
    row["line"] = json!(document.entry(name).map(|(_, line)| line));
    row
}

/// A server of another host, though one of ours has its name.
fn alone(host: HostKind, name: &str) -> Option<ServerEntry> {
    let mut sources = Sources::of_process();
    sources.import = vec![host];
    sources.only = vec![format!("{host}:{name}")];
    load(&sources).ok()?.servers.pop()
}

/// The command or the address, as it is written.
fn place_in(entry: &Value) -> Option<String> {
    let text = |key: &str| entry.get(key)?.as_str();
    if let Some(command) = text("command") {
        let args = entry.get("args").and_then(Value::as_array).into_iter().flatten();
        return Some(
            [command].into_iter().chain(args.filter_map(Value::as_str)).collect::<Vec<_>>().join(" "),
        );
    }
    ["url", "httpUrl", "serverUrl"].into_iter().find_map(text).map(str::to_owned)
}

/// What one host knows. Of ours, what is wrong ends it; others may be as broken as they like.
fn configured(host: HostKind) -> Result<Config, Failure> {
    let mut sources = Sources::of_process();
    if host != HostKind::Contexture {
        sources.import = vec![host];
    }
    let mut config = load(&sources).map_err(|error| Failure::usage(error.to_string()))?;
    let others: Vec<PathBuf> = sources.places(host).map(|file| file.path).collect();
    config.faults.retain(|fault| others.contains(&fault.file));
    Ok(config)
}

fn table(rows: &[Value]) -> String {
    if rows.is_empty() {
        return "no server is configured: `contexture add NAME …` remembers one\n".to_owned();
    }
    let cells: Vec<[String; 5]> = rows
        .iter()
        .map(|row| {
            let text = |key: &str| safe_line(row[key].as_str().unwrap_or("-"));
            let from = text("from");
            let host = from.split(':').next().unwrap_or_default();
            let file = safe_line(&home(Path::new(row["file"].as_str().unwrap_or_default())));
            let place = cut(&text("place"), PLACE);
            [cut(&text("name"), NAME), text("state"), text("transport"), place, format!("{host} ({file})")]
        })
        .collect();
    let titles = ["NAME", "STATE", "TRANSPORT", "PLACE", "FROM"].map(str::to_owned);
    let width = |column: usize| {
        let all = cells.iter().chain([&titles]).map(|row| row[column].chars().count());
        all.max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..titles.len()).map(width).collect();
    let line = |row: &[String; 5]| {
        let padded: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        padded.join("  ").trim_end().to_owned()
    };
    let head = format!("{}\n", Style::of_stdout().dim(&line(&titles)));
    head + &cells.iter().map(|row| format!("{}\n", line(row))).collect::<String>()
}

pub(in crate::verbs) fn get(showing: &Showing) -> Result<(), Failure> {
    let sources = Sources::of_process();
    let (document, name) = find(&sources, &showing.name, false)?;
    let file = document.file();
    let config = configured(file.host)?;
    let entry = document.shown().remove(&name).unwrap_or_default();
    let faults: Vec<String> = config
        .faults
        .iter()
        .filter(|fault| fault.server.as_deref() == Some(&name) && fault.file == file.path)
        .map(ToString::to_string)
        .collect();
    let mut report = described_in(&config, &document, &name);
    if let Some(place) = place_in(&entry) {
        // As it was written: what is filled in may be a secret.
        report["place"] = place.into();
    }
    report["entry"] = entry.clone();
    report["faults"] = json!(faults);
    print(showing.format, &report, || {
        let place = format!("{}:{}", home(&file.path), report["line"]);
        let mut rows = vec![
            ("name".to_owned(), name.clone()),
            ("state".to_owned(), report["state"].as_str().unwrap_or_default().to_owned()),
            ("from".to_owned(), format!("{} ({place})", file.host)),
        ];
        let why = report["why"].as_str().filter(|_| faults.is_empty());
        rows.extend(why.map(|why| ("why".to_owned(), why.to_owned())));
        flatten("", &entry, &mut rows);
        rows.extend(faults.iter().map(|fault| ("wrong".to_owned(), fault.clone())));
        let width = rows.iter().map(|(key, _)| key.chars().count()).max().unwrap_or_default();
        rows.iter()
            .map(|(key, value)| format!("{:<width$}  {}\n", safe_line(key), safe_line(value)))
            .collect()
    })
}

/// One line for each thing that an entry says.
fn flatten(key: &str, value: &Value, rows: &mut Vec<(String, String)>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                let key = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
                flatten(&key, value, rows);
            }
        }
        Value::Array(values) if values.iter().all(Value::is_string) => {
            let words: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
            rows.push((key.to_owned(), words.join(" ")));
        }
        Value::String(text) => rows.push((key.to_owned(), text.clone())),
        other => rows.push((key.to_owned(), other.to_string())),
    }
}
