//! Servers without manners: rows of the security bar that concern clients.

use std::time::Duration;

use contexture::client::{ElicitAnswer, Elicitation};
use contexture::{Client, Error, Policy};
use serde_json::{Value, json};

use crate::support::{ALL, LEGACY, MODERN, Played, full_pair, handshake};

async fn call_answered_by(
    client: &Client,
    server: &mut Played,
    line: impl Fn(&Value) -> String,
) -> Result<(), Error> {
    let serve = async {
        let asked = server.asked("tools/call").await;
        server.send_line(&line(&asked["id"])).await.expect("sent");
    };
    let call = client.call("t", ()).timeout(Duration::from_secs(5)).into_future();
    let (reply, ()) = tokio::join!(call, serve);
    reply.map(|_| ())
}

/// Rows A13, A14, A39, A40: a response that is none fails its call at once.
// covers: BASE-RESP-ONE-OF, BASE-RESP-NOT-BOTH, BASE-ERROR-CODE-MESSAGE, BASE-ERROR-CODE-INT
// covers: SCHEMA-RESULT-OBJECT, BASE-JSONRPC-CONFORM
#[tokio::test(start_paused = true)]
async fn a_malformed_response_fails_its_call_at_once() {
    let bodies = [
        r#""result":{},"error":{"code":1,"message":"x"}"#,
        r#""result":null"#,
        r#""result":[]"#,
        r#""result":"x""#,
        r#""nothing":1"#,
        r#""error":{"code":"-32601","message":"x"}"#,
        r#""error":{"code":1.5,"message":"x"}"#,
        r#""error":{"message":"x"}"#,
        r#""error":{"code":1}"#,
        r#""error":null"#,
        r#""result":{"content":[]},"jsonrpc":"1.0""#,
        r#""result":{"content":[],"content":[]}"#,
    ];
    for revision in ["2024-11-05", "2025-06-18", MODERN] {
        let (client, mut server) = full_pair(Client::builder(), revision).await;
        for body in bodies {
            let version = if body.contains("1.0") { "" } else { r#""jsonrpc":"2.0","# };
            let outcome =
                call_answered_by(&client, &mut server, |id| format!(r#"{{{version}"id":{id},{body}}}"#))
                    .await;
            assert!(matches!(outcome, Err(Error::PeerMisbehaved(_))), "{body}: {outcome:?}");
        }
        let fine = r#""result":{"content":[]}"#;
        call_answered_by(&client, &mut server, |id| format!(r#"{{"jsonrpc":"2.0","id":{id},{fine}}}"#))
            .await
            .expect("the connection lives");
    }
}

/// Row A39: a huge error is cut.
#[tokio::test(start_paused = true)]
async fn the_data_of_an_error_is_bounded() {
    let (client, mut server) = full_pair(Client::builder(), MODERN).await;
    let data = "x".repeat(10 * 1024 * 1024);
    let outcome = call_answered_by(&client, &mut server, |id| {
        json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -5, "message": "m", "data": data } })
            .to_string()
    });
    let Err(Error::Remote(error)) = outcome.await else { panic!("an error") };
    assert_eq!(error.code, -5);
    assert!(error.data.expect("something").to_string().len() < 1024);
}

/// Row I10, and more of the kind.
// covers: TOOLS-CLIENT-VALIDATE-RESULTS, SCHEMA-CONTENT-UNION, SCHEMA-BASE64-FIELDS
#[tokio::test(start_paused = true)]
async fn malformed_content_is_an_error_and_not_a_crash() {
    let (client, mut server) = full_pair(Client::builder(), "2025-06-18").await;
    let content = [
        r#"[{"type":"image","data":"%%%","mimeType":"image/png"}]"#,
        r#"[{"type":"smell"}]"#,
        r#"[{"type":"text"}]"#,
        r#"[{"type":"resource","resource":{"uri":"a:b"}}]"#,
        r#"[null]"#,
        r#"{}"#,
    ];
    for content in content {
        let outcome = call_answered_by(&client, &mut server, |id| {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":{content}}}}}"#)
        });
        assert!(matches!(outcome.await, Err(Error::PeerMisbehaved(_))), "{content}");
    }
    assert_eq!(server.ask("ping", Value::Null).await["result"], json!({}));
}

/// Row A34.
// covers: BASE-RESP-ID-ECHO, SCHEMA-ERROR-ID, CANC-LATE-RESPONSE
#[tokio::test(start_paused = true)]
async fn responses_to_nothing_are_counted_and_the_first_one_stands() {
    for revision in ALL {
        let (client, mut server) = full_pair(Client::builder(), revision).await;
        let call = client.call("t", ()).start();
        let asked = server.asked("tools/call").await;
        let id = asked["id"].clone();
        for other in [json!(id.to_string()), json!(12345), json!("x")] {
            let strange = json!({ "jsonrpc": "2.0", "id": other, "result": { "content": [] } });
            server.send(strange).await.expect("sent");
        }
        for line in [
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}"#,
            r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"?"}}"#,
        ] {
            server.send_line(line).await.expect("sent");
        }
        let text = |text: &str| json!({ "content": [{ "type": "text", "text": text }] });
        server.complete(&asked, text("first")).await;
        server.complete(&asked, text("second")).await;
        assert_eq!(call.await.expect("a result").text(), "first");
        server.hears_nothing().await;
        assert_eq!(client.dropped().responses, 6);
    }
}

