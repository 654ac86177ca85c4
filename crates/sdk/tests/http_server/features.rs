//! What servers can do does not depend on HTTP: logs, layers, roots that change, pings, tools that run elsewhere.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use contexture::model::LoggingLevel;
use contexture::server::KeepAlive;
use contexture::server::layers::{Access, authorize};
use contexture::{Context, Server, resource, tool};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::inside::{Inside, piece};
use super::support::{EVERY, LEGACY, MODERN, Peer, Site, Tokens, notification, server, text_of};

fn levels(said: &[Value]) -> Vec<&str> {
    said.iter().filter_map(|message| message["params"]["level"].as_str()).collect()
}

#[tokio::test]
async fn logs_travel_with_the_call_that_makes_them() {
    let log = tool("log").handler(|ctx: Context| async move {
        ctx.log(LoggingLevel::Debug, "a");
        ctx.log(LoggingLevel::Error, "b");
        "logged"
    });
    let site = Site::of(Server::new("test", "1.0.0").tool(log)).await;
    for revision in EVERY {
        let (peer, other) = (Peer::of(&site, revision).await, Peer::of(&site, revision).await);
        let mut params = json!({ "name": "log", "arguments": {} });
        if revision == MODERN {
            assert!(peer.start("tools/call", params.clone()).await.is_json(), "nobody asked for logs");
            params["_meta"] = json!({ "io.modelcontextprotocol/logLevel": "debug" });
        } else {
            let answer = peer.call("logging/setLevel", json!({ "level": "debug" })).await;
            assert!(answer["result"].is_object());
            let said = other.start("tools/call", params.clone()).await.rest().await;
            assert_eq!(levels(&said), ["error"], "{revision}: another session has its own level");
        }
        let said = peer.start("tools/call", params).await.rest().await;
        assert_eq!(levels(&said), ["debug", "error"], "{revision}");
        assert_eq!(text_of(&said[2]), "logged");
    }
}

/// Only as long as `open` says so, and only to Ada.
fn closing(open: &Arc<AtomicBool>) -> Server {
    let open = Arc::clone(open);
    let (server, _) = server();
    server
        .resource(resource("test://a").name("a").text("x"))
        .resource(resource("test://b").name("b").text("x"))
        .layer(authorize(move |context, access| match access {
            Access::Resource("test://a") => {
                open.load(Ordering::Relaxed) && context.principal().subject() == "ada"
            }
            _ => true,
        }))
}

#[tokio::test]
async fn who_may_not_know_any_more_is_not_told() {
    for revision in EVERY {
        let open = Arc::new(AtomicBool::new(true));
        let site = Site::with(closing(&open), |http| http.authorizer(Tokens)).await;
        let peer = Peer::known(&site, revision, "ada").await;
        let uris = ["test://a", "test://b"];
        let mut stream = if revision == MODERN {
            let filter = json!({ "notifications": { "resourceSubscriptions": uris } });
            let mut stream = peer.start("subscriptions/listen", filter).await;
            stream.next().await;
            stream
        } else {
            for uri in uris {
                let answer = peer.call("resources/subscribe", json!({ "uri": uri })).await;
                assert!(answer["result"].is_object(), "{answer}");
            }
            let other = Peer::known(&site, revision, "bob").await;
            let answer = other.call("resources/subscribe", json!({ "uri": "test://a" })).await;
            assert!(answer.get("error").is_some(), "{answer}");
            peer.listen().await
        };
        site.registry.resource_updated("test://a");
        assert_eq!(stream.next().await["params"]["uri"], "test://a", "{revision}");
        open.store(false, Ordering::Relaxed);
        site.registry.resource_updated("test://a");
        site.registry.resource_updated("test://b");
        assert_eq!(stream.next().await["params"]["uri"], "test://b", "{revision}");
    }
}

#[tokio::test]
async fn roots_that_change_are_asked_for_again() {
    for revision in LEGACY {
        let (tell, mut told) = mpsc::unbounded_channel();
        let server = server().0.on_roots_changed(move |session| {
            let tell = tell.clone();
            async move { tell.send(session.roots().await.map_or(0, |roots| roots.len())).expect("is told") }
        });
        let site = Site::of(server).await;
        let peer = Peer::able(&site, revision, json!({ "roots": { "listChanged": true } })).await;
        let mut general = peer.listen().await;
        for count in 1..4 {
            assert_eq!(peer.tell(&notification("notifications/roots/list_changed")).await, 202);
            let question = general.next().await;
            assert_eq!(question["method"], "roots/list");
            let roots = vec![json!({ "uri": "file:///a" }); count];
            assert_eq!(peer.reply(&question, json!({ "roots": roots })).await, 202);
            assert_eq!(told.recv().await, Some(count));
        }
    }
}

// covers: PING-PERIODIC, PING-UNANSWERED-TERMINATE, PING-RESET
#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_answer_loses_its_session() {
    let every = KeepAlive { interval: Duration::from_secs(5), timeout: Duration::from_secs(2), failures: 2 };
    for revision in LEGACY {
        let inside = Inside::of(server().0.keep_alive(every), |http| http);
        let session = inside.session(revision).await;
        let mut body = inside.send(session.get()).await.into_body();
        let mut said = String::new();
        while let Some(piece) = piece(&mut body).await {
            said += &piece;
        }
        assert_eq!(said.matches("\"ping\"").count(), 2, "{revision}: {said}");
        assert_eq!(inside.http.sessions(), 0);
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Empty {}

#[tokio::test]
async fn tools_run_wherever_they_were_told_to() {
    let server = Server::new("test", "1.0.0")
        .tool(tool("spawned").spawned().handler(|ctx: Context| async move {
            ctx.progress(1.0, None);
            "spawned"
        }))
        .tool(tool("blocking").blocking(|_: Context, _: Empty| "blocking"));
    let site = Site::of(server).await;
    for revision in EVERY {
        let peer = Peer::of(&site, revision).await;
        let said = peer.begin("spawned", "t").await.rest().await;
        assert_eq!(text_of(&said[1]), "spawned", "{revision}");
        assert_eq!(peer.tool("blocking").await, "blocking");
    }
}

#[tokio::test]
async fn many_clients_at_once_are_all_served() {
    let (server, _calls) = server();
    let site = Arc::new(Site::of(server).await);
    let mut clients = Vec::new();
    for at in 0..60 {
        let site = Arc::clone(&site);
        clients.push(tokio::spawn(async move {
            let revision = EVERY[at % EVERY.len()];
            let peer = Peer::of(&site, revision).await;
            for round in 0..5 {
                assert_eq!(peer.tool("now").await, "now");
                assert_eq!(peer.begin("steps", &format!("{round}")).await.rest().await.len(), 4);
            }
            if revision != MODERN {
                assert_eq!(peer.delete().status().await, 204);
            }
        }));
    }
    for client in clients {
        client.await.expect("it was served");
    }
    assert_eq!(site.http.sessions(), 0);
}
