//! A server behind the gateway, with whatever manners a test wants: this very test binary, started again by the gateway.
//!
//! It notes every message that it is told, and when it was started, in a file. It is well-behaved until a tool is called whose
//! name says otherwise. It ends when its input ends, unless it was told not to.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::stage::{Folder, read};

/// Set for the process that is to be a server: `legacy` or `modern`, then perhaps a vice.
const ROLE: &str = "CONTEXTURE_UPSTREAM";
/// Where it notes what it is told.
const NOTES: &str = "CONTEXTURE_UPSTREAM_NOTES";

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
            "env": { ROLE: role, NOTES: notes },
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
    let notes = OpenOptions::new().append(true).create(true).open(std::env::var(NOTES).expect("a file"));
    let (era, vice) = role.split_once(' ').unwrap_or((&role, ""));
    let mut server = Server {
        out: Arc::new(Mutex::new(out)),
        notes: notes.expect("notes"),
        is_modern: era == "modern",
        vice: vice.to_owned(),
        more: Vec::new(),
        asked: None,
    };
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

#[derive(Clone)]
struct Out(Arc<Mutex<File>>);

impl Out {
    /// Ends with the reader.
    fn raw(&self, text: &str) {
        let mut out = self.0.lock().expect("nobody panicked");
        if out.write_all(text.as_bytes()).is_err() {
            std::process::exit(0);
        }
    }

    fn say(&self, message: &Value) {
        self.raw(&format!("{message}\n"));
    }
}

struct Server {
    out: Arc<Mutex<File>>,
    notes: File,
    is_modern: bool,
    vice: String,
    /// Tools that were added while it ran.
    more: Vec<String>,
    /// The call that waits for an answer of a person, on a legacy connection.
    asked: Option<Value>,
}

const TOOLS: [&str; 17] = [
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
    "read_only",
];

impl Server {
    fn out(&self) -> Out {
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
        let mut line = String::new();
        while stdin.lock().read_line(&mut line).unwrap_or_default() > 0 {
            self.note(&line.clone());
            let message: Value = serde_json::from_str(&line).expect("JSON");
            self.hear(&message, &line);
            line.clear();
        }
    }

    fn result(&self, id: &Value, mut result: Value) {
        if self.is_modern && result.get("resultType").is_none() {
            result["resultType"] = json!("complete");
        }
        self.out().say(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
    }

    fn text(&self, id: &Value, text: &str) {
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
            "huge" => {
                tools.push(json!({ "name": "huge", "description": "x".repeat(64 << 20), "inputSchema": {} }))
            }
            _ => {}
        }
        result["tools"] = json!(tools);
        self.result(id, self.lasting(result));
    }

