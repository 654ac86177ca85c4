//! Spans of one call, through two processes' worth of us, as a collector gets them.

use std::sync::Arc;

use contexture::Client;
use contexture_host::operations::trace::Parent;
use contexture_host::operations::{Metrics, Outcome, Settings, Tracer};
use serde_json::{Value, json};

use crate::collector::Collector;
use crate::{client_of, value, watched};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const SPAN: &str = "b7ad6b7169203331";

fn tracing(endpoint: &str) -> Arc<Metrics> {
    let settings = Settings::from_variables(|name| match name {
        "OTEL_EXPORTER_OTLP_ENDPOINT" => Some(endpoint.to_owned()),
        "OTEL_EXPORTER_OTLP_HEADERS" => Some("x-key=a%20secret,x-other=1".to_owned()),
        "OTEL_SERVICE_NAME" => Some("gate".to_owned()),
        _ => None,
    });
    let settings = settings.expect("they can be used").expect("it is on");
    Arc::new(Metrics::with_tracer(Tracer::start(settings).expect("a tracer")))
}

/// The upstream is asked with what was carried.
async fn ask(upstream: Client, parent: Option<String>) -> Outcome {
    let call = upstream.call("echo", json!({}));
    let answer = match parent {
        Some(parent) => call.trace(parent, None).await,
        None => call.await,
    };
    answer.map_or(Outcome::Error, |_| Outcome::Ok)
}

/// A gateway in front of a gateway, so that there are four spans.
async fn two_in_a_row(front: &Arc<Metrics>, behind: &Arc<Metrics>) -> Client {
    let upstream = client_of(watched(behind, |_| async { Outcome::Ok })).await;
    let server = watched(front, move |meta| ask(upstream.clone(), meta.traceparent().map(str::to_owned)));
    client_of(server).await
}

fn attribute<'a>(span: &'a Value, key: &str) -> &'a str {
    let all = span["attributes"].as_array().expect("attributes");
    let found = all.iter().find(|attribute| attribute["key"] == key);
    found.and_then(|attribute| attribute["value"]["stringValue"].as_str()).unwrap_or_default()
}

#[tokio::test]
async fn one_call_is_one_trace_with_the_right_parents() {
    let collector = Collector::start().await;
    let (front, behind) = (tracing(&collector.endpoint), tracing(&collector.endpoint));
    let client = two_in_a_row(&front, &behind).await;
    client.call("echo", json!({})).trace(format!("00-{TRACE}-{SPAN}-01"), None).await.expect("an answer");
    front.tracer().flush().await;
    behind.tracer().flush().await;
    let spans = collector.spans();
    assert_eq!(spans.len(), 4, "{spans:?}");
    assert!(spans.iter().all(|span| span["traceId"] == TRACE), "{spans:?}");
    // From the caller's own span down to the last, each below the one before.
    let mut parent = SPAN.to_owned();
    for kind in [2, 3, 2, 3] {
        let below: Vec<_> = spans.iter().filter(|span| span["parentSpanId"] == parent.as_str()).collect();
        assert_eq!(below.len(), 1, "{spans:?}");
        assert_eq!(below[0]["kind"], kind);
        assert_eq!(below[0]["name"], "tools/call echo");
        assert_eq!(attribute(below[0], "mcp.method.name"), "tools/call");
        assert_eq!(attribute(below[0], "gen_ai.tool.name"), "echo");
        assert_eq!(attribute(below[0], "contexture.server"), if kind == 3 { "files" } else { "" });
        let times =
            ["startTimeUnixNano", "endTimeUnixNano"].map(|key| below[0][key].as_str().expect("a time"));
        assert!(times[0].parse::<u64>().expect("nanoseconds") <= times[1].parse().expect("nanoseconds"));
        parent = below[0]["spanId"].as_str().expect("an id").to_owned();
        assert_eq!(parent.len(), 16);
    }
    let head = &collector.heads()[0];
    assert!(head.starts_with("post /v1/traces http/1.1"), "{head}");
    assert!(head.contains("x-key: a secret") && head.contains("x-other: 1"), "{head}");
    let name = json!({ "key": "service.name", "value": { "stringValue": "gate" } });
    assert!(collector.resources()[0]["attributes"].as_array().expect("some").contains(&name));
}

