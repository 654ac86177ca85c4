//! A provider over HTTP: whom it answers and asks, and who is known to have stopped watching.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use contexture::model::{CallToolResult, ErrorObject, InputRequest};
use contexture::revision::Revision;
use contexture::server::http::{SessionRecord, SessionStore, Storing};
use contexture::server::{Operation, Reply, Request, Session};
use contexture::{Policy, Principal};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::elsewhere::{Elsewhere, Watched};
use super::inside::Inside;
use super::raw;
use super::support::{EVERY, LEGACY, MODERN, Peer, Site, Tokens, hello, notification, request, text_of};

/// Answers `forward` with a result of the newest legacy revision, and asks for the roots otherwise.
fn provider() -> Elsewhere {
    Elsewhere::new(|Operation { context, request }: Operation| async move {
        match request {
            Request::CallTool { name, .. } if name == "forward" => Ok(Reply::Forwarded {
                result: Bytes::from_static(br#"{"content":[{"type":"text","text":"far"}]}"#),
                from: Revision::NEWEST_LEGACY,
            }),
            Request::CallTool { .. } => {
                let question: InputRequest =
                    serde_json::from_value(json!({ "method": "roots/list" })).expect("a question");
                let answer = context.pass_on("q", question).await;
                let said = answer.map_or_else(|error| error.to_string(), |answer| answer.to_string());
                Ok(Reply::Tool(CallToolResult::text(said)))
            }
            _ => Err(ErrorObject::internal("not expected")),
        }
    })
}

#[tokio::test]
async fn results_of_other_servers_are_put_into_the_words_of_the_client() {
    let site = Site::of(provider().server()).await;
    for revision in EVERY {
        let peer = Peer::of(&site, revision).await;
        assert_eq!(peer.tool("forward").await, "far", "{revision}");
    }
}

#[tokio::test]
async fn what_is_no_result_is_an_internal_error() {
    for (from, revisions) in [(Revision::NEWEST_MODERN, &EVERY[..4]), (Revision::NEWEST_LEGACY, &EVERY[4..])]
    {
        let result = Bytes::from_static(b"{}");
        let broken = Elsewhere::new(move |_| {
            let result = result.clone();
            async move { Ok(Reply::Forwarded { result, from }) }
        });
        let site = Site::of(broken.server()).await;
        for revision in revisions {
            let peer = Peer::of(&site, revision).await;
            let mut reply = peer.start("prompts/get", json!({ "name": "p" })).await;
            assert_eq!(reply.status, 200, "{revision}");
            assert_eq!(reply.json().await["error"]["code"], -32603, "{revision}");
        }
    }
}

#[tokio::test]
async fn what_is_not_declared_is_not_there() {
    let site = Site::of(provider().declaring(json!({ "tools": {} })).server()).await;
    for revision in EVERY {
        let peer = Peer::of(&site, revision).await;
        let mut refused = peer.start("prompts/list", json!({})).await;
        assert_eq!(refused.status, if revision == MODERN { 404 } else { 200 });
        assert_eq!(refused.json().await["error"]["code"], -32601, "{revision}");
        assert_eq!(peer.tool("forward").await, "far");
    }
}

#[tokio::test]
async fn questions_travel_with_the_call() {
    let site = Site::of(provider().server()).await;
    let answer = json!({ "roots": [{ "uri": "file:///tmp" }] });
    for revision in EVERY {
        let peer = Peer::able(&site, revision, json!({ "roots": {} })).await;
        let params = json!({ "name": "ask", "arguments": {} });
        let mut reply = peer.start("tools/call", params.clone()).await;
        let last = if revision == MODERN {
            let round = reply.json().await;
            assert_eq!(round["result"]["inputRequests"]["q"]["method"], "roots/list", "{round}");
            let mut retry = params;
            retry["requestState"] = round["result"]["requestState"].clone();
            retry["inputResponses"] = json!({ "q": answer });
            peer.call("tools/call", retry).await
        } else {
            let mut question = reply.next().await;
            while question["method"] != "roots/list" {
                question = reply.next().await;
            }
            assert_eq!(peer.reply(&question, answer.clone()).await, 202);
            reply.answer().await
        };
        assert_eq!(serde_json::from_str::<Value>(&text_of(&last)).expect("JSON"), answer, "{revision}");
    }
}

#[tokio::test]
async fn annotated_arguments_are_repeated_in_headers() {
    let schema = json!({ "type": "object",
        "properties": { "region": { "type": "string", "x-mcp-header": "Region" } } });
    let tool = json!({ "name": "forward", "inputSchema": schema });
    let site = Site::of(provider().tool(tool).server()).await;
    let peer = Peer::of(&site, MODERN).await;
    let call =
        || peer.request("tools/call", json!({ "name": "forward", "arguments": { "region": "north" } }));
    let ask = |header: &str| peer.post(&call()).and("mcp-param-region", header);
    let mut same = ask("north").send().await;
    assert_eq!(text_of(&same.json().await), "far");
    for refused in [ask("south"), peer.post(&call())] {
        let mut refused = refused.send().await;
        assert_eq!(refused.status, 400);
        assert_eq!(refused.json().await["error"]["code"], -32020);
    }
}

/// Watches resources. The stream, where that is what watches them.
async fn watch_all(peer: &Peer, uris: &[&str]) -> Option<raw::Reply> {
    if peer.revision == MODERN {
        let filter = json!({ "notifications": { "resourceSubscriptions": uris } });
        let mut stream = peer.start("subscriptions/listen", filter).await;
        let heard = stream.next().await;
        assert_eq!(heard["method"], "notifications/subscriptions/acknowledged");
        return Some(stream);
    }
    for uri in uris {
        let answer = peer.call("resources/subscribe", json!({ "uri": uri })).await;
        assert!(answer["result"].is_object(), "{answer}");
    }
    None
}

async fn watch(peer: &Peer, uri: &str) -> Option<raw::Reply> {
    watch_all(peer, &[uri]).await
}

fn watched() -> (Elsewhere, Watched) {
    let provider = provider();
    let watched = provider.watched();
    (provider, watched)
}

const URI: &str = "note://1";
const NOBODY: &str = "anonymous";

#[tokio::test]
async fn a_session_that_ends_watches_nothing() {
    let (provider, watched) = watched();
    let site = Site::of(provider.server()).await;
    for revision in LEGACY {
        let peer = Peer::of(&site, revision).await;
        watch(&peer, URI).await;
        assert_eq!(watched.count(NOBODY, URI), 1, "{revision}");
        peer.call("resources/unsubscribe", json!({ "uri": URI })).await;
        assert_eq!(watched.count(NOBODY, URI), 0, "{revision}");
        watch(&peer, URI).await;
        watch(&peer, URI).await;
        assert_eq!(watched.count(NOBODY, URI), 1, "once is enough");
        assert_eq!(peer.delete().status().await, 204);
        watched.until(NOBODY, URI, 0).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_that_expires_watches_nothing() {
    for revision in LEGACY {
        let mut policy = Policy::default();
        policy.session_idle = Duration::from_secs(60);
        let (provider, watched) = watched();
        let inside = Inside::of(provider.server().policy(policy), |http| http);
        let session = inside.session(revision).await;
        let subscribe = request(1, "resources/subscribe", json!({ "uri": URI }));
        assert_eq!(inside.send(session.post(&subscribe)).await.status(), 200);
        assert_eq!(watched.count(NOBODY, URI), 1);
        // Time goes on by itself while nothing else happens.
        watched.until(NOBODY, URI, 0).await;
        assert_eq!(inside.http.sessions(), 0, "{revision}");
    }
}

#[tokio::test]
async fn a_server_that_is_let_go_takes_its_sessions_along() {
    for revision in LEGACY {
        let (provider, watched) = watched();
        let (tell, mut sessions) = mpsc::unbounded_channel();
        let server = provider.server().on_initialized(move |session: Session| {
            tell.send(session).ok();
            std::future::ready(())
        });
        let inside = Inside::of(server, |http| http);
        let session = inside.session(revision).await;
        let subscribe = request(1, "resources/subscribe", json!({ "uri": URI }));
        assert_eq!(inside.send(session.post(&subscribe)).await.status(), 200);
        let session = sessions.recv().await.expect("a session");
        assert!(session.is_open());
        drop(inside);
        session.closed().await;
        watched.until(NOBODY, URI, 0).await;
    }
}

#[tokio::test]
async fn a_stream_that_ends_watches_nothing() {
    let (provider, watched) = watched();
    let site = Site::of(provider.server()).await;
    let peer = Peer::of(&site, MODERN).await;
    let stream = watch(&peer, URI).await;
    assert_eq!(watched.count(NOBODY, URI), 1);
    drop(stream);
    watched.until(NOBODY, URI, 0).await;
    let stream = watch(&peer, URI).await;
    assert_eq!(watched.count(NOBODY, URI), 1);
    site.stop().await.expect("no panic").expect("stops");
    watched.until(NOBODY, URI, 0).await;
    drop(stream);
}

#[tokio::test]
async fn the_oldest_transport_watches_for_as_long_as_its_stream_is_open() {
    let (provider, watched) = watched();
    let (tell, mut sessions) = mpsc::unbounded_channel();
    let server = provider.server().on_initialized(move |session: Session| {
        tell.send(session).ok();
        std::future::ready(())
    });
    let site = Site::of(server).await;
    let mut stream = site.ask("GET", "/sse").and("accept", "text/event-stream").send().await;
    let endpoint = stream.event().await.expect("an event").data;
    for message in [
        request(1, "initialize", hello(LEGACY[0], json!({}))),
        notification("notifications/initialized"),
        request(2, "resources/subscribe", json!({ "uri": URI })),
    ] {
        assert_eq!(site.post(&message).to(&endpoint).status().await, 202);
    }
    let session = sessions.recv().await.expect("a session");
    watched.until(NOBODY, URI, 1).await;
    drop(stream);
    watched.until(NOBODY, URI, 0).await;
    session.closed().await;
}

/// The URI of the next change that is told.
async fn updated(stream: &mut raw::Reply) -> Value {
    let heard = stream.next().await;
    assert_eq!(heard["method"], "notifications/resources/updated");
    heard["params"]["uri"].clone()
}

#[tokio::test]
async fn only_the_principal_that_is_meant_is_told() {
    let (provider, watched) = watched();
    let site = Site::with(provider.server(), |http| http.authorizer(Tokens)).await;
    for revision in EVERY {
        let peers = [Peer::known(&site, revision, "ann").await, Peer::known(&site, revision, "bob").await];
        let mut streams = Vec::new();
        for peer in &peers {
            let listening = watch_all(peer, &[URI, "note://2"]).await;
            streams.push(match listening {
                Some(stream) => stream,
                None => peer.listen().await,
            });
        }
        assert_eq!((watched.count("ann", URI), watched.count("bob", URI)), (1, 1), "{revision}");
        site.registry.resource_updated_for(&Principal::new("test", "bob"), URI);
        assert_eq!(updated(&mut streams[1]).await, URI, "{revision}");
        // Changes that wait are told in the order of their URIs, so this one could not hide the other.
        site.registry.resource_updated("note://2");
        assert_eq!(updated(&mut streams[0]).await, "note://2", "{revision}");
        assert_eq!(updated(&mut streams[1]).await, "note://2", "{revision}");
        drop(streams);
        for peer in peers.iter().filter(|_| revision != MODERN) {
            assert_eq!(peer.delete().status().await, 204);
        }
        watched.until("ann", URI, 0).await;
        watched.until("bob", URI, 0).await;
    }
}

/// Sessions, where another process finds them.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<HashMap<String, SessionRecord>>>);

impl SessionStore for Shared {
    fn save(&self, record: SessionRecord) -> Storing<'_, ()> {
        self.0.lock().expect("a lock").insert(record.id.clone(), record);
        Box::pin(std::future::ready(Ok(())))
    }

    fn load<'a>(&'a self, id: &'a str) -> Storing<'a, Option<SessionRecord>> {
        let found = self.0.lock().expect("a lock").get(id).cloned();
        Box::pin(std::future::ready(Ok(found)))
    }

    fn remove<'a>(&'a self, id: &'a str) -> Storing<'a, ()> {
        self.0.lock().expect("a lock").remove(id);
        Box::pin(std::future::ready(Ok(())))
    }
}

#[tokio::test]
async fn a_session_that_moves_goes_on_watching() {
    for revision in LEGACY {
        let store = Shared::default();
        let ((first, here), (second, there)) = (watched(), watched());
        let first = Inside::of(first.server(), |http| http.session_store(store.clone()));
        let session = first.session(revision).await;
        let subscribe = request(1, "resources/subscribe", json!({ "uri": URI }));
        assert_eq!(first.send(session.post(&subscribe)).await.status(), 200);
        assert_eq!(here.count(NOBODY, URI), 1);
        let second = Inside::of(second.server(), |http| http.session_store(store));
        let ping = request(2, "ping", json!({}));
        assert_eq!(second.send(session.post(&ping)).await.status(), 200);
        assert_eq!(there.count(NOBODY, URI), 1, "{revision}");
        drop(second);
        there.until(NOBODY, URI, 0).await;
    }
}
