//! `list` and `get`: what is configured, where, and whether it may be started. Values of variables and headers are not shown.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use contexture_host::config::edit::Document;
use contexture_host::config::{Config, ConfigFile, HostKind, ServerEntry, Severity, Sources, load};
use serde_json::{Value, json};

use super::super::config::{described, kind, place, state};
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
    let mut servers = Vec::new();
    for host in hosts {
        let config = configured(host)?;
        for fault in config.faults.iter().filter(|fault| fault.severity == Severity::Error) {
            note(&format!("contexture: error: {}", safe_line(&fault.to_string())));
        }
        servers.extend(config.servers.into_iter().filter(|entry| entry.origin.host == host));
    }
    let mut places = Places::default();
    let rows: Vec<Value> = servers
        .iter()
        .map(|server| {
            let mut row = described(server);
            row["place"] = places.of(server).into();
            row
        })
        .collect();
    print(overview.format, &rows, || table(&servers, &rows))
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

/// Places as they are written, read once for each file.
#[derive(Default)]
struct Places(HashMap<PathBuf, BTreeMap<String, Value>>);

impl Places {
    fn of(&mut self, server: &ServerEntry) -> String {
        let shown = self.0.entry(server.origin.file.clone()).or_insert_with(|| shown(server));
        let entry = shown.get(&server.name);
        let text = |key: &str| entry?.get(key)?.as_str();
        if let Some(command) = text("command") {
            let args = entry.and_then(|entry| entry.get("args")?.as_array()).into_iter().flatten();
            return [command].into_iter().chain(args.filter_map(Value::as_str)).collect::<Vec<_>>().join(" ");
        }
        let url = ["url", "httpUrl", "serverUrl"].into_iter().find_map(text);
        url.map_or_else(|| place(server), str::to_owned)
    }
}

fn shown(server: &ServerEntry) -> BTreeMap<String, Value> {
    let mut file = ConfigFile::named(&server.origin.file);
    (file.host, file.scope) = (server.origin.host, server.origin.scope);
    Document::open(&Sources::of_process(), &file).map(|document| document.shown()).unwrap_or_default()
}

fn table(servers: &[ServerEntry], rows: &[Value]) -> String {
    if servers.is_empty() {
        return "no server is configured: `contexture add NAME …` remembers one\n".to_owned();
    }
    let cells: Vec<[String; 5]> = servers
        .iter()
        .zip(rows)
        .map(|(server, row)| {
            let place = row["place"].as_str().unwrap_or_default();
            [
                cut(&safe_line(&server.name), NAME),
                state(server).to_owned(),
                kind(server).to_owned(),
                cut(&safe_line(place), PLACE),
                format!("{} ({})", server.origin.host, safe_line(&home(&server.origin.file))),
            ]
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
    let style = Style::of_stdout();
    let head = format!("{}\n", style.dim(&line(&titles)));
    head + &cells.iter().map(|row| format!("{}\n", line(row))).collect::<String>()
}

pub(in crate::verbs) fn get(showing: &Showing) -> Result<(), Failure> {
    let sources = Sources::of_process();
    let (document, name) = find(&sources, &showing.name, false)?;
    let file = document.file();
    let config = configured(file.host)?;
    let entry = document.shown().remove(&name).unwrap_or_default();
    let line = document.entry(&name).map(|(_, line)| line);
    let loaded = config.server(&name).filter(|server| server.origin.file == file.path);
    let faults: Vec<String> = config
        .faults
        .iter()
        .filter(|fault| fault.server.as_deref() == Some(&name))
        .map(ToString::to_string)
        .collect();
    let mut report = loaded.map_or_else(|| json!({ "name": name, "state": "unusable" }), described);
    report["file"] = json!(file.path);
    report["line"] = json!(line);
    report["entry"] = entry.clone();
    report["faults"] = json!(faults);
    print(showing.format, &report, || {
        let place = format!("{}:{}", home(&file.path), line.unwrap_or_default());
        let mut rows = vec![
            ("name".to_owned(), name.clone()),
            ("state".to_owned(), report["state"].as_str().unwrap_or_default().to_owned()),
            ("from".to_owned(), format!("{} ({place})", file.host)),
        ];
        rows.extend(report["why"].as_str().map(|why| ("why".to_owned(), why.to_owned())));
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
