//! What is counted, and that nobody can make it grow.

use std::sync::Arc;
use std::time::Duration;

use contexture::model::Method;
use contexture_host::operations::{Decision, Dropped, Metrics, Outcome};
use serde_json::json;

use crate::{client_of, value, watched};

#[tokio::test]
async fn calls_are_counted_by_server_method_and_outcome() {
    let metrics = Arc::new(Metrics::new());
    metrics.servers(["files"]);
    let client = client_of(watched(&metrics, |_| async { Outcome::Ok })).await;
    for _ in 0..3 {
        client.call("echo", json!({})).await.expect("an answer");
    }
    client.call("nothing", json!({})).await.expect_err("there is no such tool");
    let page = metrics.render();
    let calls = r#"contexture_upstream_calls_total{server="files",method="tools/call",outcome="ok"}"#;
    assert_eq!(value(&page, calls), Some(4.0), "{page}");
    let exchanges = r#"contexture_exchanges_total{method="tools/call",outcome="#;
    assert_eq!(value(&page, &format!("{exchanges}\"ok\"}}")), Some(3.0), "{page}");
    assert_eq!(value(&page, &format!("{exchanges}\"error\"}}")), Some(1.0), "{page}");
    assert_eq!(value(&page, r#"contexture_upstream_calls_in_flight{server="files"}"#), Some(0.0));
}

#[tokio::test]
async fn a_call_that_is_given_up_is_in_flight_no_more() {
    let metrics = Arc::new(Metrics::new());
    metrics.servers(["files"]);
    let (reached, mut is_there) = tokio::sync::mpsc::unbounded_channel();
    let front = watched(&metrics, move |_| {
        let _ = reached.send(());
        std::future::pending()
    });
    let client = client_of(front).await;
    let call = client.call("echo", json!({})).start();
    is_there.recv().await.expect("the upstream is asked");
    let in_flight = r#"contexture_upstream_calls_in_flight{server="files"}"#;
    assert_eq!(value(&metrics.render(), in_flight), Some(1.0));
    call.cancel("enough");
    call.await.expect_err("it was cancelled");
    let over = async {
        while value(&metrics.render(), in_flight) != Some(0.0) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), over).await.expect("it is over");
    let cancelled =
        r#"contexture_upstream_calls_total{server="files",method="tools/call",outcome="cancelled"}"#;
    assert_eq!(value(&metrics.render(), cancelled), Some(1.0));
}

#[test]
fn names_that_nobody_configured_share_one_label() {
    let metrics = Metrics::new();
    metrics.servers(["files", "git"]);
    let before = metrics.render().lines().count();
    for number in 0..1000 {
        metrics.decided(&format!("made-up-{number}"), Decision::Denied);
        metrics.restarted(&format!("made-up-{number}"));
    }
    assert_eq!(metrics.render().lines().count(), before);
}

#[test]
fn servers_that_stay_keep_their_counts_and_those_that_go_take_theirs_along() {
    let metrics = Metrics::new();
    metrics.servers(["files", "git"]);
    metrics.restarted("files");
    metrics.restarted("git");
    metrics.servers(["files", "mail"]);
    let page = metrics.render();
    let restarts =
        |server: &str| value(&page, &format!("contexture_upstream_restarts_total{{server=\"{server}\"}}"));
    assert_eq!((restarts("files"), restarts("git"), restarts("mail")), (Some(1.0), None, Some(0.0)));
}

#[test]
fn decisions_and_losses_have_counters_of_their_own() {
    let metrics = Metrics::new();
    metrics.servers(["files"]);
    for decision in [Decision::Allowed, Decision::Asked, Decision::Denied, Decision::Denied] {
        metrics.decided("files", decision);
    }
    metrics.dropped(Dropped::ParkedCall);
    let page = metrics.render();
    let decided = |word: &str| {
        value(&page, &format!("contexture_decisions_total{{server=\"files\",decision=\"{word}\"}}"))
    };
    assert_eq!((decided("allowed"), decided("asked"), decided("denied")), (Some(1.0), Some(1.0), Some(2.0)));
    assert_eq!(value(&page, r#"contexture_dropped_total{what="parked_call"}"#), Some(1.0));
    assert_eq!(value(&page, r#"contexture_dropped_total{what="span"}"#), Some(0.0));
}

#[tokio::test]
async fn the_page_is_one_that_prometheus_reads() {
    let metrics = Arc::new(Metrics::new());
    // A name that would end the label, the line and the page if it could.
    metrics.servers(["files", "a\"b\\c\nd"]);
    let client = client_of(watched(&metrics, |_| async { Outcome::TimedOut })).await;
    client.call("echo", json!({})).await.expect("an answer");
    let page = metrics.render();
    let mut families = Vec::new();
    for line in page.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            let mut words = comment.split(' ');
            if words.next() == Some("TYPE") {
                families.push(words.next().expect("a name").to_owned());
                assert!(matches!(words.next(), Some("counter" | "gauge" | "histogram")), "{line}");
            }
            continue;
        }
        let name = line.split(['{', ' ']).next().expect("a name");
        let family = families.last().expect("every line has a family");
        assert!(
            name == family || name.strip_prefix(family.as_str()).is_some_and(|rest| rest.starts_with('_')),
            "{line}"
        );
        let number = line.rsplit(' ').next().expect("a value");
        assert!(number.parse::<f64>().is_ok(), "{line}");
    }
    let mut once = families.clone();
    once.dedup();
    assert_eq!(families, once);
    assert!(page.contains(r#"server="a\"b\\c\nd""#), "{page}");
}

#[tokio::test]
async fn durations_are_cumulative() {
    let metrics = Arc::new(Metrics::new());
    metrics.servers(["files"]);
    let client = client_of(watched(&metrics, |_| async { Outcome::Ok })).await;
    for _ in 0..5 {
        client.call("echo", json!({})).await.expect("an answer");
    }
    let page = metrics.render();
    let family = "contexture_upstream_call_duration_seconds";
    let labels = format!("server=\"files\",method=\"{}\"", Method::ToolsCall.as_str());
    let buckets: Vec<f64> = page
        .lines()
        .filter(|line| line.starts_with(&format!("{family}_bucket{{{labels}")))
        .map(|line| line.rsplit(' ').next().and_then(|text| text.parse().ok()).expect("a number"))
        .collect();
    assert!(buckets.len() > 10 && buckets.is_sorted(), "{buckets:?}");
    assert_eq!(buckets.last(), Some(&5.0));
    assert_eq!(value(&page, &format!("{family}_count{{{labels}}}")), Some(5.0));
}
