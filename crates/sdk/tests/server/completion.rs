//! Completion: what may be completed, by whom, and how much of it is sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use contexture::model::Completion;
use contexture::server::layers::{Access, authorize, rate_limit};
use contexture::server::{BoxFuture, Choices, Completer, Completing};
use contexture::{Args, Error, Policy, Result, Server, prompt, resource};
use serde_json::{Value, json};

use super::spoken::{ALL, Spoken};
use super::support::LEGACY;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Code {
    language: String,
    framework: Option<String>,
}

fn bare() -> Server {
    Server::new("test", "1.0.0")
        .prompt(prompt("code").handler(|Args(code): Args<Code>| async move {
            format!("{} {}", code.language, code.framework.unwrap_or_default())
        }))
        .resource(resource("file:///{path}").name("files").handler(|| async { "x" }))
}

fn server() -> Server {
    bare()
        .complete_prompt("code", "language", Choices::new(["ruby", "rust", "trust", "python"]))
        .complete_resource("file:///{path}", "path", |completing: Completing| async move {
            Ok(vec![format!("{}.txt", completing.value)])
        })
}

fn on(reference: Value, name: &str, value: &str) -> Value {
    json!({ "ref": reference, "argument": { "name": name, "value": value } })
}

fn code() -> Value {
    json!({ "type": "ref/prompt", "name": "code" })
}

fn files() -> Value {
    json!({ "type": "ref/resource", "uri": "file:///{path}" })
}

// covers: COMPL-CAP-DECLARE, COMPL-ERR-METHOD
#[tokio::test]
async fn completion_is_declared_where_the_revision_has_a_word_for_it() {
    for revision in ALL {
        let mut with = Spoken::to(server(), revision, json!({})).await;
        let declared = if revision == LEGACY[0] { Value::Null } else { json!({}) };
        assert_eq!(with.declared()["completions"], declared, "{revision}");
        let answer = with.ask("completion/complete", on(code(), "language", "ru")).await;
        assert_eq!(answer["result"]["completion"]["values"], json!(["ruby", "rust", "trust"]));

        let mut without = Spoken::to(bare(), revision, json!({})).await;
        assert_eq!(without.declared()["completions"], Value::Null);
        assert_eq!(without.refused("completion/complete", on(code(), "language", "ru")).await, -32601);
    }
}

// covers: COMPL-REF-TYPES, COMPL-ERR-PROMPT, COMPL-ERR-ARGS, COMPL-VALIDATE
#[tokio::test]
async fn what_cannot_be_completed_is_refused_before_the_completer_runs() {
    let asked = Arc::<AtomicUsize>::default();
    let counting = Arc::clone(&asked);
    let server = bare().complete_prompt("code", "language", move |completing: Completing| {
        counting.fetch_add(1, Ordering::SeqCst);
        async move { Ok(vec![completing.value]) }
    });
    let server = server.build().expect("a server");
    for revision in ALL {
        let mut peer = Spoken::to_built(&server, revision, json!({})).await;
        for wrong in [
            on(json!({ "type": "ref/prompt", "name": "unknown" }), "language", "x"),
            on(json!({ "type": "ref/resource", "uri": "file:///unknown" }), "path", "x"),
            on(json!({ "type": "ref/tool", "name": "code" }), "language", "x"),
            on(json!({ "type": "ref/prompt" }), "language", "x"),
            on(json!("code"), "language", "x"),
            json!({ "ref": code(), "argument": { "name": "language" } }),
            json!({ "ref": code(), "argument": { "value": "x" } }),
            json!({ "ref": code(), "argument": { "name": "language", "value": 7 } }),
            json!({ "ref": code() }),
            json!({ "argument": { "name": "language", "value": "x" } }),
        ] {
            assert_eq!(peer.refused("completion/complete", wrong.clone()).await, -32602, "{wrong}");
        }
        assert_eq!(asked.load(Ordering::SeqCst), 0);
        let nobody = peer.ask("completion/complete", on(code(), "framework", "x")).await;
        assert_eq!(nobody["result"]["completion"]["values"], json!([]), "nobody completes this argument");
    }
}

// covers: COMPL-REF-TYPES
#[tokio::test]
async fn variables_of_templates_are_completed_too() {
    for revision in ALL {
        let mut peer = Spoken::to(server(), revision, json!({})).await;
        let answer = peer.ask("completion/complete", on(files(), "path", "notes")).await;
        assert_eq!(answer["result"]["completion"]["values"], json!(["notes.txt"]));
    }
}

