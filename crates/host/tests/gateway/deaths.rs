//! A server that dies, or talks nonsense, at each step. Its callers learn it, and the other server never notices.

use std::collections::BTreeMap;

use contexture::Error;
use contexture::auth::Secret;
use contexture::revision::Era;
use contexture_host::config::{Origin, ServerEntry, TransportSpec};
use serde_json::json;

use super::support::{ERAS, Gate, Wire, able, child, config};

/// A server of the legacy era that is small enough to be read. It does what its name says, at its step.
const SERVER: &str = r#"
import json, os, sys
step, deed = os.environ["STEP"], os.environ["DEED"]
def say(message): sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n"); sys.stdout.flush()
def at(here):
    if step != here: return
    if deed == "die": sys.stderr.write("dead at " + here + "\n"); sys.stderr.flush(); os._exit(9)
    if deed == "babble":
        for line in ["", "{", "[]", "null", '{"jsonrpc":"2.0"}', '{"jsonrpc":"2.0","id":999,"result":{}}', "\u0000" * 40]:
            sys.stdout.write(line + "\n")
        sys.stdout.flush()
    if deed == "flood":
        for number in range(20000): say({"method": "notifications/message", "params": {"level": "info", "data": number}})
for line in sys.stdin:
    message = json.loads(line)
    method, id = message.get("method"), message.get("id")
    if method is None: at("answer"); say({"id": call, "result": {"content": [{"type": "text", "text": "asked"}]}}); continue
    at(method)
    if method == "initialize":
        say({"id": id, "result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}, "logging": {}}, "serverInfo": {"name": "tiny", "version": "1"}}})
    elif method == "tools/list":
        say({"id": id, "result": {"tools": [{"name": "go", "inputSchema": {"type": "object"}}, {"name": "ask", "inputSchema": {"type": "object"}}]}})
    elif method == "tools/call" and message["params"]["name"] == "ask":
        call = id
        say({"id": "q", "method": "elicitation/create", "params": {"message": "Who?", "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}}})
    elif method == "tools/call": say({"id": id, "result": {"content": [{"type": "text", "text": "gone"}]}})
    elif id is not None and method == "logging/setLevel": say({"id": id, "result": {}})
    elif id is not None: say({"id": id, "error": {"code": -32601, "message": "unknown"}})
"#;

fn odd(step: &str, deed: &str) -> ServerEntry {
    let transport = TransportSpec::Stdio {
        command: "python3".into(),
        args: vec!["-c".into(), SERVER.into()],
        env: BTreeMap::from([("STEP".to_owned(), Secret::new(step)), ("DEED".to_owned(), Secret::new(deed))]),
        cwd: None,
    };
    ServerEntry::new("up", transport, Origin::command_line())
}

const STEPS: [&str; 6] =
    ["server/discover", "initialize", "notifications/initialized", "tools/list", "tools/call", "answer"];

#[tokio::test]
async fn wherever_it_dies_somebody_is_told_and_nobody_else_is_hurt() {
    for (step, era) in STEPS.into_iter().flat_map(|step| ERAS.map(|era| (step, era))) {
        let gate = Gate::start(config(vec![odd(step, "die"), child("other", Era::Legacy)])).await;
        let client = gate.connect(able(), era, Wire::Pipe).await;
        let tool = if step == "answer" { "up__ask" } else { "up__go" };
        let outcome = client.call(tool, ()).await;
        if step == "server/discover" {
            // Some servers die of what they do not know; they are asked in the older way then.
            assert_eq!(outcome.expect("an answer").text(), "gone", "{era:?}");
        } else {
            match outcome {
                Err(Error::Remote(error)) => {
                    assert!(error.message.contains("\"up\""), "{step} {era:?}: {error}");
                    assert!(error.message.contains("dead at"), "{step} {era:?}: {error}");
                    assert_eq!(error.data.expect("data")["server"], "up");
                }
                other => panic!("{step} {era:?}: {other:?}"),
            }
        }
        let reply = client.call("other__echo", json!({ "text": "unhurt" })).await;
        assert_eq!(reply.unwrap_or_else(|error| panic!("{step}: {error}")).text(), "unhurt");
        gate.host.stop().await;
    }
}

#[tokio::test]
async fn nonsense_and_floods_are_survived() {
    for (step, deed) in STEPS.into_iter().flat_map(|step| ["babble", "flood"].map(|deed| (step, deed))) {
        let gate = Gate::start(config(vec![odd(step, deed)])).await;
        for era in ERAS {
            let client = gate.connect(able(), era, Wire::Pipe).await;
            for (tool, text) in [("up__go", "gone"), ("up__ask", "asked")] {
                let reply = client.call(tool, ()).await;
                let reply = reply.unwrap_or_else(|error| panic!("{step} {deed} {era:?} {tool}: {error}"));
                assert_eq!(reply.text(), text, "{step} {deed} {era:?}");
            }
        }
        gate.host.stop().await;
    }
}
