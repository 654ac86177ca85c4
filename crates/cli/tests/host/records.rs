//! What is written down of calls, for those who look after them, and what is not.

use contexture::Client;
use contexture::client::ElicitAnswer;
use contexture::revision::Era;
use serde_json::json;

use crate::people::{Person, decides};
use crate::provider::Provider;
use crate::stage::{Stage, until};
use crate::upstream::{ERAS, Upstream};

// covers: TOOLS-UI-INVOKED
#[tokio::test]
async fn a_call_is_noted_when_it_begins_and_when_it_ends() {
    for (client, server) in ERAS.into_iter().flat_map(|client| ERAS.map(|server| (client, server))) {
        let files = Upstream::start("files", server).await;
        let stage =
            Stage::new(json!({ "files": files.entry() }), json!({ "policy": { "default": "allow" } }));
        let front = stage.client(client, Client::builder()).await;
        let call = front.call("files__wait", ()).start();
        files.is_called("wait", 1).await;
        let (begun, ended) =
            (stage.audited("decision", "files", "wait"), stage.audited("call", "files", "wait"));
        assert_eq!((begun.len(), ended.len()), (1, 0), "{client:?} {server:?}: at work");
        assert_eq!(begun[0]["decision"], "allow", "{begun:?}");
        files.gate.send_replace(true);
        assert_eq!(call.await.expect("an answer").text(), "waited");
        until("the end in the audit", || stage.audited("call", "files", "wait").len() == 1).await;
        let ended = stage.audited("call", "files", "wait").remove(0);
        assert_eq!(ended["outcome"], "done", "{ended}");
        assert!(ended["durationMs"].is_number(), "{ended}");
        for line in [&begun[0], &ended] {
            // Who, at which server, what: by the server's name for it and by ours.
            assert_eq!(line["subject"], "local", "{line}");
            assert_eq!(line["kind"], "tool", "{line}");
            assert_eq!(line["catalogName"], "files__wait", "{line}");
            assert!(line["time"].as_str().is_some_and(|time| time.ends_with('Z')), "{line}");
        }
    }
}

// covers: CANC-UI
#[tokio::test]
async fn a_call_that_is_given_up_is_noted_and_ends_at_its_server() {
    for (client, server) in ERAS.into_iter().flat_map(|client| ERAS.map(|server| (client, server))) {
        let files = Upstream::start("files", server).await;
        let stage =
            Stage::new(json!({ "files": files.entry() }), json!({ "policy": { "default": "allow" } }));
        let front = stage.client(client, Client::builder()).await;
        let call = front.call("files__wait", ()).start();
        files.is_called("wait", 1).await;
        assert!(!call.is_cancel_requested());
        call.cancel("that is enough");
        assert!(call.is_cancel_requested(), "whoever shows the call can show this");
        until("the end in the audit", || stage.audited("call", "files", "wait").len() == 1).await;
        let ended = stage.audited("call", "files", "wait").remove(0);
        assert_eq!(ended["outcome"], "cancelled", "{client:?} {server:?}: {ended}");
        assert!(call.await.is_err());
        // In the newer era a closed stream says it.
        if server == Era::Legacy {
            until("the server is told", || files.heard.of("notifications/cancelled").len() == 1).await;
            let told = files.heard.of("notifications/cancelled").remove(0);
            assert_eq!(told["params"]["requestId"], files.heard.calls("wait")[0]["id"], "{told}");
        }
        assert_eq!(front.text("files__look", json!({})).await, "seen", "the rest goes on");
    }
}

/// What is said in one story, and where it comes from.
const PAYLOADS: [&str; 7] = [
    "PAYLOAD-ARGUMENT",
    "SECRET-OF-FILES",
    "PAYLOAD-ANSWER",
    "What is in the letter?",
    "the model's own words",
    "PAYLOAD-LOG",
    "PAYLOAD-PROMPT",
];

