//! A server that does what it is told by the name of the tool, and writes down what it hears. It speaks the legacy era only.
//!
//! It is this very test program in another role: `./server`, beside a file `heard`. The word after it says how its lists
//! are, `many` or `huge`, or what else is odd about it.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, Write as _};
use std::path::Path;

use serde_json::{Value, json};

const ROLE: &str = "CONTEXTURE_SCRIPTED";
const HEARD: &str = "CONTEXTURE_HEARD";

/// Puts `server` into a folder. Another process writes it: a file that is open for writing anywhere cannot be run.
pub(crate) fn install(folder: &Path) {
    let test = std::env::current_exe().expect("this binary has a path");
    let script = format!(
        "#!/bin/sh\nexport {ROLE}=\"as $*\" {HEARD}=\"$(dirname \"$0\")/heard\"\n\
         exec '{}' scripted::act --exact --nocapture --test-threads=1 3>&1 >/dev/null\n",
        test.display()
    );
    let mut writer = std::process::Command::new("sh");
    writer
        .args(["-c", "printf '%s' \"$1\" > \"$0\" && chmod 700 \"$0\""])
        .arg(folder.join("server"))
        .arg(script);
    assert!(writer.status().expect("there is a shell").success());
}

/// Not a test, but the door through which the process becomes the server.
#[test]
fn act() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let out = OpenOptions::new().append(true).open("/dev/fd/3").expect("the shell opened it");
    let heard = std::env::var(HEARD).expect("the script says so");
    let heard = OpenOptions::new().create(true).append(true).open(heard).expect("a file");
    let mut server = Server { role, out, heard, versions: 0, waiting: Value::Null };
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        writeln!(server.heard, "{line}").expect("it is ours");
        let message = serde_json::from_str(&line).expect("clients send JSON");
        if !server.hears(&message) {
            return;
        }
    }
}

struct Server {
    role: String,
    out: File,
    heard: File,
    versions: u32,
    /// The call that waits for an answer of the client.
    waiting: Value,
}

impl Server {
    /// Whether to go on.
    fn hears(&mut self, message: &Value) -> bool {
        let (id, params) = (&message["id"], &message["params"]);
        let Some(method) = message["method"].as_str() else {
            // An answer to what was asked: the call is over.
            let waiting = self.waiting.take();
            self.answers(
                &waiting,
                json!({ "content": [{ "type": "text", "text": message["result"].to_string() }] }),
            );
            return true;
        };
        match method {
            "initialize" => self.answers(id, json!({
                "protocolVersion": "2025-11-25",
                "capabilities": { "tools": { "listChanged": true }, "resources": { "subscribe": true }, "logging": {} },
                "serverInfo": { "name": "scripted", "version": "1" },
            })),
            "ping" => self.answers(id, json!({})),
            "tools/list" => self.lists(id, params["cursor"].as_str()),
            "tools/call" => return self.called(id, params),
            "resources/subscribe" => {
                self.answers(id, json!({}));
                self.tells("notifications/resources/updated", json!({ "uri": params["uri"] }));
                self.tells("notifications/tools/list_changed", json!({}));
                return !self.role.contains("fleeting");
            }
            "resources/read" => {
                self.versions += 1;
                let text = format!("# Version {}\n\n**bold** and [a link](https://example.org)", self.versions);
                let contents = json!([{ "uri": params["uri"], "mimeType": "text/markdown", "text": text }]);
                self.answers(id, json!({ "contents": contents }));
            }
            "logging/setLevel" => {
                self.answers(id, json!({}));
                self.tells("notifications/message", json!({ "level": "error", "logger": "disk", "data": "full\u{1b}[2J" }));
                self.tells("notifications/message", json!({ "level": "alert", "data": { "free": 0 } }));
            }
            "notifications/initialized" if self.role.contains("changing") => {
                // Again and again: whoever begins to follow must not have missed it.
                let mut out = self.out.try_clone().expect("the same pipe");
                std::thread::spawn(move || {
                    let line = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n";
                    while out.write_all(line.as_bytes()).is_ok() {
                        std::thread::sleep(std::time::Duration::from_millis(100));
                    }
                });
            }
            "example/strange" => self.answers(id, json!({ "got": params, "z": 1, "a": 2 })),
            _ if !id.is_null() => {
                self.says(json!({ "id": id, "error": { "code": -32601, "message": "not known here" } }));
            }
            _ => {}
        }
        true
    }

