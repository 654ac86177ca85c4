//! The one entry that takes the place of many, for other hosts' configurations; and the care that it is not read back.

use contexture_host::config::{Config, HostKind, ServerEntry, TransportSpec};
use serde_json::json;

/// What stands in another host's configuration for the gateway at this URL.
pub(crate) fn by_url(name: &str, url: &str) -> String {
    json!({ "mcpServers": { name: { "type": "http", "url": url } } }).to_string()
}

/// What stands there for a gateway that is started with these arguments.
pub(crate) fn by_command(name: &str, arguments: &[String]) -> String {
    json!({ "mcpServers": { name: { "command": program(), "args": arguments } } }).to_string()
}

pub(crate) fn program() -> String {
    let own = std::env::current_exe().ok();
    own.and_then(|path| path.to_str().map(str::to_owned)).unwrap_or_else(|| "contexture".to_owned())
}

/// Takes out entries of other hosts that are ourselves: a host that was already told to start us would have us start us, and
/// so on without end. Gives their names.
pub(crate) fn without_ourselves(config: &mut Config, listen: Option<&str>) -> Vec<String> {
    let is_us = |entry: &ServerEntry| entry.origin.host != HostKind::Contexture && starts_us(entry, listen);
    let names = config.servers.iter().filter(|entry| is_us(entry)).map(|entry| entry.name.clone()).collect();
    config.servers.retain(|entry| !is_us(entry));
    names
}

fn starts_us(entry: &ServerEntry, listen: Option<&str>) -> bool {
    match &entry.transport {
        TransportSpec::Stdio { command, args, .. } => {
            let name = std::path::Path::new(command).file_stem().and_then(|name| name.to_str());
            let is_ours = name == Some("contexture") || *command == program();
            is_ours && args.first().is_some_and(|verb| verb == "run")
        }
        TransportSpec::Http { url, .. } => listen.is_some_and(|address| {
            let rest = url.strip_prefix("http://").unwrap_or_default();
            rest.strip_prefix(address).is_some_and(|path| path.is_empty() || path.starts_with('/'))
        }),
    }
}

#[cfg(test)]
mod tests {
    use contexture_host::config::Origin;

    use super::*;

    fn stdio(name: &str, command: &str, args: &[&str], host: HostKind) -> ServerEntry {
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        let transport =
            TransportSpec::Stdio { command: command.to_owned(), args, env: Default::default(), cwd: None };
        let mut origin = Origin::command_line();
        origin.host = host;
        ServerEntry::new(name, transport, origin)
    }

    #[test]
    fn what_would_start_us_again_is_taken_out() {
        let url = TransportSpec::Http {
            url: "http://127.0.0.1:8000/mcp".to_owned(),
            headers: Vec::new(),
            sse: false,
            socket: None,
        };
        let mut origin = Origin::command_line();
        origin.host = HostKind::Cursor;
        let mut config = Config::new(vec![
            stdio("gate", "/usr/bin/contexture", &["run", "--from", "vscode"], HostKind::VsCode),
            stdio("demo", "/usr/bin/contexture", &["demo"], HostKind::VsCode),
            // Whoever writes our own file means it.
            stdio("other", "contexture", &["run", "--config", "other.json"], HostKind::Contexture),
            ServerEntry::new("here", url, origin),
        ]);
        assert_eq!(without_ourselves(&mut config, Some("127.0.0.1:8000")), ["gate", "here"]);
        let left: Vec<_> = config.servers.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(left, ["demo", "other"]);
    }
}
