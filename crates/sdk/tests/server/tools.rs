//! Tools: their definitions, what may go in, what comes out, and how failures are told.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use contexture::model::{CallToolResult, Content, ErrorObject, Resource, ResourceContents};
use contexture::server::{Reply, layers};
use contexture::{Args, Json, Server, State, resource, tool};
use serde_json::{Value, json};

use super::support::{EVERY, LEGACY, MODERN, Peer, schema};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Numbers {
    a: i64,
    b: i64,
}

#[derive(serde::Serialize, schemars::JsonSchema)]
struct Sum {
    sum: i64,
}

/// How often handlers ran.
#[derive(Default)]
struct Ran(AtomicUsize);

fn server() -> Server {
    Server::new("tools", "1")
        .tool(tool("add").handler(|Args(n): Args<Numbers>| async move { Json(Sum { sum: n.a + n.b }) }))
        .tool(tool("fail").handler(|| async { Err::<String, _>("out of paper") }))
        .tool(tool("panic").handler(|| async {
            if true {
                panic!("a secret")
            }
        }))
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}

// covers: TOOLS-CAP-DECLARE
#[tokio::test]
async fn the_capability_follows_from_the_tools() {
    for revision in EVERY {
        let mut with = Peer::speaking(server(), revision, json!({})).await;
        assert!(with.capabilities()["tools"].is_object(), "{revision}");
        assert_eq!(
            with.call("tools/list", json!({})).await["result"]["tools"].as_array().map(Vec::len),
            Some(3)
        );

        let mut without = Peer::speaking(Server::new("none", "1"), revision, json!({})).await;
        assert_eq!(without.capabilities().get("tools"), None, "{revision}");
        for method in ["tools/list", "tools/call"] {
            let refused = without.call(method, json!({ "name": "add" })).await;
            assert_eq!(refused["error"]["code"], -32601, "{revision} {refused}");
        }
    }
}

// covers: TOOLS-LIST-CHANGED, BASE-NOTIF-NO-ID
#[tokio::test]
async fn a_changed_list_is_announced_to_sessions_that_never_listed() {
    for revision in LEGACY {
        let mut peer = Peer::session(server(), revision, json!({})).await;
        assert_eq!(peer.capabilities()["tools"]["listChanged"], true);
        peer.settle().await.expect("ready");
        let registry = peer.registry();
        registry.add_tool(tool("late").handler(|| async { "here" })).expect("a new name");
        let told = peer.expect("notifications/tools/list_changed").await.expect("addition is told");
        assert_eq!(told.get("id"), None);
        let late = peer.call("tools/call", json!({ "name": "late" })).await;
        assert_eq!(text(&late["result"]), "here");

        assert!(registry.remove_tool("late"));
        peer.expect("notifications/tools/list_changed").await.expect("removal is told");
        assert!(!registry.remove_tool("late"), "nothing is there to be removed");
        assert_eq!(peer.settle().await.expect("ready"), Vec::<Value>::new(), "no change, no word");
    }
}

// covers: TOOLS-LIST-CHANGED
#[tokio::test]
async fn a_server_that_does_not_announce_changes_is_silent() {
    for revision in LEGACY {
        let mut peer = Peer::session(server().without_list_changed(), revision, json!({})).await;
        assert_eq!(peer.capabilities()["tools"], json!({}));
        peer.settle().await.expect("ready");
        assert!(peer.registry().remove_tool("fail"));
        assert_eq!(peer.settle().await.expect("ready"), Vec::<Value>::new());
    }
}

// covers: TOOLS-LIST-CHANGED, LIFE-OP-CAPS
#[tokio::test]
async fn changes_of_a_list_that_was_not_declared_are_not_announced() {
    for revision in LEGACY {
        let mut peer = Peer::session(Server::new("empty", "1"), revision, json!({})).await;
        assert_eq!(peer.capabilities().get("tools"), None);
        peer.settle().await.expect("ready");
        peer.registry().add_tool(tool("late").handler(|| async { "here" })).expect("a new name");
        assert_eq!(peer.settle().await.expect("ready"), Vec::<Value>::new(), "{revision}");
    }
}

#[tokio::test]
async fn the_last_tool_leaves_an_empty_list_behind() {
    for revision in EVERY {
        let only = Server::new("one", "1").tool(tool("only").handler(|| async { "here" }));
        let mut peer = Peer::speaking(only, revision, json!({})).await;
        assert!(peer.registry().remove_tool("only"));
        let list = peer.call("tools/list", json!({})).await;
        assert_eq!(list["result"]["tools"], json!([]), "what was declared is still served: {list}");
    }
}

