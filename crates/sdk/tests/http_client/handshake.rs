//! Finding out what a URL speaks: any server, by the one door.

use std::time::Duration;

use contexture::revision::{Era, Revision};
use contexture::{Client, Error, Policy};
use serde_json::json;

use crate::support::{Fixture, LEGACY, MODERN, SESSION, Seen, discovery, handshake, pair, said};

/// Connects while the server does this.
async fn connect(
    fixture: &mut Fixture,
    builder: contexture::client::Builder,
    serve: impl AsyncFnOnce(&mut Fixture),
) -> Result<Client, Error> {
    let connecting = builder.connect(fixture.url());
    tokio::join!(connecting, serve(fixture)).0
}

/// Answers the probe as a server does that has never heard of it.
async fn not_modern(fixture: &mut Fixture) {
    fixture.post("server/discover").await.refuse(400, "Bad Request: no session").await;
}

// covers: HTTP-COMPAT-CLIENT-URL, HTTP-VERSION-HEADER-NEGOTIATED, HTTP-POST-CLIENT-BOTH
#[tokio::test]
async fn one_door_leads_to_servers_of_every_era() {
    let mut fixture = Fixture::start().await;
    let client = connect(&mut fixture, Client::builder(), async |it| it.shake_hands(MODERN).await).await;
    assert_eq!(client.expect("connected").revision().as_str(), MODERN);
    for revision in LEGACY {
        let mut fixture = Fixture::start().await;
        let client = connect(&mut fixture, Client::builder(), async |it| {
            not_modern(it).await;
            it.shake_hands(revision).await;
        });
        let client = client.await.expect("connected");
        assert_eq!(client.revision().as_str(), revision);
        let (listed, ()) = tokio::join!(client.tools(), async {
            let seen = fixture.post("tools/list").await;
            let negotiated = seen.request.header("mcp-protocol-version").map(str::to_owned);
            assert_eq!(negotiated.as_deref(), (revision >= "2025-06-18").then_some(revision));
            seen.result(json!({ "tools": [] })).await;
        });
        listed.expect("a list");
        fixture.close(&client).await;
    }
}

/// Errors that only the legacy era would send, and a 200 with one.
// covers: HTTP-COMPAT-CLIENT-POST-FIRST
#[tokio::test]
async fn what_does_not_know_the_probe_is_greeted_in_the_older_way() {
    let answers: [fn(Seen) -> futures_util::future::BoxFuture<'static, ()>; 4] = [
        |seen| Box::pin(seen.refuse(404, "")),
        |seen| Box::pin(seen.refuse(405, "")),
        |seen| Box::pin(seen.error(400, -32000, json!("no session"))),
        |seen| Box::pin(seen.error(200, -32601, json!(null))),
    ];
    for answer in answers {
        let mut fixture = Fixture::start().await;
        let client = connect(&mut fixture, Client::builder(), async |it| {
            answer(it.post("server/discover").await).await;
            it.shake_hands("2025-06-18").await;
        });
        assert_eq!(client.await.expect("connected").era(), Era::Legacy);
        assert_eq!(fixture.methods()[..2], ["server/discover", "initialize"]);
        let hello = &fixture.requests()[1];
        let accept = hello.header("accept").expect("accepted types");
        assert!(accept.contains("application/json") && accept.contains("text/event-stream"));
    }
    // A client of the legacy era only does not probe, and opens no stream before the handshake is done.
    let (_client, fixture) = pair(Client::builder(), "2025-06-18").await;
    let verbs: Vec<String> = fixture.requests().into_iter().map(|request| request.verb).collect();
    assert_eq!(verbs, ["POST", "POST", "GET"]);
    assert_eq!(fixture.methods()[0], "initialize");
}

