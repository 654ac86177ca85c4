//! The files of other hosts: every key of each, and where that leads.

use std::path::PathBuf;
use std::time::Duration;

use contexture::auth::Secret;
use contexture_host::config::{Config, Filter, HostKind, LoginFor, Scope, Standing, TransportSpec, load};
use contexture_host::consent::Decision;

use crate::stage::{Stage, address, faults, process, server};

/// Loads what this host has at home and in the project.
fn import(stage: &Stage, host: HostKind) -> Config {
    let mut sources = stage.sources();
    sources.import = vec![host];
    load(&sources).unwrap_or_else(|error| panic!("{error}"))
}

fn pair(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

#[test]
fn claude_desktop() {
    let stage = Stage::new();
    stage.write(
        "home/.config/Claude/claude_desktop_config.json",
        r#"{
            "globalShortcut": "Ctrl+Space",
            "mcpServers": {
                "files": {"command": "npx", "args": ["-y", "server-files"], "env": {"A": "b"}},
                "far": {"url": "https://example.com/mcp"}
            }
        }"#,
    );
    let config = import(&stage, HostKind::ClaudeDesktop);
    assert_eq!(faults(&config), "");
    let files = server(&config, "files");
    assert_eq!(
        process(files),
        ("npx".to_owned(), vec!["-y".to_owned(), "server-files".to_owned()], vec![pair("A", "b")])
    );
    assert_eq!((files.origin.host, files.origin.scope), (HostKind::ClaudeDesktop, Scope::User));
    assert_eq!(files.full_name(), "claude-desktop:files");
    assert!(server(&config, "far").enabled());
}

#[test]
fn claude_code() {
    let stage = Stage::new().variable("KEY", "k");
    let project = stage.project();
    let project = serde_json::to_string(&project).expect("a path");
    stage.write(
        "home/.claude.json",
        &format!(
            r#"{{
            "numStartups": 7,
            "mcpServers": {{
                "plain": {{"type": "stdio", "command": "x", "args": [], "env": {{"K": "${{KEY}}"}}, "timeout": 1500, "alwaysLoad": true}},
                "http": {{"type": "http", "url": "https://example.com/mcp", "headers": {{"X-K": "${{KEY}}"}},
                    "oauth": {{"clientId": "id", "callbackPort": 8080, "authServerMetadataUrl": "https://as/", "scopes": "a b"}}}},
                "sse": {{"type": "sse", "url": "https://example.com/sse", "headersHelper": "make-headers"}},
                "ws": {{"type": "ws", "url": "wss://example.com"}},
                "twice": {{"command": "user"}}
            }},
            "projects": {{
                {project}: {{"mcpServers": {{"local": {{"command": "l"}}, "twice": {{"command": "local"}}}}, "history": []}},
                "/elsewhere": {{"mcpServers": {{"other": {{"command": "o"}}}}}}
            }}
        }}"#
        ),
    );
    let config = import(&stage, HostKind::ClaudeCode);
    let plain = server(&config, "plain");
    assert_eq!((process(plain).2, plain.call_time), (vec![pair("K", "k")], Duration::from_millis(1500)));
    let http = server(&config, "http");
    assert_eq!(address(http), ("https://example.com/mcp".to_owned(), vec![pair("X-K", "k")], false));
    let LoginFor::User(login) = &http.login else { panic!("{:?}", http.login) };
    assert_eq!((login.client_id.as_deref(), login.callback_port), (Some("id"), Some(8080)));
    assert_eq!(login.scopes, ["a", "b"]);
    assert!(address(server(&config, "sse")).2);
    // What Claude Code keeps for this project goes first, and needs no trust: the file is the user's.
    assert_eq!(process(server(&config, "twice")).0, "local");
    assert!(server(&config, "local").enabled());
    assert!(config.server("other").is_none() && config.server("ws").is_none());
    let said = faults(&config);
    for expected in
        ["authServerMetadataUrl", "are not run", "WebSocket is no transport", "nearer to this project"]
    {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    assert_eq!(config.faults.len(), 4, "{said}");
}

