//! From words on the command line to servers, and what is wrong with the files on the way.
//!
//! Starts nothing. What a project brings is shown and left alone until it is trusted.

use std::path::{Path, PathBuf};
use std::time::Duration;

use contexture_host::config::{
    Concern, Config, Fault, HostKind, ServerEntry, Severity, Sources, Standing, TransportSpec, load, near,
};

use super::report::Report;
use super::secrets;
use super::step::{CONFIGURED, Step};
use crate::exit::Failure;
use crate::options::{Doctoring, is_url};
use crate::place::Place;
use crate::recording::bare;
use crate::verbs::hint::quoted;

/// How long a server may be silent, where nothing else is said.
const PATIENCE: Duration = Duration::from_secs(30);
/// Keys under which hosts have servers.
const ROOTS: &[&str] = &["mcpServers", "servers", "mcp_servers"];
/// No configuration that people write is longer.
const LONGEST: u64 = 4 << 20;

/// A server to look at, and what was found on the way to it. Without a place the walk is over.
pub(super) struct Patient {
    pub(super) report: Report,
    pub(super) place: Option<Place>,
    pub(super) patience: Duration,
}

impl Patient {
    fn new(report: Report, place: Option<Place>, options: &Doctoring) -> Self {
        let configured = match &place {
            Some(Place::Configured(entry)) => entry.startup_time,
            _ => PATIENCE,
        };
        Self { report, place, patience: options.target.timeout.unwrap_or(configured) }
    }
}

/// All servers that are meant.
pub(super) fn patients(options: &Doctoring) -> Result<Vec<Patient>, Failure> {
    if let Some(place) = options.target.commanded()? {
        options.words().end()?;
        options.target.fits(&place)?;
        let name = options.target.command.first().map(|word| word.to_string_lossy().into_owned());
        let name = shown(&name.unwrap_or_default());
        return Ok(vec![Patient::new(Report::new(name), Some(place), options)]);
    }
    let Some(word) = &options.server else { return all(options, &options.target.files) };
    match Place::in_file(word) {
        Some((path, None)) => all(options, &[path.to_owned()]),
        Some((path, Some(name))) => Ok(vec![named(name, &[path.to_owned()], options)?]),
        None => Ok(vec![named(word, &options.target.files, options)?]),
    }
}

/// For people: an address without its query, which may hold a secret; of a path, the file.
fn shown(word: &str) -> String {
    if is_url(word) {
        return bare(word);
    }
    let file = Path::new(word).file_name().map(|file| file.to_string_lossy().into_owned());
    file.unwrap_or_else(|| word.to_owned())
}

/// One server, by whatever it is called.
fn named(word: &str, files: &[PathBuf], options: &Doctoring) -> Result<Patient, Failure> {
    let mut report = Report::new(shown(word));
    let place = match Place::find(Some(word), files) {
        Ok(place) => place,
        Err(failure) => {
            unfound(&mut report, word, files, &failure);
            return Ok(Patient::new(report, None, options));
        }
    };
    options.target.fits(&place)?;
    let Place::Configured(entry) = &place else { return Ok(Patient::new(report, Some(place), options)) };
    let faults = load(&sources(files, options)).map(|config| config.faults).unwrap_or_default();
    described(&mut report, entry, &faults);
    let may = standing(&mut report, entry);
    Ok(Patient::new(report, may.map(|()| place), options))
}

/// Everything in these files, or where configurations are.
fn all(options: &Doctoring, files: &[PathBuf]) -> Result<Vec<Patient>, Failure> {
    let sources = sources(files, options);
    let mut whole = Report::new("configuration");
    whole.plan(&CONFIGURED[..3]);
    let config = match load(&sources) {
        Ok(config) => config,
        Err(error) => {
            faulty(&mut whole, &error.faults);
            return Ok(vec![Patient::new(whole, None, options)]);
        }
    };
    let mut patients = Vec::new();
    if has_general_faults(&mut whole, &config) {
        patients.push(Patient::new(whole, None, options));
    }
    let mut broken: Vec<&str> = Vec::new();
    for fault in config.faults.iter().filter(|fault| fault.severity == Severity::Error) {
        let Some(name) = fault.server.as_deref().filter(|name| !broken.contains(name)) else { continue };
        if config.server(name).is_none() {
            broken.push(name);
            let mut report = Report::new(name);
            report.plan(CONFIGURED);
            faulty(&mut report, &of_server(&config.faults, name));
            patients.push(Patient::new(report, None, options));
        }
    }
    for entry in &config.servers {
        let mut report = Report::new(&entry.name);
        described(&mut report, entry, &config.faults);
        let place = match &entry.standing {
            Standing::Enabled => standing(&mut report, entry).map(|()| entry),
            Standing::Disabled => {
                report.leave(Step::Standing, "it is disabled, and was left alone");
                None
            }
            Standing::Held { why } => {
                report.leave(Step::Standing, format!("it was not started: {why}"));
                None
            }
        };
        let place = place.map(|entry| Place::Configured(Box::new(entry.clone())));
        patients.push(Patient::new(report, place, options));
    }
    if patients.is_empty() {
        return Err(nothing(&config));
    }
    Ok(patients)
}

