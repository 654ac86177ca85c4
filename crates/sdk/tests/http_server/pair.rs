//! HTTP+SSE, the transport of the oldest revision: a stream, and a second address.

use std::sync::{Arc, Mutex};

use contexture_judge::{From, Watch};
use serde_json::{Value, json};

use super::raw::{Judged, Reply};
use super::support::{
    Calls, LEGACY, MODERN, Peer, Site, Waiting, change, hello, notification, request, server, text_of,
};

/// A client of the oldest transport.
struct Old<'a> {
    site: &'a Site,
    stream: Reply,
    endpoint: String,
    judged: Judged,
}

impl<'a> Old<'a> {
    async fn connected(site: &'a Site) -> Self {
        let judged: Judged = Arc::new(Mutex::new(Watch::new(From::Server)));
        let get = site.ask("GET", "/sse").and("accept", "text/event-stream").judged(&judged);
        let mut stream = get.send().await;
        assert_eq!((stream.status, stream.is_events()), (200, true));
        let first = stream.event().await.expect("an event");
        assert_eq!(first.name, "endpoint", "before anything else");
        Self { site, stream, endpoint: first.data, judged }
    }

    async fn opened(site: &'a Site, revision: &str) -> Self {
        let mut old = Self::connected(site).await;
        let answer = old.ask(request("hello", "initialize", hello(revision, json!({})))).await;
        assert_eq!(answer["result"]["protocolVersion"], revision);
        assert_eq!(old.post(&notification("notifications/initialized")).await, 202);
        old
    }

    async fn post(&self, message: &Value) -> u16 {
        let mut reply = self.site.post(message).to(&self.endpoint).judged(&self.judged).send().await;
        assert_eq!(reply.status != 202, !reply.bytes().await.is_empty(), "answers come by the stream");
        reply.status
    }

    /// The next message, which comes as an event of that name.
    async fn next(&mut self) -> Value {
        let event = self.stream.event().await.expect("the stream goes on");
        assert_eq!(event.name, "message");
        serde_json::from_str(&event.data).expect("JSON")
    }

    async fn ask(&mut self, message: Value) -> Value {
        assert_eq!(self.post(&message).await, 202);
        let answer = self.next().await;
        assert_eq!(answer["id"], message["id"]);
        answer
    }
}

fn call(id: &str, tool: &str) -> Value {
    let params = json!({ "name": tool, "arguments": {}, "_meta": { "progressToken": id } });
    request(id, "tools/call", params)
}

// covers: SSE24-SSE-ENDPOINT, SSE24-POST-ENDPOINT, SSE24-ENDPOINT-EVENT, SSE24-ENDPOINT-FIRST
// covers: SSE24-MESSAGE-EVENT, SSE24-MESSAGE-JSON
#[tokio::test]
async fn messages_are_posted_and_come_back_as_events() {
    let (server, _calls) = server();
    let site = Site::of(server).await;
    for revision in LEGACY {
        let mut old = Old::opened(&site, revision).await;
        assert_eq!(text_of(&old.ask(call("a", "now")).await), "now");
        assert_eq!(old.post(&call("b", "steps")).await, 202);
        for step in 1..4 {
            assert_eq!(old.next().await["params"]["progress"].as_f64(), Some(f64::from(step)));
        }
        assert_eq!(text_of(&old.next().await), "done");
        change(&site, &format!("more-{revision}"));
        assert_eq!(old.next().await["method"], "notifications/tools/list_changed");
    }
}

async fn waiting(old: &Old<'_>, calls: &mut Calls) -> Waiting {
    assert_eq!(old.post(&call("wait", "wait")).await, 202);
    calls.recv().await.expect("is called")
}

// covers: SSE24-MULTI-CLIENT
#[tokio::test]
async fn clients_do_not_meet() {
    let (server, mut calls) = server();
    let site = Site::of(server).await;
    let mut first = Old::opened(&site, LEGACY[0]).await;
    let mut second = Old::opened(&site, LEGACY[0]).await;
    assert_ne!(first.endpoint, second.endpoint);
    let (a, b) = (waiting(&first, &mut calls).await, waiting(&second, &mut calls).await);
    a.context.progress(1.0, None);
    b.context.progress(2.0, None);
    assert_eq!(second.next().await["params"]["progress"].as_f64(), Some(2.0));
    assert_eq!(first.next().await["params"]["progress"].as_f64(), Some(1.0));
    b.go.send(()).expect("it waits");
    assert_eq!(text_of(&second.next().await), "waited");
    assert_eq!(text_of(&first.ask(call("now", "now")).await), "now", "that is all it hears");
    a.go.send(()).expect("it waits");
    assert_eq!(text_of(&first.next().await), "waited");
}

