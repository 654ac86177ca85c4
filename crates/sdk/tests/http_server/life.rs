//! Beginning and end: other people's routers, other protocols, and stopping in good order.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use contexture::Policy;
use http_body::Body as _;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::raw::Ask;
use super::support::{EVERY, LEGACY, MODERN, Peer, Site, hello, request, server, text_of};

// covers: LIFE-SHUTDOWN-HTTP, LIFE-SHUTDOWN-TRANSPORT
#[tokio::test]
async fn a_server_that_stops_finishes_what_it_has_begun() {
    for revision in EVERY {
        let (server, mut calls) = server();
        let site = Site::of(server).await;
        let peer = Peer::of(&site, revision).await;
        let streams = if revision == MODERN { None } else { Some(peer.listen().await) };
        let wait = peer.request("tools/call", json!({ "name": "wait", "arguments": {} }));
        let whole = tokio::spawn(peer.post(&wait).send());
        let first = calls.recv().await.expect("is called");
        let wait = json!({ "name": "wait", "arguments": {}, "_meta": { "progressToken": "t" } });
        let events = tokio::spawn(peer.post(&peer.request("tools/call", wait)).send());
        let second = calls.recv().await.expect("is called");
        second.context.progress(1.0, None);
        let mut events = events.await.expect("a response");
        let stopped = site.stop();
        if let Some(mut stream) = streams {
            assert_eq!(stream.message().await, None, "{revision}: it says nothing, it closes");
        }
        second.go.send(()).expect("it works on");
        assert_eq!(text_of(&events.rest().await[1]), "waited");
        first.go.send(()).expect("it works on");
        assert_eq!(text_of(&whole.await.expect("a response").json().await), "waited");
        stopped.await.expect("no panic").expect("it ends well");
    }
}

// covers: LIFE-SHUTDOWN-HTTP
#[tokio::test]
async fn a_client_that_leaves_gives_its_streams_back() {
    let mut policy = Policy::default();
    policy.streams = 1;
    let (server, _calls) = server();
    let site = Site::of(server.policy(policy)).await;
    for revision in LEGACY {
        let peer = Peer::of(&site, revision).await;
        while peer.get().status().await != 200 {}
    }
}

/// Somebody's own application, with MCP at one of its paths.
async fn mounted() -> std::net::SocketAddr {
    let http = server().0.into_http().expect("a server");
    let router = Router::new()
        .route("/", get(|state: axum::extract::State<&'static str>| async move { state.0 }))
        .route_service("/mcp", http.clone())
        .route_service("/sse", http.clone())
        .route_service("/messages", http)
        .with_state("theirs");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, router).await.expect("serves") });
    address
}

#[tokio::test]
async fn it_can_be_mounted_in_a_router() {
    let address = mounted().await;
    assert_eq!(Ask::new(address, "GET", "/").send().await.text().await, "theirs");
    for revision in EVERY {
        let peer = Peer::at(address, revision).await;
        assert_eq!(peer.tool("now").await, "now", "{revision}");
        assert_eq!(peer.begin("steps", "t").await.rest().await.len(), 4);
        if revision != MODERN {
            drop(peer.listen().await);
            assert_eq!(peer.delete().status().await, 204);
        }
    }
    let mut old = Ask::new(address, "GET", "/sse").and("accept", "text/event-stream").send().await;
    assert_eq!(old.event().await.expect("an event").name, "endpoint");
    let evil = Ask::new(address, "GET", "/sse").and("accept", "text/event-stream");
    assert_eq!(evil.with("host", "evil.example").status().await, 403, "it guards itself");
}