#[test]
fn claude_code_in_a_project() {
    let stage = Stage::new();
    let file = stage.write("project/.mcp.json", r#"{"mcpServers": {"a": {"command": "x"}}}"#);
    let config = import(&stage, HostKind::ClaudeCode);
    let entry = server(&config, "a");
    assert!(matches!(entry.standing, Standing::Held { .. }));
    assert_eq!((entry.origin.scope, &entry.origin.file), (Scope::Project, &file));
}

#[test]
fn vs_code() {
    let stage = Stage::new().variable("CONTEXTURE_INPUT_TOKEN", "t").variable("HOST", "example.com");
    stage.write("project/.env", "FROM_FILE=yes\nA=file\n");
    let file = stage.write(
        "project/.vscode/mcp.json",
        r#"{
            "inputs": [{"type": "promptString", "id": "token", "description": "a token", "password": true}],
            "servers": {
                "local": {"type": "stdio", "command": "${workspaceFolder}/serve", "args": ["--token", "${input:token}"],
                    "cwd": "sub", "env": {"A": "entry"}, "envFile": "${workspaceFolder}/.env",
                    "dev": {"watch": "src/**"}, "sandboxEnabled": false},
                "far": {"type": "http", "url": "https://${env:HOST}/mcp", "headers": {"Authorization": "Bearer ${input:token}"},
                    "oauth": {"clientId": "id", "enterpriseManaged": true}},
                "either": {"url": "https://example.com/either"},
                "socket": {"type": "http", "url": "unix:///run/x.sock#/mcp"},
                "sandboxed": {"command": "x", "sandboxEnabled": true},
                "asks": {"command": "x", "args": ["${input:other}"]}
            },
            "sandbox": {"network": "none"}
        }"#,
    );
    stage.agree(&file);
    let config = import(&stage, HostKind::VsCode);
    let local = server(&config, "local");
    let (command, args, env) = process(local);
    assert_eq!(command, stage.project().join("serve").display().to_string());
    assert_eq!(args, ["--token", "t"]);
    assert_eq!(env, [pair("A", "entry"), pair("FROM_FILE", "yes")]);
    assert!(
        matches!(&local.transport, TransportSpec::Stdio { cwd: Some(cwd), .. } if *cwd == stage.project().join("sub"))
    );
    assert!(local.enabled(), "{:?}", local.standing);
    let far = server(&config, "far");
    assert_eq!(
        address(far),
        ("https://example.com/mcp".to_owned(), vec![pair("Authorization", "Bearer t")], false)
    );
    assert!(matches!(server(&config, "either").login, LoginFor::User(_)));
    let TransportSpec::Http { url, socket, .. } = &server(&config, "socket").transport else {
        panic!("no address")
    };
    assert_eq!((url.as_str(), socket.clone()), ("http://localhost/mcp", Some(PathBuf::from("/run/x.sock"))));
    let said = faults(&config);
    assert!(config.server("sandboxed").is_none() && said.contains("sandbox that does not exist"), "{said}");
    assert!(config.server("asks").is_none() && said.contains("CONTEXTURE_INPUT_OTHER"), "{said}");
    for expected in ["\"dev\" is left out", "enterpriseManaged"] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
}

#[test]
fn vs_code_of_a_user() {
    let stage = Stage::new();
    stage.write(
        "home/.config/Code/User/mcp.json",
        r#"{"servers": {"a": {"command": "x", "gallery": true, "version": "1"}}}"#,
    );
    let config = import(&stage, HostKind::VsCode);
    assert_eq!(faults(&config), "");
    assert!(server(&config, "a").enabled());
}

#[test]
fn cursor() {
    let stage = Stage::new();
    stage.write(
        "home/.cursor/mcp.json",
        r#"{"mcpServers": {
            "local": {"command": "x", "args": ["${userHome}"], "env": {"A": "b"}, "type": "stdio"},
            "far": {"url": "https://example.com/mcp", "headers": {"X": "y"},
                "auth": {"CLIENT_ID": "id", "CLIENT_SECRET": "hush", "scopes": ["a"]}}
        }}"#,
    );
    let config = import(&stage, HostKind::Cursor);
    assert_eq!(faults(&config), "");
    assert_eq!(process(server(&config, "local")).1, [stage.home().display().to_string()]);
    let LoginFor::User(login) = &server(&config, "far").login else { panic!("no login") };
    assert_eq!((login.client_id.as_deref(), &login.client_secret), (Some("id"), &Some(Secret::new("hush"))));
    assert_eq!(login.scopes, ["a"]);
}

#[test]
fn windsurf() {
    let stage = Stage::new().variable("KEY", "k");
    stage.write(
        "home/.codeium/windsurf/mcp_config.json",
        r#"{"mcpServers": {
            "far": {"serverUrl": "https://example.com/mcp", "headers": {"K": "${env:KEY}"}, "disabledTools": ["b"]},
            "off": {"command": "x", "disabled": true, "alwaysAllow": ["read"], "timeout": 30},
            "slow": {"command": "x", "timeout": 45000, "transportType": "stdio", "autoApprove": ["list", "weird*"]}
        }}"#,
    );
    let config = import(&stage, HostKind::Windsurf);
    let far = server(&config, "far");
    assert_eq!(address(far), ("https://example.com/mcp".to_owned(), vec![pair("K", "k")], false));
    assert_eq!(far.tools, Filter { include: None, exclude: vec!["b".into()] });
    let (off, slow) = (server(&config, "off"), server(&config, "slow"));
    assert_eq!((&off.standing, off.call_time), (&Standing::Disabled, Duration::from_secs(30)));
    assert_eq!(slow.call_time, Duration::from_secs(45));
    // What the user allowed there is allowed here, by name.
    let rules: Vec<_> = config
        .policy
        .rules
        .iter()
        .map(|rule| {
            let word = |pattern: &Option<contexture_host::config::Pattern>| {
                pattern.as_ref().map(|some| some.as_str().to_owned())
            };
            (word(&rule.server), word(&rule.tool), rule.decision)
        })
        .collect();
    let rule = |server: &str, tool: &str| (Some(server.to_owned()), Some(tool.to_owned()), Decision::Allow);
    assert_eq!(rules, [rule("off", "read"), rule("slow", "list")]);
    assert!(faults(&config).contains("weird*"));
}