/// Rows A01, A23 to A31, H01: what is not a message is skipped, up to a budget.
// covers: BASE-UTF8
#[tokio::test(start_paused = true)]
async fn garbage_is_skipped_up_to_a_budget() {
    let mut policy = Policy::default();
    policy.garbage_lines = 20;
    let (client, mut server) = full_pair(Client::builder().policy(policy), "2025-06-18").await;
    let garbage = [
        "Listening on stdio...",
        "\u{1b}[32mready\u{1b}[0m",
        "{",
        "}",
        "{\"a\":}",
        "[]",
        "[1,2]",
        "null",
        "7",
        "\"x\"",
        r#"{"jsonrpc":"2.0"}"#,
        r#"{"jsonrpc":"2.0","id":{},"result":{}}"#,
        "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"result\":{}}",
        r#"{"jsonrpc":"2.0","id":"\ud800","result":{}}"#,
        "NaN",
        "{\"a\":01}",
        "{} {}",
    ];
    for line in garbage {
        server.send_line(line).await.expect("sent");
    }
    server.send_line(&"[".repeat(200_000)).await.expect("sent");
    assert_eq!(server.ask("ping", Value::Null).await["result"], json!({}), "the connection lives");
    assert_eq!(client.dropped().garbage, 18);
    let call = client.call("t", ()).start();
    server.asked("tools/call").await;
    for _ in 0..3 {
        server.send_line("more").await.expect("sent");
    }
    let error = call.await.expect_err("given up");
    assert!(matches!(&error, Error::PeerMisbehaved(why) if why.contains("20 lines")), "{error}");
    assert!(client.is_closed());
}

/// Row A24: one byte order mark is forgiven.
#[tokio::test(start_paused = true)]
async fn a_byte_order_mark_is_forgiven_once() {
    let (mut server, transport) = Played::new();
    let builder = Client::builder().revisions(&contexture::revision::Revision::LEGACY);
    let client = tokio::spawn(builder.connect(transport));
    let hello = server.asked("initialize").await;
    let answer = json!({ "jsonrpc": "2.0", "id": hello["id"], "result": handshake("2025-06-18", json!({})) });
    server.send_line(&format!("\u{feff}{answer}")).await.expect("sent");
    let client = client.await.expect("no panic").expect("connected");
    server.asked("notifications/initialized").await;
    server.send_line("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}").await.expect("sent");
    server.hears_nothing().await;
    assert_eq!(client.dropped().garbage, 1);
}