fn nothing(config: &Config) -> Failure {
    let read: Vec<String> = config.files.iter().map(|file| file.display().to_string()).collect();
    Failure::usage("no server is configured").hint(Some(format!(
        "looked in {}; --from HOST looks at those of other hosts, and `contexture doctor demo` at the built-in one",
        read.join(", ")
    )))
}

fn sources(files: &[PathBuf], options: &Doctoring) -> Sources {
    let mut sources = Sources::of_process();
    sources.files = files.to_vec();
    sources.import = options.from.iter().flat_map(|hosts| hosts.0.iter().copied()).collect();
    sources
}

/// An entry that was found, and what is odd about it.
fn described(report: &mut Report, entry: &ServerEntry, faults: &[Fault]) {
    report.plan(CONFIGURED);
    report.alias = Some(entry.name.clone());
    report.passed(Step::File, entry.origin.file.display().to_string());
    report.passed(Step::Syntax, "it can");
    let line = entry.origin.line.map(|line| format!("line {line}: ")).unwrap_or_default();
    let how = match &entry.transport {
        TransportSpec::Stdio { command, .. } => format!("starts {command}"),
        TransportSpec::Http { url, .. } => format!("at {}", shown(url)),
    };
    let odd: Vec<Fault> = of_server(faults, &entry.name);
    if odd.is_empty() {
        report.passed(Step::Entry, format!("{line}{how}"));
    } else {
        report.warn(Step::Entry, format!("{line}{how}"), "see whether this was meant");
        report.details(odd.iter().map(ToString::to_string));
    }
    report.passed(Step::Variables, "all of them");
}

fn of_server(faults: &[Fault], name: &str) -> Vec<Fault> {
    faults.iter().filter(|fault| fault.server.as_deref() == Some(name)).cloned().collect()
}

/// Whether it may be started; a person who names it wants to know why not.
fn standing(report: &mut Report, entry: &ServerEntry) -> Option<()> {
    let name = quoted(&entry.name);
    match &entry.standing {
        Standing::Enabled => report.passed(Step::Standing, "it may"),
        Standing::Disabled => {
            let seen = format!("it is disabled in {}", entry.origin.file.display());
            return report.fail(Step::Standing, seen, format!("contexture enable {name}"));
        }
        Standing::Held { why } => {
            let next = format!("contexture trust {}", quoted(&entry.origin.file.display().to_string()));
            return report.fail(Step::Standing, format!("it is held back: {why}"), next);
        }
    }
    secrets::look(report, entry);
    Some(())
}

/// A name that led nowhere.
fn unfound(report: &mut Report, word: &str, files: &[PathBuf], failure: &Failure) {
    let (message, hint) = failure.parts();
    let mut sources = Sources::of_process();
    sources.files = files.to_vec();
    let config = match load(&sources) {
        Ok(config) => config,
        Err(error) => {
            report.plan(CONFIGURED);
            return faulty(report, &error.faults);
        }
    };
    let mut own = of_server(&config.faults, word);
    if files.is_empty() && own.is_empty() {
        own = elsewhere(word);
    }
    if own.iter().any(|fault| fault.severity == Severity::Error) {
        report.plan(CONFIGURED);
        return faulty(report, &own);
    }
    if word.contains(['/', std::path::MAIN_SEPARATOR]) {
        report.fail::<()>(Step::Command, message, hint.unwrap_or("correct the path"));
        return;
    }
    report.plan(CONFIGURED);
    let read: Vec<String> =
        config.files.iter().filter(|file| file.is_file()).map(|file| file.display().to_string()).collect();
    let seen =
        if read.is_empty() { "there is none, here or of the user's own".to_owned() } else { read.join(", ") };
    report.passed(Step::File, seen);
    let mistaken = config.files.iter().find_map(|file| mistaken_key(file));
    match mistaken {
        Some((key, meant)) => {
            let seen = format!("{message}, and the file has a key {key:?} that nobody reads");
            report.fail::<()>(Step::Entry, seen, format!("write {meant:?} for {key:?}"));
        }
        None => {
            let next = hint.map_or_else(|| format!("contexture add {}", quoted(word)), str::to_owned);
            report.fail::<()>(Step::Entry, message, next);
        }
    }
}