// covers: TOOLS-NAME-UNIQUE
#[tokio::test]
async fn a_name_belongs_to_one_tool() {
    let twice = server().tool(tool("add").handler(|| async { "again" }));
    let error = twice.build().expect_err("refused");
    assert!(error.to_string().contains("\"add\" is registered already"), "{error}");

    let mut many = server().page_size(2);
    for number in 0..5 {
        many = many.tool(tool(format!("tool-{number}")).handler(|| async { "done" }));
    }
    let mut peer = Peer::session(many, "2025-06-18", json!({})).await;
    assert!(peer.registry().add_tool(tool("tool-0").handler(|| async { "again" })).is_err());
    let (mut names, mut cursor) = (Vec::new(), json!({}));
    loop {
        let page = peer.call("tools/list", cursor).await;
        let tools = page["result"]["tools"].as_array().expect("a list").clone();
        names.extend(tools.into_iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()));
        match page["result"].get("nextCursor") {
            Some(next) => cursor = json!({ "cursor": next }),
            None => break,
        }
    }
    let unique: std::collections::BTreeSet<_> = names.iter().collect();
    assert_eq!((names.len(), unique.len()), (8, 8), "{names:?}");
}

#[tokio::test]
async fn names_and_schemas_that_cannot_work_are_refused() {
    for name in ["", "two words", "ümlaut", "a/b", &"x".repeat(129)] {
        let server = Server::new("bad", "1").tool(tool(name).handler(|| async { "done" }));
        assert!(server.build().is_err(), "{name:?}");
    }
    for bad in [json!({ "type": "array" }), json!({ "type": "object", "properties": { "a": { "type": 5 } } })]
    {
        let built = tool("bad").input_schema(schema(bad.clone())).handler(|| async { "done" });
        assert!(Server::new("bad", "1").tool(built).build().is_err(), "{bad}");
    }
}

fn every_kind() -> Vec<Content> {
    vec![
        Content::text("words"),
        Content::image([0xff, 0x00, 0x80], "image/png"),
        Content::audio([1, 2, 3], "audio/wav"),
        Content::ResourceLink(Resource::new("demo://unlisted", "unlisted")),
        Content::resource(ResourceContents::text("demo://text", "inside")),
        Content::resource(ResourceContents::blob("demo://blob", [0, 159, 146, 150])),
    ]
}

fn kinds() -> Server {
    Server::new("kinds", "1")
        .tool(tool("kinds").handler(|| async { every_kind() }))
        .resource(resource("demo://listed").text("listed"))
        .resource(resource("demo://{name}").handler(|| async { "linked" }))
}

// covers: TOOLS-CONTENT-MULTI, TOOLS-EMBEDDED-RESOURCE, TOOLS-RESOURCE-LINK, TOOLS-RESOURCE-LINK-UNLISTED
#[tokio::test]
async fn a_result_mixes_every_kind_of_content_that_the_revision_has() {
    for (revision, expected) in [
        ("2024-11-05", ["text", "image", "text", "text", "resource", "resource"]),
        ("2025-03-26", ["text", "image", "audio", "text", "resource", "resource"]),
        ("2025-06-18", ["text", "image", "audio", "resource_link", "resource", "resource"]),
        ("2025-11-25", ["text", "image", "audio", "resource_link", "resource", "resource"]),
        (MODERN, ["text", "image", "audio", "resource_link", "resource", "resource"]),
    ] {
        let mut peer = Peer::speaking(kinds(), revision, json!({})).await;
        let result = peer.call("tools/call", json!({ "name": "kinds" })).await["result"].clone();
        let content = result["content"].as_array().expect("content").clone();
        let found: Vec<_> = content.iter().map(|block| block["type"].as_str().unwrap_or("")).collect();
        assert_eq!(found, expected, "{revision}");
        assert_eq!(content[1]["data"], "/wCA");
        assert_eq!(content[4]["resource"]["text"], "inside");
        assert_eq!(content[5]["resource"]["blob"], "AJ+Slg==");
        // A link that became text still says where to read.
        let link = if expected[3] == "text" { &content[3]["text"] } else { &content[3]["uri"] };
        assert!(link.as_str().is_some_and(|link| link.contains("demo://unlisted")), "{link}");

        let listed = peer.call("resources/list", json!({})).await["result"]["resources"].to_string();
        assert!(!listed.contains("demo://unlisted"));
        let read = peer.call("resources/read", json!({ "uri": "demo://unlisted" })).await;
        assert_eq!(read["result"]["contents"][0]["text"], "linked");
    }
}

