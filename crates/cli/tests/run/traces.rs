//! One call, from a client through two of us to a server, as a collector sees it: one trace.

use contexture::Client;
use serde_json::{Value, json};

use crate::collector::Collector;
use crate::stage::{BINARY, Gateway, Home};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const SPAN: &str = "b7ad6b7169203331";

/// The span below another, of this kind.
fn below<'a>(spans: &'a [Value], parent: &str, kind: u32) -> &'a Value {
    let found: Vec<&Value> =
        spans.iter().filter(|span| span["parentSpanId"] == parent && span["kind"] == kind).collect();
    assert_eq!(found.len(), 1, "below {parent}: {spans:#?}");
    found[0]
}

fn id(span: &Value) -> &str {
    span["spanId"].as_str().expect("an id")
}

/// The gateway stands in front of a bridge, over a pipe, in front of the demo: so trace context has to get through both.
#[tokio::test]
async fn one_call_is_one_trace() {
    let home = Home::new();
    let collector = Collector::start().await;
    let bridge = json!({
        "command": BINARY,
        "args": ["bridge", "--", home.server(), "demo"],
        "env": { "OTEL_EXPORTER_OTLP_ENDPOINT": collector.endpoint, "OTEL_SERVICE_NAME": "behind", "HOME": home.path() },
    });
    let config = home.config(&json!({ "one": bridge }));
    let mut command = home.command(&["run", "--config", &config, "--listen", "127.0.0.1:0"]);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.endpoint).env("OTEL_SERVICE_NAME", "before");
    let gateway = Gateway::of(command);
    let client = gateway.client().await;
    let call = client.call("one__echo", json!({ "message": "hello" }));
    let reply = call.trace(format!("00-{TRACE}-{SPAN}-01"), None).await.expect("an answer");
    assert_eq!(reply.text(), "hello");
    client.close().await;
    gateway.terminate();
    assert_eq!(gateway.ended().await.code(), Some(0));
    let spans = collector.spans();
    let ours: Vec<Value> = spans.into_iter().filter(|span| span["traceId"] == TRACE).collect();
    assert_eq!(ours.len(), 4, "{ours:#?}");
    let received = below(&ours, SPAN, 2);
    let sent = below(&ours, id(received), 3);
    let received_behind = below(&ours, id(sent), 2);
    let sent_behind = below(&ours, id(received_behind), 3);
    assert_eq!(received["name"], "tools/call one__echo");
    for span in [sent, received_behind, sent_behind] {
        assert_eq!(span["name"], "tools/call echo");
    }
    let text = serde_json::to_string(&ours).expect("JSON");
    assert!(!text.contains("hello"), "arguments are nobody's business: {text}");
    assert!(
        collector.heads().iter().all(|head| head.starts_with("post /v1/traces ")),
        "{:?}",
        collector.heads()
    );
    let services = serde_json::to_string(&collector.resources()).expect("JSON");
    assert!(services.contains("before") && services.contains("behind"), "{services}");
}

/// Clients that know nothing of `_meta` say it in the header that HTTP has for it.
#[tokio::test]
async fn the_parent_may_come_in_a_header() {
    let home = Home::new();
    let collector = Collector::start().await;
    let config = home.config(&json!({ "one": home.demo() }));
    let mut command = home.command(&["run", "--config", &config, "--listen", "127.0.0.1:0"]);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.endpoint);
    let gateway = Gateway::of(command);
    let client = Client::builder().header("traceparent", format!("00-{TRACE}-{SPAN}-01"));
    let client = client.connect(gateway.url.as_str()).await.expect("a client");
    client.call("one__echo", json!({ "message": "hello" })).await.expect("an answer");
    gateway.terminate();
    assert_eq!(gateway.ended().await.code(), Some(0));
    let spans = collector.spans();
    let call = spans.iter().find(|span| span["name"] == "tools/call one__echo").expect("the call");
    assert_eq!((&call["traceId"], &call["parentSpanId"]), (&json!(TRACE), &json!(SPAN)), "{call}");
}