/// What is wrong with an entry of another host's: of the one that is named, or of whichever has it.
fn elsewhere(word: &str) -> Vec<Fault> {
    let (hosts, name) = match word.split_once(':') {
        Some(("claude", name)) => (vec![HostKind::ClaudeDesktop, HostKind::ClaudeCode], name),
        Some((host, name)) => (HostKind::from_word(host).into_iter().collect(), name),
        None => (HostKind::ALL[1..].to_vec(), word),
    };
    let is_named = word.contains(':');
    let faults = hosts.into_iter().flat_map(|host| {
        let mut sources = Sources::of_process();
        sources.import = vec![host];
        load(&sources).map(|config| config.faults).unwrap_or_default()
    });
    // A file that cannot be read has nobody's name on it.
    let is_meant = |fault: &Fault| match &fault.server {
        Some(server) => server == name,
        None => is_named && matches!(fault.concern, Concern::File | Concern::Syntax),
    };
    faults.filter(is_meant).collect()
}

/// A key at the top of a file that was meant for one of those that have servers.
fn mistaken_key(file: &Path) -> Option<(String, &'static str)> {
    std::fs::metadata(file).ok().filter(|about| about.is_file() && about.len() <= LONGEST)?;
    let text = std::fs::read_to_string(file).ok()?;
    let members: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&text).ok()?;
    if members.keys().any(|key| ROOTS.contains(&key.as_str())) {
        return None;
    }
    members.keys().find_map(|key| {
        let meant = near(key, ROOTS.iter().copied()).into_iter().next()?;
        let meant = ROOTS.iter().find(|root| **root == meant)?;
        Some((key.clone(), *meant))
    })
}

/// What concerns no server alone. Says whether there is any of it.
fn has_general_faults(report: &mut Report, config: &Config) -> bool {
    let (errors, notices): (Vec<Fault>, Vec<Fault>) = config
        .faults
        .iter()
        .filter(|fault| fault.server.is_none())
        .cloned()
        .partition(|fault| fault.severity == Severity::Error);
    if !errors.is_empty() {
        faulty(report, &errors);
    }
    if !notices.is_empty() {
        report.warn(Step::Entry, "something in the files is left out", "see whether this was meant");
        report.details(notices.iter().map(ToString::to_string));
    }
    !report.findings.is_empty()
}

/// Faults, at the step that each belongs to; what comes before the first of them is well.
fn faulty(report: &mut Report, faults: &[Fault]) {
    let Some(first) = faults.iter().find(|fault| fault.severity == Severity::Error) else { return };
    let step = |fault: &Fault| match fault.concern {
        Concern::File => Step::File,
        Concern::Syntax => Step::Syntax,
        Concern::Variable => Step::Variables,
        _ => Step::Entry,
    };
    for before in CONFIGURED.iter().take_while(|before| **before != step(first)) {
        let seen = if *before == Step::File { first.file.display().to_string() } else { "well".to_owned() };
        report.passed(*before, seen);
    }
    let next = match first.concern {
        Concern::File => "write it: `contexture add` does; or correct its name",
        Concern::Syntax => {
            "correct it there: comments and trailing commas are fine, everything else must be JSON (TOML for Codex)"
        }
        Concern::Variable => {
            "set the variable where this program is started, or write a default: ${NAME:-default}"
        }
        _ => "correct it there; docs/configuration.md and `contexture config schema` have every key",
    };
    report.fail::<()>(step(first), first.to_string(), next);
    report.details(faults.iter().filter(|fault| *fault != first).map(ToString::to_string));
}