// covers: TOOLS-EMBEDDED-NEEDS-CAP
#[tokio::test]
async fn embedding_resources_without_offering_any_is_warned_of() {
    let embeds = || tool("kinds").handler(|| async { every_kind() });
    for (server, expected) in [(Server::new("bare", "1").tool(embeds()), true), (kinds(), false)] {
        let events = contexture_judge::Events::on_this_thread();
        let mut peer = Peer::session(server, "2025-06-18", json!({})).await;
        peer.call("tools/call", json!({ "name": "kinds" })).await;
        assert_eq!(!events.at(tracing::Level::WARN).is_empty(), expected);
    }
}

// covers: TOOLS-STRUCTURED-FIELD, TOOLS-STRUCTURED-TEXT-MIRROR, TOOLS-OUTPUT-SCHEMA-OPTIONAL
#[tokio::test]
async fn structured_results_are_objects_with_their_text_beside_them() {
    for revision in EVERY {
        let server = server()
            .tool(tool("count").handler(|| async { 7 }))
            .tool(tool("list").handler(|| async { Json(vec!["a", "b"]) }));
        let mut peer = Peer::speaking(server, revision, json!({})).await;
        let structured = !matches!(revision, "2024-11-05" | "2025-03-26");
        let listed = peer.call("tools/list", json!({})).await["result"]["tools"].clone();
        assert_eq!(listed[0].get("outputSchema").is_some(), structured, "{revision}");
        assert_eq!(listed[1].get("outputSchema"), None, "plain text has no schema");

        let sum = peer.call("tools/call", json!({ "name": "add", "arguments": { "a": 1, "b": 2 } })).await;
        let mirror: Value = serde_json::from_str(text(&sum["result"])).expect("JSON as text");
        assert_eq!(mirror, json!({ "sum": 3 }));
        assert_eq!(sum["result"].get("structuredContent"), structured.then_some(&mirror), "{revision}");
        let plain = peer.call("tools/call", json!({ "name": "fail" })).await;
        assert_eq!(plain["result"].get("structuredContent"), None);

        for (name, value) in [("count", json!(7)), ("list", json!(["a", "b"]))] {
            let result = peer.call("tools/call", json!({ "name": name })).await["result"].clone();
            assert_eq!(serde_json::from_str::<Value>(text(&result)).expect("JSON as text"), value);
            let wrapped = json!({ "result": value });
            let expected = if revision == MODERN { &value } else { &wrapped };
            assert_eq!(result.get("structuredContent"), structured.then_some(expected), "{revision} {name}");
        }
    }
}

