//! What clients can make grow has an end, and what nobody uses any more goes away.

use std::time::Duration;

use axum::body::Body as Sent;
use bytes::Bytes;
use contexture::Policy;
use serde_json::json;

use super::inside::{Inside, is_pending, piece};
use super::support::{EVERY, LEGACY, MODERN, Peer, Site, Tokens, hello, request, server};

#[tokio::test]
async fn one_principal_has_so_many_sessions() {
    let mut policy = Policy::default();
    policy.sessions_per_principal = 2;
    for revision in LEGACY {
        let (server, _calls) = server();
        let site = Site::with(server.policy(policy.clone()), |http| http.authorizer(Tokens)).await;
        let first = Peer::known(&site, revision, "ada").await;
        let second = Peer::known(&site, revision, "ada").await;
        let third = || {
            site.post(&request(1, "initialize", hello(revision, json!({}))))
                .and("authorization", "Bearer ada")
                .send()
        };
        let refused = third().await;
        assert_eq!((refused.status, refused.header("retry-after")), (429, Some("1")), "{revision}");
        assert_eq!(refused.header("mcp-session-id"), None);
        assert_eq!(Peer::known(&site, revision, "bob").await.tool("now").await, "now");
        assert_eq!(first.delete().status().await, 204);
        assert_eq!(third().await.status, 200, "there is room again");
        assert_eq!(second.tool("now").await, "now");
    }
}

#[tokio::test]
async fn strangers_share_so_many_sessions() {
    let mut policy = Policy::default();
    policy.anonymous_sessions = 2;
    let (server, _calls) = server();
    let site = Site::of(server.policy(policy)).await;
    let peers = [Peer::of(&site, LEGACY[2]).await, Peer::of(&site, LEGACY[3]).await];
    let hello = request(1, "initialize", hello(LEGACY[0], json!({})));
    let refused = site.post(&hello).send().await;
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    assert_eq!(Peer::of(&site, MODERN).await.tool("now").await, "now", "who needs none is served");
    assert_eq!(peers[0].delete().status().await, 204);
    assert_eq!(site.post(&hello).status().await, 200);
    assert_eq!(peers[1].tool("now").await, "now");
}

#[tokio::test]
async fn all_sessions_together_are_bounded() {
    let mut policy = Policy::default();
    policy.sessions = 2;
    let (server, _calls) = server();
    let site = Site::with(server.policy(policy), |http| http.authorizer(Tokens)).await;
    for name in ["ada", "bob"] {
        Peer::known(&site, LEGACY[3], name).await;
    }
    let third = site.post(&request(1, "initialize", hello(LEGACY[3], json!({}))));
    assert_eq!(third.and("authorization", "Bearer eve").status().await, 503);
}

#[tokio::test]
async fn requests_at_once_are_bounded() {
    let mut policy = Policy::default();
    policy.requests_at_once = 1;
    for revision in EVERY {
        let (server, mut calls) = server();
        let site = Site::of(server.policy(policy.clone())).await;
        let peer = Peer::of(&site, revision).await;
        let wait = peer.request("tools/call", json!({ "name": "wait", "arguments": {} }));
        let reply = tokio::spawn(peer.post(&wait).send());
        let call = calls.recv().await.expect("is called");
        let refused = peer.start("tools/list", json!({})).await;
        assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")), "{revision}");
        call.go.send(()).expect("it waits");
        assert_eq!(reply.await.expect("a response").status, 200);
        assert_eq!(peer.start("tools/list", json!({})).await.status, 200, "there is room again");
    }
}

#[tokio::test]
async fn requests_of_one_session_are_bounded() {
    let mut policy = Policy::default();
    policy.in_flight = 1;
    for revision in LEGACY {
        let (server, mut calls) = server();
        let site = Site::of(server.policy(policy.clone())).await;
        let (peer, other) = (Peer::of(&site, revision).await, Peer::of(&site, revision).await);
        let wait = peer.request("tools/call", json!({ "name": "wait", "arguments": {} }));
        let reply = tokio::spawn(peer.post(&wait).send());
        let call = calls.recv().await.expect("is called");
        let mut refused = peer.start("tools/list", json!({})).await;
        assert_eq!((refused.status, refused.header("retry-after")), (429, Some("1")), "{revision}");
        assert!(refused.json().await["error"]["code"].is_i64());
        assert_eq!(other.tool("now").await, "now");
        call.go.send(()).expect("it waits");
        assert_eq!(reply.await.expect("a response").status, 200);
        assert_eq!(peer.tool("now").await, "now", "there is room again");
    }
}

#[tokio::test]
async fn an_id_that_is_in_use_is_not_used_again() {
    let (server, mut calls) = server();
    let site = Site::of(server).await;
    for revision in LEGACY {
        let peer = Peer::of(&site, revision).await;
        let wait = request("same", "tools/call", json!({ "name": "wait", "arguments": {} }));
        let reply = tokio::spawn(peer.post(&wait).send());
        let call = calls.recv().await.expect("is called");
        let mut refused = peer.post(&wait).send().await;
        assert_eq!(refused.status, 400);
        assert_eq!(refused.json().await["error"]["code"], -32600);
        call.go.send(()).expect("it waits");
        assert_eq!(reply.await.expect("a response").status, 200, "the first is not disturbed");
    }
}

