//! Streams that were cut are taken up again: everything once, in order, and nothing of any other.

use std::collections::HashSet;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use contexture::server::http::{EventStore, MemoryEvents, Replay, StreamId};
use contexture::{Policy, Server, resource};
use serde_json::{Value, json};

use super::raw::Reply;
use super::support::{Calls, LEGACY, POLLED, Peer, Site, Waiting, server, text_of};

/// A call that has said `1` on its stream.
pub(crate) async fn begun(peer: &Peer, calls: &mut Calls, token: &str) -> (Reply, Waiting) {
    let wait = json!({ "name": "wait", "arguments": {}, "_meta": { "progressToken": token } });
    let reply = tokio::spawn(peer.post(&peer.request("tools/call", wait)).send());
    let call = calls.recv().await.expect("is called");
    call.context.progress(1.0, None);
    (reply.await.expect("a response"), call)
}

async fn rest(reply: &mut Reply) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    while let Some((id, message)) = reply.named().await {
        all.push((id.expect("every event has an id"), message));
    }
    all
}

fn steps(messages: &[(String, Value)]) -> Vec<f64> {
    messages.iter().filter_map(|(_, message)| message["params"]["progress"].as_f64()).collect()
}

// covers: HTTP-SSE-RESUMABLE, HTTP-RESUME-REPLAY, HTTP-RESUME-NO-CROSS-STREAM, HTTP-EVENT-ID
// covers: HTTP-EVENT-ID-UNIQUE, HTTP-EVENT-ID-PER-STREAM
#[tokio::test]
async fn an_answer_that_was_cut_off_goes_on() {
    let (server, mut calls) = server();
    let site = Site::of(server).await;
    for revision in LEGACY {
        let peer = Peer::of(&site, revision).await;
        let (mut cut, a) = begun(&peer, &mut calls, "a").await;
        let (mut whole, b) = begun(&peer, &mut calls, "b").await;
        let (seen, _) = cut.named().await.expect("an event");
        let seen = seen.expect("an id");
        drop(cut);
        for step in 2..5 {
            a.context.progress(f64::from(step), None);
            b.context.progress(f64::from(step * 10), None);
        }
        let mut again = peer.resume(&seen).await;
        assert_eq!(again.status, 200);
        a.context.progress(5.0, None);
        a.go.send(()).expect("it works on");
        let resumed = rest(&mut again).await;
        assert_eq!(steps(&resumed), [2.0, 3.0, 4.0, 5.0], "{revision}");
        assert_eq!(text_of(&resumed[4].1), "waited");
        assert_eq!(resumed.len(), 5, "and nothing of the other");
        b.go.send(()).expect("it works on");
        let others = rest(&mut whole).await;
        assert_eq!(steps(&others), [1.0, 20.0, 30.0, 40.0]);
        let ids: HashSet<_> = resumed.iter().chain(&others).map(|(id, _)| id).chain([&seen]).collect();
        assert_eq!(ids.len(), resumed.len() + others.len() + 1, "no id is given twice");
        // From any place, any number of times.
        for from in 0..4 {
            let repeated = rest(&mut peer.resume(&resumed[from].0).await).await;
            assert_eq!(repeated, resumed[from + 1..]);
        }
        let repeated = rest(&mut peer.resume(&resumed[4].0).await).await;
        assert_eq!(repeated, [], "after the last there is only the end");
    }
}

fn watched() -> (Server, Calls) {
    let (mut server, calls) = server();
    for number in 0..8 {
        server = server.resource(resource(format!("test://{number}")).name(format!("{number}")).text("x"));
    }
    (server, calls)
}

async fn subscribe(peer: &Peer) {
    for number in 0..8 {
        let answer = peer.call("resources/subscribe", json!({ "uri": format!("test://{number}") })).await;
        assert!(answer["result"].is_object(), "{answer}");
    }
}