async fn story(stage: &Stage, era: Era) {
    let person = Person::saying([
        ElicitAnswer::accept([("name", "PAYLOAD-ANSWER")]),
        decides("once"),
        decides("once"),
        decides("deny"),
    ]);
    let front = stage.client(era, person.client()).await;
    front.text("files__repeat", json!({ "word": "PAYLOAD-ARGUMENT" })).await;
    front.text("files__tell", json!({})).await;
    front.read("files+note://secret").await.expect("contents");
    front.text("files__ask", json!({})).await;
    front.text("files__think", json!({})).await;
    front.text("files__log", json!({ "word": "PAYLOAD-LOG" })).await;
    front.prompt("files__greet", json!({ "word": "PAYLOAD-PROMPT" })).await.expect("a prompt");
    // And some that go wrong.
    assert!(front.call("files__write", json!({ "path": "PAYLOAD-ARGUMENT", "text": "" })).await.is_err());
    assert!(front.call("files__nothing", json!({ "word": "PAYLOAD-ARGUMENT" })).await.is_err());
    front.close().await;
}

// covers: SAMP-SENSITIVE, SEC-IMPL-PRIVACY, LOG-NO-PII
#[tokio::test]
async fn nothing_of_what_is_said_is_written_down_unless_somebody_wants_it() {
    for era in ERAS {
        let (files, provider) = (Upstream::start("files", era).await, Provider::start().await);
        let rules =
            json!([{ "tool": "write", "decision": "ask" }, { "kinds": ["tool"], "decision": "allow" }]);
        let config = |audit: serde_json::Value| json!({ "policy": { "rules": rules }, "sampling": provider.config(), "audit": audit });
        let stage = Stage::new(json!({ "files": files.entry() }), config(json!("audit.jsonl")));
        story(&stage, era).await;
        let written = format!("{}\n{:?}", stage.said(), stage.audit());
        assert!(
            !stage.audited("call", "files", "repeat").is_empty(),
            "it was written down that it was: {written}"
        );
        for payload in PAYLOADS {
            assert!(!written.contains(payload), "{era:?}: {payload} in {written}");
        }
        // What was sent can still be told from what was not.
        let digest = &stage.audited("decision", "files", "repeat")[0]["argumentsSha256"];
        assert_eq!(digest.as_str().map(str::len), Some(64), "{digest}");

        let wanted = json!({ "path": "audit.jsonl", "arguments": true });
        let stage = Stage::new(json!({ "files": files.entry() }), config(wanted));
        story(&stage, era).await;
        let kept = &stage.audited("decision", "files", "repeat")[0]["arguments"];
        assert_eq!(*kept, json!({ "word": "PAYLOAD-ARGUMENT" }), "{era:?}");
        assert!(!stage.said().contains("PAYLOAD"), "{}", stage.said());
    }
}

// covers: AUTH-TOKEN-STORAGE
#[tokio::test]
async fn the_keys_of_servers_are_shown_to_nobody() {
    let files = Upstream::start("files", Era::Legacy).await;
    let servers = json!({
        "files": files.entry(),
        "gone": { "command": "/srv/hidden/folder/server", "args": ["--key", "KEY-IN-ARGUMENTS"],
                  "env": { "KEY": "KEY-IN-ENVIRONMENT" } },
        "far": { "url": "http://127.0.0.1:9/mcp?key=KEY-IN-URL", "headers": { "x-key": "KEY-IN-HEADER" } },
    });
    let stage = Stage::new(servers, json!({ "policy": { "default": "allow" } }));
    for era in ERAS {
        let front = stage.client(era, Client::builder()).await;
        assert_eq!(front.text("files__look", json!({})).await, "seen", "the others go on");
        for server in ["gone", "far"] {
            let error =
                front.call(format!("{server}__look"), ()).await.expect_err("it is not there").to_string();
            assert!(error.contains(server), "it says which: {error}");
        }
        let received = front.received();
        assert!(!received.contains("KEY-IN"), "{era:?}: {received}");
        assert!(!stage.said().contains("KEY-IN"), "{}", stage.said());
    }
}
