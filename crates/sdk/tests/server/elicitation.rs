//! Elicitation, seen from the server: what may be asked, and what is made of the answer.

use contexture::model::{
    ElicitParams, ElicitSchema, EnumSchema, MultiSelectSchema, NumberSchema, StringFormat, StringSchema,
};
use contexture::{Context, Error, Server, tool};
use serde_json::{Value, json};

use super::spoken::{ALL, Spoken, text_of};
use super::support::{LEGACY, MODERN};

#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
#[allow(dead_code, reason = "read through Debug")]
struct Person {
    /// As in the passport.
    name: String,
    age: Option<u8>,
}

/// Says what the handler got, in words.
fn outcome<T: std::fmt::Debug>(answer: Result<T, Error>) -> String {
    match answer {
        Ok(answer) => format!("{answer:?}"),
        Err(Error::Declined) => "declined".into(),
        Err(Error::Dismissed) => "dismissed".into(),
        Err(Error::Invalid(_)) => "invalid".into(),
        Err(Error::PeerMisbehaved(_)) => "misbehaved".into(),
        Err(Error::Unsupported(capability)) => format!("unsupported: {capability}"),
        Err(other) => format!("other: {other}"),
    }
}

fn server() -> Server {
    Server::new("test", "1.0.0")
        .tool(
            tool("person").handler(|ctx: Context| async move {
                outcome(ctx.elicit::<Person>("q", "Who are you?").await)
            }),
        )
        .tool(tool("form").handler(|ctx: Context| async move {
            let form = ElicitSchema::new()
                .required("mail", StringSchema::new().format(StringFormat::Email))
                .optional("count", NumberSchema::integer().minimum(1).maximum(5))
                .optional("size", EnumSchema::new(["s", "m"]));
            outcome(ctx.elicit_form("q", "Fill in", form).await)
        }))
        .tool(tool("many").handler(|ctx: Context| async move {
            let form = ElicitSchema::new().required("tags", MultiSelectSchema::new(["a", "b"]));
            outcome(ctx.elicit_form("q", "Choose", form).await)
        }))
        .tool(tool("url").handler(|ctx: Context| async move {
            outcome(ctx.elicit_url("q", "Log in", "https://example.com/login").await)
        }))
}

fn can(revision: &str) -> Value {
    if revision == "2025-06-18" {
        json!({ "elicitation": {} })
    } else {
        json!({ "elicitation": { "form": {}, "url": {} } })
    }
}

/// The revisions in which a person can be asked.
const ASKING: [&str; 3] = ["2025-06-18", "2025-11-25", MODERN];

/// Calls a tool, answers its one question, and returns the question's parameters and the tool's text.
async fn exchange(peer: &mut Spoken, name: &str, answer: Value) -> (Value, String) {
    let mut params = json!({ "name": name, "arguments": {} });
    if peer.is_modern() {
        let round = peer.ask("tools/call", params.clone()).await;
        let question = round["result"]["inputRequests"]["q"]["params"].clone();
        assert!(question.is_object(), "{round}");
        params["requestState"] = round["result"]["requestState"].clone();
        params["inputResponses"] = json!({ "q": answer });
        return (question, text_of(&peer.ask("tools/call", params).await).to_owned());
    }
    let id = peer.begin("tools/call", params).await;
    let question = peer.expect("elicitation/create").await.expect("a question");
    peer.answer(&question, answer).await.expect("is sent");
    let response = peer.response(&id).await.expect("a response");
    (question["params"].clone(), text_of(&response).to_owned())
}

