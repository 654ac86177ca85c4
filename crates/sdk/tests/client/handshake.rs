//! Finding the era, and the handshake.

use std::time::Duration;

use contexture::client::KnownEra;
use contexture::model::{Implementation, Method};
use contexture::revision::{Era, Revision};
use contexture::{Client, Error};
use serde_json::{Value, json};

use crate::support::{ALL, LEGACY, MODERN, Played, discovery, everything, full_pair, handshake, pair};

// covers: LIFE-VERSION-FORMAT
#[test]
fn versions_are_dates() {
    for revision in Revision::ALL {
        let date = revision.as_str().as_bytes();
        let fits = date.iter().enumerate().all(|(at, byte)| match at {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        });
        assert!(fits && date.len() == 10, "{revision}");
    }
}

fn newest_legacy() -> Revision {
    Revision::NEWEST_LEGACY
}

// covers: LIFE-INIT-CLIENT-SENDS, LIFE-INIT-REQ-FIELDS, LIFE-INITIALIZED-NOTIF, LIFE-INIT-FIRST
// covers: LIFE-VERSION-CLIENT-LATEST, SCHEMA-IMPLEMENTATION, BASE-COMPONENTS-OPTIONAL
#[tokio::test(start_paused = true)]
async fn a_legacy_client_opens_with_initialize() {
    let (mut server, transport) = Played::new();
    let client =
        tokio::spawn(Client::builder().name("app", "2").revisions(&Revision::LEGACY).connect(transport));
    let hello = server.receive().await.expect("unprompted");
    assert_eq!(hello["method"], "initialize");
    assert_eq!(hello["params"]["protocolVersion"], newest_legacy().as_str());
    assert_eq!(hello["params"]["capabilities"], json!({}));
    assert_eq!(hello["params"]["clientInfo"], json!({ "name": "app", "version": "2" }));
    server.hears_nothing().await;
    server.answer(&hello, handshake(newest_legacy().as_str(), json!({}))).await.expect("sent");
    let done = server.receive().await.expect("initialized");
    assert_eq!(done["method"], "notifications/initialized");
    let client = client.await.expect("no panic").expect("connected");
    assert_eq!(client.era(), Era::Legacy);
    server.hears_nothing().await;
}

/// There is no `Client` to call before the handshake is over: what the application wants waits with it.
// covers: LIFE-CLIENT-WAIT-RESPONSE
#[tokio::test(start_paused = true)]
async fn nothing_is_asked_for_before_the_handshake_is_answered() {
    for revision in LEGACY {
        let (mut server, transport) = Played::new();
        let offered = [Revision::parse(revision).expect("a revision")];
        let application = tokio::spawn(async move {
            let client = Client::builder().revisions(&offered).connect(transport).await.expect("connected");
            client.tools().await
        });
        let hello = server.asked("initialize").await;
        for _ in 0..100 {
            server.hears_nothing().await;
        }
        server.answer(&hello, handshake(revision, everything())).await.expect("sent");
        assert_eq!(server.receive().await.expect("a message")["method"], "notifications/initialized");
        let list = server.receive().await.expect("a message");
        assert_eq!(list["method"], "tools/list");
        server.answer(&list, json!({ "tools": [] })).await.expect("sent");
        assert!(application.await.expect("no panic").expect("a list").is_empty());
    }
}

// covers: LIFE-VERSION-SINGLE, LIFE-VERSION-CLIENT-OLDER, LIFE-INSTRUCTIONS-USE, SCHEMA-CAPS-OPEN-SET
#[tokio::test(start_paused = true)]
async fn every_revision_can_be_agreed_on() {
    for revision in ALL {
        let mut capabilities = everything();
        capabilities["future"] = json!({ "x": 1 });
        let (client, _server) = pair(Client::builder(), revision, capabilities).await;
        assert_eq!(client.revision().as_str(), revision);
        assert_eq!(client.instructions().as_deref(), Some("be kind"));
        assert_eq!(client.server_info(), Some(Implementation::new("played", "1")));
        assert!(client.server_capabilities().other.contains_key("future"));
    }
    for revision in LEGACY {
        let (mut server, transport) = Played::new();
        let client = tokio::spawn(Client::connect(transport));
        let probe = server.asked("server/discover").await;
        server.refuse(&probe, -32601).await;
        let hello = server.asked("initialize").await;
        server.answer(&hello, handshake(revision, json!({}))).await.expect("sent");
        server.asked("notifications/initialized").await;
        let client = client.await.expect("no panic").expect("connected");
        assert_eq!(client.revision().as_str(), revision);
    }
}

