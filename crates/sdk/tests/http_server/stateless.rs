//! A server that keeps no sessions: every request stands alone.

use serde_json::json;

use super::support::{
    BATCHED, EVERY, LEGACY, MODERN, Peer, Site, VERSIONED, notification, request, server, text_of,
};

async fn site() -> (Site, super::support::Calls) {
    let (server, calls) = server();
    (Site::with(server, |http| http.stateless()).await, calls)
}

// covers: HTTP-SESSION-ASSIGN
#[tokio::test]
async fn nothing_is_remembered() {
    let (site, _calls) = site().await;
    for revision in EVERY {
        let peer = Peer::of(&site, revision).await;
        assert_eq!(peer.session, None, "{revision}");
        assert_eq!(peer.tool("now").await, "now");
        assert_eq!(peer.begin("steps", "t").await.rest().await.len(), 4);
    }
    assert_eq!(site.http.sessions(), 0);
}

// covers: HTTP-VERSION-HEADER-DEFAULT
#[tokio::test]
async fn a_request_without_a_version_is_of_the_last_that_had_none() {
    let (site, mut calls) = site().await;
    let wait = request(1, "tools/call", json!({ "name": "wait", "arguments": {} }));
    for (header, revision) in [(None, BATCHED), (Some(VERSIONED), VERSIONED), (Some(LEGACY[3]), LEGACY[3])] {
        let ask = site.post(&wait);
        let ask = match header {
            Some(header) => ask.and("mcp-protocol-version", header),
            None => ask,
        };
        let reply = tokio::spawn(ask.send());
        let call = calls.recv().await.expect("is called");
        assert_eq!(call.context.revision().as_str(), revision);
        call.go.send(()).expect("it waits");
        assert_eq!(text_of(&reply.await.expect("a response").json().await), "waited");
    }
}

// covers: HTTP-VERSION-HEADER-400
#[tokio::test]
async fn versions_that_are_not_spoken_are_refused_here_too() {
    let (site, _calls) = site().await;
    for message in [request(1, "tools/list", json!({})), notification("notifications/x")] {
        for wrong in ["garbage", "2099-01-01"] {
            assert_eq!(site.post(&message).and("mcp-protocol-version", wrong).status().await, 400);
        }
    }
}

// covers: HTTP-POST-NOTIF-202
#[tokio::test]
async fn what_needs_no_answer_is_acknowledged_and_forgotten() {
    let (site, _calls) = site().await;
    for header in [VERSIONED, MODERN] {
        let told = site.post(&notification("notifications/initialized")).and("mcp-protocol-version", header);
        assert_eq!(told.status().await, 202);
    }
}