/// Whoever is shut out, overloaded or out of order says nothing about the server's era.
// covers: HTTP-COMPAT-CLIENT-FALLBACK
#[tokio::test]
async fn trouble_is_no_reason_to_fall_back() {
    for status in [401, 403, 429, 500, 502, 503] {
        for probes in [true, false] {
            let builder =
                if probes { Client::builder() } else { Client::builder().revisions(&Revision::LEGACY) };
            let method = if probes { "server/discover" } else { "initialize" };
            let mut fixture = Fixture::start().await;
            let client = connect(&mut fixture, builder, async |it| {
                it.post(method).await.refuse(status, "not now").await;
            });
            let error = client.await.expect_err("an error");
            let Error::Http(refusal) = &error else { panic!("{error:?}") };
            assert_eq!((refusal.status, refusal.message.as_str()), (status, "not now"));
            assert_eq!(fixture.requests().len(), 1, "nothing else was tried");
        }
    }
}

#[tokio::test]
async fn silence_and_absence_are_no_evidence_either() {
    let mut fixture = Fixture::start().await;
    let mut policy = Policy::default();
    policy.patience.idle = Duration::from_millis(200);
    let builder = Client::builder().policy(policy).probe_timeout(Duration::from_millis(10));
    let mut held = None;
    let client = connect(&mut fixture, builder, async |it| held = Some(it.post("server/discover").await));
    assert!(matches!(client.await, Err(Error::Timeout(_))));
    held.expect("the probe").gone().await;
    assert_eq!(fixture.methods(), ["server/discover"]);
    let mut fixture = Fixture::start().await;
    let client = connect(&mut fixture, Client::builder(), async |it| it.post("server/discover").await.cut());
    assert!(matches!(client.await, Err(Error::Interrupted(_))));
    assert_eq!(fixture.methods(), ["server/discover"], "never sent twice");
    let nobody = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/", nobody.local_addr().expect("an address"));
    drop(nobody);
    assert!(matches!(Client::connect(url).await, Err(Error::Transport(_))));
}

#[tokio::test]
async fn a_version_that_the_server_names_is_tried_once_even_if_it_is_the_same() {
    let mut fixture = Fixture::start().await;
    let named = json!({ "supported": [MODERN], "requested": MODERN });
    let client = connect(&mut fixture, Client::builder(), async |it| {
        it.post("server/discover").await.error(400, -32022, named.clone()).await;
        it.post("server/discover").await.result(discovery()).await;
    });
    client.await.expect("connected");
    let mut fixture = Fixture::start().await;
    let client = connect(&mut fixture, Client::builder(), async |it| {
        for _ in 0..2 {
            it.post("server/discover").await.error(400, -32022, named.clone()).await;
        }
    });
    assert!(matches!(client.await, Err(Error::PeerIncompatible(_))));
}

#[tokio::test]
async fn what_was_modern_is_not_taken_for_old() {
    let mut fixture = Fixture::start().await;
    let known = contexture::client::KnownEra::new(Revision::parse(MODERN).expect("a revision"));
    let client = connect(&mut fixture, Client::builder().known_era(known), async |it| {
        it.post("server/discover").await.refuse(404, "").await;
    });
    assert!(matches!(client.await, Err(Error::Http(refusal)) if refusal.status == 404));
    let known = contexture::client::KnownEra::new(Revision::parse("2025-06-18").expect("a revision"));
    let client = connect(&mut fixture, Client::builder().known_era(known), async |it| {
        it.shake_hands("2025-06-18").await;
    });
    client.await.expect("connected without a probe");
}

/// The handshake may be answered by a stream, with or without a session.
#[tokio::test]
async fn the_handshake_may_come_as_a_stream() {
    let mut fixture = Fixture::start().await;
    let builder = Client::builder().revisions(&Revision::LEGACY);
    let client = connect(&mut fixture, builder, async |it| {
        let seen = it.post("initialize").await;
        let response = seen.response_with(handshake("2025-03-26"));
        let mut stream = seen.stream().await;
        stream.event(None, &response).await;
        stream.end().await;
        it.post("notifications/initialized").await.accept().await;
        it.verb("GET").await.refuse(404, "").await;
    });
    let client = client.await.expect("connected");
    let (reply, ()) = tokio::join!(client.call("t", ()).into_future(), async {
        let seen = fixture.post("tools/call").await;
        assert_eq!(seen.request.header("mcp-session-id"), None);
        seen.result(said("hello")).await;
    });
    assert_eq!(reply.expect("a reply").text(), "hello");
    client.close().await;
    assert_eq!(fixture.count("DELETE"), 0, "there was no session");
}

