//! Secrets: referred to, and never shown.

use contexture::auth::{Secret, SecretStore};
use contexture_host::config::HostKind;
use contexture_host::config::edit::{Line, referred_secrets};

use super::{entry, open, place};
use crate::stage::{Stage, process, server};

#[test]
fn a_reference_is_filled_in_from_the_keyring() {
    let stage = Stage::new();
    let path = stage.user(r#"{ "servers": { "a": { "command": "x", "env": { "T": "${keyring:a/T}" } } } }"#);
    let store = SecretStore::at(stage.path("secrets"));
    let mut sources = stage.sources();
    let config = contexture_host::config::load(&sources).unwrap_or_else(|error| panic!("{error}"));
    assert!(config.servers.is_empty() && crate::stage::faults(&config).contains("--secret"), "{config:?}");
    store.keep("a/T", &Secret::new("s3cret")).unwrap_or_else(|error| panic!("{error}"));
    sources.secrets = Some(store);
    let config = contexture_host::config::load(&sources).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(process(server(&config, "a")).2, [("T".to_owned(), "s3cret".to_owned())]);
    assert!(!format!("{config:?}").contains("s3cret"));
    let document = open(&stage, HostKind::Contexture);
    let (entry, _) = document.entry("a").expect("it is there");
    let names: Vec<String> = entry.iter().flat_map(|(_, value)| referred_secrets(value)).collect();
    assert_eq!(names, ["a/T"]);
    assert!(path.is_file());
}

#[test]
fn nothing_secret_is_shown_in_any_format() {
    let json = r#"{
  "ROOT": {
    "a": { "command": "x", "args": ["--token", "s3cret-1", "--api-key=s3cret-2", "plain"], "env": { "ANY": "s3cret-3", "REF": "${REF}" } },
    "b": { "url": "https://user:s3cret-4@x.example/mcp?key=s3cret-5", "headers": { "Authorization": "Bearer s3cret-6" } },
    "c": { "url": "https://x.example/mcp?key=s3cret-7", "oauth": { "clientSecret": "s3cret-8" } }
  }
}
"#;
    let toml = r#"
[mcp_servers.a]
command = "x"
args = ["--token", "s3cret-1", "--api-key=s3cret-2", "plain"]
env = { ANY = "s3cret-3" }
[mcp_servers.b]
url = "https://x.example/mcp?key=s3cret-5"
bearer_token_env_var = "SHOWN"
[mcp_servers.b.http_headers]
Authorization = "Bearer s3cret-6"
"#;
    for host in HostKind::ALL {
        let root =
            if matches!(host, HostKind::VsCode | HostKind::Contexture) { "servers" } else { "mcpServers" };
        let text = if host == HostKind::Codex { toml.to_owned() } else { json.replace("ROOT", root) };
        let stage = Stage::new();
        stage.write(place(host), &text);
        let mut document = open(&stage, host);
        document
            .put("d", &entry(r#"{ "command": "y", "env": { "NEW": "s3cret-9" } }"#))
            .unwrap_or_else(|fault| panic!("{fault}"));
        document.remove("a").unwrap_or_else(|fault| panic!("{fault}"));
        let diff = document.diff();
        let seen = format!("{:?} {diff:?}", document.shown());
        assert!(!seen.contains("s3cret"), "{host}: {seen}");
        assert!(seen.contains("•••"), "{host}: {seen}");
        assert!(
            diff.iter().any(|line| matches!(line, Line::Gone(text) if text.contains("plain"))),
            "{host}: {diff:?}"
        );
        let is_shown = if host == HostKind::Codex { seen.contains("SHOWN") } else { seen.contains("${REF}") };
        assert!(is_shown, "{host}: {seen}");
    }
}
