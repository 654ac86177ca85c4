//! Our own file: every key, and the schema that is published of it.

use std::time::Duration;

use contexture::auth::Secret;
use contexture::revision::Era;
use contexture_host::config::{
    Config, Filter, HostKind, Limits, LoginFor, RootsFor, Scope, Sharing, Standing, TransportSpec, schema,
};
use contexture_host::consent::Decision;
use serde_json::Value;

use crate::stage::{Stage, address, faults, process, server};

/// Every key that there is, with comments and trailing commas.
pub(crate) const EVERYTHING: &str = r#"{
    // where editors look
    "$schema": "https://example.com/contexture.schema.json",
    "name": "my gateway",
    "import": ["cursor"],
    "servers": {
        "files": {
            "type": "stdio",
            "command": "server-files",
            "args": ["--root", "${ROOT:-/srv}"],
            "env": { "TOKEN": "${env:SECRET}", "LEVEL": 3, "VERBOSE": true },
            "envFile": "files.env",
            "cwd": "sub",
            "enabled": true,
            "prefix": false,
            "tools": ["read_*", "list"],
            "prompts": { "include": ["*"], "exclude": ["old_*"] },
            "resources": { "exclude": ["file:///etc/*"] },
            "trusted": true,
            "startupTimeout": "500ms",
            "callTimeout": 90,
            "idleTimeout": "1.5h",
            "roots": ["file:///srv", { "uri": "file:///tmp", "name": "scratch" }],
            "era": "legacy",
            "sharing": "session",
            "description": "files of this machine", /* for people */
        },
        "far": {
            "url": "https://example.com/mcp",
            "headers": { "X-Team": "blue" },
            "login": { "for": "shared", "clientId": "me", "clientSecret": "hush", "scopes": ["a", "b"], "callbackPort": 8765 },
            "roots": "client",
            "era": "modern",
            "sharing": "everybody",
        },
        "old": { "type": "sse", "url": "http://127.0.0.1:8000/sse", "login": "none", "enabled": false },
        "near": { "type": "streamable-http", "url": "http://localhost/mcp", "socket": "/run/near.sock" },
    },
    "policy": { "default": "ask", "rules": [{ "server": "files", "tool": "delete_*", "decision": "deny" }] },
    "sampling": {
        "providers": { "local": { "kind": "openai", "url": "http://127.0.0.1:1/v1", "keyFile": "key" } },
        "models": [{ "name": "small", "provider": "local" }],
    },
    "audit": { "path": "audit.jsonl", "required": true },
    "limits": {
        "callsPerSecond": 5, "serverCallsPerSecond": 12, "questionsPerSecond": 13, "concurrentCalls": 6, "parkedCalls": 7, "parkTime": "8s", "connections": 9,
        "watchedResources": 14, "listGrace": 0.5, "drainTime": "11s",
    },
}"#;

fn everything() -> (Stage, Config) {
    let stage = Stage::new().variable("SECRET", "s3cret");
    stage.write("home/files.env", "# comment\nFROM_FILE='a value'\nexport TOKEN=not this\n\nBROKEN\n");
    stage.user(EVERYTHING);
    let config = stage.load();
    assert_eq!(faults(&config), "");
    (stage, config)
}

#[test]
fn every_key_of_a_server_that_is_started() {
    let (stage, config) = everything();
    let files = server(&config, "files");
    let (command, args, env) = process(files);
    assert_eq!((command.as_str(), args), ("server-files", vec!["--root".to_owned(), "/srv".to_owned()]));
    let env: Vec<(&str, &str)> = env.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    // What is written in the entry goes before what is in the file.
    assert_eq!(env, [("FROM_FILE", "a value"), ("LEVEL", "3"), ("TOKEN", "s3cret"), ("VERBOSE", "true")]);
    assert!(
        matches!(&files.transport, TransportSpec::Stdio { cwd: Some(cwd), .. } if *cwd == stage.home().join("sub"))
    );
    assert!(files.enabled() && !files.prefix && files.trusted);
    assert_eq!(files.tools, Filter { include: Some(vec!["read_*".into(), "list".into()]), exclude: vec![] });
    assert_eq!(files.prompts, Filter { include: Some(vec!["*".into()]), exclude: vec!["old_*".into()] });
    assert_eq!(files.resources, Filter { include: None, exclude: vec!["file:///etc/*".into()] });
    assert_eq!(files.startup_time, Duration::from_millis(500));
    assert_eq!(files.call_time, Duration::from_secs(90));
    assert_eq!(files.idle_time, Duration::from_secs(5400));
    let RootsFor::Fixed(roots) = &files.roots else { panic!("{:?}", files.roots) };
    assert_eq!(roots[0].uri, "file:///srv");
    assert_eq!(roots[1].name.as_deref(), Some("scratch"));
    assert_eq!((files.era, files.sharing), (Some(Era::Legacy), Sharing::Session));
    assert_eq!(files.login, LoginFor::None);
    assert_eq!((files.origin.host, files.origin.scope), (HostKind::Contexture, Scope::User));
    assert_eq!(files.origin.line, Some(7));
}