#[tokio::test]
async fn http_2_is_spoken_to_whoever_knows_it() {
    let (server, _calls) = server();
    let site = Site::of(server).await;
    let socket = TcpStream::connect(site.address).await.expect("the server listens");
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(socket))
            .await
            .expect("HTTP/2");
    tokio::spawn(connection);
    let url = format!("http://{}/mcp", site.address);
    let hello = request(1, "initialize", hello(LEGACY[3], json!({})));
    let mut waiting = Vec::new();
    for _ in 0..3 {
        let post = http::Request::post(&url)
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .body(hello.to_string())
            .expect("a request");
        waiting.push(sender.send_request(post));
    }
    let mut ids = Vec::new();
    for reply in waiting {
        let reply = reply.await.expect("a response");
        assert_eq!((reply.status(), reply.version()), (http::StatusCode::OK, http::Version::HTTP_2));
        ids.push(reply.headers().get("mcp-session-id").expect("an id").clone());
    }
    let get = http::Request::get(&url)
        .header("accept", "text/event-stream")
        .header("mcp-session-id", &ids[0])
        .body(String::new())
        .expect("a request");
    let mut stream = sender.send_request(get).await.expect("a response").into_body();
    let frame = std::future::poll_fn(|cx| std::pin::Pin::new(&mut stream).poll_frame(cx)).await;
    let primer = frame.expect("an event").expect("a frame").into_data().expect("data");
    assert!(primer.starts_with(b"id: "), "{primer:?}");
    let delete = http::Request::delete(&url).header("mcp-session-id", &ids[0]);
    let reply =
        sender.send_request(delete.body(String::new()).expect("a request")).await.expect("a response");
    assert_eq!(reply.status(), http::StatusCode::NO_CONTENT);
    while let Some(frame) = std::future::poll_fn(|cx| std::pin::Pin::new(&mut stream).poll_frame(cx)).await {
        let data = frame.expect("it ends in good order").into_data().expect("data");
        assert!(data.is_empty(), "nothing was said: {data:?}");
    }
}

/// Says something in two pieces, so far apart that they are read apart, and returns what is said first in reply.
async fn in_pieces(site: &Site, whole: &str, cut: usize) -> Vec<u8> {
    let mut socket = TcpStream::connect(site.address).await.expect("the server listens");
    socket.set_nodelay(true).expect("an option");
    for piece in [&whole[..cut], &whole[cut..]] {
        socket.write_all(piece.as_bytes()).await.expect("it is taken");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let mut reply = vec![0; 1024];
    let length = socket.read(&mut reply).await.expect("a reply");
    reply.truncate(length);
    reply
}

#[tokio::test]
async fn either_protocol_is_recognised_whatever_piece_comes_first() {
    let (server, _calls) = server();
    let site = Site::of(server).await;
    let post = format!("POST /none HTTP/1.1\r\nHost: {}\r\n\r\n", site.address);
    // The preface and empty settings.
    let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u{4}\0\0\0\0\0";
    for cut in [1, 2, 3, 14, 24] {
        let reply = in_pieces(&site, &post, cut).await;
        assert!(reply.starts_with(b"HTTP/1.1 404 "), "{cut}: {}", reply.escape_ascii());
        let reply = in_pieces(&site, preface, cut).await;
        assert_eq!(reply.get(3), Some(&4), "{cut}: settings, but {}", reply.escape_ascii());
    }
}

/// Ends the example, whatever becomes of the test.
struct Running(std::process::Child);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

#[tokio::test]
async fn the_example_with_axum_runs() {
    let test = std::env::current_exe().expect("the test has a path");
    let profile = test.parent().and_then(|deps| deps.parent()).expect("target/PROFILE/deps");
    let path = profile.join("examples").join(format!("axum{}", std::env::consts::EXE_SUFFIX));
    let child = Command::new(path).arg("127.0.0.1:0").stderr(Stdio::piped()).spawn();
    let mut example = Running(child.expect("`cargo test -p contexture` builds the examples"));
    let mut line = String::new();
    BufReader::new(example.0.stderr.take().expect("piped")).read_line(&mut line).expect("it says where");
    let address = line.trim().strip_prefix("listening on ").and_then(|address| address.parse().ok());
    let address = address.unwrap_or_else(|| panic!("{line:?}"));
    for revision in EVERY {
        let peer = Peer::at(address, revision).await;
        let call = json!({ "name": "visit", "arguments": { "name": revision } });
        let answer = peer.call("tools/call", call).await;
        assert!(text_of(&answer).contains(revision), "{answer}");
    }
    let page = Ask::new(address, "GET", "/visits").send().await.text().await;
    assert_eq!(page, EVERY.join("\n"), "its pages and its tools share their state");
}