// covers: TOOLS-OUTPUT-SCHEMA-CONFORM
#[tokio::test]
async fn a_result_that_breaks_its_schema_does_not_leave() {
    let promised = || {
        schema(
            json!({ "type": "object", "properties": { "sum": { "type": "integer" } }, "required": ["sum"] }),
        )
    };
    for revision in EVERY {
        let server = Server::new("promises", "1")
            .tool(
                tool("wrong").output_schema(promised()).handler(|| async { Json(json!({ "sum": "three" })) }),
            )
            .tool(tool("missing").output_schema(promised()).handler(|| async { "three" }))
            .tool(
                tool("failing")
                    .output_schema(promised())
                    .handler(|| async { Err::<String, _>("no sum today") }),
            )
            .tool(tool("right").output_schema(promised()).handler(|| async { Json(json!({ "sum": 3 })) }));
        let mut peer = Peer::speaking(server, revision, json!({})).await;
        for name in ["wrong", "missing"] {
            let refused = peer.call("tools/call", json!({ "name": name })).await;
            assert_eq!(refused["error"]["code"], -32603, "{revision} {refused}");
        }
        let failing = peer.call("tools/call", json!({ "name": "failing" })).await;
        assert_eq!(failing["result"]["isError"], true, "a failure promises nothing: {failing}");
        let right = peer.call("tools/call", json!({ "name": "right" })).await;
        assert_eq!(text(&right["result"]), r#"{"sum":3}"#);
    }
}

// covers: TOOLS-ERR-ISERROR
#[tokio::test]
async fn what_fails_inside_a_tool_is_a_result_for_the_model() {
    for revision in EVERY {
        let mut peer = Peer::speaking(server(), revision, json!({})).await;
        let failed = peer.call("tools/call", json!({ "name": "fail" })).await;
        assert_eq!(failed["result"]["isError"], true, "{revision} {failed}");
        assert_eq!(text(&failed["result"]), "out of paper");
        let good = peer.call("tools/call", json!({ "name": "add", "arguments": { "a": 1, "b": 1 } })).await;
        assert!(good["result"].get("isError").is_none_or(|error| error == false), "{good}");
    }
}

// covers: TOOLS-ERR-PROTOCOL, TOOLS-ERR-UNKNOWN-CODE, BASE-ERR-INTERNAL
#[tokio::test]
async fn what_fails_around_a_tool_is_an_error_of_the_protocol() {
    for revision in EVERY {
        let server = server()
            .tool(tool("own").handler(|| async { Err::<String, _>(ErrorObject::new(-32050, "own code")) }));
        let mut peer = Peer::speaking(server, revision, json!({})).await;
        // Nobody could see when the server was built that this would lack its state.
        let stateful = tool("stateful").handler(|_: State<Ran>| async { "never" });
        peer.registry().add_tool(stateful).expect("added");
        for (name, code) in [("nobody", -32602), ("panic", -32603), ("stateful", -32603), ("own", -32050)] {
            let refused = peer.call("tools/call", json!({ "name": name })).await;
            assert_eq!(refused["error"]["code"], code, "{revision} {name} {refused}");
            assert_eq!(refused.get("result"), None);
            assert!(!refused.to_string().contains("secret"), "{refused}");
        }
        let after = peer.call("tools/call", json!({ "name": "add", "arguments": { "a": 2, "b": 2 } })).await;
        assert_eq!(text(&after["result"]), r#"{"sum":4}"#, "the session survives");

        let mut none = Peer::speaking(Server::new("none", "1"), revision, json!({})).await;
        let refused = none.call("tools/call", json!({ "name": "add" })).await;
        assert_eq!(refused["error"]["code"], -32601, "{revision} {refused}");
    }
}

fn counted() -> Server {
    let closed = json!({
        "type": "object",
        "properties": { "a": { "type": "integer" }, "b": { "type": "integer" } },
        "required": ["a", "b"],
        "additionalProperties": false,
    });
    Server::new("counted", "1").state(Ran::default()).tool(
        tool("strict").input_schema(schema(closed)).handler(
            |State(ran): State<Ran>, Args(n): Args<Numbers>| async move {
                ran.0.fetch_add(1, Ordering::Relaxed);
                match n.a {
                    0 => Err(format!("nothing to add to {}", n.b)),
                    _ => Ok(format!("run {}", ran.0.load(Ordering::Relaxed))),
                }
            },
        ),
    )
}

// covers: TOOLS-SEC-VALIDATE-INPUT, TOOLS-ERR-INVALID-ARGS
#[tokio::test]
async fn arguments_are_checked_before_the_handler_runs() {
    let bad = [
        json!({ "a": "one", "b": 2 }),
        json!({ "a": 1.5, "b": 2 }),
        json!({ "a": 1 }),
        json!({}),
        json!({ "a": 1, "b": 2, "c": 3 }),
    ];
    for revision in EVERY {
        let mut peer = Peer::speaking(counted(), revision, json!({})).await;
        for arguments in &bad {
            let answer = peer.call("tools/call", json!({ "name": "strict", "arguments": arguments })).await;
            if matches!(revision, "2025-11-25" | MODERN) {
                assert_eq!(answer["result"]["isError"], true, "{revision} {answer}");
                assert!(text(&answer["result"]).contains("do not fit its schema"), "{answer}");
            } else {
                assert_eq!(answer["error"]["code"], -32602, "{revision} {answer}");
            }
        }
        let omitted = peer.call("tools/call", json!({ "name": "strict" })).await;
        assert!(omitted["error"]["code"] == -32602 || omitted["result"]["isError"] == true, "{omitted}");
        for arguments in [json!([1, 2]), json!("a"), json!(1)] {
            let answer = peer.call("tools/call", json!({ "name": "strict", "arguments": arguments })).await;
            assert!(answer["error"]["code"] == -32602 || answer["result"]["isError"] == true, "{answer}");
        }
        let domain =
            peer.call("tools/call", json!({ "name": "strict", "arguments": { "a": 0, "b": 2 } })).await;
        assert_eq!(domain["result"]["isError"], true, "the tool's own refusal: {domain}");
        let good =
            peer.call("tools/call", json!({ "name": "strict", "arguments": { "a": 1, "b": 2 } })).await;
        assert_eq!(text(&good["result"]), "run 2", "{revision}: the bad ones never ran");
    }
}

// covers: TOOLS-SEC-ACCESS
#[tokio::test]
async fn what_may_not_be_used_looks_as_if_it_were_not_there() {
    for revision in EVERY {
        let ran = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&ran);
        let secret = tool("secret").handler(move || {
            counter.fetch_add(1, Ordering::Relaxed);
            async { "told" }
        });
        let server = server().tool(secret).layer(layers::authorize(|context, access| {
            context.principal().subject() == "local" && access != layers::Access::Tool("secret")
        }));
        let mut peer = Peer::speaking(server, revision, json!({})).await;
        let denied = peer.call("tools/call", json!({ "name": "secret" })).await;
        let unknown = peer.call("tools/call", json!({ "name": "nobody" })).await;
        assert_eq!(denied["error"]["code"], unknown["error"]["code"], "{revision} {denied}");
        assert_eq!(ran.load(Ordering::Relaxed), 0);
        let listed = peer.call("tools/list", json!({})).await["result"]["tools"].to_string();
        assert!(listed.contains("add") && !listed.contains("secret"), "{listed}");
        let allowed =
            peer.call("tools/call", json!({ "name": "add", "arguments": { "a": 1, "b": 2 } })).await;
        assert_eq!(text(&allowed["result"]), r#"{"sum":3}"#);
    }
}

// covers: TOOLS-SEC-RATE-LIMIT
#[tokio::test(start_paused = true)]
async fn a_burst_beyond_the_limit_is_refused() {
    let mut policy = contexture::Policy::default();
    policy.calls_per_second = 3;
    for revision in EVERY {
        for server in [server().layer(layers::rate_limit(3)), server().policy(policy.clone())] {
            let mut peer = Peer::speaking(server, revision, json!({})).await;
            for second in 0..2 {
                for call in 0..6 {
                    let answer = peer.call("tools/call", json!({ "name": "fail" })).await;
                    let why = answer["error"]["message"].as_str().unwrap_or_default();
                    assert_eq!(why.contains("too many"), call >= 3, "{revision} {second} {call} {answer}");
                }
                tokio::time::advance(std::time::Duration::from_secs(1)).await;
            }
            let listed = peer.call("tools/list", json!({})).await;
            assert!(listed["result"].is_object(), "only calls are limited: {listed}");
        }
    }
}

// covers: TOOLS-SEC-SANITIZE
#[tokio::test]
async fn a_filter_sees_every_result_before_it_leaves() {
    let filter = || {
        layers::filter_output(|_, reply| {
            if let Reply::Tool(result) = reply {
                let clean = result.joined_text().replace("secret", "[removed]");
                *result = CallToolResult { is_error: result.is_error, ..CallToolResult::text(clean) };
            }
        })
    };
    for revision in EVERY {
        let server = Server::new("leaky", "1")
            .tool(tool("good").handler(|| async { "the secret word" }))
            .tool(tool("bad").handler(|| async { Err::<String, _>("no secret today") }))
            .layer(filter());
        let mut peer = Peer::speaking(server, revision, json!({})).await;
        let good = peer.call("tools/call", json!({ "name": "good" })).await;
        assert_eq!(text(&good["result"]), "the [removed] word");
        let bad = peer.call("tools/call", json!({ "name": "bad" })).await;
        assert_eq!((text(&bad["result"]), &bad["result"]["isError"]), ("no [removed] today", &json!(true)));
    }
}

#[tokio::test]
async fn a_server_that_starts_empty_can_announce_what_comes() {
    for revision in LEGACY {
        let server = Server::new("test", "1.0.0").empty_lists();
        let registry = server.registry();
        let mut peer = Peer::session(server, revision, json!({})).await;
        let empty = peer.request("tools/list", json!({})).await.expect("an answer");
        assert_eq!(empty["result"]["tools"], json!([]));
        registry.add_tool(tool("late").handler(|| async { "here" })).expect("a new name");
        peer.expect("notifications/tools/list_changed").await.expect("an announcement");
        let late = peer.request("tools/call", json!({ "name": "late" })).await.expect("an answer");
        assert_eq!(late["result"]["content"][0]["text"], "here");
    }
}
