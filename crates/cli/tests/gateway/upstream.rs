//! A server behind the gateway, with whatever manners a test wants: this very test binary, started again by the gateway.
//!
//! It notes every message that it is told, and when it was started, in a file. It is well-behaved until a tool is called whose
//! name says otherwise. It ends when its input ends, unless it was told not to; and with its test at the latest, because a test
//! kills its gateway, which then cannot end those that do not listen.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::stage::{Folder, is_alive, read};

/// Set for the process that is to be a server: `legacy` or `modern`, then perhaps a vice.
const ROLE: &str = "CONTEXTURE_UPSTREAM";
/// Where it notes what it is told.
const NOTES: &str = "CONTEXTURE_UPSTREAM_NOTES";
/// The process that tests.
const TEST: &str = "CONTEXTURE_UPSTREAM_TEST";

/// A server that the gateway can start, and what it notes.
pub(crate) struct Upstream {
    pub(crate) entry: Value,
    notes: PathBuf,
}

impl Upstream {
    /// `role` is an era, then perhaps a vice: `legacy banner`.
    pub(crate) fn new(folder: &Folder, name: &str, role: &str) -> Self {
        Self::by(folder, name, role, "")
    }

    /// The shell does this first.
    pub(crate) fn by(folder: &Folder, name: &str, role: &str, first: &str) -> Self {
        let notes = folder.path(&format!("{name}.notes"));
        // The test harness writes to standard output, so the shell moves that out of the way.
        let script = format!(
            r#"{first} exec "$0" upstream::act --exact --nocapture --test-threads=1 3>&1 >/dev/null"#
        );
        let test = std::env::current_exe().expect("this binary has a path");
        let entry = json!({
            "command": "/bin/sh",
            "args": ["-c", script, test],
            "env": { ROLE: role, NOTES: notes, TEST: std::process::id().to_string() },
        });
        Self { entry, notes }
    }

    pub(crate) fn with(mut self, key: &str, value: Value) -> Self {
        self.entry[key] = value;
        self
    }

    /// Everything that all its processes were told.
    pub(crate) fn heard(&self) -> Vec<Value> {
        notes(&self.notes).into_iter().filter(|note| note.get("pid").is_none()).collect()
    }

    /// The processes that it was started as, oldest first.
    pub(crate) fn pids(&self) -> Vec<u32> {
        let pids = notes(&self.notes).into_iter().filter_map(|note| note["pid"].as_u64());
        pids.filter_map(|pid| u32::try_from(pid).ok()).collect()
    }

    /// How often this tool was called.
    pub(crate) fn calls(&self, tool: &str) -> usize {
        self.heard().iter().filter(|it| it["method"] == "tools/call" && it["params"]["name"] == tool).count()
    }
}

fn notes(path: &Path) -> Vec<Value> {
    // The last line may be under way.
    read(path).lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Not a test, but the door through which the process becomes a server.
#[test]
fn act() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let out = OpenOptions::new().append(true).open("/dev/fd/3").expect("the shell opened it");
    let path = PathBuf::from(std::env::var(NOTES).expect("a file"));
    let notes = OpenOptions::new().append(true).create(true).open(&path);
    let (era, vice) = role.split_once(' ').unwrap_or((&role, ""));
    let mut server = Server {
        out: Arc::new(Mutex::new(out)),
        notes: notes.expect("notes"),
        is_modern: era == "modern",
        vice: vice.to_owned(),
        more: Vec::new(),
        asked: None,
    };
    end_with_the_test(path);
    server.note(&json!({ "pid": std::process::id() }).to_string());
    server.serve();
    if server.vice == "stubborn" {
        loop {
            std::thread::sleep(Duration::from_secs(60));
        }
    }
    // Nothing of the test harness is to be said after this.
    std::process::exit(0);
}

/// Whatever it does meanwhile. While the test goes on its folder is there, so no test finds a server gone by this.
fn end_with_the_test(notes: PathBuf) {
    let test = std::env::var(TEST).ok().and_then(|pid| pid.parse().ok()).expect("a process");
    std::thread::spawn(move || {
        while notes.exists() && is_alive(test) {
            std::thread::sleep(Duration::from_millis(200));
        }
        std::process::exit(0);
    });
}