// covers: ELIC-SERVER-HANDLE-ACTIONS, ELIC-CONTENT-ON-ACCEPT
#[tokio::test]
async fn each_decision_is_a_different_outcome() {
    for revision in ASKING {
        let mut peer = Spoken::to(server(), revision, can(revision)).await;
        let content = json!({ "name": "Ann", "age": 7 });
        for (answer, expected) in [
            (json!({ "action": "accept", "content": content }), r#"Person { name: "Ann", age: Some(7) }"#),
            (
                json!({ "action": "accept", "content": { "name": "Ann" } }),
                r#"Person { name: "Ann", age: None }"#,
            ),
            (json!({ "action": "decline" }), "declined"),
            (json!({ "action": "cancel" }), "dismissed"),
            (json!({ "action": "decline", "content": content }), "declined"),
            (json!({ "action": "cancel", "content": content }), "dismissed"),
        ] {
            let (question, text) = exchange(&mut peer, "person", answer.clone()).await;
            assert_eq!(text, expected, "{answer}");
            assert_eq!(question["message"], "Who are you?");
            let fields = &question["requestedSchema"]["properties"];
            assert_eq!(fields["name"], json!({ "type": "string", "description": "As in the passport." }));
            assert_eq!(fields["age"]["type"], "integer");
            assert_eq!(question["requestedSchema"]["required"], json!(["name"]));
        }
    }
}

// covers: ELIC-VALIDATE-SERVER
#[tokio::test]
async fn answers_are_checked_against_the_form() {
    for revision in ASKING {
        let mut peer = Spoken::to(server(), revision, can(revision)).await;
        for (content, valid) in [
            (json!({ "mail": "ann@example.com", "count": 5, "size": "m" }), true),
            (json!({ "mail": "ann@example.com" }), true),
            (json!({}), false),
            (json!({ "mail": 7 }), false),
            (json!({ "mail": "ann@example.com", "count": 6 }), false),
            (json!({ "mail": "ann@example.com", "count": 1.5 }), false),
            (json!({ "mail": "ann@example.com", "count": "1" }), false),
            (json!({ "mail": "ann@example.com", "size": "xl" }), false),
        ] {
            let answer = json!({ "action": "accept", "content": content });
            let (_, text) = exchange(&mut peer, "form", answer).await;
            assert_eq!(text != "invalid", valid, "{content}: {text}");
        }
        let (_, text) = exchange(&mut peer, "form", json!({ "action": "accept" })).await;
        assert_eq!(text, "invalid", "nothing was filled in");
    }
}

// covers: ELIC-ACTIONS, SCHEMA-ELICIT
#[tokio::test]
async fn an_answer_that_makes_no_sense_is_the_clients_fault() {
    for revision in &LEGACY[2..] {
        let mut peer = Spoken::to(server(), revision, can(revision)).await;
        for answer in [
            json!({ "action": "maybe" }),
            json!({}),
            json!({ "action": "accept", "content": { "name": { "first": "Ann" } } }),
            json!({ "action": "accept", "content": { "name": null } }),
        ] {
            let (_, text) = exchange(&mut peer, "person", answer.clone()).await;
            assert_eq!(text, "misbehaved", "{answer}");
        }
    }
}

#[tokio::test]
async fn older_clients_and_those_without_the_capability_are_not_asked() {
    for revision in ALL {
        let asked = ASKING.contains(&revision);
        let capabilities = if asked { json!({ "sampling": {} }) } else { can(revision) };
        let mut peer = Spoken::to(server(), revision, capabilities).await;
        for (name, what) in
            [("person", "elicitation"), ("form", "elicitation"), ("url", "elicitation by URL")]
        {
            let answer = peer.call(name, json!({})).await;
            assert_eq!(text_of(&answer), format!("unsupported: {what}"), "{revision}");
        }
        assert!(peer.heard("elicitation/create").await.is_empty());
    }
}

#[tokio::test]
async fn a_url_where_the_revision_and_the_client_can() {
    for revision in ASKING {
        let mut peer = Spoken::to(server(), revision, can(revision)).await;
        if revision == "2025-06-18" {
            assert_eq!(text_of(&peer.call("url", json!({})).await), "unsupported: elicitation by URL");
            continue;
        }
        for (action, expected) in [("accept", "()"), ("decline", "declined"), ("cancel", "dismissed")] {
            let (question, text) = exchange(&mut peer, "url", json!({ "action": action })).await;
            assert_eq!(text, expected);
            assert_eq!(question["mode"], "url");
            assert_eq!(question["url"], "https://example.com/login");
            assert_eq!(question["elicitationId"].is_string(), revision == "2025-11-25", "{question}");
        }
        let form_only = json!({ "elicitation": { "form": {} } });
        let mut peer = Spoken::to(server(), revision, form_only).await;
        assert_eq!(text_of(&peer.call("url", json!({})).await), "unsupported: elicitation by URL");
    }
}

#[tokio::test]
async fn several_choices_where_the_revision_has_them() {
    for revision in &ASKING[1..] {
        let mut peer = Spoken::to(server(), revision, can(revision)).await;
        let answer = json!({ "action": "accept", "content": { "tags": ["a", "b"] } });
        let (_, text) = exchange(&mut peer, "many", answer).await;
        assert!(text.contains(r#"["a", "b"]"#), "{text}");
    }
    let mut peer = Spoken::to(server(), "2025-06-18", can("2025-06-18")).await;
    let answer = peer.call("many", json!({})).await;
    assert_eq!(text_of(&answer), "unsupported: elicitation", "a person is not asked in vain");
}

// covers: ELIC-SCHEMA-FLAT
#[tokio::test]
async fn a_type_that_is_no_form_is_a_mistake_of_the_server() {
    #[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
    #[allow(dead_code, reason = "never answered")]
    struct Nested {
        person: Person,
    }
    for revision in ASKING {
        let server = Server::new("test", "1.0.0").tool(
            tool("nested")
                .handler(|ctx: Context| async move { outcome(ctx.elicit::<Nested>("q", "Who?").await) }),
        );
        let mut peer = Spoken::to(server, revision, can(revision)).await;
        let text = text_of(&peer.call("nested", json!({})).await).to_owned();
        assert!(text.contains("wrong use of contexture") && text.contains("no form"), "{text}");
        assert!(peer.heard("elicitation/create").await.is_empty());
    }
}

#[tokio::test]
async fn a_session_asks_only_for_what_was_declared() {
    for (declared, form, url) in [
        (json!({ "elicitation": {} }), true, false),
        (json!({ "elicitation": { "url": {} } }), false, true),
        (json!({}), false, false),
    ] {
        let (told, mut tells) = tokio::sync::mpsc::unbounded_channel();
        let server = server().on_initialized(move |session| {
            let told = told.clone();
            async move {
                let form = ElicitSchema::new().optional("name", StringSchema::new());
                for asked in
                    [ElicitParams::form("Who?", form), ElicitParams::url("Go", "https://example.com/")]
                {
                    told.send(session.elicit(asked).await.is_ok()).expect("is told");
                }
            }
        });
        let mut peer = Spoken::to(server, "2025-11-25", declared.clone()).await;
        for (can, mode) in [(form, Value::Null), (url, json!("url"))] {
            if can {
                let question = peer.expect("elicitation/create").await.expect("a question");
                assert_eq!(question["params"]["mode"], mode);
                peer.answer(&question, json!({ "action": "accept" })).await.expect("is sent");
            }
            assert_eq!(tells.recv().await, Some(can), "{declared} {mode}");
        }
        assert!(peer.heard("elicitation/create").await.is_empty());
    }
}
