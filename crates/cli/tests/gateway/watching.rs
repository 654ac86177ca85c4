//! Many who watch the same: one subscription, as many as may be, and again when their server is (J10, J16).

use contexture::client::{ElicitAnswer, Elicitation, Event, Events};
use contexture::{Client, Error};
use serde_json::{Value, json};

use crate::stage::{ERAS, Folder, Gateway, allowing, call, text, until, within};
use crate::upstream::Upstream;

const ONE: &str = "one+test://one";

async fn scene(role: &str, limits: Value) -> (Gateway, Upstream) {
    let folder = Folder::new();
    let one = Upstream::new(&folder, "one", role);
    let mut config = allowing(json!({ "one": one.entry }));
    config["limits"] = limits;
    (Gateway::with(folder, config, &[], &[]).await, one)
}

/// How often the server was told this.
fn told(one: &Upstream, method: &str) -> usize {
    one.heard().iter().filter(|it| it["method"] == method).count()
}

async fn updated(events: &mut Events) {
    within("it is told", async {
        while !matches!(events.next().await, Some(Event::ResourceUpdated(uri)) if uri == ONE) {}
    })
    .await;
}

#[tokio::test]
async fn j10_many_who_watch_are_one_subscription() {
    let (gateway, one) = scene("legacy", json!({})).await;
    let clients = [
        gateway.client(ERAS[0]).await,
        gateway.client(ERAS[0]).await,
        gateway.client(ERAS[1]).await,
        gateway.client(ERAS[1]).await,
    ];
    let mut events = clients.each_ref().map(Client::events);
    // All at once, and some of them twice.
    let [a, b, c, d] = &clients;
    let watched = tokio::join!(
        a.subscribe(ONE),
        b.subscribe(ONE),
        c.subscribe(ONE),
        d.subscribe(ONE),
        a.subscribe(ONE),
        b.subscribe(ONE),
    );
    for watched in [watched.0, watched.1, watched.2, watched.3, watched.4, watched.5] {
        watched.expect("J10: watched");
    }
    assert_eq!(told(&one, "resources/subscribe"), 1, "J10");
    text(a, "one__touch", json!({})).await;
    for events in &mut events {
        updated(events).await;
    }
    // The last one to leave tells the server, once.
    for client in &clients {
        within("J10", client.unsubscribe(ONE)).await.expect("J10: let go");
    }
    until("J10: the server is told", || told(&one, "resources/unsubscribe") > 0).await;
    within("J10", a.subscribe(ONE)).await.expect("J10: watched again");
    assert_eq!((told(&one, "resources/subscribe"), told(&one, "resources/unsubscribe")), (2, 1), "J10");
}

#[tokio::test]
async fn j16_one_caller_watches_so_much() {
    for revision in ERAS {
        let (gateway, one) = scene("legacy", json!({ "watchedResources": 6 })).await;
        let (first, second) = (gateway.client(revision).await, gateway.client(revision).await);
        for uri in ["one+test://1", "one+test://2"] {
            within("J16", first.subscribe(uri)).await.expect("J16: there is room");
        }
        within("J16", second.subscribe("one+test://3")).await.expect("J16: there is room");
        let refused = within("J16", second.subscribe("one+test://4")).await.expect_err("J16: half of it");
        if let Error::Http(refusal) = &refused {
            let error = refusal.error.as_ref().expect("in words");
            assert!(error.message.contains("too many resources"), "J16 {revision}: {error}");
        }
        assert_eq!(told(&one, "resources/subscribe"), 3, "J16 {revision}");
    }
}

#[tokio::test]
async fn j16_whoever_watches_is_admitted_as_whoever_calls() {
    let (gateway, one) = scene("legacy", json!({ "callsPerSecond": 3 })).await;
    let client = gateway.client(ERAS[0]).await;
    let mut refused = 0;
    for number in 0..60 {
        let watched = within("J16", client.subscribe(format!("one+test://{number}"))).await;
        refused += usize::from(watched.is_err());
    }
    assert!(refused > 0, "J16: nobody was limited");
    assert_eq!(told(&one, "resources/subscribe"), 60 - refused, "J16");
}

/// Each has a process of their own, all die, and each is watched again once.
#[tokio::test]
async fn j15_what_was_lost_is_watched_again_and_once() {
    let (gateway, one) = scene("legacy", json!({})).await;
    let mut clients = Vec::new();
    for _ in 0..3 {
        // Whoever can be asked shares with nobody.
        let elicitation = Elicitation::new(|_| async { ElicitAnswer::Decline });
        let builder = Client::builder().revisions(&[ERAS[0]]).elicitation(elicitation);
        let client = gateway.connect(builder).await;
        within("J15", client.subscribe(ONE)).await.expect("J15: watched");
        clients.push((client.events(), client));
    }
    assert_eq!(told(&one, "resources/subscribe"), 3, "J15");
    for (_, client) in &clients {
        assert!(call(client, "one__exit", json!({ "how": "1" })).await.is_err(), "J15: it dies");
    }
    for (events, _) in &mut clients {
        // It may have changed meanwhile.
        updated(events).await;
    }
    until("J15: all are watched again", || told(&one, "resources/subscribe") == 6).await;
    for (events, client) in &mut clients {
        text(client, "one__touch", json!({})).await;
        updated(events).await;
    }
    assert_eq!(told(&one, "resources/subscribe"), 6, "J15: once each");
}