#[test]
fn gemini() {
    let stage = Stage::new().variable("KEY", "k");
    stage.write(
        "home/.gemini/settings.json",
        r#"{
            "theme": "dark",
            "mcp": {"excluded": ["banned"]},
            "mcpServers": {
                "local": {"command": "x", "args": ["$KEY"], "cwd": "/srv", "env": {"K": "${KEY}"}, "timeout": 5000, "trust": true,
                    "includeTools": ["a", "b(now)"], "excludeTools": ["c"], "description": "words"},
                "http": {"httpUrl": "https://example.com/mcp", "url": "https://example.com/sse", "headers": {"H": "$KEY"},
                    "oauth": {"enabled": true, "clientId": "id", "redirectUri": "http://x"}, "authProviderType": "google_credentials"},
                "sse": {"url": "https://example.com/sse"},
                "typed": {"url": "https://example.com/mcp", "type": "http", "oauth": {"enabled": false}},
                "banned": {"command": "x"}
            }
        }"#,
    );
    let config = import(&stage, HostKind::Gemini);
    let local = server(&config, "local");
    assert_eq!(process(local), ("x".to_owned(), vec!["k".to_owned()], vec![pair("K", "k")]));
    assert_eq!(local.call_time, Duration::from_secs(5));
    assert_eq!(
        local.tools,
        Filter { include: Some(vec!["a".into(), "b".into()]), exclude: vec!["c".into()] }
    );
    assert!(!local.trusted, "that its calls need no question says nothing about its annotations");
    let rule = &config.policy.rules[0];
    assert_eq!((rule.tool.as_ref().map(|tool| tool.as_str()), rule.decision), (Some("*"), Decision::Allow));
    assert!(rule.reason.as_ref().is_some_and(|reason| reason.contains("settings.json")));
    assert_eq!(
        address(server(&config, "http")),
        ("https://example.com/mcp".to_owned(), vec![pair("H", "k")], false)
    );
    assert!(address(server(&config, "sse")).2);
    let typed = server(&config, "typed");
    assert_eq!((address(typed).2, &typed.login), (false, &LoginFor::None));
    assert_eq!(server(&config, "banned").standing, Standing::Disabled);
    let said = faults(&config);
    for expected in ["redirectUri", "authProviderType"] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    assert_eq!(config.faults.len(), 2, "{said}");
}

#[test]
fn codex() {
    let stage = Stage::new().variable("TOKEN", "t").variable("PASS", "p");
    stage.write(
        "home/.codex/config.toml",
        r#"
model = "any"

[mcp_servers.local]
command = "x"
args = ["${TOKEN}", "b"]
env = { A = "b" }
env_vars = ["PASS", "NOT_SET", { name = "TOKEN", source = "local" }]
cwd = "/srv"
startup_timeout_sec = 20
tool_timeout_sec = 30.5
enabled_tools = ["a"]
disabled_tools = ["b"]
required = true

[mcp_servers.far]
url = "https://example.com/mcp"
bearer_token_env_var = "TOKEN"
http_headers = { X = "y" }
env_http_headers = { P = "PASS" }
startup_timeout_ms = 1500
enabled = false

[mcp_servers.login]
url = "https://example.com/mcp"
scopes = ["one"]

[mcp_servers.unset]
url = "https://example.com/mcp"
bearer_token_env_var = "NOT_SET"

[mcp_servers.local.env_extra]
x = 1
"#,
    );
    let config = import(&stage, HostKind::Codex);
    let local = server(&config, "local");
    let env = vec![pair("A", "b"), pair("PASS", "p"), pair("TOKEN", "t")];
    assert_eq!(process(local), ("x".to_owned(), vec!["${TOKEN}".to_owned(), "b".to_owned()], env));
    assert_eq!(
        (local.startup_time, local.call_time),
        (Duration::from_secs(20), Duration::from_millis(30_500))
    );
    assert_eq!(local.tools, Filter { include: Some(vec!["a".into()]), exclude: vec!["b".into()] });
    assert_eq!(local.origin.line, Some(4));
    let far = server(&config, "far");
    let (url, mut headers, sse) = address(far);
    headers.sort();
    assert_eq!((url.as_str(), sse), ("https://example.com/mcp", false));
    assert_eq!(headers, [pair("Authorization", "Bearer t"), pair("P", "p"), pair("X", "y")]);
    assert_eq!((&far.standing, far.startup_time), (&Standing::Disabled, Duration::from_millis(1500)));
    assert_eq!(far.login, LoginFor::None, "a configured token is the login");
    assert!(matches!(&server(&config, "login").login, LoginFor::User(login) if login.scopes == ["one"]));
    assert!(config.server("unset").is_none());
    let said = faults(&config);
    for expected in [
        "config.toml:30: server \"unset\": the variable NOT_SET is not set",
        "\"required\" is left out",
        "\"env_extra\" is not known",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
}
