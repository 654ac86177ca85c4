//! The MCP endpoint: what it takes, what it refuses, and in which form it answers.

use serde_json::{Value, json};

use super::support::{EVERY, LEGACY, MODERN, Peer, Site, notification, request, server};

// covers: HTTP-ENDPOINT-SINGLE, HTTP-GET-SSE-OR-405
#[tokio::test]
async fn one_path_takes_posts_and_gets() {
    let (server, _calls) = server();
    let site = Site::of(server).await;
    for revision in LEGACY {
        let peer = Peer::of(&site, revision).await;
        let stream = peer.get().send().await;
        assert_eq!((stream.status, stream.is_events()), (200, true));
        assert_eq!(stream.header("cache-control"), Some("no-cache"));
        assert_eq!(stream.header("x-accel-buffering"), Some("no"), "nobody on the way may keep it back");
    }
    for (method, path) in [("POST", "/"), ("GET", "/mcp/"), ("POST", "/mcp/x"), ("DELETE", "/MCP")] {
        assert_eq!(site.ask(method, path).status().await, 404, "{method} {path}");
    }
    for method in ["PUT", "PATCH", "OPTIONS", "HEAD"] {
        let reply = site.ask(method, "/mcp").send().await;
        assert_eq!((reply.status, reply.header("allow")), (405, Some("POST, GET, DELETE")), "{method}");
    }
}

// covers: HTTP-POST-NOTIF-202
#[tokio::test]
async fn what_needs_no_answer_is_acknowledged_without_a_body() {
    let (server, _calls) = server();
    let site = Site::of(server).await;
    for revision in EVERY {
        let peer = Peer::of(&site, revision).await;
        let mut messages = vec![
            notification("notifications/initialized"),
            notification("notifications/nobody-knows-this"),
            json!({ "jsonrpc": "2.0", "id": 77, "result": {} }),
            json!({ "jsonrpc": "2.0", "id": 78, "error": { "code": -1, "message": "no" } }),
        ];
        // The newest revision asks nothing that could be answered.
        messages.truncate(if revision == MODERN { 2 } else { 4 });
        for message in messages {
            let mut reply = peer.post(&message).send().await;
            assert_eq!(reply.status, 202, "{revision} {message}");
            assert_eq!(reply.bytes().await, b"", "{revision} {message}");
        }
    }
}

// covers: HTTP-POST-NOTIF-REJECT, HTTP-POST-REJECT-BODY
#[tokio::test]
async fn what_cannot_be_accepted_is_refused_by_status() {
    let (server, _calls) = server();
    let site = Site::of(server).await;
    for revision in LEGACY {
        let peer = Peer::of(&site, revision).await;
        let malformed = [
            json!({ "jsonrpc": "2.0", "method": 7 }),
            json!({ "jsonrpc": "1.0", "method": "notifications/initialized" }),
            json!({ "jsonrpc": "2.0" }),
            json!(7),
        ];
        for message in malformed {
            let mut reply = peer.post(&message).send().await;
            assert_eq!(reply.status, 400, "{revision} {message}");
            let body = reply.json().await;
            assert!(body["error"]["code"].is_i64(), "{body}");
            assert!(body["id"].is_null(), "{body}");
        }
        let lost = notification("notifications/initialized");
        let mut reply = peer.post(&lost).with("mcp-session-id", "nobody").send().await;
        assert_eq!(reply.status, 404);
        assert_eq!(reply.json().await.get("id"), None, "an error that answers no request names none");
        assert_eq!(peer.post(&lost).without("mcp-session-id").status().await, 400);
        assert_eq!(peer.post(&lost).with("mcp-protocol-version", "x").status().await, 400);
    }
}

#[tokio::test]
async fn a_body_that_is_no_json_is_refused() {
    let (server, _calls) = server();
    let site = Site::of(server).await;
    for revision in EVERY {
        let peer = Peer::of(&site, revision).await;
        for text in ["", "{", "nonsense", "{}{}", "\u{feff}{}", "{\"jsonrpc\":\"2.0\",\"jsonrpc\":\"2.0\"}"] {
            let mut reply = peer.post(&Value::Null).body(text).send().await;
            assert_eq!(reply.status, 400, "{revision} {text:?}");
            assert!(reply.json().await["error"]["code"].is_i64());
        }
        assert_eq!(peer.tool("now").await, "now", "and nothing else is lost");
    }
}

// covers: HTTP-POST-REQ-CONTENT-TYPE
#[tokio::test]
async fn every_request_is_answered_as_json_or_as_events() {
    let (server, _calls) = server();
    let site = Site::of(server).await;
    for revision in EVERY {
        let peer = Peer::of(&site, revision).await;
        for method in ["tools/list", "ping", "prompts/list", "no/such/method", "tools/call"] {
            let mut reply = peer.start(method, json!({})).await;
            assert!(reply.is_json(), "{revision} {method}");
            assert!(reply.json().await.is_object());
        }
        let mut reply = peer.begin("steps", "a").await;
        assert!(reply.is_events());
        let messages = reply.rest().await;
        assert_eq!(messages.len(), 4, "{messages:?}");
        assert!(messages[3]["result"].is_object());
        let handshake = usize::from(revision != MODERN);
        assert_eq!(peer.judgements(), handshake + 5 + 4, "{revision}: each of them was judged");
    }
}