/// Some servers open a stream for whatever they are told, and leave it open.
#[tokio::test]
async fn what_is_taken_is_taken_however_long_its_body_is() {
    let mut fixture = Fixture::start().await;
    let builder = Client::builder().revisions(&Revision::LEGACY);
    let mut held = None;
    let client = connect(&mut fixture, builder, async |it| {
        it.post("initialize").await.opens(SESSION, handshake("2025-06-18")).await;
        held = Some(it.post("notifications/initialized").await.stream().await);
        it.verb("GET").await.refuse(405, "").await;
    });
    let client = client.await.expect("connected");
    let (pinged, ()) = tokio::join!(client.ping(), async {
        fixture.post("ping").await.result(json!({})).await;
    });
    pinged.expect("an answer");
    held.expect("a stream").0.gone().await;
}

/// Nothing overtakes the end of the handshake.
#[tokio::test]
async fn nothing_is_sent_before_the_handshake_is_acknowledged() {
    let mut fixture = Fixture::start().await;
    let builder = Client::builder().revisions(&Revision::LEGACY);
    let mut held = None;
    let client = connect(&mut fixture, builder, async |it| {
        it.post("initialize").await.opens(SESSION, handshake("2025-06-18")).await;
        held = Some(it.post("notifications/initialized").await);
    });
    let client = client.await.expect("connected");
    let call = client.call("t", ()).start();
    // What is given up before it has left is never sent.
    let given_up = client.call("u", ()).start();
    given_up.cancel("never mind");
    assert!(matches!(given_up.await, Err(Error::Cancelled)));
    fixture.settle().await;
    assert_eq!(fixture.requests().len(), 2);
    held.expect("the end of the handshake").accept().await;
    fixture.post("tools/call").await.result(said("hello")).await;
    assert_eq!(call.await.expect("a reply").text(), "hello");
    fixture.verb("GET").await.refuse(405, "").await;
    assert!(!fixture.methods().contains(&"notifications/cancelled".to_owned()));
}

/// Whoever cannot prove who they are gets no message at all.
#[tokio::test]
async fn what_is_not_encrypted_is_not_taken_for_it() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("https://{}/mcp", listener.local_addr().expect("an address"));
    let served = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a client");
        let mut hello = [0; 1024];
        let read = stream.read(&mut hello).await.expect("a greeting");
        stream.write_all(b"HTTP/1.1 200 So\r\ncontent-length: 0\r\n\r\n").await.expect("written");
        hello[..read].to_vec()
    });
    let error =
        Client::builder().header("authorization", "Bearer secret").connect(url).await.expect_err("refused");
    assert!(matches!(error, Error::Transport(_)), "{error:?}");
    let hello = served.await.expect("served");
    assert_eq!(hello[0], 22, "a handshake of TLS");
    assert!(!hello.windows(6).any(|window| window == b"secret"));
}

#[tokio::test]
async fn only_http_is_a_way_to_a_server() {
    for url in [
        "file:///etc/passwd",
        "javascript:alert(1)",
        "ws://localhost/",
        "unix:/tmp/x",
        "localhost:80",
        "",
        "/mcp",
    ] {
        let error = Client::connect(url).await.expect_err(url);
        assert!(matches!(error, Error::Misuse(_)), "{url}: {error:?}");
    }
    let bad = Client::builder().header("a b", "c").connect("http://127.0.0.1:9/").await;
    assert!(matches!(bad, Err(Error::Misuse(_))));
    let bad = Client::builder().header("a", "c\r\nd: e").connect("http://127.0.0.1:9/").await;
    assert!(matches!(bad, Err(Error::Misuse(_))));
}