#[derive(Clone)]
pub(crate) struct Out(Arc<Mutex<File>>);

impl Out {
    /// Ends with the reader.
    pub(crate) fn raw(&self, text: &str) {
        let mut out = self.0.lock().expect("nobody panicked");
        if out.write_all(text.as_bytes()).is_err() {
            std::process::exit(0);
        }
    }

    pub(crate) fn say(&self, message: &Value) {
        self.raw(&format!("{message}\n"));
    }
}

pub(crate) struct Server {
    out: Arc<Mutex<File>>,
    notes: File,
    pub(crate) is_modern: bool,
    pub(crate) vice: String,
    /// Tools that were added while it ran.
    pub(crate) more: Vec<String>,
    /// The call that waits for an answer of a person, on a legacy connection.
    pub(crate) asked: Option<Value>,
}

const TOOLS: [&str; 21] = [
    "echo",
    "env",
    "argv",
    "fds",
    "exit",
    "sleep",
    "hang",
    "deaf",
    "stray",
    "big",
    "progress",
    "flood",
    "garbage",
    "ask",
    "add",
    "stderr",
    "later",
    "url",
    "first",
    "touch",
    "read_only",
];

impl Server {
    pub(crate) fn out(&self) -> Out {
        Out(Arc::clone(&self.out))
    }

    fn note(&mut self, line: &str) {
        self.notes.write_all(format!("{}\n", line.trim_end()).as_bytes()).expect("noted");
    }

