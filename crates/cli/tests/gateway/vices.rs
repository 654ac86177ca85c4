//! What the tools of a server behind the gateway do: each is bad in its own way.

use std::io::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use crate::upstream::Server;

impl Server {
    pub(crate) fn call(&mut self, id: &Value, message: &Value, line: &str) {
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
                // The first SIGSEGV is taken by Rust's own handler, which then steps aside.
                how => loop {
                    crate::stage::signal(std::process::id(), how);
                    std::thread::sleep(Duration::from_millis(20));
                },
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
            "later" => {
                // Asks and logs when no call is under way any more, and notes what it is told.
                self.text(id, "done");
                let late = json!({ "level": "emergency", "data": "late" });
                self.out()
                    .say(&json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": late }));
                let form = json!({ "message": "Out of turn?", "requestedSchema": { "type": "object", "properties": {} } });
                for (number, method, params) in [
                    (1, "elicitation/create", form),
                    (2, "sampling/createMessage", json!({ "messages": [], "maxTokens": 1 })),
                    (3, "roots/list", json!({})),
                ] {
                    let id = format!("later-{number}");
                    self.out()
                        .say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
                }
            }
            "url" => {
                let params = json!({ "mode": "url", "message": "Go there", "url": arguments["url"], "elicitationId": "e" });
                self.asked = Some(id.clone());
                self.out().say(
                    &json!({ "jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": params }),
                );
            }
            "first" => {
                let one = json!({ "mode": "url", "message": "Go there", "url": arguments["url"], "elicitationId": "e" });
                let error =
                    json!({ "code": -32042, "message": "go first", "data": { "elicitations": [one] } });
                self.out().say(&json!({ "jsonrpc": "2.0", "id": id, "error": error }));
            }
            "touch" => {
                let params = json!({ "uri": "test://one" });
                self.out().say(&json!({ "jsonrpc": "2.0", "method": "notifications/resources/updated", "params": params }));
                self.text(id, "touched");
            }
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
