//! What these tests found wrong, each as a test of its own.

use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use contexture::model::LoggingLevel;
use contexture::revision::Revision;
use contexture::{Context, Error, Policy, Server, resource, tool};
use serde_json::{Value, json};

use super::raw::Ask;
use super::support::{
    BATCHED, EVERY, LEGACY, MODERN, POLLED, Peer, Site, Tokens, VERSIONED, notification, request, server,
    text_of,
};

fn list() -> Value {
    request(1, "tools/list", json!({}))
}

// covers: HTTP-VERSION-HEADER-400
#[tokio::test]
async fn a_version_that_is_known_but_not_spoken_here_is_refused() {
    let (server, _calls) = server();
    let spoken = Revision::parse(VERSIONED).expect("a revision");
    let site = Site::of(server.revisions(&[spoken])).await;
    let peer = Peer::of(&site, VERSIONED).await;
    for other in EVERY.into_iter().filter(|other| *other != VERSIONED) {
        let asks =
            [peer.post(&list()), peer.post(&notification("notifications/x")), peer.get(), peer.delete()];
        for (at, ask) in asks.into_iter().enumerate() {
            let status = ask.with("mcp-protocol-version", other).status().await;
            assert_eq!(status, 400, "{other}, request {at}");
        }
    }
}

#[tokio::test]
async fn a_stream_that_was_done_at_once_ends_when_resumed() {
    let (server, _calls) = server();
    let site = Site::of(server).await;
    for revision in LEGACY {
        let peer = Peer::of(&site, revision).await;
        let mut reply = peer.begin("steps", "t").await;
        let (first, _) = reply.named().await.expect("an event");
        assert_eq!(reply.rest().await.len(), 3);
        let mut again = peer.resume(&first.expect("an id")).await;
        assert_eq!(again.rest().await.len(), 3, "{revision}: and then it ends");
    }
}

#[tokio::test]
async fn a_refused_resumption_disturbs_nobody() {
    let (mut server, _calls) = server();
    for number in 0..2 {
        server = server.resource(resource(format!("test://{number}")).name(format!("{number}")).text("x"));
    }
    let site = Site::of(server).await;
    let peer = Peer::of(&site, POLLED).await;
    for number in 0..2 {
        let answer = peer.call("resources/subscribe", json!({ "uri": format!("test://{number}") })).await;
        assert!(answer["result"].is_object(), "{answer}");
    }
    let mut general = peer.listen().await;
    site.registry.resource_updated("test://0");
    let seen = general.named().await.expect("an event").0.expect("an id");
    let stream = seen.split_once('.').expect("a stream and a number").0;
    assert_eq!(peer.resume(&format!("{stream}.7")).await.status, 400);
    site.registry.resource_updated("test://1");
    let told = general.message().await.expect("who listens goes on listening");
    assert_eq!(told["params"]["uri"], "test://1");
}

#[tokio::test]
async fn a_stream_that_is_open_is_not_forgotten_for_those_that_are_done() {
    let mut policy = Policy::default();
    policy.session_streams = 4;
    let (server, _calls) = server();
    let site = Site::of(server.policy(policy).resource(resource("test://0").name("0").text("x"))).await;
    let peer = Peer::of(&site, POLLED).await;
    let answer = peer.call("resources/subscribe", json!({ "uri": "test://0" })).await;
    assert!(answer["result"].is_object(), "{answer}");
    let mut general = peer.listen().await;
    site.registry.resource_updated("test://0");
    let seen = general.named().await.expect("an event").0.expect("an id");
    for token in 0..8 {
        assert_eq!(peer.begin("steps", &token.to_string()).await.rest().await.len(), 4);
    }
    assert_eq!(peer.resume(&seen).await.status, 200, "it was open all the time");
}

#[tokio::test]
async fn the_oldest_transport_has_the_same_bounds_for_strangers() {
    let mut policy = Policy::default();
    policy.anonymous_sessions = 2;
    let (server, _calls) = server();
    let site = Site::of(server.policy(policy)).await;
    let open = || site.ask("GET", "/sse").and("accept", "text/event-stream").send();
    let streams = [open().await, open().await];
    assert!(streams.iter().all(|stream| stream.status == 200));
    let refused = open().await;
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
}

#[tokio::test]
async fn the_oldest_transport_has_the_same_bounds_for_everybody() {
    let mut policy = Policy::default();
    policy.sessions_per_principal = 2;
    let (server, _calls) = server();
    let site = Site::with(server.policy(policy), |http| http.authorizer(Tokens)).await;
    let open = |who: &str| {
        let get = site.ask("GET", "/sse").and("accept", "text/event-stream");
        get.and("authorization", &format!("Bearer {who}")).send()
    };
    let streams = [open("ada").await, open("ada").await];
    assert!(streams.iter().all(|stream| stream.status == 200));
    let refused = open("ada").await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("1")));
    assert_eq!(open("bob").await.status, 200);
}

#[tokio::test]
async fn an_answer_that_makes_no_sense_is_not_waited_for() {
    let asking = Server::new("test", "1.0.0").tool(tool("roots").handler(|ctx: Context| async move {
        let roots = ctx.roots("roots").await?;
        Ok::<_, Error>(roots.len().to_string())
    }));
    let site = Site::of(asking).await;
    for revision in LEGACY {
        let peer = Peer::able(&site, revision, json!({ "roots": {} })).await;
        let mut call = peer.start("tools/call", json!({ "name": "roots", "arguments": {} })).await;
        let question = call.next().await;
        let (result, error) = (json!({ "roots": [] }), json!({ "code": 1, "message": "both" }));
        let both = json!({ "jsonrpc": "2.0", "id": question["id"], "result": result, "error": error });
        assert_eq!(peer.tell(&both).await, 400);
        assert_eq!(call.next().await["result"]["isError"], true, "{revision}");
    }
}