    fn serve(&mut self) {
        if self.vice == "banner" {
            self.out().raw("Welcome to \u{1b}[31mred\u{1b}[0m server v1!\n{\"not\": json\n\nlistening…\n");
        }
        if self.vice == "crash" {
            std::process::exit(7);
        }
        if self.vice == "mute" {
            std::thread::sleep(Duration::from_secs(600));
        }
        let stdin = std::io::stdin();
        let (mut line, mut heard) = (String::new(), 0_usize);
        while stdin.lock().read_line(&mut line).unwrap_or_default() > 0 {
            self.note(&line.clone());
            let message: Value = serde_json::from_str(&line).expect("JSON");
            heard += 1;
            match self.vice.split_once(' ') {
                Some(("dies", at)) if at == heard.to_string() => std::process::exit(9),
                Some(("stammers", at)) if at == heard.to_string() => {
                    self.out()
                        .raw(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"tools":["#, message["id"]));
                    std::process::exit(9);
                }
                _ => {}
            }
            self.hear(&message, &line);
            line.clear();
        }
    }

    pub(crate) fn result(&self, id: &Value, mut result: Value) {
        if self.is_modern && result.get("resultType").is_none() {
            result["resultType"] = json!("complete");
        }
        self.out().say(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
    }

    pub(crate) fn text(&self, id: &Value, text: &str) {
        self.result(id, json!({ "content": [{ "type": "text", "text": text }] }));
    }

    fn hear(&mut self, message: &Value, line: &str) {
        let id = &message["id"];
        let Some(method) = message["method"].as_str() else {
            // An answer to what we asked.
            if let Some(call) = self.asked.take() {
                self.text(&call, &message["result"].to_string());
            }
            return;
        };
        let capabilities = json!({
            "tools": { "listChanged": true }, "prompts": {}, "resources": { "subscribe": true }, "completions": {},
            "logging": {},
        });
        let info = json!({ "name": "upstream", "version": "0" });
        match method {
            "initialize" if !self.is_modern => self.result(
                id,
                json!({ "protocolVersion": message["params"]["protocolVersion"], "capabilities": capabilities, "serverInfo": info }),
            ),
            "server/discover" if self.is_modern => self.result(
                id,
                json!({ "supportedVersions": ["2026-07-28"], "capabilities": capabilities, "ttlMs": 0, "cacheScope": "private",
                        "_meta": { "io.modelcontextprotocol/serverInfo": info } }),
            ),
            "tools/list" => self.list(id, &message["params"]["cursor"]),
            "prompts/list" => self.result(id, self.lasting(json!({ "prompts": [{ "name": "greet" }] }))),
            "prompts/get" => {
                let content = json!({ "type": "text", "text": "hello" });
                self.result(id, json!({ "messages": [{ "role": "user", "content": content }] }));
            }
            "resources/list" => {
                let one = json!({ "uri": "test://one", "name": "one" });
                self.result(id, self.lasting(json!({ "resources": [one] })));
            }
            "resources/templates/list" => self.result(id, self.lasting(json!({ "resourceTemplates": [] }))),
            "resources/read" => {
                let uri = &message["params"]["uri"];
                self.result(id, self.lasting(json!({ "contents": [{ "uri": uri, "text": "one" }] })));
            }
            "completion/complete" => self.result(id, json!({ "completion": { "values": ["word"] } })),
            "resources/subscribe" | "resources/unsubscribe" | "logging/setLevel" | "ping" => self.result(id, json!({})),
            "subscriptions/listen" if self.is_modern && self.vice != "aloof" => {
                let params = json!({
                    "notifications": message["params"]["notifications"],
                    "_meta": { "io.modelcontextprotocol/subscriptionId": id },
                });
                let method = "notifications/subscriptions/acknowledged";
                self.out().say(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
            }
            "tools/call" => self.call(id, message, line),
            _ if id.is_null() => {}
            _ => {
                let error = json!({ "code": -32601, "message": "method not found" });
                self.out().say(&json!({ "jsonrpc": "2.0", "id": id, "error": error }));
            }
        }
    }

    fn lasting(&self, mut result: Value) -> Value {
        if self.is_modern {
            result["ttlMs"] = json!(0);
            result["cacheScope"] = json!("private");
        }
        result
    }

    fn list(&self, id: &Value, cursor: &Value) {
        let tool = |name: &str| {
            let mut tool = json!({ "name": name, "description": format!("does {name}"), "inputSchema": { "type": "object" } });
            if name == "read_only" {
                tool["annotations"] = json!({ "readOnlyHint": true });
            }
            tool
        };
        let names: Vec<&str> = match self.vice.strip_prefix("only ") {
            Some(names) => names.split(' ').collect(),
            None => TOOLS.to_vec(),
        };
        let mut tools: Vec<Value> =
            names.into_iter().chain(self.more.iter().map(String::as_str)).map(tool).collect();
        let mut result = json!({});
        match self.vice.as_str() {
            "pages" => {
                let page = cursor.as_str().and_then(|page| page.parse::<u64>().ok()).unwrap_or_default();
                result["nextCursor"] = json!((page + 1).to_string());
                tools = vec![tool(&format!("tool-{page}"))];
            }
            "circle" => result["nextCursor"] = json!("again"),
            "hostile" => tools.extend(hostile_names().iter().map(|name| tool(name))),
            "huge" => {
                tools.push(json!({ "name": "huge", "description": "x".repeat(64 << 20), "inputSchema": {} }))
            }
            _ => {}
        }
        result["tools"] = json!(tools);
        self.result(id, self.lasting(result));
    }
}

/// Names that somebody may trip over.
fn hostile_names() -> Vec<String> {
    let odd = [
        "",
        " ",
        "__",
        "a__b",
        "good__echo",
        "bad__echo",
        "x\ny",
        "x\u{1b}[2Jy",
        "\u{202e}evil",
        "\u{200b}echo",
        "echo\0",
        "../../etc",
        "<script>alert(1)</script>",
        "\u{e9}cho",
        "e\u{301}cho",
        "\u{ff45}cho",
        "a b",
        "a,b",
        "'; DROP TABLE",
        "${HOME}",
        "mcp__contexture__echo",
    ];
    let mut names: Vec<String> = odd.iter().map(|name| (*name).to_owned()).collect();
    names.extend(["x".repeat(64), "x".repeat(65), format!("{}y", "x".repeat(64)), "z".repeat(100_000)]);
    names
}
