//! Which questions of a legacy server make one round of a modern client.

use std::collections::BTreeMap;

use contexture::Client;
use contexture::auth::Secret;
use contexture::client::InputRequired;
use contexture::model::{ClientCapabilities, ElicitationCapability, JsonObject, Method, Root};
use contexture::revision::Era;
use contexture_host::config::{Origin, RootsFor, ServerEntry, TransportSpec};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

use super::support::{Gate, Wire, config};

/// A server of the legacy era that takes its time between the questions that it asks at once: longer than anybody waits who
/// was not told of the second.
const SERVER: &str = r#"
import json, os, sys, time
together = json.loads(os.environ["TOGETHER"])
def say(message): sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n"); sys.stdout.flush()
def ask(key, method, params): say({"id": key, "method": method, "params": {**params, "_meta": {"contexture/question": key, **together}}})
form = {"message": "?", "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}}
answered = 0
for line in sys.stdin:
    message = json.loads(line)
    method, id = message.get("method"), message.get("id")
    if method is None:
        answered += 1
        if answered == 3: say({"id": call, "result": {"content": [{"type": "text", "text": "all three"}]}})
    elif method == "initialize":
        say({"id": id, "result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "slow", "version": "1"}}})
    elif method == "tools/list": say({"id": id, "result": {"tools": [{"name": "ask", "inputSchema": {"type": "object"}}]}})
    elif method == "tools/call":
        call = id
        ask("a", "elicitation/create", form)
        time.sleep(0.6)
        ask("b", "roots/list", {})
        ask("c", "elicitation/create", form)
    elif id is not None: say({"id": id, "error": {"code": -32601, "message": "unknown"}})
"#;

/// The keys of the first round that a modern client is asked.
async fn first_round(together: Value) -> Vec<String> {
    let transport = TransportSpec::Stdio {
        command: "python3".into(),
        args: vec!["-c".into(), SERVER.into()],
        env: BTreeMap::from([("TOGETHER".to_owned(), Secret::new(together.to_string()))]),
        cwd: None,
    };
    let mut entry = ServerEntry::new("up", transport, Origin::command_line());
    // One of the three is answered here, and no client hears of it.
    entry.roots = RootsFor::Fixed(vec![Root::new("file:///configured")]);
    let gate = Gate::start(config(vec![entry])).await;
    let client = gate.connect(Client::builder(), Era::Modern, Wire::Http).await;
    let form = ElicitationCapability { form: Some(JsonObject::new()), ..ElicitationCapability::default() };
    let can = ClientCapabilities { elicitation: Some(form), ..ClientCapabilities::default() };
    let params = to_raw_value(&json!({ "name": "up__ask", "arguments": {} })).expect("JSON");
    let exchange = client.forward(Method::ToolsCall, Some(&params)).capabilities(can).await;
    let InputRequired { requests, .. } = exchange.expect("an exchange").asked.expect("questions");
    gate.host.stop().await;
    requests.into_keys().collect()
}

#[tokio::test]
async fn what_a_server_says_belongs_together_is_asked_together_however_long_it_takes() {
    let said = json!({ "contexture/together": ["a", "b", "c"] });
    assert_eq!(first_round(said).await, ["a", "c"]);
}

#[tokio::test]
async fn what_belongs_to_nothing_else_is_asked_alone() {
    let said = json!({ "contexture/together": ["a"] });
    assert_eq!(first_round(said).await, ["a"]);
}