#[tokio::test]
async fn batches_are_served_without_sessions_too() {
    let (server, _calls) = server();
    let site = Site::with(server, |http| http.stateless()).await;
    let call = |id: &str| request(id, "tools/call", json!({ "name": "now", "arguments": {} }));
    let batch = site.post(&json!([call("a"), call("b")]));
    for ask in [batch.clone(), batch.and("mcp-protocol-version", BATCHED)] {
        let mut reply = ask.send().await;
        assert_eq!(reply.status, 200, "that revision has to take them");
        let answers = reply.json().await;
        assert_eq!(
            answers.as_array().expect("an array").iter().map(text_of).collect::<Vec<_>>(),
            ["now", "now"]
        );
    }
}

#[tokio::test]
async fn the_second_address_is_right_below_a_prefix() {
    let http = server().0.into_http().expect("a server").below("/api");
    let router = Router::<()>::new().nest_service("/api", http);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, router).await.expect("serves") });
    let mut stream = Ask::new(address, "GET", "/api/sse").and("accept", "text/event-stream").send().await;
    assert_eq!(stream.status, 200);
    let given = stream.event().await.expect("an event").data;
    // As clients do it: against the address of the stream.
    let target = if given.starts_with('/') { given } else { format!("/api/{given}") };
    let post = Ask::new(address, "POST", &target).and("content-type", "application/json");
    assert_eq!(post.body(list().to_string()).status().await, 202, "{target}");
}

/// More than all buffers on the way to a client can hold.
const MANY: usize = 1500;
const LARGE: usize = 64 * 1024;

static SAID: AtomicUsize = AtomicUsize::new(0);

async fn say_much(ctx: Context) -> &'static str {
    for _ in 0..MANY {
        ctx.log(LoggingLevel::Error, "x".repeat(LARGE));
        SAID.fetch_add(1, Ordering::Relaxed);
        tokio::task::yield_now().await;
    }
    "done"
}

fn talkative() -> Policy {
    let mut policy = Policy::default();
    policy.notifications_per_second = u32::MAX;
    policy.kept_events = 2 * MANY;
    policy.kept_event_bytes = 2 * MANY * LARGE;
    policy
}

#[tokio::test]
async fn a_client_that_does_not_read_is_not_buffered_for() {
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let much = tool("much").spawned().handler(move |ctx: Context| {
        let tell = tell.clone();
        async move {
            let said = say_much(ctx).await;
            tell.send(()).ok();
            said
        }
    });
    let mut policy = talkative();
    policy.kept_events = 10;
    let site = Site::of(Server::new("test", "1.0.0").policy(policy).tool(much)).await;
    for revision in [VERSIONED, MODERN] {
        let peer = Peer::of(&site, revision).await;
        let level = json!({ "io.modelcontextprotocol/logLevel": "error" });
        let call = json!({ "name": "much", "arguments": {}, "_meta": level });
        let mut unread = peer.post(&peer.request("tools/call", call)).unjudged().send().await;
        told.recv().await.expect("it has said everything");
        let read = unread.bytes().await.len();
        assert!(read < MANY * LARGE, "{revision}: {read} bytes were kept for a client that read nothing");
    }
}

#[tokio::test]
async fn a_pipelined_request_does_not_hold_a_stream_back() {
    let (server, mut calls) = server();
    let site = Site::of(server).await;
    for revision in EVERY {
        let peer = Peer::of(&site, revision).await;
        let wait = json!({ "name": "wait", "arguments": {}, "_meta": { "progressToken": "t" } });
        let next = format!("GET /other HTTP/1.1\r\nhost: {}\r\n\r\n", site.address);
        let post = peer.post(&peer.request("tools/call", wait));
        let reply = tokio::spawn(async move { post.send_before(next.as_bytes()).await });
        let call = calls.recv().await.expect("is called");
        call.context.progress(1.0, None);
        let mut reply = reply.await.expect("a response");
        assert_eq!(reply.next().await["params"]["progress"].as_f64(), Some(1.0), "{revision}");
        call.go.send(()).expect("it works on");
        assert_eq!(text_of(&reply.next().await), "waited");
    }
}

#[tokio::test]
async fn a_connection_that_nobody_reads_does_not_hold_the_call() {
    let server = Server::new("test", "1.0.0").policy(talkative()).tool(tool("much").handler(say_much));
    let site = Site::of(server).await;
    let peer = Peer::of(&site, POLLED).await;
    let call = peer.request("tools/call", json!({ "name": "much", "arguments": {} }));
    let mut unread = peer.post(&call).unjudged().send().await;
    let first = unread.event().await.expect("an event").id.expect("an id");
    // Until it stands still: everything between the two is full, or it is done.
    let mut before = usize::MAX;
    while SAID.load(Ordering::Relaxed) != before {
        before = SAID.load(Ordering::Relaxed);
        for _ in 0..10_000 {
            tokio::task::yield_now().await;
        }
    }
    // The old connection is still there, full, and read by nobody: as if the network had gone.
    let mut again = peer.get().and("last-event-id", &first).unjudged().send().await;
    assert_eq!(again.status, 200);
    assert_eq!(text_of(&again.rest().await.pop().expect("an answer")), "done");
    drop(unread);
}