async fn heard(reply: &mut Reply) -> (String, String) {
    let (id, message) = reply.named().await.expect("the stream goes on");
    (id.expect("an id"), message["params"]["uri"].as_str().unwrap_or_else(|| panic!("{message}")).to_owned())
}

// covers: HTTP-SSE-RESUMABLE, HTTP-RESUME-REPLAY, HTTP-RESUME-NO-CROSS-STREAM
#[tokio::test]
async fn listening_goes_on_where_it_was_cut() {
    let (server, _calls) = watched();
    let site = Site::of(server).await;
    for revision in LEGACY {
        let peer = Peer::of(&site, revision).await;
        subscribe(&peer).await;
        let mut general = peer.listen().await;
        site.registry.resource_updated("test://0");
        let (seen, uri) = heard(&mut general).await;
        assert_eq!(uri, "test://0");
        for number in 1..4 {
            site.registry.resource_updated(&format!("test://{number}"));
            heard(&mut general).await;
        }
        drop(general);
        site.registry.resource_updated("test://4");
        let mut again = peer.resume(&seen).await;
        let mut uris = Vec::new();
        for _ in 1..5 {
            uris.push(heard(&mut again).await.1);
        }
        assert_eq!(uris, ["test://1", "test://2", "test://3", "test://4"], "{revision}");
        site.registry.resource_updated("test://5");
        assert_eq!(heard(&mut again).await.1, "test://5", "it is live again");
        let steps = peer.begin("steps", "t").await.rest().await;
        assert_eq!(steps.len(), 4);
        site.registry.resource_updated("test://6");
        assert_eq!(heard(&mut again).await.1, "test://6", "calls leave no trace here");
    }
}

// covers: HTTP-GET-SERVER-CLOSE
#[tokio::test]
async fn who_comes_back_takes_the_place_of_who_was_there() {
    let (server, _calls) = watched();
    let site = Site::of(server).await;
    for revision in LEGACY {
        let peer = Peer::of(&site, revision).await;
        subscribe(&peer).await;
        let mut old = peer.listen().await;
        site.registry.resource_updated("test://0");
        let (seen, _) = heard(&mut old).await;
        let mut new = peer.resume(&seen).await;
        assert_eq!(old.message().await, None, "the server closes it");
        site.registry.resource_updated("test://1");
        assert_eq!(heard(&mut new).await.1, "test://1");
        assert_eq!(peer.tool("now").await, "now", "the session stays");
    }
}

#[tokio::test]
async fn what_was_never_given_is_not_resumed() {
    let (server, _calls) = watched();
    let site = Site::of(server).await;
    for revision in LEGACY {
        let (peer, other) = (Peer::of(&site, revision).await, Peer::of(&site, revision).await);
        subscribe(&peer).await;
        let mut general = peer.listen().await;
        site.registry.resource_updated("test://0");
        let (seen, _) = heard(&mut general).await;
        let (stream, number) = seen.split_once('.').expect("a stream and a number");
        let past = format!("{stream}.{}", number.parse::<u64>().expect("a number") + 1);
        let huge = format!("{stream}.99999999999999999999999");
        for wrong in ["nonsense", "", ".", "1", &past, &huge, &format!("{stream}.-1"), &format!("{seen}.1")] {
            assert_eq!(peer.resume(wrong).await.status, 400, "{wrong:?}");
        }
        assert_eq!(peer.resume("unknown.1").await.status, 404);
        assert_eq!(other.resume(&seen).await.status, 404, "another session's is nobody's");
        assert_eq!(peer.get().and("last-event-id", &seen).and("last-event-id", &seen).status().await, 400);
        assert_eq!(peer.resume(&seen).await.status, 200);
    }
}