fn short() -> Policy {
    let mut policy = Policy::default();
    policy.session_idle = Duration::from_secs(60);
    policy.session_age = Duration::from_secs(1000);
    policy.stream_pulse = Duration::from_secs(10);
    policy
}

// covers: HTTP-SESSION-TERMINATE, HTTP-SESSION-404, SEC-SESSION-ID-EXPIRE
#[tokio::test(start_paused = true)]
async fn a_session_that_nobody_uses_expires() {
    for revision in LEGACY {
        let (server, _calls) = server();
        let inside = Inside::of(server.policy(short()), |http| http);
        let session = inside.session(revision).await;
        let list = request(1, "tools/list", json!({}));
        for _ in 0..5 {
            tokio::time::sleep(Duration::from_secs(45)).await;
            assert_eq!(inside.send(session.post(&list)).await.status(), 200, "it is used");
        }
        tokio::time::sleep(Duration::from_secs(90)).await;
        assert_eq!(inside.http.sessions(), 0, "{revision}");
        assert_eq!(inside.send(session.post(&list)).await.status(), 404);
        assert_eq!(inside.send(session.get()).await.status(), 404);
    }
}

// covers: HTTP-SSE-NO-EARLY-CLOSE
#[tokio::test(start_paused = true)]
async fn work_that_takes_long_keeps_its_session_and_its_stream() {
    for revision in LEGACY {
        let (server, mut calls) = server();
        let inside = Inside::of(server.policy(short()), |http| http);
        let session = inside.session(revision).await;
        let wait = json!({ "name": "wait", "arguments": {}, "_meta": { "progressToken": "t" } });
        let post = session.post(&request(1, "tools/call", wait));
        let mut response = Box::pin(inside.send(post));
        assert!(is_pending(response.as_mut()).await);
        let call = calls.recv().await.expect("is called");
        call.context.progress(1.0, None);
        let mut body = response.await.into_body();
        let mut comments = 0;
        let mut said = String::new();
        while comments < 60 {
            let piece = piece(&mut body).await.expect("it stays open, long after the session would be idle");
            comments += usize::from(piece == ":\n\n");
            said += &piece;
        }
        call.go.send(()).expect("it works on");
        while let Some(piece) = piece(&mut body).await {
            said += &piece;
        }
        assert!(said.contains("waited"), "{revision}: {said}");
        assert_eq!(inside.http.sessions(), 1);
    }
}

/// Going away is not cancelling, and whoever never comes back is not waited for without end.
#[tokio::test(start_paused = true)]
async fn work_whose_client_is_gone_ends_with_its_session() {
    for revision in LEGACY {
        let (server, mut calls) = server();
        let inside = Inside::of(server.policy(short()), |http| http);
        let session = inside.session(revision).await;
        let wait = request(1, "tools/call", json!({ "name": "wait", "arguments": {} }));
        let mut response = Box::pin(inside.send(session.post(&wait)));
        assert!(is_pending(response.as_mut()).await);
        let call = calls.recv().await.expect("is called");
        drop(response);
        for _ in 0..3 {
            tokio::time::sleep(Duration::from_secs(15)).await;
            assert!(!call.context.is_cancelled(), "{revision}: it goes on without its client");
        }
        // Time goes on by itself while nothing else happens.
        call.context.cancelled().await;
        assert_eq!(inside.http.sessions(), 0, "{revision}");
    }
}

// covers: HTTP-SESSION-TERMINATE
#[tokio::test(start_paused = true)]
async fn no_session_lives_for_ever() {
    for revision in LEGACY {
        let (server, _calls) = server();
        let inside = Inside::of(server.policy(short()), |http| http);
        let session = inside.session(revision).await;
        let mut body = inside.send(session.get()).await.into_body();
        // Comments, for as long as it lives; then the end.
        let mut pieces = 0;
        while piece(&mut body).await.is_some() {
            pieces += 1;
        }
        assert!((90..=110).contains(&pieces), "{revision}: {pieces} pieces, ten seconds apart");
        assert_eq!(inside.send(session.get()).await.status(), 404);
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_come_is_not_waited_for() {
    let (server, _calls) = server();
    let inside = Inside::of(server, |http| http);
    let session = inside.session(LEGACY[3]).await;
    let never = futures_util::stream::pending::<Result<Bytes, std::io::Error>>();
    let request = session.post(&json!({})).map(|_| Sent::from_stream(never));
    assert_eq!(inside.send(request).await.status(), 408);
}

#[tokio::test]
async fn a_body_of_unknown_length_is_bounded_as_well() {
    let mut policy = Policy::default();
    policy.body_bytes = 1000;
    let (server, _calls) = server();
    let inside = Inside::of(server.policy(policy), |http| http);
    let session = inside.session(LEGACY[3]).await;
    let pieces = std::iter::repeat_with(|| Ok::<_, std::io::Error>(Bytes::from_static(b"          ")));
    let endless = futures_util::stream::iter(pieces);
    let request = session.post(&json!({})).map(|_| Sent::from_stream(endless));
    assert_eq!(inside.send(request).await.status(), 413);
}