#[tokio::test]
async fn a_call_without_a_parent_begins_a_trace() {
    let collector = Collector::start().await;
    let metrics = tracing(&collector.endpoint);
    let client = client_of(watched(&metrics, |_| async { Outcome::Unavailable })).await;
    client.call("echo", json!({})).await.expect("an answer");
    client.call("echo", json!({})).trace("not a parent", None).await.expect("an answer");
    metrics.tracer().flush().await;
    let spans = collector.spans();
    let roots: Vec<_> = spans.iter().filter(|span| span["parentSpanId"].is_null()).collect();
    assert_eq!((spans.len(), roots.len()), (4, 2), "{spans:?}");
    assert_ne!(roots[0]["traceId"], roots[1]["traceId"]);
    let failed: Vec<_> = spans.iter().filter(|span| span["status"]["code"] == 2).collect();
    assert!(failed.len() == 2 && failed.iter().all(|span| attribute(span, "error.type") == "unavailable"));
}

#[tokio::test]
async fn a_trace_that_its_owner_does_not_record_is_passed_on_and_not_recorded() {
    let collector = Collector::start().await;
    let metrics = tracing(&collector.endpoint);
    let (carried, mut was_carried) = tokio::sync::mpsc::unbounded_channel();
    let client = client_of(watched(&metrics, move |meta| {
        let _ = carried.send(meta.traceparent().map(str::to_owned));
        async { Outcome::Ok }
    }))
    .await;
    let parent = format!("00-{TRACE}-{SPAN}-00");
    client.call("echo", json!({})).trace(parent.as_str(), None).await.expect("an answer");
    assert_eq!(was_carried.recv().await, Some(Some(parent)));
    metrics.tracer().flush().await;
    assert_eq!(collector.spans(), Vec::<Value>::new());
}

#[tokio::test]
async fn without_a_collector_what_came_is_passed_on() {
    let metrics = Arc::new(Metrics::new());
    let (carried, mut was_carried) = tokio::sync::mpsc::unbounded_channel();
    let client = client_of(watched(&metrics, move |meta| {
        let _ = carried.send(meta.traceparent().map(str::to_owned));
        async { Outcome::Ok }
    }))
    .await;
    let parent = format!("00-{TRACE}-{SPAN}-01");
    client.call("echo", json!({})).trace(parent.as_str(), None).await.expect("an answer");
    assert_eq!(was_carried.recv().await, Some(Some(parent)));
}

#[tokio::test]
async fn a_collector_that_is_busy_is_asked_again() {
    let collector = Collector::refusing(1, 503).await;
    let metrics = tracing(&collector.endpoint);
    let client = client_of(watched(&metrics, |_| async { Outcome::Ok })).await;
    client.call("echo", json!({})).await.expect("an answer");
    metrics.tracer().flush().await;
    assert_eq!((collector.heads().len(), collector.spans().len()), (2, 2));
}

#[tokio::test]
async fn a_collector_that_refuses_or_is_gone_costs_spans_and_no_calls() {
    let refusing = Collector::refusing(usize::MAX, 400).await;
    // A port that nobody listens on any more.
    let gone = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    for endpoint in [refusing.endpoint.clone(), format!("http://{gone}")] {
        let metrics = tracing(&endpoint);
        let client = client_of(watched(&metrics, |_| async { Outcome::Ok })).await;
        for _ in 0..3 {
            client.call("echo", json!({})).await.expect("an answer");
        }
        metrics.tracer().flush().await;
        assert_eq!(
            value(&metrics.render(), r#"contexture_dropped_total{what="span"}"#),
            Some(6.0),
            "{endpoint}"
        );
    }
}

#[test]
fn parents_are_read_as_the_format_says() {
    let good = format!("00-{TRACE}-{SPAN}-01");
    assert_eq!(Parent::parse(&good).map(|parent| parent.text()), Some(good.clone()));
    // A later version may have more to say.
    assert!(Parent::parse(&format!("cc-{TRACE}-{SPAN}-01-what-ever")).is_some());
    let bad = [
        String::new(),
        format!("{good}-more"),
        format!("ff-{TRACE}-{SPAN}-01"),
        format!("00-{}-{SPAN}-01", "0".repeat(32)),
        format!("00-{TRACE}-{}-01", "0".repeat(16)),
        good.to_uppercase(),
        format!("00-{TRACE}-{SPAN}"),
        format!("00-{TRACE}-{SPAN}-1"),
        format!("00-{TRACE}-{SPAN}-+1"),
        format!("00-{}-{SPAN}-01", "é".repeat(16)),
    ];
    for text in bad {
        assert_eq!(Parent::parse(&text), None, "{text:?}");
    }
}
