//! Tools run when a person has said so, with what the person has seen; and so does everything else that is to be asked about.

use contexture::Client;
use contexture::client::ElicitAnswer;
use serde_json::{Value, json};

use crate::people::{Person, decides, form};
use crate::stage::{DENIED, Stage, refused};
use crate::upstream::{ERAS, Upstream};

/// Nothing is asked about `look`, which shows that all before it has arrived.
fn marked() -> Value {
    json!({ "policy": { "rules": [{ "tool": "look", "decision": "allow" }] } })
}

// covers: TOOLS-HUMAN-LOOP, SEC-TOOL-CONSENT, SEC-USER-CONTROL, SEC-TOOL-CAUTION
#[tokio::test]
async fn a_call_that_is_not_allowed_never_leaves() {
    let answers = [decides("deny"), ElicitAnswer::Decline, ElicitAnswer::Cancel];
    for (client, server) in ERAS.into_iter().flat_map(|client| ERAS.map(|server| (client, server))) {
        let files = Upstream::start("files", server).await;
        let stage = Stage::new(json!({ "files": files.entry() }), marked());
        let person = Person::saying(answers.clone());
        let front = stage.client(client, person.client()).await;
        for answer in &answers {
            let denied = front.call("files__write", json!({ "path": "/tmp/x", "text": "y" })).await;
            let (code, why) = refused(denied);
            assert_eq!(code, DENIED, "{client:?} {server:?} {answer:?}");
            assert!(why.contains("\"write\"") && why.contains("\"files\""), "{why}");
        }
        assert_eq!(front.text("files__look", json!({})).await, "seen");
        assert_eq!(files.heard.calls("write").len(), 0, "{client:?} {server:?}");
        assert_eq!(files.heard.calls("look").len(), 1);
        assert_eq!(person.questions().len(), 3, "each is asked about");
        let decided = stage.audited("decision", "files", "write");
        let words: Vec<&str> = decided.iter().filter_map(|line| line["decision"].as_str()).collect();
        assert_eq!(words.iter().filter(|word| **word == "deny").count(), 3, "{words:?}");
        assert!(!words.contains(&"allow"), "{words:?}");
    }
}

// covers: TOOLS-UI-CONFIRM, TOOLS-CLIENT-SHOW-INPUTS, SEC-TOOL-CONSENT, SEC-TOOL-UNDERSTAND, SEC-REVIEW-UI
#[tokio::test]
async fn an_allowed_call_is_sent_once_and_after_the_answer() {
    for (client, server) in ERAS.into_iter().flat_map(|client| ERAS.map(|server| (client, server))) {
        let files = Upstream::start("files", server).await;
        let stage = Stage::new(json!({ "files": files.entry() }), marked());
        let person = Person::silent([decides("once")]);
        let front = stage.client(client, person.client()).await;
        let arguments = json!({ "path": "/tmp/letter", "text": "two\nlines \u{202e}turned" });
        let call = front.call("files__write", arguments.clone()).start();
        person.is_asked(1).await;
        // Who asks, what for and with what is before the person, and the server knows of nothing.
        let message = person.messages().remove(0);
        for shown in [
            "\"write\"",
            "\"files\"",
            "Write it down",
            "Writes a text to a path.",
            "which nobody has checked",
            "it may destroy something",
            "\"/tmp/letter\"",
            r"two\nlines \u{202e}turned",
        ] {
            assert!(message.contains(shown), "{client:?} {server:?}: {shown} is not in {message}");
        }
        let form = form(&person.questions()[0]);
        assert_eq!(form["required"], json!(["decision"]), "{form}");
        assert_eq!(front.text("files__look", json!({})).await, "seen");
        assert_eq!(files.heard.calls("write").len(), 0, "{client:?} {server:?}: sent before the answer");
        person.speak();
        assert_eq!(call.await.expect("an answer").text(), "written", "{client:?} {server:?}");
        let calls = files.heard.calls("write");
        assert_eq!(calls.len(), 1, "{client:?} {server:?}: {calls:?}");
        assert_eq!(calls[0]["params"]["arguments"], arguments);
        assert_eq!(person.questions().len(), 1, "asked once");
    }
}

// covers: TOOLS-CLIENT-SHOW-INPUTS
#[tokio::test]
async fn what_was_shown_is_what_is_sent_to_the_byte() {
    let files = Upstream::start("files", ERAS[0]).await;
    let stage = Stage::new(json!({ "files": files.entry() }), json!({}));
    let mut front = stage.raw();
    front.initialize("2025-06-18", json!({ "elicitation": {} })).await.expect("a session");
    let arguments = r#"{"text":"\u0041\/","path":"/tmp/x","size":1.50e1,"more":[1,{"deep":-0.0}]}"#;
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":"one","method":"tools/call","params":{{"name":"files__write","arguments":{arguments}}}}}"#
    );
    front.send_line(&call).await.expect("sent");
    let question = front.expect("elicitation/create").await.expect("a question");
    let message = question["params"]["message"].as_str().expect("a message");
    for token in [r#""\u0041\/""#, "1.50e1", "-0.0"] {
        assert!(message.contains(token), "{token} is not in {message}");
    }
    front
        .answer(&question, json!({ "action": "accept", "content": { "decision": "once" } }))
        .await
        .expect("sent");
    let response = front.response(&json!("one")).await.expect("an answer");
    assert_eq!(response["result"]["content"][0]["text"], "written", "{response}");
    let sent: Vec<_> =
        files.heard.all().into_iter().filter(|it| it.message["method"] == "tools/call").collect();
    assert_eq!(sent.len(), 1);
    assert!(sent[0].text.contains(arguments), "{}", sent[0].text);
}