#[tokio::test]
async fn what_is_not_kept_any_more_is_gone() {
    let mut policy = Policy::default();
    policy.kept_events = 2;
    for revision in LEGACY {
        let (server, mut calls) = server();
        let site = Site::of(server.policy(policy.clone())).await;
        let peer = Peer::of(&site, revision).await;
        let (mut cut, call) = begun(&peer, &mut calls, "a").await;
        let (first, _) = cut.named().await.expect("an event");
        for step in 2..5 {
            call.context.progress(f64::from(step), None);
            cut.next().await;
        }
        drop(cut);
        let first = first.expect("an id");
        let gone = peer.resume(&first).await;
        assert_eq!(gone.status, 404, "{revision}: half of it would be a lie");
        let third = format!("{}.3", first.split_once('.').expect("a stream and a number").0);
        let mut again = peer.resume(&third).await;
        assert_eq!(again.status, 200);
        call.go.send(()).expect("it works on");
        assert_eq!(steps(&rest(&mut again).await), [4.0]);
    }
}

// covers: HTTP-EVENT-ID
#[tokio::test]
async fn a_stream_says_where_it_is_before_anything_else_where_that_is_known() {
    let (server, mut calls) = watched();
    let site = Site::of(server).await;
    for revision in LEGACY {
        let peer = Peer::of(&site, revision).await;
        subscribe(&peer).await;
        let (mut answer, call) = begun(&peer, &mut calls, "t").await;
        let first = answer.event().await.expect("an event");
        assert_eq!(first.data.is_empty(), revision == POLLED, "{revision}");
        call.go.send(()).expect("it works on");
        let id = first.id.expect("an id");
        if revision == POLLED {
            let repeated = peer.resume(&id).await.rest().await;
            assert_eq!(repeated.len(), 2, "from the beginning");
            let mut general = peer.listen().await;
            let first = general.event().await.expect("an event");
            assert_eq!(first.data, "");
            drop(general);
            site.registry.resource_updated("test://0");
            let mut again = peer.resume(&first.id.expect("an id")).await;
            assert_eq!(heard(&mut again).await.1, "test://0");
        }
    }
}

#[tokio::test]
async fn a_client_is_let_go_and_comes_back() {
    let (server, mut calls) = server();
    let site = Site::of(server).await;
    let peer = Peer::of(&site, POLLED).await;
    let (mut reply, call) = begun(&peer, &mut calls, "t").await;
    let (primer, first) = (reply.event().await, reply.next().await);
    assert_eq!(primer.expect("an event").data, "");
    assert_eq!(first["params"]["progress"].as_f64(), Some(1.0));
    call.context.hang_up(Duration::from_millis(5));
    let event = reply.event().await.expect("a last word");
    assert_eq!((event.data.as_str(), event.retry), ("", Some(5)), "it is told when");
    assert_eq!(reply.event().await, None, "the connection is let go, the call is not");
    call.context.progress(2.0, None);
    let mut again = peer.resume(&event.id.expect("an id")).await;
    call.go.send(()).expect("it works on");
    let said = rest(&mut again).await;
    assert_eq!(steps(&said), [2.0]);
    assert_eq!(text_of(&said[1].1), "waited");
}

#[tokio::test]
async fn elsewhere_nobody_is_let_go() {
    let (server, mut calls) = server();
    let site = Site::of(server).await;
    for revision in super::support::EVERY.into_iter().filter(|revision| *revision != POLLED) {
        let peer = Peer::of(&site, revision).await;
        let (mut reply, call) = begun(&peer, &mut calls, "t").await;
        call.context.hang_up(Duration::ZERO);
        call.context.progress(2.0, None);
        call.go.send(()).expect("it works on");
        assert_eq!(reply.rest().await.len(), 3, "{revision}");
    }
}

/// Keeps events where it can be seen.
struct Shelf {
    memory: MemoryEvents,
    seen: Arc<Mutex<Vec<String>>>,
}

impl EventStore for Shelf {
    fn append(&self, stream: &StreamId, number: u64, data: Bytes) {
        self.seen.lock().expect("no panic").push(format!("{} {number}", stream.session));
        self.memory.append(stream, number, data);
    }