/// Rows A04 to A09 and A15, with the client as the receiver.
// covers: BASE-REQ-ID-NOT-NULL, BASE-REQ-ID-TYPE, BASE-NOTIF-NO-RESPONSE, SCHEMA-PARAMS-OBJECT
#[tokio::test(start_paused = true)]
async fn requests_with_bad_ids_run_nothing() {
    let elicitation = Elicitation::new(async |_| -> ElicitAnswer { panic!("must not be asked") });
    for revision in LEGACY {
        let (client, mut server) =
            full_pair(Client::builder().elicitation(elicitation.clone()), revision).await;
        for id in ["null", "1.5", "1e0", "[]", "{}", "true", "18446744073709551616"] {
            let line =
                format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"elicitation/create","params":{{}}}}"#);
            server.send_line(&line).await.expect("sent");
        }
        server.send_line(r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#).await.expect("sent");
        server.send_line(r#"{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}"#).await.expect("sent");
        let pong = server.receive().await.expect("the only answer");
        assert_eq!(pong["id"], json!(9_007_199_254_740_993_i64));
        server
            .send_line(r#"{"jsonrpc":"2.0","id":"\u0061","method":"ping","params":[]}"#)
            .await
            .expect("sent");
        let refused = server.receive().await.expect("refused");
        assert_eq!((refused["id"].as_str(), refused["error"]["code"].as_i64()), (Some("a"), Some(-32602)));
        server.hears_nothing().await;
        assert_eq!(client.dropped().garbage, 9);
    }
}

// covers: BASE-NO-BATCH
#[tokio::test(start_paused = true)]
async fn batches_are_understood_in_their_revision_only() {
    for revision in ALL {
        let (client, mut server) = full_pair(Client::builder(), revision).await;
        let call = client.call("t", ()).timeout(Duration::from_secs(1)).start();
        let asked = server.asked("tools/call").await;
        let result = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "content": [] } });
        let ping = json!({ "jsonrpc": "2.0", "id": "p", "method": "ping" });
        server.send_line(&json!([result, ping, { "jsonrpc": "2.0" }]).to_string()).await.expect("sent");
        assert_eq!(call.await.is_ok(), revision == "2025-03-26");
        if revision == "2025-03-26" {
            assert_eq!(server.receive().await.expect("an answer")["id"], "p");
        }
        assert_eq!(client.dropped().garbage, 1);
    }
}

/// Row A22: a line over the limit costs nothing, and the next one is read.
#[tokio::test(start_paused = true)]
async fn lines_over_the_limit_are_thrown_away() {
    let (own, other) = contexture::transport::memory(10_000);
    let mut server = contexture::testing::RawPeer::over(own);
    let builder = Client::builder().revisions(&contexture::revision::Revision::LEGACY);
    let client = tokio::spawn(builder.connect(other));
    let hello = server.expect("initialize").await.expect("a handshake");
    server.send_line(&"x".repeat(5_000_000)).await.expect("sent");
    server.answer(&hello, handshake("2025-06-18", json!({}))).await.expect("sent");
    let client = client.await.expect("no panic").expect("connected");
    assert_eq!(client.dropped().garbage, 1);
}

/// What the application does wrong in a hook is its own affair: the connection goes on.
#[tokio::test(start_paused = true)]
async fn a_hook_that_panics_does_not_end_the_connection() {
    use contexture::client::{ElicitAnswer, Elicitation};
    let form = json!({ "type": "object", "properties": { "n": { "type": "string" } } });
    let ask = json!({ "message": "?", "requestedSchema": form });
    for revision in ["2025-06-18", MODERN] {
        let elicitation = Elicitation::new(async |_| -> ElicitAnswer { panic!("a responder") });
        let builder = Client::builder().on_log(|_, _| panic!("a hook")).elicitation(elicitation);
        let (client, mut server) = full_pair(builder, revision).await;
        let call = client.call("t", ()).start();
        let asked = server.asked("tools/call").await;
        let message = json!({ "level": "error", "data": "x" });
        server.notify("notifications/message", message).await.expect("sent");
        if revision == MODERN {
            let round = json!({ "method": "elicitation/create", "params": ask });
            let result = json!({ "resultType": "input_required", "inputRequests": { "q": round } });
            server.answer(&asked, result).await.expect("sent");
            assert!(matches!(call.await, Err(Error::Misuse(why)) if why.contains("panicked")));
        } else {
            assert_eq!(server.ask("elicitation/create", ask.clone()).await["error"]["code"], -32603);
            server.complete(&asked, json!({ "content": [] })).await;
            call.await.expect("unharmed");
        }
        assert!(!client.is_closed());
    }
}