/// A completer of one's own, without the constructor that keeps the limit.
struct Everything;

impl Completer for Everything {
    fn complete(&self, _: Completing) -> BoxFuture<Result<Completion>> {
        let values = (0..250).map(|number| number.to_string()).collect();
        Box::pin(std::future::ready(Ok(Completion { values, ..Completion::default() })))
    }
}

// covers: COMPL-MAX-100, COMPL-TOTAL, COMPL-SORTED
#[tokio::test]
async fn a_hundred_values_and_no_more() {
    let many = |_: Completing| async { Ok((0..250).map(|number| number.to_string()).collect::<Vec<_>>()) };
    for revision in ALL {
        let server =
            bare().complete_prompt("code", "language", many).complete_prompt("code", "framework", Everything);
        let mut peer = Spoken::to(server, revision, json!({})).await;
        for argument in ["language", "framework"] {
            let answer = peer.ask("completion/complete", on(code(), argument, "")).await;
            let completion = &answer["result"]["completion"];
            let values = completion["values"].as_array().expect("values");
            assert_eq!(values.len(), 100);
            assert_eq!((&values[0], &values[99]), (&json!("0"), &json!("99")), "in the completer's order");
            assert_eq!(completion["hasMore"], true, "{argument}");
            assert_eq!(completion["total"], 250);
        }
    }
}

// covers: COMPL-ERR-INTERNAL
#[tokio::test]
async fn a_completer_that_fails_is_an_internal_error() {
    let failing = |_: Completing| async { Err::<Vec<String>, _>(Error::Closed("the index".into())) };
    for revision in ALL {
        let mut peer =
            Spoken::to(bare().complete_prompt("code", "language", failing), revision, json!({})).await;
        assert_eq!(peer.refused("completion/complete", on(code(), "language", "x")).await, -32603);
    }
}

// covers: SCHEMA-COMPLETE
#[tokio::test]
async fn known_arguments_reach_the_completer() {
    let frameworks = |completing: Completing| async move {
        Ok(vec![format!("{} for {:?}", completing.value, completing.known.get("language"))])
    };
    for revision in ALL {
        let mut peer =
            Spoken::to(bare().complete_prompt("code", "framework", frameworks), revision, json!({})).await;
        let mut params = on(code(), "framework", "ax");
        params["context"] = json!({ "arguments": { "language": "rust" } });
        let answer = peer.ask("completion/complete", params).await;
        assert_eq!(answer["result"]["completion"]["values"], json!([r#"ax for Some("rust")"#]));
    }
}

// covers: COMPL-RATE-LIMIT
#[tokio::test(start_paused = true)]
async fn a_burst_is_refused_and_a_second_later_all_is_well() {
    let limited_session = || {
        let mut policy = Policy::default();
        policy.calls_per_second = 3;
        server().policy(policy)
    };
    for revision in ALL {
        for server in [server().layer(rate_limit(3)), limited_session()] {
            let mut peer = Spoken::to(server, revision, json!({})).await;
            let mut refused = 0;
            for _ in 0..10 {
                let answer = peer.ask("completion/complete", on(code(), "language", "x")).await;
                refused += usize::from(answer["error"].is_object());
            }
            assert_eq!(refused, 7);
            tokio::time::advance(std::time::Duration::from_secs(1)).await;
            let answer = peer.ask("completion/complete", on(code(), "language", "x")).await;
            assert!(answer["result"].is_object(), "{answer}");
        }
    }
}

// covers: COMPL-SEC-ACCESS, COMPL-SEC-DISCLOSURE
#[tokio::test]
async fn who_may_not_see_a_thing_may_not_complete_it_either() {
    let server = server().layer(authorize(|context, access| {
        assert_eq!(context.principal().subject(), "local");
        !matches!(access, Access::Prompt(_))
    }));
    let server = server.build().expect("a server");
    for revision in ALL {
        let mut peer = Spoken::to_built(&server, revision, json!({})).await;
        let mut hidden = peer.ask("completion/complete", on(code(), "language", "ru")).await;
        let unknown = json!({ "type": "ref/prompt", "name": "unknown" });
        let missing = peer.ask("completion/complete", on(unknown, "language", "ru")).await;
        hidden["id"] = missing["id"].clone();
        assert_eq!(hidden, missing, "what is forbidden looks like what is not there");
        assert_eq!(missing["error"]["code"], -32602);
        let open = peer.ask("completion/complete", on(files(), "path", "a")).await;
        assert_eq!(open["result"]["completion"]["values"], json!(["a.txt"]));
    }
}
