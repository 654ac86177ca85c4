//! Sessions of the legacy era: given out, asked for, ended, and versions in headers.

use std::collections::HashSet;

use contexture::revision::Revision;
use serde_json::{Value, json};

use super::support::{LEGACY, MODERN, Peer, Site, VERSIONED, hello, notification, request, server};

fn list() -> Value {
    request(1, "tools/list", json!({}))
}

// covers: HTTP-SESSION-ASSIGN, HTTP-SESSION-ID-ASCII, HTTP-SESSION-ID-SECURE
// covers: SEC-SESSION-ID-NONDETERMINISTIC, SEC-SESSION-ID-CSPRNG
#[tokio::test]
async fn a_session_has_an_id_that_nobody_guesses() {
    let mut seen = HashSet::new();
    let mut prefixes = HashSet::new();
    for _ in 0..2 {
        let (server, _calls) = server();
        let site = Site::of(server).await;
        for revision in LEGACY {
            for _ in 0..16 {
                let peer = Peer::of(&site, revision).await;
                let id = peer.session.expect("an id");
                assert!(id.bytes().all(|byte| (0x21..=0x7e).contains(&byte)), "{id}");
                assert!(id.len() >= 22, "128 bits need as many characters: {id}");
                prefixes.insert(id[..8].to_owned());
                assert!(seen.insert(id), "given twice");
            }
        }
        let peer = Peer::of(&site, MODERN).await;
        assert_eq!(peer.start("tools/list", json!({})).await.header("mcp-session-id"), None);
    }
    assert_eq!(prefixes.len(), seen.len(), "no part of it counts");
}

// covers: HTTP-SESSION-MISSING-400
#[tokio::test]
async fn whatever_follows_the_handshake_names_its_session() {
    let (server, _calls) = server();
    let site = Site::of(server).await;
    for revision in LEGACY {
        let peer = Peer::of(&site, revision).await;
        for ask in [peer.post(&list()), peer.get(), peer.delete()] {
            assert_eq!(ask.clone().without("mcp-session-id").status().await, 400);
            assert_eq!(ask.and("mcp-session-id", "another").status().await, 400, "one of two is none");
        }
        let again = request(9, "initialize", hello(revision, json!({})));
        assert_eq!(peer.post(&again).status().await, 400, "a session is opened once");
        assert_eq!(peer.tool("now").await, "now");
    }
}

// covers: HTTP-SESSION-404, HTTP-SESSION-TERMINATE
#[tokio::test]
async fn a_session_that_is_over_is_not_found() {
    let (server, mut calls) = server();
    let site = Site::of(server).await;
    for revision in LEGACY {
        let peer = Peer::of(&site, revision).await;
        let other = Peer::of(&site, revision).await;
        let mut stream = peer.listen().await;
        let mut others = other.listen().await;
        let wait = peer.request("tools/call", json!({ "name": "wait", "arguments": {} }));
        let called = tokio::spawn(peer.post(&wait).send());
        let call = calls.recv().await.expect("is called");
        let reply = peer.delete().send().await;
        assert_eq!(reply.status, 204);
        assert_eq!(stream.message().await, None, "its streams end");
        call.context.cancelled().await;
        assert!(call.gone.await.is_err(), "its work is dropped");
        let mut called = called.await.expect("a response");
        assert_eq!(called.rest().await, Vec::<Value>::new());
        for ask in [peer.post(&list()), peer.get(), peer.delete()] {
            assert_eq!(ask.status().await, 404, "{revision}");
        }
        assert_eq!(peer.tell(&notification("notifications/initialized")).await, 404);
        assert_eq!(other.tool("now").await, "now", "nobody else's is touched");
        super::support::change(&site, &format!("after-{revision}"));
        assert_eq!(others.next().await["method"], "notifications/tools/list_changed");
    }
    assert_eq!(site.http.sessions(), LEGACY.len(), "what was ended is forgotten");
}

// covers: HTTP-VERSION-HEADER-400
#[tokio::test]
async fn a_version_that_is_not_spoken_is_refused() {
    let (server, _calls) = server();
    let site = Site::of(server).await;
    for revision in LEGACY {
        let peer = Peer::of(&site, revision).await;
        for wrong in ["garbage", "2099-01-01", "2025-06-18 2025-06-18", ""] {
            let asks =
                [peer.post(&list()), peer.post(&notification("notifications/x")), peer.get(), peer.delete()];
            for ask in asks {
                let mut reply = ask.with("mcp-protocol-version", wrong).send().await;
                assert_eq!(reply.status, 400, "{revision} {wrong:?}");
                assert_eq!(reply.json().await["error"]["code"], -32022, "{wrong}");
            }
        }
        let twice = peer.get().with("mcp-protocol-version", VERSIONED).and("mcp-protocol-version", VERSIONED);
        assert_eq!(twice.status().await, 400);
        assert_eq!(peer.tool("now").await, "now", "none of that ended it");
    }
}

// covers: HTTP-VERSION-HEADER-DEFAULT
#[tokio::test]
async fn a_session_knows_its_version_without_the_header() {
    let (server, mut calls) = server();
    let site = Site::of(server).await;
    for revision in LEGACY {
        let peer = Peer::of(&site, revision).await;
        let wait = peer.request("tools/call", json!({ "name": "wait", "arguments": {} }));
        let reply = tokio::spawn(peer.post(&wait).without("mcp-protocol-version").send());
        let call = calls.recv().await.expect("is called");
        assert_eq!(call.context.revision().as_str(), revision);
        call.go.send(()).expect("it waits");
        assert_eq!(reply.await.expect("a response").status, 200);
    }
}

#[tokio::test]
async fn a_version_that_nobody_speaks_is_countered() {
    let (server, _calls) = server();
    let site = Site::of(server).await;
    for offered in ["1999-01-01", MODERN, "x"] {
        let hello = request(1, "initialize", hello(offered, json!({})));
        let mut reply = site.post(&hello).send().await;
        assert_eq!(reply.status, 200);
        let answer = reply.json().await;
        assert_eq!(answer["result"]["protocolVersion"], *LEGACY.last().expect("one"), "{offered}");
    }
}

#[tokio::test]
async fn a_handshake_that_is_none_opens_nothing() {
    let (server, _calls) = server();
    let site = Site::of(server).await;
    for params in [json!({}), json!({ "protocolVersion": 7 }), json!({ "protocolVersion": VERSIONED })] {
        let mut reply = site.post(&request(1, "initialize", params)).send().await;
        assert_eq!(reply.status, 400);
        assert_eq!(reply.header("mcp-session-id"), None);
        assert_eq!(reply.json().await["id"], 1);
    }
    assert_eq!(site.http.sessions(), 0);
}

// covers: HTTP-SESSION-DELETE-405
#[tokio::test]
async fn where_there_are_no_sessions_none_can_be_ended() {
    let (modern, _calls) = server();
    let modern = modern.revisions(&[Revision::parse(MODERN).expect("a revision")]);
    let (stateless, _calls) = server();
    let sites = [Site::of(modern).await, Site::with(stateless, |http| http.stateless()).await];
    for site in sites {
        for method in ["GET", "DELETE"] {
            let ask = site.ask(method, "/mcp").and("accept", "text/event-stream");
            let reply = ask.and("mcp-session-id", "x").send().await;
            assert_eq!((reply.status, reply.header("allow")), (405, Some("POST")), "{method}");
        }
        assert_eq!(site.ask("GET", "/sse").and("accept", "text/event-stream").status().await, 404);
    }
}
