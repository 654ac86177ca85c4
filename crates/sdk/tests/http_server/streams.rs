//! Answers that are streams: what travels on them, when they end, and what a lost connection means.

use contexture::{Context, Error, Server, tool};
use serde_json::json;

use super::inside::{Inside, is_pending};
use super::support::{EVERY, LEGACY, MODERN, Peer, Site, Waiting, change, server, text_of};

// covers: HTTP-SSE-RESPONSE-EVENTUAL, HTTP-SSE-PRE-RESPONSE, HTTP-SSE-CLOSE-AFTER
#[tokio::test]
async fn a_stream_ends_with_its_one_response() {
    let (server, _calls) = server();
    let site = Site::of(server).await;
    for revision in EVERY {
        let peer = Peer::of(&site, revision).await;
        let message = peer.request(
            "tools/call",
            json!({ "name": "steps", "arguments": {}, "_meta": { "progressToken": 5 } }),
        );
        let messages = peer.post(&message).send().await.rest().await;
        let steps: Vec<_> =
            messages[..3].iter().map(|message| message["params"]["progress"].as_f64()).collect();
        assert_eq!(steps, [Some(1.0), Some(2.0), Some(3.0)]);
        assert_eq!(messages[3]["id"], message["id"]);
        assert_eq!(messages.len(), 4, "and nothing after it");
    }
}

#[tokio::test]
async fn an_answer_alone_is_json() {
    let (server, mut calls) = server();
    let site = Site::of(server).await;
    for revision in EVERY {
        let peer = Peer::of(&site, revision).await;
        // A token that nothing is reported under, and a handler that is not done at once.
        let wait = json!({ "name": "wait", "arguments": {}, "_meta": { "progressToken": "t" } });
        let reply = tokio::spawn(peer.post(&peer.request("tools/call", wait)).send());
        let call = calls.recv().await.expect("is called");
        call.go.send(()).expect("it waits");
        let mut reply = reply.await.expect("a response");
        assert_eq!(reply.status, 200);
        assert_eq!(text_of(&reply.json().await), "waited");
    }
}

fn asking() -> Server {
    Server::new("test", "1.0.0").tool(tool("roots").handler(|ctx: Context| async move {
        let roots = ctx.roots("roots").await?;
        Ok::<_, Error>(roots.len().to_string())
    }))
}

// covers: HTTP-SSE-PRE-RESPONSE, HTTP-SSE-RELATED, HTTP-GET-UNRELATED
#[tokio::test]
async fn a_question_travels_with_its_call() {
    let site = Site::of(asking()).await;
    for revision in LEGACY {
        let peer = Peer::able(&site, revision, json!({ "roots": {} })).await;
        let mut general = peer.listen().await;
        let mut first = peer.start("tools/call", json!({ "name": "roots", "arguments": {} })).await;
        let mut second = peer.start("tools/call", json!({ "name": "roots", "arguments": {} })).await;
        let questions = [first.next().await, second.next().await];
        assert!(questions.iter().all(|question| question["method"] == "roots/list"), "{questions:?}");
        assert_ne!(questions[0]["id"], questions[1]["id"]);
        let root = json!({ "uri": "file:///a" });
        assert_eq!(peer.reply(&questions[1], json!({ "roots": [root, root] })).await, 202);
        assert_eq!(second.rest().await.iter().map(text_of).collect::<Vec<_>>(), ["2"]);
        assert_eq!(peer.reply(&questions[0], json!({ "roots": [root] })).await, 202);
        assert_eq!(first.rest().await.iter().map(text_of).collect::<Vec<_>>(), ["1"]);
        change(&site, &format!("after-{revision}"));
        let told = general.next().await;
        assert_eq!(told["method"], "notifications/tools/list_changed", "the questions were not here");
    }
}