// covers: SEC-TOOL-DESC-UNTRUSTED, TOOLS-ANNOTATIONS-UNTRUSTED, TOOLS-CLIENT-CONFIRM
#[tokio::test]
async fn what_a_server_says_about_its_tools_counts_only_if_it_is_trusted() {
    for era in ERAS {
        let (known, other) = (Upstream::start("known", era).await, Upstream::start("other", era).await);
        let servers =
            json!({ "known": known.entry_with(json!({ "trusted": true })), "other": other.entry() });
        let rules = json!([{ "annotations": { "readOnlyHint": true }, "decision": "allow" }]);
        // By rule, and by what happens without any.
        for policy in [json!({ "rules": rules }), json!({})] {
            let stage = Stage::new(servers.clone(), json!({ "policy": policy }));
            let person = Person::saying([decides("once"), decides("once")]);
            let front = stage.client(era, person.client()).await;
            assert_eq!(front.text("known__look", json!({})).await, "seen");
            assert_eq!(person.questions().len(), 0, "its word is taken");
            assert_eq!(front.text("other__look", json!({})).await, "seen");
            assert_eq!(person.questions().len(), 1, "read-only, says somebody");
            assert!(person.messages()[0].contains("which nobody has checked"));
            // Trust is in what it says, and it says that this one destroys.
            assert_eq!(front.text("known__write", json!({ "path": "p", "text": "t" })).await, "written");
            assert_eq!(person.questions().len(), 2);
        }
    }
}

// covers: SEC-TOOL-CAUTION, TOOLS-HUMAN-LOOP
#[tokio::test]
async fn where_nobody_can_be_asked_nothing_is_called() {
    for (client, server) in ERAS.into_iter().flat_map(|client| ERAS.map(|server| (client, server))) {
        let files = Upstream::start("files", server).await;
        let stage = Stage::new(json!({ "files": files.entry() }), json!({}));
        let front = stage.client(client, Client::builder()).await;
        for tool in ["write", "look", "tell"] {
            let (code, why) =
                refused(front.call(format!("files__{tool}"), json!({ "path": "p", "text": "t" })).await);
            assert_eq!(code, DENIED, "{client:?} {server:?} {tool}");
            // Who is refused learns how it could be allowed. At a terminal there is somebody, who does not answer.
            let is_alone = std::fs::File::open("/dev/tty").is_err();
            assert!(!is_alone || why.contains(&format!(r#""tool": "{tool}", "decision": "allow""#)), "{why}");
        }
        assert!(front.read("files+note://plain").await.is_ok(), "the server is there");
        assert_eq!(files.heard.of("tools/call").len(), 0, "{client:?} {server:?}");
    }
}

/// Something that a client does, what of it is decided about, and whether a person can be asked: nobody is with every key
/// that is typed, so what needs a question there is not to be had.
const OPERATIONS: [(&str, &str, bool); 4] = [
    ("tools/call", "the tool", true),
    ("prompts/get", "the prompt", true),
    ("resources/read", "the resource", true),
    ("completion/complete", "the prompt", false),
];

fn operation(method: &str) -> Value {
    match method {
        "tools/call" => json!({ "name": "files__tell", "arguments": {} }),
        "prompts/get" => json!({ "name": "files__greet", "arguments": { "word": "Ada" } }),
        "resources/read" => json!({ "uri": "files+note://secret" }),
        _ => json!({ "ref": { "type": "ref/prompt", "name": "files__greet" },
                     "argument": { "name": "word", "value": "c" } }),
    }
}

// covers: SEC-CONSENT-OPERATIONS, SEC-IMPL-CONSENT-FLOWS, SEC-USER-CONTROL
#[tokio::test]
async fn every_operation_can_be_asked_about_and_denied() {
    for (method, words, is_asked) in OPERATIONS {
        for decision in ["ask", "deny"] {
            let files = Upstream::start("files", ERAS[0]).await;
            let policy = json!({ "policy": { "default": decision, "rules": [{ "tool": "look", "decision": "allow" }] } });
            let stage = Stage::new(json!({ "files": files.entry() }), policy);
            let mut front = stage.raw();
            front.initialize("2025-06-18", json!({ "elicitation": {} })).await.expect("a session");
            let id = json!(front.start(method, operation(method)).await.expect("sent"));
            if decision == "ask" && is_asked {
                let question = front.expect("elicitation/create").await;
                let question = question.unwrap_or_else(|error| panic!("{method}: {error}"));
                assert!(question["params"]["message"].as_str().is_some_and(|it| it.contains("\"files\"")));
                front.answer(&question, json!({ "action": "decline" })).await.expect("sent");
            }
            let response = front.response(&id).await.expect("an answer");
            assert_eq!(response["error"]["code"], DENIED, "{method} {decision}: {response}");
            assert!(response["error"]["message"].as_str().is_some_and(|it| it.contains(words)), "{response}");
            front.request("tools/call", json!({ "name": "files__look" })).await.expect("an answer");
            assert_eq!(files.heard.calls("look").len(), 1);
            let marker = usize::from(method == "tools/call");
            assert_eq!(files.heard.of(method).len(), marker, "{method} {decision}");
        }
    }
}