    fn call(&mut self, id: &Value, message: &Value, line: &str) {
        let arguments = &message["params"]["arguments"];
        let number = |name: &str| arguments[name].as_u64().unwrap_or_default();
        match message["params"]["name"].as_str().unwrap_or_default() {
            "env" => {
                let all: Vec<(String, String)> =
                    std::env::vars_os().map(|(name, value)| (lossy(&name), lossy(&value))).collect();
                self.text(id, &json!(all).to_string());
            }
            "argv" => {
                let all: Vec<String> = std::env::args_os().map(|it| lossy(&it)).collect();
                self.text(id, &json!(all).to_string());
            }
            "fds" => {
                let all = std::fs::read_dir("/proc/self/fd").expect("descriptors").flatten();
                let links = all.filter_map(|it| std::fs::read_link(it.path()).ok());
                let links: Vec<String> = links.map(|it| it.display().to_string()).collect();
                self.text(id, &json!(links).to_string());
            }
            "exit" => match arguments["how"].as_str().unwrap_or_default() {
                "0" => std::process::exit(0),
                "1" => std::process::exit(1),
                how => crate::stage::signal(std::process::id(), how),
            },
            "sleep" => {
                let (out, id, time) = (self.out(), id.clone(), Duration::from_millis(number("ms")));
                let modern = self.is_modern;
                std::thread::spawn(move || {
                    std::thread::sleep(time);
                    let mut result = json!({ "content": [{ "type": "text", "text": "slept" }] });
                    if modern {
                        result["resultType"] = json!("complete");
                    }
                    out.say(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
                });
            }
            "hang" => {}
            "deaf" => loop {
                std::thread::sleep(Duration::from_secs(60));
            },
            "stray" => {
                let answer = |id: Value| json!({ "jsonrpc": "2.0", "id": id, "result": { "content": [{ "type": "text", "text": "stolen" }], "resultType": "complete" } });
                for wrong in [json!(987_654), json!("x"), json!(null), json!(-1), json!(0)] {
                    self.out().say(&answer(wrong));
                }
                for other in 0..50 {
                    if json!(other) != *id {
                        self.out().say(&answer(json!(other)));
                    }
                }
                self.text(id, "mine");
            }
            "big" => self.text(id, &"x".repeat(usize::try_from(number("bytes")).unwrap_or(0))),
            "progress" => {
                let token = &message["params"]["_meta"]["progressToken"];
                for step in 1..=number("steps") {
                    let params =
                        json!({ "progressToken": token, "progress": step, "message": arguments["word"] });
                    self.out().say(
                        &json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params }),
                    );
                }
                self.text(id, arguments["word"].as_str().unwrap_or_default());
            }
            "flood" => {
                let kind = arguments["kind"].as_str().unwrap_or_default();
                let params = match kind {
                    "message" => json!({ "level": "error", "data": "x".repeat(100) }),
                    "progress" => {
                        json!({ "progressToken": message["params"]["_meta"]["progressToken"], "progress": 1 })
                    }
                    "resources/updated" => json!({ "uri": "test://one" }),
                    _ => json!({}),
                };
                let one =
                    json!({ "jsonrpc": "2.0", "method": format!("notifications/{kind}"), "params": params });
                let lines = format!("{one}\n").repeat(1000);
                for _ in 0..number("thousands") {
                    self.out().raw(&lines);
                }
                self.text(id, "flooded");
            }
            "garbage" => {
                let lines = format!("{}\n", "garbage ".repeat(128)).repeat(1024);
                for _ in 0..number("mib") {
                    self.out().raw(&lines);
                }
                self.text(id, "littered");
            }
            "stderr" => {
                let line = format!("{}\n", "y".repeat(1023)).repeat(1024);
                for _ in 0..number("mib") {
                    std::io::stderr().write_all(line.as_bytes()).expect("somebody reads");
                }
                self.text(id, "said");
            }
            "ask" => self.ask(id, message),
            "add" => {
                self.more.push(arguments["tool"].as_str().unwrap_or_default().to_owned());
                self.text(id, "added");
                self.out().say(&json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }));
            }
            // The line as it came.
            _ => self.text(id, line.trim_end()),
        }
    }

    fn ask(&mut self, id: &Value, message: &Value) {
        let form = json!({
            "mode": "form",
            "message": "What is the word?",
            "requestedSchema": { "type": "object", "properties": { "word": { "type": "string" } } },
        });
        if !self.is_modern {
            self.asked = Some(id.clone());
            let request =
                json!({ "jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": form });
            return self.out().say(&request);
        }
        let declared = &message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
        if self.vice != "asking" && declared.get("elicitation").is_none() {
            let data = json!({ "requiredCapabilities": { "elicitation": {} } });
            let error =
                json!({ "code": -32021, "message": "missing required client capability", "data": data });
            return self.out().say(&json!({ "jsonrpc": "2.0", "id": id, "error": error }));
        }
        match message["params"]["inputResponses"].get("word") {
            Some(answer) => self.text(id, &answer.to_string()),
            None => {
                let asked = json!({ "word": { "method": "elicitation/create", "params": form } });
                self.result(
                    id,
                    json!({ "resultType": "input_required", "inputRequests": asked, "requestState": "s" }),
                );
            }
        }
    }
}

fn lossy(text: &std::ffi::OsStr) -> String {
    text.to_string_lossy().into_owned()
}