    fn replay<'a>(
        &'a self,
        stream: &'a StreamId,
        after: u64,
    ) -> Pin<Box<dyn Future<Output = contexture::Result<Replay>> + Send + 'a>> {
        self.memory.replay(stream, after)
    }

    fn forget(&self, session: &str) {
        self.seen.lock().expect("no panic").push(format!("{session} is over"));
        self.memory.forget(session);
    }
}

// covers: HTTP-SSE-RESUMABLE
#[tokio::test]
async fn events_are_kept_where_the_author_wants_them() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let shelf = Shelf { memory: MemoryEvents::new(&Policy::default()), seen: Arc::clone(&seen) };
    let (server, mut calls) = server();
    let site = Site::with(server, |http| http.event_store(shelf)).await;
    let peer = Peer::of(&site, POLLED).await;
    let (mut reply, call) = begun(&peer, &mut calls, "t").await;
    let (first, _) = reply.named().await.expect("an event");
    call.go.send(()).expect("it works on");
    assert_eq!(reply.rest().await.len(), 1);
    assert_eq!(peer.resume(&first.expect("an id")).await.rest().await.len(), 1);
    assert_eq!(peer.delete().status().await, 204);
    let session = peer.session.expect("an id");
    let mut expected: Vec<_> = (1..3).map(|number| format!("{session} {number}")).collect();
    expected.push(format!("{session} is over"));
    assert_eq!(*seen.lock().expect("no panic"), expected);
}

/// Reports a hundred times, and lets others work in between.
fn chatty() -> contexture::server::ToolEntry {
    contexture::tool("chatty").handler(|context: contexture::Context| async move {
        for step in 1..=100 {
            context.progress(f64::from(step), None);
            tokio::task::yield_now().await;
        }
        "done"
    })
}

// covers: HTTP-SSE-RESUMABLE, HTTP-RESUME-REPLAY
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wherever_it_is_cut_nothing_is_lost_or_said_twice() {
    let (server, _calls) = server();
    let site = Site::of(server.tool(chatty())).await;
    for revision in LEGACY {
        let peer = Peer::of(&site, revision).await;
        for every in [1, 2, 3, 7, 50] {
            let mut reply = peer.begin("chatty", &format!("{every}")).await;
            let (mut last, mut said) = (None, Vec::new());
            while said.len() < 101 {
                for _ in 0..every {
                    let Some((id, message)) = reply.named().await else { break };
                    last = id;
                    said.push(message);
                }
                if said.len() < 101 {
                    reply = peer.resume(last.as_deref().expect("an id")).await;
                    assert_eq!(reply.status, 200, "{revision}, {every}, after {}", said.len());
                }
            }
            let steps: Vec<_> = said[..100].iter().map(|one| one["params"]["progress"].as_f64()).collect();
            assert!(steps.iter().copied().eq((1..=100).map(|step| Some(f64::from(step)))), "{steps:?}");
            assert_eq!(text_of(&said[100]), "done", "{revision}, {every}");
        }
    }
}

// covers: HTTP-SSE-RESUMABLE, HTTP-RESUME-REPLAY
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn listening_can_be_cut_at_any_time() {
    let (server, _calls) = watched();
    let site = Site::of(server).await;
    for revision in LEGACY {
        let peer = Peer::of(&site, revision).await;
        subscribe(&peer).await;
        let mut general = peer.listen().await;
        site.registry.resource_updated("test://0");
        let (mut last, _) = heard(&mut general).await;
        for round in 0..40 {
            let uri = format!("test://{}", round % 8);
            // Told before the cut, or after it, or in the middle of it.
            let (registry, told) = (site.registry.clone(), uri.clone());
            let telling = tokio::task::spawn_blocking(move || registry.resource_updated(&told));
            drop(general);
            general = peer.resume(&last).await;
            assert_eq!(general.status, 200);
            let (id, heard) = heard(&mut general).await;
            assert_eq!(heard, uri, "{revision}, round {round}");
            telling.await.expect("it is told");
            last = id;
        }
    }
}
