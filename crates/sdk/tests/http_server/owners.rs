//! Who asks is proven for every request, and what is somebody's stays theirs.

use contexture::{Context, tool};
use serde_json::{Value, json};

use super::support::{CHALLENGE, EVERY, LEGACY, MODERN, Peer, Site, Tokens, change, server, text_of};

async fn guarded() -> (Site, super::support::Calls) {
    let (server, calls) = server();
    let who = tool("who").handler(|ctx: Context| async move {
        format!("{} {}", ctx.principal().issuer(), ctx.principal().subject())
    });
    (Site::with(server.tool(who), |http| http.authorizer(Tokens)).await, calls)
}

// covers: HTTP-AUTH-CONNECTIONS, SEC-VERIFY-ALL-REQUESTS, SEC-SESSION-NOT-AUTH
// covers: AUTH-STATUS-401, AUTH-STATUS-403, AUTH-VALIDATE-BEFORE-PROCESS
#[tokio::test]
async fn every_request_proves_who_makes_it() {
    let (site, mut calls) = guarded().await;
    for revision in EVERY {
        let peer = Peer::known(&site, revision, "ada").await;
        let wait = json!({ "name": "wait", "arguments": {} });
        let mut asks = vec![
            peer.post(&peer.request("tools/call", wait)),
            peer.post(&json!({ "jsonrpc": "2.0", "method": "notifications/x" })),
            site.ask("GET", "/sse").and("accept", "text/event-stream"),
            site.post(&peer.request("tools/list", json!({}))).to("/messages?session=x"),
        ];
        if revision != MODERN {
            asks.extend([peer.get(), peer.delete()]);
        }
        for ask in asks {
            for token in ["", "Basic x"] {
                let ask = ask.clone().without("authorization");
                let ask = if token.is_empty() { ask } else { ask.and("authorization", token) };
                let reply = ask.send().await;
                assert_eq!((reply.status, reply.header("www-authenticate")), (401, Some(CHALLENGE)));
            }
            let weak = ask.clone().with("authorization", "Bearer weak").send().await;
            assert_eq!(weak.status, 403);
            assert!(weak.header("www-authenticate").is_some_and(|what| what.contains("insufficient_scope")));
            let later = ask.with("authorization", "Bearer later").send().await;
            assert_eq!((later.status, later.header("retry-after")), (503, Some("7")));
        }
        assert_eq!(peer.tool("now").await, "now", "{revision}: none of that ended anything");
    }
    assert!(calls.try_recv().is_err(), "no handler ran");
}

// covers: SEC-IMPL-ACCESS-CONTROLS
#[tokio::test]
async fn handlers_know_who_calls() {
    let (site, _calls) = guarded().await;
    for revision in EVERY {
        for name in ["ada", "bob"] {
            assert_eq!(Peer::known(&site, revision, name).await.tool("who").await, format!("test {name}"));
        }
    }
    let (server, _calls) = server();
    let who = tool("who").handler(|ctx: Context| async move { ctx.principal().is_anonymous().to_string() });
    let open = Site::of(server.tool(who)).await;
    for revision in EVERY {
        assert_eq!(Peer::of(&open, revision).await.tool("who").await, "true", "nothing was proven");
    }
}

// covers: SEC-SESSION-BIND-USER
#[tokio::test]
async fn a_session_is_good_for_nobody_else() {
    let (site, mut calls) = guarded().await;
    for revision in LEGACY {
        let peer = Peer::known(&site, revision, "ada").await;
        let wait = json!({ "name": "wait", "arguments": {}, "_meta": { "progressToken": "t" } });
        let reply = tokio::spawn(peer.post(&peer.request("tools/call", wait)).send());
        let call = calls.recv().await.expect("is called");
        call.context.progress(1.0, None);
        let mut reply = reply.await.expect("a response");
        let (seen, _) = reply.named().await.expect("an event");
        let mut general = peer.listen().await;
        let asks = [
            peer.post(&peer.request("tools/call", json!({ "name": "wait", "arguments": {} }))),
            peer.post(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })),
            peer.get(),
            peer.get().and("last-event-id", &seen.expect("an id")),
            peer.delete(),
        ];
        for ask in asks {
            let status = ask.with("authorization", "Bearer bob").status().await;
            assert_eq!(status, 404, "{revision}: to others it is not there");
        }
        call.go.send(()).expect("it works on");
        assert_eq!(text_of(&reply.next().await), "waited");
        change(&site, &format!("after-{revision}"));
        assert_eq!(general.next().await["method"], "notifications/tools/list_changed");
        assert_eq!(peer.delete().status().await, 204);
        assert!(calls.try_recv().is_err(), "no handler ran for anybody else");
    }
}

#[tokio::test]
async fn the_second_address_is_good_for_nobody_else() {
    let (site, _calls) = guarded().await;
    let stream = site.ask("GET", "/sse").and("accept", "text/event-stream");
    let mut stream = stream.and("authorization", "Bearer ada").send().await;
    let endpoint = stream.event().await.expect("an event").data;
    let hello = super::support::hello("2024-11-05", json!({}));
    let hello = site.post(&super::support::request(1, "initialize", hello)).to(&endpoint);
    assert_eq!(hello.clone().and("authorization", "Bearer bob").status().await, 404);
    assert_eq!(hello.clone().status().await, 401);
    assert_eq!(hello.and("authorization", "Bearer ada").status().await, 202);
    let answer: Value = stream.next().await;
    assert_eq!(answer["id"], 1);
}
