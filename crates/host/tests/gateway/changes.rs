//! Lists and resources that change.

use contexture::client::Event;
use contexture::revision::Era;

use super::support::{Gate, PATIENCE, able, at, config, pairings};

async fn next(events: &mut contexture::client::Events, what: &str, wanted: impl Fn(&Event) -> bool) {
    let seen = async {
        while let Some(event) = events.next().await {
            if wanted(&event) {
                return;
            }
        }
        panic!("the connection is over");
    };
    assert!(tokio::time::timeout(PATIENCE, seen).await.is_ok(), "never: {what}");
}

#[tokio::test]
async fn a_changed_list_is_told_and_shows_the_change() {
    pairings(|pairing| async move {
        let gate = Gate::of(pairing).await;
        let client = gate.connect(able().watch_lists(), pairing.client, pairing.front).await;
        let before = client.tools().await.expect("tools").len();
        let mut events = client.events();
        client.call("up__grow", ()).await.expect("an answer");
        next(&mut events, &format!("changed tools in {pairing:?}"), |event| {
            matches!(event, Event::ToolsChanged)
        })
        .await;
        let after = client.tools().await.expect("tools");
        assert_eq!(after.len(), before + 1, "{pairing:?}");
        assert!(after.iter().any(|tool| tool.name == "up__extra"));
        gate.host.stop().await;
    })
    .await;
}

#[tokio::test]
async fn a_watched_resource_is_told_of() {
    pairings(|pairing| async move {
        let gate = Gate::of(pairing).await;
        let client = gate.client(pairing.client, pairing.front).await;
        let mut events = client.events();
        client.subscribe("up+test://doc").await.unwrap_or_else(|error| panic!("{pairing:?}: {error}"));
        client.call("up__touch", ()).await.expect("an answer");
        let doc = |event: &Event| matches!(event, Event::ResourceUpdated(uri) if uri == "up+test://doc");
        next(&mut events, &format!("a changed resource in {pairing:?}"), doc).await;
        client.unsubscribe("up+test://doc").await.expect("an end");
        assert!(client.subscribe("up+test://nothing/at/all").await.is_err() || pairing.client == Era::Modern);
        gate.host.stop().await;
    })
    .await;
}

#[tokio::test]
async fn a_server_that_is_slow_is_listed_when_it_comes() {
    for era in super::support::ERAS {
        let quick = super::support::Site::of(super::rich::server(Era::Modern)).await;
        // A server that takes its time until it may go on.
        let (go, gone) = tokio::sync::watch::channel(false);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let slow = super::rich::server(Era::Legacy);
        let slow = super::support::Site::with(slow, |http| http.host(&address.to_string())).await;
        let target = slow.url.trim_start_matches("http://").split('/').next().expect("an address").to_owned();
        tokio::spawn(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                let (mut gone, target) = (gone.clone(), target.clone());
                tokio::spawn(async move {
                    gone.wait_for(|go| *go).await.ok();
                    let mut far = tokio::net::TcpStream::connect(target).await.expect("the server");
                    tokio::io::copy_bidirectional(&mut near, &mut far).await.ok();
                });
            }
        });
        let mut config = config(vec![at("quick", &quick.url), at("slow", &format!("http://{address}/mcp"))]);
        config.limits.list_grace = std::time::Duration::from_millis(200);
        let gate = Gate::start(config).await;
        let client = gate.connect(able().watch_lists(), era, super::support::Wire::Http).await;
        let tools = client.tools().await.expect("tools");
        assert!(tools.iter().all(|tool| tool.name.starts_with("quick__")), "{tools:?}");
        let mut events = client.events();
        go.send(true).expect("somebody waits");
        next(&mut events, "the slow server", |event| matches!(event, Event::ToolsChanged)).await;
        let tools = client.tools().await.expect("tools");
        let names: Vec<_> = tools.iter().map(|tool| &tool.name).collect();
        assert!(names.iter().any(|name| *name == "slow__echo"), "{era:?} {names:?} {:?}", gate.host.health());
        gate.host.stop().await;
    }
}

/// Whoever was allowed to watch something may not be allowed to know of it any more.
#[tokio::test]
async fn what_is_denied_by_now_is_not_told_of() {
    for server in super::support::ERAS {
        let child = || super::support::child("up", server);
        let gate = Gate::start(config(vec![child()])).await;
        let client = gate.client(Era::Legacy, super::support::Wire::Pipe).await;
        let mut events = client.events();
        client.subscribe("up+test://doc").await.expect("watched");
        let mut denying = config(vec![child()]);
        denying.policy = serde_json::from_value(serde_json::json!({
            "default": "allow", "rules": [{ "resource": "test://doc", "decision": "deny" }]
        }))
        .expect("a policy");
        gate.host.reload(denying).await.expect("good");
        for _ in 0..5 {
            client.call("up__touch", ()).await.expect("an answer");
        }
        // One more exchange, behind all that was told.
        client.call("up__echo", serde_json::json!({ "text": "x" })).await.expect("an answer");
        while let Ok(Some(event)) = tokio::time::timeout(std::time::Duration::ZERO, events.next()).await {
            assert!(!matches!(event, Event::ResourceUpdated(_)), "{server:?}");
        }
        gate.host.reload(config(vec![child()])).await.expect("good");
        client.call("up__touch", ()).await.expect("an answer");
        next(&mut events, "a change", |event| matches!(event, Event::ResourceUpdated(_))).await;
        gate.host.stop().await;
    }
}
