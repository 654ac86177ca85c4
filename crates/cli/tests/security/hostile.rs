//! Servers with bad manners: this very test binary, started again by the client under test.
//!
//! The server is well-behaved until a tool is called or a list is asked for whose name says how it is to
//! misbehave. It never reads anything but its input, and it ends when that ends, unless a row says otherwise. What
//! the client says to it is judged by the schema of its revision: a server that finds something wrong dies of it.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, Write};
use std::time::Duration;

use contexture::client::Builder;
use contexture::transport::ChildCommand;
use contexture::{Client, Policy};
use contexture_judge::{From, Watch};
use serde_json::{Value, json};

/// Set for the process that is to be the server: its era and what it does to lists and handshakes.
pub(crate) const ROLE: &str = "CONTEXTURE_HOSTILE";

/// How to start the server. `role` is an era (`legacy` or `modern`), then perhaps a vice: `modern banner`.
///
/// The test harness writes to standard output, so the shell moves that out of the way first.
pub(crate) fn server(role: &str) -> ChildCommand {
    ChildCommand::new("/bin/sh")
        .args(["-c", r#"exec "$0" hostile::act --exact --nocapture --test-threads=1 3>&1 >/dev/null"#])
        .arg(std::env::current_exe().expect("this binary has a path"))
        .env(ROLE, role)
        .inherit_env("MCP_SCHEMA_DIR")
        .inherit_env("CONTEXTURE_SCHEMA_COUNTS")
}

/// A client with short patience, connected to such a server.
pub(crate) async fn client(role: &str) -> Client {
    within(setup().spawn(server(role))).await.unwrap_or_else(|error| panic!("{role}: {error}"))
}

/// The beginnings of a client with short patience.
pub(crate) fn setup() -> Builder {
    let mut policy = Policy::default();
    policy.child_exit = Duration::from_millis(500);
    policy.child_term = Duration::from_millis(500);
    Client::builder().policy(policy).probe_timeout(Duration::from_secs(5))
}

/// A net: nothing takes this long.
pub(crate) async fn within<T>(future: impl IntoFuture<Output = T>) -> T {
    tokio::time::timeout(crate::child::PATIENCE, future.into_future()).await.expect("it settles")
}

/// Not a test, but the door through which the process becomes a server.
#[test]
fn act() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let out = OpenOptions::new().append(true).open("/dev/fd/3").expect("the shell opened it");
    let (era, vice) = role.split_once(' ').unwrap_or((&role, ""));
    let mut server = Hostile {
        out,
        modern: era == "modern",
        vice: vice.to_owned(),
        heard: Vec::new(),
        lists: 0,
        watch: Watch::new(From::Client),
    };
    server.enter();
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        server.hear(&line);
    }
    drop(server);
    // The harness would add its verdict; there is nobody to read it.
    std::process::exit(0);
}

/// The server's state: what it has heard since it was last asked.
pub(crate) struct Hostile {
    out: File,
    pub(crate) modern: bool,
    pub(crate) vice: String,
    pub(crate) heard: Vec<String>,
    pub(crate) lists: usize,
    /// Judges what the client says.
    watch: Watch,
}

impl Hostile {
    /// Writes bytes; a client that is gone is no reason to complain.
    pub(crate) fn raw(&mut self, bytes: impl AsRef<[u8]>) {
        if self.out.write_all(bytes.as_ref()).is_err() {
            std::process::exit(0);
        }
    }

    /// Writes one line.
    pub(crate) fn say(&mut self, line: &Value) {
        self.watch.message(From::Server, line);
        self.raw(format!("{line}\n"));
    }

    /// Answers with a result, stamped as the era wants it.
    pub(crate) fn result(&mut self, id: &Value, mut result: Value) {
        if self.modern && result.get("resultType").is_none() {
            result["resultType"] = "complete".into();
        }
        self.say(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }

    /// Answers a tool call with a text.
    pub(crate) fn text(&mut self, id: &Value, text: &str) {
        self.result(id, json!({"content": [{"type": "text", "text": text}]}));
    }

    /// Answers with an error.
    pub(crate) fn error(&mut self, id: &Value, code: i64, data: Value) {
        self.say(
            &json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": "no", "data": data}}),
        );
    }

    fn enter(&mut self) {
        match self.vice.as_str() {
            "banner" => {
                self.raw("Welcome!\n\u{1b}[31mred\u{1b}[0m\n[info] ready\n\n{\"not\": \"rpc\"}\n{}\n")
            }
            "bom" => self.raw("\u{feff}"),
            "flood" => {
                for _ in 0..100_000 {
                    self.raw("garbage garbage garbage\n");
                }
            }
            "stderr" => {
                let line = "e".repeat(1023) + "\n";
                for _ in 0..(64 << 10) {
                    let _ = std::io::stderr().write_all(line.as_bytes());
                }
            }
            "endless" => {
                let piece = vec![b'['; 1 << 20];
                for _ in 0..1024 {
                    self.raw(&piece);
                }
                self.raw("\n");
            }
            "deaf" => loop {
                std::thread::park();
            },
            _ => {}
        }
    }

    fn hear(&mut self, line: &str) {
        let message: Value = serde_json::from_str(line).expect("the client writes JSON");
        self.watch.message(From::Client, &message);
        let (id, method) = (message["id"].clone(), message["method"].as_str().unwrap_or("").to_owned());
        if id.is_null() || method.is_empty() {
            return self.heard.push(line.to_owned());
        }
        match method.as_str() {
            "server/discover" => self.discover(&id),
            "initialize" => self.initialize(&id, &message["params"]["protocolVersion"]),
            "ping" => self.result(&id, json!({})),
            "tools/call" => crate::vices::call(self, &message, line),
            "resources/read" => crate::vices::read(self, &id, &message["params"]["uri"]),
            _ if method.ends_with("/list") => crate::vices::list(self, &id, &method, &message["params"]),
            _ => self.error(&id, -32601, Value::Null),
        }
    }

    fn capabilities() -> Value {
        json!({"tools": {"listChanged": true}, "resources": {}, "prompts": {}, "logging": {}})
    }

    fn discover(&mut self, id: &Value) {
        let result = json!({"supportedVersions": ["2026-07-28"], "capabilities": Self::capabilities(),
            "ttlMs": 0, "cacheScope": "private",
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "hostile", "version": "0"}}});
        match self.vice.as_str() {
            "probe silence" => {}
            "probe garbage" => self.raw("what?\n"),
            "probe -32602" => self.error(id, -32602, Value::Null),
            "probe exit" => std::process::exit(3),
            "probe once -32022" => {
                self.vice.clear();
                self.error(id, -32022, json!({"supported": ["2026-07-28"], "requested": "x"}));
            }
            "probe future" => self.error(id, -32022, json!({"supported": ["2099-01-01"], "requested": "x"})),
            "probe null" => self.say(&json!({"jsonrpc": "2.0", "id": id, "result": null})),
            _ if self.modern => self.result(id, result),
            _ => self.error(id, -32601, Value::Null),
        }
    }

    fn initialize(&mut self, id: &Value, version: &Value) {
        if self.modern {
            return self.error(id, -32601, Value::Null);
        }
        let version = match self.vice.as_str() {
            "handshake future" => json!("2099-01-01"),
            "handshake number" => json!(7),
            "handshake modern" => json!("2026-07-28"),
            _ => version.clone(),
        };
        self.say(&json!({"jsonrpc": "2.0", "id": id, "result": {"protocolVersion": version,
            "capabilities": Self::capabilities(), "serverInfo": {"name": "hostile", "version": "0"}}}));
    }
}
