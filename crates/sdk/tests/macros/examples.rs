//! Every example, run as a program: some lines in, the answers out.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use contexture_judge::{From, Watch};
use serde_json::{Value, json};

/// A running example.
struct Example {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    watch: Watch,
    last_id: u64,
}

impl Example {
    fn start(name: &str, capabilities: Value) -> Self {
        let mut child = Command::new(path(name))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the example starts; `cargo test -p contexture` builds all of them");
        let (input, output) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        let mut example = Self {
            child,
            input,
            output: BufReader::new(output),
            watch: Watch::new(From::Server),
            last_id: 0,
        };
        let mut initialize = crate::wire::initialize();
        initialize["capabilities"] = capabilities;
        let answer = example.ask("initialize", initialize);
        assert!(answer["result"]["capabilities"].is_object(), "{answer}");
        example.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        example
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.begin(method, params);
        self.receive()
    }

    fn begin(&mut self, method: &str, params: Value) {
        self.last_id += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params }));
    }

    fn send(&mut self, message: &Value) {
        self.watch.message(From::Client, message);
        writeln!(self.input, "{message}").expect("the example reads");
    }

    fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("the example writes");
        let message = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        self.watch.message(From::Server, &message);
        message
    }

    fn call(&mut self, name: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({ "name": name, "arguments": arguments }))
    }

    /// Closes its input; it has to end by itself.
    fn finish(self) {
        let Self { mut child, input, watch, .. } = self;
        assert!(watch.judged() > 0);
        drop(input);
        assert!(child.wait().expect("it ends").success());
    }
}

/// Examples are built beside the tests.
fn path(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the test has a path");
    let profile = test.parent().and_then(|deps| deps.parent()).expect("target/PROFILE/deps");
    profile.join("examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

#[test]
fn hello() {
    let mut hello = Example::start("hello", json!({ "elicitation": {} }));
    assert_eq!(hello.call("add", json!({ "a": 1, "b": 2 }))["result"]["structuredContent"]["result"], 3);
    hello.begin("tools/call", json!({ "name": "greet", "arguments": { "greeting": "Hello" } }));
    let question = hello.receive();
    assert_eq!(question["method"], "elicitation/create");
    assert_eq!(
        question["params"]["requestedSchema"]["properties"]["name"]["description"],
        "What people call you."
    );
    let answer = json!({ "action": "accept", "content": { "name": "Ada" } });
    hello.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer }));
    assert_eq!(hello.receive()["result"]["content"][0]["text"], "Hello, Ada");
    hello.finish();
}

#[test]
fn shared_state() {
    let mut notes = Example::start("shared_state", json!({}));
    assert_eq!(notes.call("keep", json!({ "text": "milk" }))["result"]["structuredContent"]["result"], 0);
    let answer = notes.ask("resources/read", json!({ "uri": "notes://0" }));
    assert_eq!(answer["result"]["contents"][0]["text"], "milk");
    assert!(notes.ask("resources/read", json!({ "uri": "notes://1" })).get("error").is_some());
    let answer = notes.ask("prompts/get", json!({ "name": "summary" }));
    assert_eq!(answer["result"]["messages"][0]["content"]["text"], "Summarize in 3 sentences:\n- milk");
    notes.finish();
}

#[test]
fn builder() {
    let mut words = Example::start("builder", json!({}));
    let answer = words.call("search", json!({ "part": "app" }));
    assert_eq!(answer["result"]["structuredContent"]["result"], json!(["apple", "apply"]));
    let answer = words.call("search", json!({ "part": "app", "limit": 1 }));
    assert_eq!(answer["result"]["structuredContent"]["result"], json!(["apple"]));
    let rhyme = json!({
        "ref": { "type": "ref/prompt", "name": "rhyme" },
        "argument": { "name": "letter", "value": "b" },
    });
    assert_eq!(words.ask("completion/complete", rhyme)["result"]["completion"]["values"], json!(["b"]));
    let answer = words.ask("resources/read", json!({ "uri": "words://about" }));
    assert_eq!(answer["result"]["contents"][0]["text"], "Words of a language.");
    words.finish();
}

#[test]
fn middleware() {
    let mut guarded = Example::start("middleware", json!({}));
    let answer = guarded.call("echo", json!({ "message": "hi" }));
    assert_eq!(answer["result"]["content"][0]["text"], "hi");
    let answer = guarded.call("echo", json!({ "message": "a secret" }));
    assert_eq!(answer["error"]["message"], "not in this house");
    assert!(guarded.call("wait", json!({ "seconds": 60 })).get("error").is_some());
    guarded.finish();
}