#[tokio::test(start_paused = true)]
async fn a_modern_server_is_found_by_its_answer_to_the_probe() {
    let (mut server, transport) = Played::new();
    let client = tokio::spawn(Client::connect(transport));
    let probe = server.receive().await.expect("a probe");
    assert_eq!(probe["method"], "server/discover");
    let meta = &probe["params"]["_meta"];
    assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], MODERN);
    assert_eq!(meta["io.modelcontextprotocol/clientCapabilities"], json!({}));
    assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "contexture");
    server.answer(&probe, discovery(json!({}))).await.expect("sent");
    let client = client.await.expect("no panic").expect("connected");
    assert_eq!(client.era(), Era::Modern);
    server.hears_nothing().await;
}

/// Security row G11: whatever is not modern is legacy, after a bounded wait.
#[tokio::test(start_paused = true)]
async fn anything_but_a_modern_answer_leads_to_the_handshake() {
    type Answer = Option<fn(&Value) -> String>;
    let answers: [Answer; 5] = [
        None,
        Some(|probe| {
            format!(r#"{{"jsonrpc":"2.0","id":{},"error":{{"code":-32601,"message":"?"}}}}"#, probe["id"])
        }),
        Some(|probe| {
            format!(r#"{{"jsonrpc":"2.0","id":{},"error":{{"code":-32602,"message":"?"}}}}"#, probe["id"])
        }),
        Some(|probe| format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"hello":1}}}}"#, probe["id"])),
        Some(|probe| format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{}},"error":{{}}}}"#, probe["id"])),
    ];
    for answer in answers {
        let (mut server, transport) = Played::new();
        let client = tokio::spawn(Client::connect(transport));
        let probe = server.asked("server/discover").await;
        if let Some(answer) = answer {
            server.send_line("Welcome to my server!").await.expect("sent");
            server.send_line(&answer(&probe)).await.expect("sent");
        }
        let hello = server.asked("initialize").await;
        assert_eq!(hello["params"]["protocolVersion"], newest_legacy().as_str());
        if answer.is_none() {
            server.refuse(&probe, -32601).await;
        }
        server.answer(&hello, handshake("2025-06-18", json!({}))).await.expect("sent");
        let client = client.await.expect("no panic").expect("connected");
        assert_eq!(client.revision().as_str(), "2025-06-18");
        assert!(!server.methods().contains(&"notifications/cancelled".to_owned()));
    }
}

// covers: LIFE-VERSION-DISCONNECT, LIFE-ERR-VERSION-MISMATCH
#[tokio::test(start_paused = true)]
async fn a_counter_offer_that_is_not_spoken_ends_the_connection() {
    for version in ["1999-01-01", "2024-11-05"] {
        let (mut server, transport) = Played::new();
        let builder = Client::builder().revisions(&[Revision::V2025_06_18]);
        let client = tokio::spawn(builder.connect(transport));
        let hello = server.asked("initialize").await;
        server.answer(&hello, handshake(version, json!({}))).await.expect("sent");
        let error = client.await.expect("no panic").expect_err("incompatible");
        assert!(matches!(&error, Error::PeerIncompatible(why) if why.contains(version)), "{error}");
        assert!(matches!(server.receive().await, Err(Error::Closed(_))), "no initialized, then the end");
    }
}

// covers: LIFE-ERR-VERSION-CODE
#[tokio::test(start_paused = true)]
async fn a_refusal_that_names_versions_names_both_sides() {
    let (mut server, transport) = Played::new();
    let client = tokio::spawn(Client::builder().revisions(&[Revision::V2025_06_18]).connect(transport));
    let hello = server.asked("initialize").await;
    let data = json!({ "supported": ["2024-11-05"], "requested": "2025-06-18" });
    let error = json!({ "code": -32602, "message": "Unsupported protocol version", "data": data });
    server.send(json!({ "jsonrpc": "2.0", "id": hello["id"], "error": error })).await.expect("sent");
    let error = client.await.expect("no panic").expect_err("incompatible").to_string();
    assert!(error.contains("2024-11-05") && error.contains("2025-06-18"), "{error}");
}

// covers: LIFE-ERR-REQ-TIMEOUT, LIFE-ERR-INIT-TIMEOUT-2024, CANC-NOT-INITIALIZE
#[tokio::test(start_paused = true)]
async fn a_silent_server_is_given_up_without_cancelling_the_handshake() {
    for revision in [Revision::V2024_11_05, Revision::V2025_06_18] {
        let (mut server, transport) = Played::new();
        let client = tokio::spawn(Client::builder().revisions(&[revision]).connect(transport));
        server.asked("initialize").await;
        let error = client.await.expect("no panic").expect_err("timed out");
        assert!(matches!(error, Error::Timeout(_)), "{error}");
        assert!(matches!(server.receive().await, Err(Error::Closed(_))));
        assert_eq!(server.methods(), ["initialize"]);
    }
}

