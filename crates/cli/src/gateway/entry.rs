//! The one entry that takes the place of many, in the words of every host's configuration; and the care that it is not read
//! back. Nothing is written into anybody's file.

use contexture_host::config::{Config, HostKind, ServerEntry, TransportSpec};
use serde_json::{Value, json};

use crate::options::Face;
use crate::terminal::text::safe_json;

/// How a host gets to the gateway.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Way<'a> {
    /// It listens here.
    Url(&'a str),
    /// The host starts it, with these arguments.
    Command(&'a [String]),
}

/// What stands in a host's configuration for the gateway, line by line. For no host in particular it is what most of them
/// take.
pub(crate) fn lines(host: HostKind, name: &str, way: Way<'_>) -> Vec<String> {
    let entry = entry(host, way);
    let text = match host {
        HostKind::Codex => toml(name, &entry),
        HostKind::VsCode => json!({ "servers": { name: entry } }).to_string(),
        _ => json!({ "mcpServers": { name: entry } }).to_string(),
    };
    safe_json(&text).lines().map(str::to_owned).collect()
}

fn entry(host: HostKind, way: Way<'_>) -> Value {
    match (host, way) {
        (HostKind::VsCode, Way::Command(arguments)) => {
            json!({ "type": "stdio", "command": program(), "args": arguments })
        }
        (_, Way::Command(arguments)) => json!({ "command": program(), "args": arguments }),
        // It takes nothing but commands.
        (HostKind::ClaudeDesktop, Way::Url(url)) => json!({ "command": program(), "args": ["bridge", url] }),
        (HostKind::Windsurf, Way::Url(url)) => json!({ "serverUrl": url }),
        (HostKind::Gemini, Way::Url(url)) => json!({ "httpUrl": url }),
        (HostKind::Cursor | HostKind::Codex, Way::Url(url)) => json!({ "url": url }),
        (_, Way::Url(url)) => json!({ "type": "http", "url": url }),
    }
}

/// Strings and lists of strings are the same in both languages.
fn toml(name: &str, entry: &Value) -> String {
    let is_bare = |char: char| char.is_ascii_alphanumeric() || char == '-' || char == '_';
    let key = match !name.is_empty() && name.chars().all(is_bare) {
        true => name.to_owned(),
        false => Value::from(name).to_string(),
    };
    let values = entry.as_object().into_iter().flatten();
    let values: String = values.map(|(key, value)| format!("\n{key} = {value}")).collect();
    format!("[mcp_servers.{key}]{values}")
}

pub(crate) fn program() -> String {
    let own = std::env::current_exe().ok();
    own.and_then(|path| path.to_str().map(str::to_owned)).unwrap_or_else(|| "contexture".to_owned())
}

/// Takes out entries of other hosts that are ourselves: a host that was already told to start us would have us start us, and
/// so on without end. Gives their names.
pub(crate) fn without_ourselves(config: &mut Config, face: &Face) -> Vec<String> {
    let listening = face.listen.iter().map(|address| format!("http://{address}"));
    let here: Vec<String> = listening.chain(face.public_url.clone()).collect();
    let is_us = |entry: &ServerEntry| entry.origin.host != HostKind::Contexture && leads_back(entry, &here);
    let names = config.servers.iter().filter(|entry| is_us(entry)).map(|entry| entry.name.clone()).collect();
    config.servers.retain(|entry| !is_us(entry));
    names
}

fn leads_back(entry: &ServerEntry, here: &[String]) -> bool {
    let leads_here = |url: &str| {
        let below = |address: &String| url.strip_prefix(address.as_str());
        here.iter().filter_map(below).any(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    match &entry.transport {
        TransportSpec::Stdio { command, args, .. } => {
            let name = std::path::Path::new(command).file_stem().and_then(|name| name.to_str());
            let is_ours = name == Some("contexture") || *command == program();
            is_ours
                && match args.first().map(String::as_str) {
                    Some("run") => true,
                    Some("bridge") => args.iter().any(|word| leads_here(word)),
                    _ => false,
                }
        }
        TransportSpec::Http { url, .. } => leads_here(url),
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

    fn http(name: &str, url: &str, host: HostKind) -> ServerEntry {
        let transport =
            TransportSpec::Http { url: url.to_owned(), headers: Vec::new(), sse: false, socket: None };
        let mut origin = Origin::command_line();
        origin.host = host;
        ServerEntry::new(name, transport, origin)
    }

    fn face() -> Face {
        Face {
            stdio: false,
            listen: Some("127.0.0.1:8000".to_owned()),
            protect: None,
            client_id: None,
            allow_anonymous: false,
            public_url: Some("https://mcp.example.com/mcp".to_owned()),
            hosts: Vec::new(),
            origins: Vec::new(),
            grace: None,
        }
    }

    #[test]
    fn what_would_lead_back_to_us_is_taken_out() {
        let (vscode, cursor, desktop) = (HostKind::VsCode, HostKind::Cursor, HostKind::ClaudeDesktop);
        let bridge = |url| ["bridge", url];
        let mut config = Config::new(vec![
            stdio("gate", "/usr/bin/contexture", &["run", "--from", "vscode"], vscode),
            stdio("demo", "/usr/bin/contexture", &["demo"], vscode),
            // Whoever writes our own file means it.
            stdio("other", "contexture", &["run", "--config", "other.json"], HostKind::Contexture),
            stdio("bridged", "contexture", &bridge("http://127.0.0.1:8000/mcp"), desktop),
            stdio("elsewhere", "contexture", &bridge("http://127.0.0.1:80001/mcp"), desktop),
            http("here", "http://127.0.0.1:8000/mcp", cursor),
            http("known", "https://mcp.example.com/mcp", cursor),
            http("near", "https://mcp.example.com/mcp2", cursor),
        ]);
        assert_eq!(without_ourselves(&mut config, &face()), ["gate", "bridged", "here", "known"]);
        let left: Vec<_> = config.servers.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(left, ["demo", "other", "elsewhere", "near"]);
    }

    #[test]
    fn names_stay_names_in_every_language() {
        let url = Way::Url("http://127.0.0.1:8000/mcp");
        let lines = |name| lines(HostKind::Codex, name, url);
        assert_eq!(lines("gate-1"), ["[mcp_servers.gate-1]", "url = \"http://127.0.0.1:8000/mcp\""]);
        assert_eq!(lines("my gate")[0], "[mcp_servers.\"my gate\"]");
        assert_eq!(lines("a\n]\u{202e}")[0], "[mcp_servers.\"a\\n]\\u202e\"]");
    }
}