    fn called(&mut self, id: &Value, params: &Value) -> bool {
        let token = &params["_meta"]["progressToken"];
        let text = |text: &str| json!({ "content": [{ "type": "text", "text": text }] });
        match params["name"].as_str().unwrap_or_default() {
            "wait" => {
                self.tells("notifications/progress", json!({
                    "progressToken": token, "progress": 1, "total": 4, "message": "halfway to half" }));
                self.tells("notifications/message", json!({ "level": "info", "data": "still at it" }));
            }
            "count" => {
                for step in 1..=3 {
                    self.tells("notifications/progress", json!({ "progressToken": token, "progress": step }));
                }
                self.tells("notifications/message", json!({ "level": "info", "data": "counted" }));
                self.answers(id, text("done"));
            }
            "markdown" => self.answers(id, text(MARKDOWN)),
            "rows" => {
                let rows = json!({ "people": [{ "name": "Ada", "age": 36 }, { "name": "Grace", "age": 85 }] });
                self.answers(id, json!({
                    "content": [{ "type": "text", "text": rows.to_string() }], "structuredContent": rows }));
            }
            "picture" => self.answers(id, json!({ "content": [
                { "type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo=" },
                { "type": "resource", "resource": { "uri": "x:/../../.evil\u{1b}.bin", "blob": "AAEC" } },
                { "type": "text", "text": "for you", "annotations": { "audience": ["assistant"], "priority": 0.5 } },
            ] })),
            "ask" => {
                let properties = json!({
                    "one": { "type": "string", "enum": ["red", "green"] },
                    "several": { "type": "array", "items": { "type": "string", "enum": ["a", "b", "c"] } },
                    "size": { "type": "integer", "default": 3 },
                });
                let schema = json!({ "type": "object", "required": ["one"], "properties": properties });
                let params = json!({ "message": "Which colours?", "mode": "form", "requestedSchema": schema });
                self.asks(id, "elicitation/create", params);
            }
            "visit" => {
                let params = json!({ "message": "Please pay.", "mode": "url", "elicitationId": "1",
                    "url": "https://pay.example/now" });
                self.asks(id, "elicitation/create", params);
            }
            "sample" => {
                let content = json!({ "type": "text", "text": "why\u{202e}?" });
                let params = json!({ "messages": [{ "role": "user", "content": content }], "maxTokens": 10 });
                self.asks(id, "sampling/createMessage", params);
            }
            "die" => return false,
            "nonsense" => {
                writeln!(self.out, "Segmentation fault\u{1b}[2J (core dumped)\n{{\"jsonrpc\":").expect("a reader");
                self.answers(id, text("after all"));
            }
            _ => self.answers(id, text(&params["arguments"].to_string())),
        }
        true
    }

    fn lists(&mut self, id: &Value, cursor: Option<&str>) {
        let tool = |name: &str, description: &str| {
            json!({ "name": name, "description": description, "inputSchema": { "type": "object", "properties": {
                "size": { "enum": ["s", "m"] }, "n": { "$ref": "#/$defs/n" }, "list": { "type": "array" } },
                "$defs": { "n": { "anyOf": [{ "type": "integer" }, { "type": "null" }] } } } })
        };
        if self.role.contains("many") {
            let page: u32 = cursor.and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
            let tools: Vec<Value> = (page * 1000..(page + 1) * 1000)
                .map(|one| tool(&format!("tool_{one}"), "one of many"))
                .collect();
            let mut result = json!({ "tools": tools });
            if page < 9 {
                result["nextCursor"] = (page + 1).to_string().into();
            }
            return self.answers(id, result);
        }
        let mut tools: Vec<Value> =
            ["wait", "count", "markdown", "rows", "picture", "ask", "sample", "die", "nonsense", "echo"]
                .map(|name| tool(name, &format!("does {name}\nand more")))
                .into();
        if self.role.contains("huge") {
            tools = vec![
                tool("huge", &"wörd ".repeat(2_000_000)),
                tool("odd\u{1b}[2J\u{202e}\u{200b}", "a\u{7}b"),
            ];
        }
        self.answers(id, json!({ "tools": tools }));
    }

    /// Asks the client something, for the sake of a call.
    fn asks(&mut self, call: &Value, method: &str, params: Value) {
        self.waiting = call.clone();
        self.says(json!({ "id": 1, "method": method, "params": params }));
    }

    fn answers(&mut self, id: &Value, result: Value) {
        self.says(json!({ "id": id, "result": result }));
    }

    fn tells(&mut self, method: &str, params: Value) {
        self.says(json!({ "method": method, "params": params }));
    }

    fn says(&mut self, mut message: Value) {
        message["jsonrpc"] = "2.0".into();
        // One write: a reader sees whole lines.
        let line = format!("{message}\n");
        let _ = self.out.write_all(line.as_bytes());
    }
}

const MARKDOWN: &str = "# Findings\n\n- **two** of `three`\n- see [the docs](https://example.org/docs)\n\n\
    | name | count |\n|------|-------|\n| apples | 12 |\n| pears\u{1b}[2J | 3 |\n\n```sh\nls -l\n```\n";