// covers: CANC-NOT-INITIALIZE
#[tokio::test(start_paused = true)]
async fn a_dropped_handshake_is_not_cancelled_either() {
    let (mut server, transport) = Played::new();
    let connecting = Client::builder().revisions(&Revision::LEGACY).connect(transport);
    let dropped = tokio::time::timeout(Duration::from_millis(10), connecting).await;
    assert!(dropped.is_err());
    server.asked("initialize").await;
    assert!(matches!(server.receive().await, Err(Error::Closed(_))));
}

// covers: LIFE-ERR-CAPS-FAIL
#[tokio::test(start_paused = true)]
async fn a_server_without_what_is_required_is_refused() {
    for revision in ["2025-06-18", MODERN] {
        let (mut server, transport) = Played::new();
        server.revision = revision;
        let revisions = [Revision::parse(revision).expect("known")];
        let builder = Client::builder().revisions(&revisions).require(Method::ToolsCall);
        let client = tokio::spawn(builder.connect(transport));
        let hello = server.receive().await.expect("a handshake");
        let mut answer = handshake(revision, json!({ "prompts": {} }));
        if revision == MODERN {
            answer = discovery(json!({ "prompts": {} }));
        }
        server.answer(&hello, answer).await.expect("sent");
        let error = client.await.expect("no panic").expect_err("incompatible");
        assert!(matches!(error, Error::PeerIncompatible(_)), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_known_saves_the_probe() {
    let (client, _server) = full_pair(Client::builder(), "2025-03-26").await;
    let known = client.known_era();
    assert_eq!(known, KnownEra::new(Revision::V2025_03_26));
    let (mut server, transport) = Played::new();
    let again = tokio::spawn(Client::builder().known_era(known).connect(transport));
    let hello = server.receive().await.expect("no probe");
    assert_eq!(hello["method"], "initialize");
    again.abort();
    // A server that was modern and now answers like a legacy one is not stepped down to silently.
    let (mut server, transport) = Played::new();
    let known = KnownEra::new(Revision::V2026_07_28);
    let again = tokio::spawn(Client::builder().known_era(known).connect(transport));
    let probe = server.asked("server/discover").await;
    server.refuse(&probe, -32601).await;
    assert!(matches!(again.await.expect("no panic"), Err(Error::Remote(_))));
}

// covers: PING-EITHER-SIDE, PING-RESPOND, LIFE-OP-CAPS
#[tokio::test(start_paused = true)]
async fn a_ping_is_answered_even_before_the_handshake_is_done() {
    let (mut server, transport) = Played::new();
    server.revision = "2025-06-18";
    let client = tokio::spawn(Client::builder().revisions(&Revision::LEGACY).connect(transport));
    let hello = server.asked("initialize").await;
    let pong = server.ask("ping", Value::Null).await;
    assert_eq!(pong["result"], json!({}));
    let early = server.ask("roots/list", Value::Null).await;
    assert_eq!(early["error"]["code"], -32601);
    server.answer(&hello, handshake("2025-06-18", json!({}))).await.expect("sent");
    client.await.expect("no panic").expect("connected");
}

// covers: LIFE-SHUTDOWN-TRANSPORT
#[tokio::test(start_paused = true)]
async fn closing_says_nothing_and_the_server_sees_the_end() {
    for revision in ALL {
        let (client, mut server) = full_pair(Client::builder(), revision).await;
        let before = server.methods().len();
        client.close().await;
        assert!(client.is_closed());
        assert!(matches!(server.receive().await, Err(Error::Closed(_))));
        assert_eq!(server.methods().len(), before);
        assert!(matches!(client.ping().await, Err(Error::Closed(_))));
    }
    let (client, mut server) = full_pair(Client::builder(), MODERN).await;
    drop(client);
    assert!(matches!(server.receive().await, Err(Error::Closed(_))), "the last handle closes");
}

/// A server that takes its time is found out by whichever answer comes first.
#[tokio::test(start_paused = true)]
async fn a_late_discovery_is_a_discovery() {
    let server =
        contexture::Server::new("slow", "1").tool(contexture::tool("t").handler(|| async { "done" }));
    let (near, far) = contexture::transport::memory(1 << 20);
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(13)).await;
        server.serve(far).await
    });
    let log = contexture_judge::Events::on_this_thread();
    let client = Client::connect(near).await.expect("connected");
    assert_eq!(client.era(), Era::Modern);
    assert_eq!(log.containing("no answer to the probe so far").len(), 1, "and said so");
    assert_eq!(client.call("t", ()).await.expect("at work").text(), "done");
}