#[test]
fn every_key_of_a_server_with_an_address() {
    let (_stage, config) = everything();
    let far = server(&config, "far");
    assert_eq!(
        address(far),
        ("https://example.com/mcp".to_owned(), vec![("X-Team".to_owned(), "blue".to_owned())], false)
    );
    let LoginFor::Shared(login) = &far.login else { panic!("{:?}", far.login) };
    assert_eq!(login.client_id.as_deref(), Some("me"));
    assert_eq!(login.client_secret, Some(Secret::new("hush")));
    assert_eq!(
        (login.scopes.clone(), login.callback_port),
        (vec!["a".to_owned(), "b".to_owned()], Some(8765))
    );
    assert_eq!(
        (&far.roots, far.era, far.sharing),
        (&RootsFor::Client, Some(Era::Modern), Sharing::Everybody)
    );

    let old = server(&config, "old");
    assert_eq!((old.standing.clone(), address(old).2), (Standing::Disabled, true));
    assert_eq!(old.login, LoginFor::None);

    let near = server(&config, "near");
    assert!(matches!(&near.transport, TransportSpec::Http { socket: Some(socket), sse: false, .. }
        if socket.as_os_str() == "/run/near.sock"));
    assert!(matches!(near.login, LoginFor::User(_)), "over HTTP each user has a login, if one is asked for");
}

#[test]
fn every_key_beside_the_servers() {
    let (stage, config) = everything();
    assert_eq!(config.name, "my gateway");
    assert_eq!(config.policy.default, Some(Decision::Ask));
    assert_eq!(config.policy.rules[0].decision, Decision::Deny);
    assert_eq!(config.sampling.models[0].name, "small");
    assert_eq!(config.sampling.providers["local"].key_file, Some(stage.home().join("key")));
    let audit = config.audit.as_ref().expect("there is one");
    assert_eq!((audit.path.clone(), audit.required), (stage.home().join("audit.jsonl"), true));
    let mut limits = Limits::default();
    limits.calls_per_second = Some(5);
    (limits.server_calls_per_second, limits.questions_per_second) = (Some(12), Some(13));
    (limits.concurrent_calls, limits.parked_calls, limits.connections) = (6, 7, 9);
    (limits.park_time, limits.watched_resources) = (Duration::from_secs(8), 14);
    (limits.list_grace, limits.drain_time) = (Duration::from_millis(500), Duration::from_secs(11));
    assert_eq!(config.limits, limits);
}

#[test]
fn nothing_is_a_configuration_too() {
    let stage = Stage::new();
    let config = stage.load();
    assert!(config.servers.is_empty() && config.faults.is_empty());
    assert_eq!((config.name.as_str(), config.limits), ("contexture", Limits::default()));
}

#[test]
fn the_other_root_key_is_taken() {
    let stage = Stage::new();
    stage.user(r#"{"mcpServers": {"a": {"command": "x"}}, "servers": {"b": {"command": "y"}}}"#);
    let config = stage.load();
    assert_eq!(config.servers.iter().map(|server| server.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn the_published_schema_holds_for_what_is_read() {
    let schema: Value = serde_json::from_str(schema()).expect("the schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("the schema is one");
    let everything: Value = jsonc(EVERYTHING);
    let errors: Vec<String> = validator.iter_errors(&everything).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    for wrong in [
        r#"{"servers": {"a": {}}}"#,
        r#"{"servers": {"a": {"command": "x", "disabled": true}}}"#,
        r#"{"servers": {"a": {"url": "https://x", "era": "middle"}}}"#,
        r#"{"limits": {"parkTime": "5 years"}}"#,
        r#"{"policy": {"rules": [{"tool": "x"}]}}"#,
    ] {
        assert!(!validator.is_valid(&jsonc(wrong)), "{wrong}");
        let stage = Stage::new();
        let file = stage.write("contexture.json", wrong);
        let refused = stage.load_file(&file).map_or(true, |config| !config.faults.is_empty());
        assert!(refused, "the schema refuses what is read: {wrong}");
    }
}

fn jsonc(text: &str) -> Value {
    let parsed = jsonc_parser::parse_to_ast(text, &Default::default(), &Default::default());
    parsed.expect("this is JSON").value.expect("it is not empty").into()
}

#[test]
fn values_are_not_shown() {
    let (_stage, config) = everything();
    let shown = format!("{config:?}");
    for secret in ["s3cret", "hush", "a value"] {
        assert!(!shown.contains(secret), "{secret} is in {shown}");
    }
}

#[test]
fn secrets_in_arguments_and_addresses_are_not_shown() {
    let stage = Stage::new().variable("SECRET", "s3cret");
    stage.user(
        r#"{"servers": {"a": {"command": "x", "args": ["--key=${SECRET}"]}, "b": {"url": "https://example.com/mcp?key=${SECRET}"}}}"#,
    );
    let config = stage.load();
    assert_eq!(process(server(&config, "a")).1, ["--key=s3cret"]);
    assert_eq!(address(server(&config, "b")).0, "https://example.com/mcp?key=s3cret");
    let shown = format!("{config:?}");
    assert!(shown.contains("https://example.com/mcp") && !shown.contains("s3cret"), "{shown}");
}