#[tokio::test]
async fn a_client_that_could_not_read_the_answer_is_told_so() {
    let (server, _calls) = server();
    let site = Site::of(server).await;
    for revision in EVERY {
        let peer = Peer::of(&site, revision).await;
        let list = peer.request("tools/list", json!({}));
        let good = [
            "*/*",
            "application/*, text/*",
            "TEXT/EVENT-STREAM,Application/JSON;q=0.5",
            "text/event-stream;q=0.1, application/json; charset=utf-8",
        ];
        for accept in good {
            assert_eq!(peer.post(&list).with("accept", accept).status().await, 200, "{accept}");
        }
        let two = peer.post(&list).with("accept", "application/json").and("accept", "text/event-stream");
        assert_eq!(two.status().await, 200, "two headers are one list");
        let bad = ["application/json", "text/event-stream", "text/html", "application/json;q=0, */*;q=0", ""];
        for accept in bad {
            assert_eq!(peer.post(&list).with("accept", accept).status().await, 406, "{accept:?}");
        }
        assert_eq!(peer.post(&list).without("accept").status().await, 406);
        if revision != MODERN {
            assert_eq!(peer.get().with("accept", "application/json").status().await, 406);
            assert_eq!(peer.get().without("accept").status().await, 406);
        }
    }
}

#[tokio::test]
async fn a_body_is_plain_json_of_a_bounded_length() {
    let (server, _calls) = server();
    let mut policy = contexture::Policy::default();
    policy.body_bytes = 4096;
    let site = Site::of(server.policy(policy)).await;
    for revision in EVERY {
        let peer = Peer::of(&site, revision).await;
        let list = peer.request("tools/list", json!({}));
        for kind in ["application/json; charset=utf-8", "Application/JSON;charset=\"UTF-8\""] {
            assert_eq!(peer.post(&list).with("content-type", kind).status().await, 200, "{kind}");
        }
        for kind in ["text/plain", "application/json; charset=latin-1", "application/jsonl", ""] {
            assert_eq!(peer.post(&list).with("content-type", kind).status().await, 415, "{kind:?}");
        }
        assert_eq!(peer.post(&list).without("content-type").status().await, 415);
        assert_eq!(peer.post(&list).and("content-type", "application/json").status().await, 415);
        assert_eq!(peer.post(&list).and("content-encoding", "gzip").status().await, 415);
        let long = peer.post(&list).body(" ".repeat(4097));
        assert_eq!(long.status().await, 413);
        let mut fits = list.to_string();
        fits.push_str(&" ".repeat(4096 - fits.len()));
        assert_eq!(peer.post(&list).body(fits).status().await, 200);
    }
}

#[tokio::test]
async fn ids_come_back_as_they_were() {
    let (server, _calls) = server();
    let site = Site::of(server).await;
    for revision in EVERY {
        let peer = Peer::of(&site, revision).await;
        for id in [json!(0), json!(-1), json!("x"), json!(""), json!(9_007_199_254_740_991_u64)] {
            let mut message = peer.request("tools/list", json!({}));
            message["id"] = id.clone();
            assert_eq!(peer.post(&message).send().await.json().await["id"], id);
        }
        let mut null = peer.request("tools/list", json!({}));
        null["id"] = Value::Null;
        let reply = peer.post(&null).send().await;
        assert_eq!(reply.status, 400, "a request without a usable id is no notification");
    }
}

// covers: HTTP-MULTI-CLIENT
#[tokio::test]
async fn clients_of_all_revisions_do_not_meet() {
    let (server, mut calls) = server();
    let site = Site::of(server).await;
    let mut peers = Vec::new();
    for revision in EVERY {
        peers.push(Peer::of(&site, revision).await);
    }
    let mut waiting = Vec::new();
    for (at, peer) in peers.iter().enumerate() {
        // The same id and the same token for all of them.
        let meta = json!({ "progressToken": "same" });
        let mut message =
            peer.request("tools/call", json!({ "name": "wait", "arguments": {}, "_meta": meta }));
        message["id"] = json!("same");
        let reply = tokio::spawn(peer.post(&message).send());
        let call = calls.recv().await.expect("is called");
        assert_eq!(call.context.revision().as_str(), peer.revision);
        call.context.progress(at as f64 + 1.0, None);
        waiting.push((reply, call));
    }
    for (at, (reply, call)) in waiting.into_iter().enumerate() {
        let mut reply = reply.await.expect("a response");
        let progress = reply.next().await;
        assert_eq!(progress["params"]["progress"].as_f64(), Some(at as f64 + 1.0));
        call.go.send(()).expect("it waits");
        let rest = reply.rest().await;
        assert_eq!(rest.len(), 1);
        assert_eq!(rest[0]["id"], "same");
    }
}

#[tokio::test]
async fn a_request_of_no_revision_is_refused() {
    let (server, _calls) = server();
    let site = Site::of(server).await;
    let list = request(1, "tools/list", json!({}));
    assert_eq!(site.post(&list).status().await, 400, "no session, no metadata");
    let mut reply = site.post(&list).and("mcp-protocol-version", MODERN).send().await;
    assert_eq!(reply.status, 400, "the header promises what the body does not have");
    assert_eq!(reply.json().await["error"]["code"], -32602);
}