// covers: SSE24-CLOSE, LIFE-SHUTDOWN-HTTP
#[tokio::test]
async fn closing_the_stream_ends_the_session() {
    let (server, mut calls) = server();
    let site = Site::of(server).await;
    let old = Old::opened(&site, LEGACY[0]).await;
    let Waiting { context, go, gone } = waiting(&old, &mut calls).await;
    let Old { stream, endpoint, .. } = old;
    drop(stream);
    context.cancelled().await;
    assert!(gone.await.is_err(), "its work is dropped");
    drop(go);
    let late = site.post(&call("late", "now")).to(&endpoint);
    while late.clone().status().await != 404 {}
}

// covers: LIFE-SHUTDOWN-HTTP, SSE24-CLOSE
#[tokio::test]
async fn a_server_that_stops_closes_the_stream() {
    let (server, mut calls) = server();
    let site = Site::of(server).await;
    let old = Old::opened(&site, LEGACY[0]).await;
    let call = waiting(&old, &mut calls).await;
    let Old { mut stream, .. } = old;
    let stopped = site.stop();
    call.go.send(()).expect("what is at hand is finished");
    assert_eq!(text_of(&stream.next().await), "waited");
    assert_eq!(stream.event().await, None);
    stopped.await.expect("no panic").expect("it ends well");
}

#[tokio::test]
async fn what_is_wrong_is_refused() {
    let (server, _calls) = server();
    let site = Site::of(server).await;
    let old = Old::opened(&site, LEGACY[0]).await;
    let post = || site.post(&call("x", "now"));
    for target in ["/messages", "/messages?session=", "/messages?session=nobody"] {
        assert_eq!(post().to(target).status().await, 404, "{target}");
    }
    assert_eq!(post().to(&old.endpoint).with("content-type", "text/plain").status().await, 415);
    assert_eq!(post().to(&old.endpoint).without("accept").status().await, 202, "older clients send none");
    assert_eq!(site.ask("GET", "/sse").and("accept", "application/json").status().await, 406);
    let wrong = site.ask("POST", "/sse").send().await;
    assert_eq!((wrong.status, wrong.header("allow")), (405, Some("GET")));
    let wrong = site.ask("GET", "/messages").send().await;
    assert_eq!((wrong.status, wrong.header("allow")), (405, Some("POST")));
}

// covers: HTTP-COMPAT-SERVER-ENDPOINTS
#[tokio::test]
async fn both_generations_are_served_side_by_side() {
    let (new, _calls) = server();
    let moved = Site::with(new, |http| http.at("/here").sse_at("/old", "/old/post")).await;
    for path in ["/mcp", "/sse", "/messages"] {
        assert_eq!(moved.ask("GET", path).and("accept", "text/event-stream").status().await, 404);
    }
    let mut stream = moved.ask("GET", "/old").and("accept", "text/event-stream").send().await;
    assert!(stream.event().await.expect("an event").data.starts_with("/old/post?"));
    let hello = request(1, "initialize", hello(LEGACY[1], json!({})));
    assert_eq!(moved.post(&hello).to("/here").status().await, 200);

    let (both, _calls) = server();
    let site = Site::of(both).await;
    let mut old = Old::opened(&site, LEGACY[0]).await;
    for revision in LEGACY.into_iter().chain([MODERN]) {
        assert_eq!(Peer::of(&site, revision).await.tool("now").await, "now");
    }
    assert_eq!(text_of(&old.ask(call("a", "now")).await), "now");

    let (without, _calls) = server();
    let without = Site::with(without, |http| http.without_sse()).await;
    assert_eq!(without.ask("GET", "/sse").and("accept", "text/event-stream").status().await, 404);
}