// covers: HTTP-SSE-RELATED, HTTP-GET-UNRELATED, HTTP-GET-NO-RESPONSES
#[tokio::test]
async fn what_belongs_to_a_call_is_said_on_its_stream_alone() {
    let (server, mut calls) = server();
    let site = Site::of(server).await;
    for revision in LEGACY {
        let peer = Peer::of(&site, revision).await;
        let mut general = peer.listen().await;
        let mut streams = Vec::new();
        for token in ["a", "b"] {
            let meta = json!({ "progressToken": token });
            let wait = json!({ "name": "wait", "arguments": {}, "_meta": meta });
            let reply = tokio::spawn(peer.post(&peer.request("tools/call", wait)).send());
            let call = calls.recv().await.expect("is called");
            call.context.progress(1.0, None);
            streams.push((token, reply.await.expect("a response"), call));
        }
        change(&site, &format!("during-{revision}"));
        for step in 2..5 {
            for (_, _, call) in &streams {
                call.context.progress(f64::from(step), None);
            }
        }
        for (token, mut reply, call) in streams {
            call.go.send(()).expect("it waits");
            let messages = reply.rest().await;
            let (answer, progress) = messages.split_last().expect("an answer");
            assert_eq!(text_of(answer), "waited");
            assert_eq!(progress.len(), 4, "{messages:?}");
            assert!(progress.iter().all(|message| message["params"]["progressToken"] == token));
        }
        assert_eq!(peer.tool("now").await, "now");
        assert_eq!(general.next().await["method"], "notifications/tools/list_changed");
        change(&site, &format!("after-{revision}"));
        let told = general.next().await;
        assert_eq!(told["method"], "notifications/tools/list_changed", "nothing else came between");
    }
}

// covers: HTTP-DISCONNECT-NOT-CANCEL
#[tokio::test]
async fn a_lost_connection_takes_nothing_back_in_a_session() {
    for revision in LEGACY {
        let (server, mut calls) = server();
        let inside = Inside::of(server, |http| http);
        let session = inside.session(revision).await;
        for has_spoken in [false, true] {
            let meta = json!({ "progressToken": format!("{has_spoken}") });
            let wait = json!({ "name": "wait", "arguments": {}, "_meta": meta });
            let request = session.post(&super::support::request(format!("{has_spoken}"), "tools/call", wait));
            let mut response = Box::pin(inside.send(request));
            assert!(is_pending(response.as_mut()).await);
            let Waiting { context, go, gone } = calls.recv().await.expect("is called");
            if has_spoken {
                context.progress(1.0, None);
                drop(response.await);
            } else {
                drop(response);
            }
            assert!(!context.is_cancelled(), "{revision}, {has_spoken}");
            go.send(()).expect("it works on");
            assert!(gone.await.is_ok(), "{revision}, {has_spoken}: it comes to its end");
        }
    }
}

#[tokio::test]
async fn a_lost_connection_takes_a_modern_request_back() {
    let (server, mut calls) = server();
    let site = Site::of(server).await;
    let peer = Peer::of(&site, MODERN).await;
    for has_spoken in [false, true] {
        let meta = json!({ "progressToken": "t" });
        let wait = json!({ "name": "wait", "arguments": {}, "_meta": meta });
        let reply = tokio::spawn(peer.post(&peer.request("tools/call", wait)).send());
        let Waiting { context, go, gone } = calls.recv().await.expect("is called");
        if has_spoken {
            context.progress(1.0, None);
            drop(reply.await.expect("a response"));
        } else {
            reply.abort();
        }
        context.cancelled().await;
        assert!(context.is_cancelled(), "{has_spoken}");
        assert!(gone.await.is_err(), "{has_spoken}: the handler is dropped");
        drop(go);
    }
}

