//! Streams of changes in the modern era.

use contexture::{Policy, resource};
use serde_json::{Value, json};

use super::support::{MODERN, Peer, Site, change, server};

const TAG: &str = "io.modelcontextprotocol/subscriptionId";

async fn site() -> Site {
    let (server, _calls) = server();
    Site::of(
        server
            .resource(resource("test://1").name("1").text("x"))
            .resource(resource("test://2").name("2").text("x"))
            .prompt(contexture::prompt("hi").handler(|| async { "hi" })),
    )
    .await
}

fn filter() -> Value {
    json!({ "notifications": { "toolsListChanged": true, "resourceSubscriptions": ["test://1"] } })
}

#[tokio::test]
async fn a_stream_begins_with_what_it_will_tell() {
    let site = site().await;
    let peer = Peer::of(&site, MODERN).await;
    let listen = peer.request("subscriptions/listen", filter());
    let mut stream = peer.post(&listen).send().await;
    assert_eq!((stream.status, stream.is_events()), (200, true));
    assert_eq!(stream.header("x-accel-buffering"), Some("no"));
    let first = stream.next().await;
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(first["params"]["notifications"], filter()["notifications"]);
    assert_eq!(first["params"]["_meta"][TAG], listen["id"]);
    // What was not asked for is not told.
    site.registry.add_prompt(contexture::prompt("more").handler(|| async { "x" })).expect("a prompt");
    site.registry.resource_updated("test://2");
    site.registry.resource_updated("test://1");
    let told = stream.next().await;
    assert_eq!(told["params"]["uri"], "test://1");
    assert_eq!(told["params"]["_meta"][TAG], listen["id"]);
    assert_eq!(peer.begin("steps", "t").await.rest().await.len(), 4);
    change(&site, "more");
    let told = stream.next().await;
    assert_eq!(told["method"], "notifications/tools/list_changed", "calls are not heard of here");
    assert_eq!(told["params"]["_meta"][TAG], listen["id"]);
}

#[tokio::test]
async fn every_stream_is_told_under_its_own_name() {
    let site = site().await;
    let (peer, other) = (Peer::of(&site, MODERN).await, Peer::of(&site, MODERN).await);
    let mut streams = Vec::new();
    for (peer, id) in [(&peer, "a"), (&peer, "b"), (&other, "a")] {
        let mut listen = peer.request("subscriptions/listen", filter());
        listen["id"] = json!(id);
        let mut stream = peer.post(&listen).send().await;
        stream.next().await;
        streams.push((stream, id));
    }
    change(&site, "more");
    for (stream, id) in &mut streams {
        let told = stream.next().await;
        assert_eq!(told["method"], "notifications/tools/list_changed");
        assert_eq!(told["params"]["_meta"][TAG], *id);
    }
    let gone = streams.remove(0);
    drop(gone);
    site.registry.resource_updated("test://1");
    for (stream, id) in &mut streams {
        let told = stream.next().await;
        assert_eq!((&told["params"]["uri"], &told["params"]["_meta"][TAG]), (&json!("test://1"), &json!(id)));
    }
}

#[tokio::test]
async fn a_server_that_stops_answers_at_last() {
    let site = site().await;
    let peer = Peer::of(&site, MODERN).await;
    let listen = peer.request("subscriptions/listen", filter());
    let mut stream = peer.post(&listen).send().await;
    stream.next().await;
    let stopped = site.stop();
    let last = stream.rest().await;
    assert_eq!(last.len(), 1, "{last:?}");
    assert_eq!(last[0]["id"], listen["id"]);
    assert_eq!(last[0]["result"]["_meta"][TAG], listen["id"], "{last:?}");
    stopped.await.expect("no panic").expect("it ends well");
}

#[tokio::test]
async fn streams_are_bounded() {
    let mut policy = Policy::default();
    policy.streams = 1;
    let (server, _calls) = server();
    let site = Site::of(server.policy(policy)).await;
    let peer = Peer::of(&site, MODERN).await;
    let listen = || peer.request("subscriptions/listen", json!({ "notifications": {} }));
    let mut first = peer.post(&listen()).send().await;
    first.next().await;
    let refused = peer.post(&listen()).send().await;
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    assert_eq!(peer.tool("now").await, "now");
    drop(first);
    // A client that goes away gives its place back as soon as that is noticed.
    while peer.post(&listen()).status().await != 200 {}
}
