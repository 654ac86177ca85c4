//! Notifications, logs and subscriptions.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use contexture::client::{Event, Events};
use contexture::model::LoggingLevel;
use contexture::{Client, Error, Policy};
use serde_json::{Value, json};

use crate::support::{ALL, LEGACY, MODERN, Played, full_pair, pair};

/// All that a client says of itself before it is asked to.
const OPENING: [&str; 3] = ["server/discover", "initialize", "notifications/initialized"];

async fn next(events: &mut Events) -> Event {
    events.next().await.expect("an event")
}

// covers: LOG-CLIENT-USE, LOG-SEC-VALIDATE, LOG-SEC-MONITOR, LOG-SEC-ACCESS, LOG-LEVELS
// covers: BASE-NOTIF-NO-RESPONSE, SCHEMA-NOTIFICATION-PARAMS, SCHEMA-OPEN-OBJECTS
#[tokio::test(start_paused = true)]
async fn log_messages_of_any_kind_arrive_and_malformed_ones_do_not() {
    for revision in ALL {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&seen);
        let builder = Client::builder().on_log(move |server, message| {
            let line = format!("{} {:?} {}", server.display_name(), message.logger, message.level.as_str());
            log.lock().expect("no panic").push(line);
        });
        let (client, mut server) = full_pair(builder, revision).await;
        let (other, _other_server) = full_pair(Client::builder(), revision).await;
        let (mut events, mut others) = (client.events(), other.events());
        let bad = [
            json!({ "level": "warn", "data": 1 }),
            json!({ "level": "WARNING", "data": 1 }),
            json!({ "data": 1 }),
            json!({ "level": "info", "logger": 5, "data": 1 }),
        ];
        for params in bad {
            server.notify("notifications/message", params).await.expect("sent");
        }
        for data in [
            json!(null),
            json!("\u{1b}[1m\n"),
            json!([1, { "a": true }]),
            json!(1.5),
            json!({ "error": "x" }),
        ] {
            let params = json!({ "level": "error", "logger": "db", "data": data, "future": 1 });
            server.notify("notifications/message", params).await.expect("sent");
            let Event::Log(message) = next(&mut events).await else { panic!("a log message") };
            assert_eq!((message.level, message.data), (LoggingLevel::Error, data));
        }
        server.notify("notifications/unknown", json!({})).await.expect("sent");
        server
            .send_line(r#"{"jsonrpc":"2.0","method":"notifications/message","params":[]}"#)
            .await
            .expect("sent");
        server.hears_nothing().await;
        assert_eq!(seen.lock().expect("no panic").len(), 5);
        assert_eq!(seen.lock().expect("no panic")[0], r#"played Some("db") error"#);
        let silence = tokio::time::timeout(Duration::from_secs(1), others.next()).await;
        assert!(silence.is_err(), "one client's messages are not another's");
    }
}

// covers: LOG-RATE-LIMIT
#[tokio::test(start_paused = true)]
async fn a_flood_of_messages_is_cut_and_slow_receivers_learn_what_they_missed() {
    let mut policy = Policy::default();
    policy.notifications_per_second = 3_000;
    let (client, mut server) = full_pair(Client::builder().policy(policy), "2025-06-18").await;
    let mut events = client.events();
    for number in 0..5_000 {
        let params = json!({ "level": "info", "data": number });
        server.notify("notifications/message", params).await.expect("sent");
    }
    server.ask("ping", Value::Null).await;
    let Event::Missed(missed) = next(&mut events).await else { panic!("it was too slow") };
    let Event::Log(message) = next(&mut events).await else { panic!("the oldest that is left") };
    assert_eq!(message.data, json!(missed));
    assert!(client.dropped().notifications >= 1_900);
}

// covers: TOOLS-LIST-CHANGED-UNSOLICITED, RES-LIST-CHANGED-UNSOLICITED, PROMPT-LIST-CHANGED-UNSOLICITED
#[tokio::test(start_paused = true)]
async fn changes_arrive_as_events() {
    for revision in ALL {
        let (client, mut server) = full_pair(Client::builder(), revision).await;
        let mut events = client.events();
        for params in [Value::Null, json!({}), json!({ "_meta": { "x": 1 } })] {
            server.notify("notifications/tools/list_changed", params.clone()).await.expect("sent");
            assert!(matches!(next(&mut events).await, Event::ToolsChanged));
            server.notify("notifications/prompts/list_changed", params.clone()).await.expect("sent");
            assert!(matches!(next(&mut events).await, Event::PromptsChanged));
            server.notify("notifications/resources/list_changed", params).await.expect("sent");
            assert!(matches!(next(&mut events).await, Event::ResourcesChanged));
        }
        server.notify("notifications/resources/updated", json!({})).await.expect("ignored");
        server.notify("notifications/resources/updated", json!({ "uri": "a:b" })).await.expect("sent");
        assert!(matches!(next(&mut events).await, Event::ResourceUpdated(uri) if uri == "a:b"));
        let asked = server.methods().into_iter().filter(|method| !OPENING.contains(&method.as_str()));
        assert_eq!(asked.count(), 0, "{revision}: it never listed and never subscribed");
    }
    let (client, mut server) = full_pair(Client::builder(), "2025-11-25").await;
    let mut events = client.events();
    server.notify("notifications/elicitation/complete", json!({ "elicitationId": "e" })).await.expect("sent");
    assert!(matches!(next(&mut events).await, Event::ElicitationComplete(id) if id == "e"));
}

// covers: RES-UNSUBSCRIBE-FOLLOWS, SCHEMA-RESOURCE-URI-PARAM
#[tokio::test(start_paused = true)]
async fn legacy_subscriptions_are_requests() {
    for revision in LEGACY {
        let (client, mut server) = full_pair(Client::builder(), revision).await;
        let serve = async {
            for method in ["resources/subscribe", "resources/unsubscribe"] {
                let asked = server.asked(method).await;
                assert_eq!(asked["params"], json!({ "uri": "a:b" }));
                server.complete(&asked, json!({})).await;
            }
        };
        let calls = async {
            client.subscribe("a:b").await.expect("subscribed");
            assert!(matches!(client.unsubscribe("c:d").await, Err(Error::Misuse(_))), "never subscribed");
            client.unsubscribe("a:b").await.expect("unsubscribed");
            assert!(matches!(client.unsubscribe("a:b").await, Err(Error::Misuse(_))));
        };
        tokio::join!(serve, calls);
    }
}

async fn acknowledge(server: &mut Played, listen: &Value) {
    let meta = json!({ "io.modelcontextprotocol/subscriptionId": listen["id"] });
    let params = json!({ "notifications": listen["params"]["notifications"], "_meta": meta });
    server.notify("notifications/subscriptions/acknowledged", params).await.expect("sent");
}

#[tokio::test(start_paused = true)]
async fn a_modern_subscription_is_one_open_request() {
    let (client, mut server) = full_pair(Client::builder(), MODERN).await;
    let mut events = client.events();
    let serve = async {
        let first = server.asked("subscriptions/listen").await;
        assert_eq!(first["params"]["notifications"], json!({ "resourceSubscriptions": ["a:b"] }));
        acknowledge(&mut server, &first).await;
        let second = server.asked("subscriptions/listen").await;
        assert_eq!(second["params"]["notifications"], json!({ "resourceSubscriptions": ["a:b", "c:d"] }));
        acknowledge(&mut server, &second).await;
        let withdrawn = server.asked("notifications/cancelled").await;
        assert_eq!(withdrawn["params"]["requestId"], first["id"], "only after the new one is acknowledged");
        let third = server.asked("subscriptions/listen").await;
        assert_eq!(third["params"]["notifications"]["toolsListChanged"], true);
        acknowledge(&mut server, &third).await;
        server.asked("notifications/cancelled").await;
        (second, third)
    };
    let calls = async {
        client.subscribe("a:b").await.expect("subscribed");
        client.subscribe("c:d").await.expect("subscribed");
        client.watch_lists().await.expect("watching");
    };
    let ((second, third), ()) = tokio::join!(serve, calls);
    for (stream, uri) in [(&second, "stale:1"), (&json!({ "id": 999 }), "foreign:1"), (&third, "a:b")] {
        let meta = json!({ "io.modelcontextprotocol/subscriptionId": stream["id"] });
        let params = json!({ "uri": uri, "_meta": meta });
        server.notify("notifications/resources/updated", params).await.expect("sent");
    }
    assert!(matches!(next(&mut events).await, Event::ResourceUpdated(uri) if uri == "a:b"));
    tokio::time::sleep(Duration::from_secs(24 * 60 * 60)).await;
    assert_eq!(client.waiting(), 1, "it stays open");
    let end = json!({ "requestId": third["id"] });
    server.notify("notifications/cancelled", end).await.expect("sent");
    assert!(matches!(next(&mut events).await, Event::SubscriptionEnded));
    assert_eq!(client.waiting(), 0);
    let serve = async {
        let fourth = server.asked("subscriptions/listen").await;
        acknowledge(&mut server, &fourth).await;
        fourth
    };
    let (fourth, again) = tokio::join!(serve, client.unsubscribe("c:d"));
    again.expect("listens again");
    server.complete(&fourth, json!({})).await;
    assert!(matches!(next(&mut events).await, Event::SubscriptionEnded));
}

#[tokio::test(start_paused = true)]
async fn a_subscription_that_is_not_honoured_fails() {
    let mut policy = Policy::default();
    policy.patience.idle = Duration::from_secs(5);
    let (client, mut server) = full_pair(Client::builder().policy(policy), MODERN).await;
    let serve = async {
        let mut listen = server.asked("subscriptions/listen").await;
        listen["params"]["notifications"] = json!({});
        acknowledge(&mut server, &listen).await;
        server.asked("notifications/cancelled").await;
        let listen = server.asked("subscriptions/listen").await;
        server.refuse(&listen, -32602).await;
        server.asked("subscriptions/listen").await;
        server.asked("notifications/cancelled").await;
    };
    let calls = async {
        assert!(matches!(client.subscribe("a:b").await, Err(Error::PeerIncompatible(_))));
        assert!(matches!(client.subscribe("a:b").await, Err(Error::Remote(_))));
        assert!(matches!(client.subscribe("a:b").await, Err(Error::Timeout(_))));
    };
    tokio::join!(serve, calls);
    let (client, mut server) = pair(Client::builder(), MODERN, json!({ "resources": {} })).await;
    assert!(matches!(client.subscribe("a:b").await, Err(Error::PeerIncompatible(_))));
    client.watch_lists().await.expect("nothing to watch");
    server.hears_nothing().await;
}

async fn acknowledge_only(server: &mut Played, uris: Value) -> Value {
    let listen = server.asked("subscriptions/listen").await;
    let mut granted = listen.clone();
    granted["params"]["notifications"]["resourceSubscriptions"] = uris;
    acknowledge(server, &granted).await;
    listen
}

#[tokio::test(start_paused = true)]
async fn a_resource_that_vanished_does_not_stand_in_the_way_of_others() {
    let (client, mut server) = full_pair(Client::builder(), MODERN).await;
    let mut events = client.events();
    let serve = async {
        for uris in [json!(["m:a"]), json!(["m:a", "m:b"])] {
            acknowledge_only(&mut server, uris).await;
        }
        // From here on the server has no m:a any more.
        let third = acknowledge_only(&mut server, json!(["m:b", "m:c"])).await;
        let refused = acknowledge_only(&mut server, json!(["m:b", "m:c"])).await;
        let last = acknowledge_only(&mut server, json!(["m:c"])).await;
        [third, refused, last]
            .map(|listen| listen["params"]["notifications"]["resourceSubscriptions"].clone())
    };
    let calls = async {
        for uri in ["m:a", "m:b", "m:c"] {
            client.subscribe(uri).await.expect("subscribed");
        }
        assert!(matches!(client.subscribe("m:d").await, Err(Error::PeerIncompatible(_))));
        client.unsubscribe("m:b").await.expect("unsubscribed");
        assert!(matches!(client.unsubscribe("m:a").await, Err(Error::Misuse(_))), "it is lost already");
    };
    let (wanted, ()) = tokio::join!(serve, calls);
    assert_eq!(wanted, [json!(["m:a", "m:b", "m:c"]), json!(["m:b", "m:c", "m:d"]), json!(["m:c"])]);
    assert!(matches!(next(&mut events).await, Event::SubscriptionLost(uri) if uri == "m:a"));
    assert_eq!(client.waiting(), 1, "one stream");
}

#[tokio::test(start_paused = true)]
async fn a_subscription_that_could_not_be_ended_goes_on() {
    for revision in ["2025-06-18", MODERN] {
        let (client, mut server) = full_pair(Client::builder(), revision).await;
        let serve = async {
            if revision == MODERN {
                acknowledge_only(&mut server, json!(["m:a"])).await;
                acknowledge_only(&mut server, json!(["m:a", "m:b"])).await;
                let listen = server.asked("subscriptions/listen").await;
                server.refuse(&listen, -32603).await;
                acknowledge_only(&mut server, json!(["m:a"])).await;
                return;
            }
            for _ in 0..2 {
                let subscribe = server.asked("resources/subscribe").await;
                server.complete(&subscribe, json!({})).await;
            }
            let unsubscribe = server.asked("resources/unsubscribe").await;
            server.refuse(&unsubscribe, -32603).await;
            let unsubscribe = server.asked("resources/unsubscribe").await;
            server.complete(&unsubscribe, json!({})).await;
        };
        let calls = async {
            client.subscribe("m:a").await.expect("subscribed");
            client.subscribe("m:b").await.expect("subscribed");
            assert!(matches!(client.unsubscribe("m:b").await, Err(Error::Remote(_))));
            client.unsubscribe("m:b").await.expect("there is still one to end");
        };
        tokio::join!(serve, calls);
    }
}