// covers: CANC-STOP, CANC-NO-RESPONSE
#[tokio::test]
async fn a_cancelled_call_stops_and_is_not_answered() {
    let (server, mut calls) = server();
    let site = Site::of(server).await;
    for revision in LEGACY {
        let peer = Peer::of(&site, revision).await;
        for has_spoken in [false, true] {
            let meta = json!({ "progressToken": "t" });
            let wait = peer.request("tools/call", json!({ "name": "wait", "arguments": {}, "_meta": meta }));
            let reply = tokio::spawn(peer.post(&wait).send());
            let Waiting { context, go, gone } = calls.recv().await.expect("is called");
            if has_spoken {
                context.progress(1.0, None);
            }
            let params = json!({ "requestId": wait["id"], "reason": "enough" });
            let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
            assert_eq!(peer.tell(&cancel).await, 202);
            context.cancelled().await;
            assert_eq!(context.cancel_reason(), Some("enough"));
            assert!(gone.await.is_err(), "the handler is dropped");
            drop(go);
            let said = reply.await.expect("a response").rest().await;
            assert!(said.iter().all(|message| message.get("id").is_none()), "{said:?}");
        }
        assert_eq!(peer.tool("now").await, "now");
    }
}

// covers: CANC-FREE
#[tokio::test]
async fn a_session_cancels_only_its_own() {
    let (server, mut calls) = server();
    let site = Site::of(server).await;
    for revision in LEGACY {
        let (peer, other) = (Peer::of(&site, revision).await, Peer::of(&site, revision).await);
        let wait = super::support::request("same", "tools/call", json!({ "name": "wait", "arguments": {} }));
        let reply = tokio::spawn(peer.post(&wait).send());
        let call = calls.recv().await.expect("is called");
        let params = json!({ "requestId": "same" });
        let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
        assert_eq!(other.tell(&cancel).await, 202);
        assert!(!call.context.is_cancelled());
        call.go.send(()).expect("it waits");
        assert_eq!(text_of(&reply.await.expect("a response").json().await), "waited");
    }
}

#[tokio::test]
async fn handlers_see_the_headers_of_their_own_request() {
    let tool = tool("header").handler(|ctx: Context| async move {
        let headers = ctx.headers().expect("it came over HTTP");
        headers.get("x-tag").and_then(|value| value.to_str().ok()).unwrap_or("none").to_owned()
    });
    let site = Site::of(Server::new("test", "1.0.0").tool(tool)).await;
    for revision in EVERY {
        let peer = Peer::of(&site, revision).await;
        let call = || peer.request("tools/call", json!({ "name": "header", "arguments": {} }));
        let tagged = peer.post(&call()).and("x-tag", "blue").send().await.json().await;
        assert_eq!(text_of(&tagged), "blue");
        assert_eq!(text_of(&peer.post(&call()).send().await.json().await), "none", "{revision}");
    }
}

#[tokio::test]
async fn a_panic_ends_one_exchange_with_an_answer() {
    async fn fall(context: Context) -> &'static str {
        context.progress(1.0, None);
        tokio::task::yield_now().await;
        panic!("on purpose")
    }
    let (server, _calls) = server();
    let site = Site::of(server.tool(tool("fall").handler(fall))).await;
    for revision in EVERY {
        let peer = Peer::of(&site, revision).await;
        let mut whole = peer.start("tools/call", json!({ "name": "fall", "arguments": {} })).await;
        let answer = whole.json().await;
        assert!(answer.get("error").is_some() || answer["result"]["isError"] == true, "{answer}");
        let mut stream = peer.begin("fall", "t").await;
        let last = stream.rest().await.pop().expect("an answer");
        assert!(last.get("error").is_some() || last["result"]["isError"] == true, "{last}");
        assert_eq!(peer.tool("now").await, "now");
    }
}

// covers: PING-RESPOND
#[tokio::test]
async fn a_ping_is_answered_with_nothing() {
    let (server, _calls) = server();
    let site = Site::of(server).await;
    for revision in LEGACY {
        let peer = Peer::of(&site, revision).await;
        let mut reply = peer.start("ping", json!({})).await;
        assert_eq!(reply.status, 200);
        assert_eq!(reply.json().await["result"], json!({}), "{revision}");
        // Also before the client says that it is ready.
        let early = super::support::hello(revision, json!({}));
        let opened = site.post(&super::support::request(1, "initialize", early)).send().await;
        let session = opened.header("mcp-session-id").expect("an id").to_owned();
        let ping = site.post(&super::support::request(2, "ping", json!({}))).with("mcp-session-id", &session);
        assert_eq!(ping.send().await.json().await["result"], json!({}));
    }
}
