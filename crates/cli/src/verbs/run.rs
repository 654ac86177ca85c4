//! `run`: the servers that are configured, as one.
//!
//! Nothing is taken from another host's files unless that host is named, and nothing is ever written to them.

mod tell;

use std::path::Path;

use contexture_host::Host;
use contexture_host::config::{
    Config, ConfigError, ConfigFile, HostKind, Severity, Sources, Watcher, diff, discover, load,
};

use super::hint::quoted;
use crate::exit::Failure;
use crate::gateway::{Gateway, entry};
use crate::options::Running;
use crate::terminal::text::safe_line;
use crate::terminal::{consent, note, person};

/// What we propose to listen on.
const ADDRESS: &str = "127.0.0.1:8000";

pub(crate) async fn run(options: &Running) -> Result<(), Failure> {
    let sources = sources(options);
    if !is_configured(&sources) {
        return Err(nothing(&sources));
    }
    let (state, user) = (sources.state_folder(), sources.user_file());
    let (config, watcher) =
        read(sources, options.watch).map_err(|error| Failure::usage(error.to_string()))?;
    let config = prepared(config, options);
    if config.servers.is_empty() {
        return Err(empty(&config, &user));
    }
    let gateway = Gateway { face: &options.face, state: &state, person: consent::person(&options.face) };
    // Only what is named is read, if anything is.
    let own = options.files.is_empty().then_some(user);
    // Whoever starts us over a pipe is no person. Once we serve, our standard input is the client's alone.
    let is_seen = options.face.listen.is_some() || person::is_there(false);
    let first = config.clone();
    gateway
        .serve(config, |host, url| async move {
            if is_seen {
                tell::entry(&first, url.as_deref(), own.as_deref());
            }
            if let Some(watcher) = watcher {
                watch(watcher, first, &host, options).await;
            }
        })
        .await
}

fn sources(options: &Running) -> Sources {
    let mut sources = Sources::of_process();
    sources.files = options.files.clone();
    sources.import = options.from.iter().flat_map(|hosts| hosts.0.iter().copied()).collect();
    sources.only = options.only.clone();
    sources
}

fn read(sources: Sources, watched: bool) -> Result<(Config, Option<Watcher>), ConfigError> {
    if watched {
        return Watcher::new(sources).map(|(config, watcher)| (config, Some(watcher)));
    }
    Ok((load(&sources)?, None))
}

/// Whether there is anything that we were told to read.
fn is_configured(sources: &Sources) -> bool {
    let own = [sources.user_file(), sources.project_file()];
    !sources.files.is_empty() || !sources.import.is_empty() || own.iter().any(|file| file.is_file())
}

/// What the command line adds to a configuration, and what is said about it.
fn prepared(mut config: Config, options: &Running) -> Config {
    if let Some(grace) = options.face.grace {
        config.limits.drain_time = grace;
    }
    for name in entry::without_ourselves(&mut config, &options.face) {
        note(&format!("contexture: note: {} is this gateway; it is left out", safe_line(&name)));
    }
    tell::left_out(&config);
    config
}

/// Goes on with every new configuration, for ever.
async fn watch(mut watcher: Watcher, mut last: Config, host: &Host, options: &Running) {
    loop {
        let config = prepared(watcher.changed().await, options);
        let servers = tell::served(&config);
        if diff(&last, &config).is_empty() {
            // What is wrong with the files has been said; so it must be said what counts meanwhile.
            match config.faults.iter().any(|fault| fault.severity == Severity::Error) {
                true => tracing::warn!(servers, "the old configuration stays in force"),
                false => tracing::info!(servers, "nothing has changed in the configuration"),
            }
            continue;
        }
        match host.reload(config.clone()).await {
            Ok(()) => {
                tracing::info!(servers, "the configuration was read again");
                last = config;
            }
            Err(why) => tracing::error!(why, "the new configuration cannot be used; the old one stays"),
        }
    }
}

/// There is nothing of ours; what others have is shown, and what to do with it.
fn nothing(sources: &Sources) -> Failure {
    let found: Vec<ConfigFile> =
        discover(sources).into_iter().filter(|file| file.host != HostKind::Contexture).collect();
    let user = sources.user_file();
    let missing = format!("there is no contexture.json here, and no {}", user.display());
    if found.is_empty() {
        let hint = "--config FILE names one; contexture bridge serves a single server without any";
        return Failure::usage(missing).hint(Some(hint.to_owned()));
    }
    let mut lines = vec!["Found, and not touched:".to_owned()];
    let mut hosts: Vec<&str> = Vec::new();
    for file in &found {
        let servers = servers_of(sources, file);
        lines.push(format!("  {:<15} {} ({servers})", file.host.word(), file.path.display()));
        if !hosts.contains(&file.host.word()) {
            hosts.push(file.host.word());
        }
    }
    lines.push("All of these servers behind one address:".to_owned());
    lines.push(format!("  contexture run --from {} --listen {ADDRESS}", hosts.join(",")));
    lines.push("or as one server that a host starts:".to_owned());
    lines.push(format!("  contexture run --from {}", hosts.join(",")));
    Failure::usage(missing).hint(Some(lines.join("\n")))
}

/// How many servers are in a file, in words; or why nobody knows.
fn servers_of(sources: &Sources, file: &ConfigFile) -> String {
    let mut alone = sources.clone();
    alone.files = vec![file.path.clone()];
    match load(&alone) {
        Ok(config) => tell::counted(&config),
        Err(error) => {
            let why = error.faults.first().map(|fault| fault.what.as_str()).unwrap_or_default();
            format!("cannot be read: {}", safe_line(why))
        }
    }
}

/// Files were read, and no server is in them.
fn empty(config: &Config, user: &Path) -> Failure {
    let shown = |file: &Path| quoted(&file.display().to_string());
    let files: Vec<String> = config.files.iter().map(|file| shown(file)).collect();
    let hint =
        format!("looked at {}; servers can be put into {}, under \"servers\"", files.join(", "), shown(user));
    Failure::usage("no server is configured").hint(Some(hint))
}
