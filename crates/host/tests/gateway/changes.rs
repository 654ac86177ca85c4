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
        let slow = super::support::Site::of(super::rich::server(Era::Legacy)).await;
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
        assert!(tools.iter().any(|tool| tool.name == "slow__echo"), "{tools:?}");
        gate.host.stop().await;
    }
}
