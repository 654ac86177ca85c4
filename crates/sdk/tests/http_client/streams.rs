//! Streams that break, and what comes on them.

use std::time::Duration;

use contexture::client::Event;
use contexture::{Client, Error, Policy};
use serde_json::{Value, json};

use crate::support::{Fixture, MODERN, SESSION, Sse, handshake, pair, said};

fn progress(id: &Value, progress: u32) -> Value {
    json!({
        "jsonrpc": "2.0",
        "method": "notifications/progress",
        "params": { "progressToken": id, "progress": progress },
    })
}

/// Few attempts, so that giving up does not take long.
fn hasty() -> Policy {
    let mut policy = Policy::default();
    policy.stream_attempts = 2;
    policy
}

// covers: HTTP-RESUME-GET, HTTP-GET-ACCEPT, HTTP-SESSION-ECHO, HTTP-VERSION-HEADER
#[tokio::test]
async fn a_broken_stream_is_resumed_where_it_stopped() {
    for graceful in [true, false] {
        let (client, mut fixture) = pair(Client::builder(), "2025-11-25").await;
        let (heard, mut seen_progress) = tokio::sync::mpsc::unbounded_channel();
        let call = client.call("t", ()).on_progress(move |it| heard.send(it.progress).expect("heard"));
        let (reply, ()) = tokio::join!(call.into_future(), async {
            let seen = fixture.post("tools/call").await;
            let (id, answer) = (seen.request.body["id"].clone(), seen.response_with(said("done")));
            let mut stream = seen.stream().await;
            stream.raw("id: e-0\nretry: 100\ndata:\n\n").await;
            stream.event(Some("e-1"), &progress(&id, 1)).await;
            if graceful {
                stream.end().await
            } else {
                stream.0.cut()
            }
            let again = fixture.verb("GET").await;
            assert_eq!(again.request.header("last-event-id"), Some("e-1"));
            assert_eq!(again.request.header("accept"), Some("text/event-stream"));
            assert_eq!(again.request.header("mcp-session-id"), Some(SESSION));
            assert_eq!(again.request.header("mcp-protocol-version"), Some("2025-11-25"));
            let mut stream = again.stream().await;
            stream.event(Some("e-2"), &progress(&id, 2)).await;
            // Half an event is none.
            stream.raw("id: e-3\ndata: {\"jso").await;
            stream.0.cut();
            let again = fixture.verb("GET").await;
            assert_eq!(again.request.header("last-event-id"), Some("e-2"));
            let mut stream = again.stream().await;
            stream.event(Some("e-3"), &progress(&id, 3)).await;
            stream.event(Some("e-4"), &answer).await;
            stream.end().await;
        });
        assert_eq!(reply.expect("a reply").text(), "done");
        let mut all = Vec::new();
        while let Ok(progress) = seen_progress.try_recv() {
            all.push(progress);
        }
        assert_eq!(all, [1.0, 2.0, 3.0], "each once, in order");
        assert_eq!(fixture.methods().iter().filter(|method| *method == "tools/call").count(), 1);
    }
}

/// Row C06 of the security bar.
#[tokio::test]
async fn a_stream_that_brings_nothing_is_given_up() {
    let (client, mut fixture) = pair(Client::builder().policy(hasty()), "2025-11-25").await;
    let (reply, ()) = tokio::join!(client.call("t", ()).into_future(), async {
        let mut stream = fixture.post("tools/call").await.stream().await;
        stream.raw("id: e\nretry: 1\ndata:\n\n").await;
        stream.end().await;
        // What is known already is nothing new.
        let mut stream = fixture.verb("GET").await.stream().await;
        stream.raw("id: e\ndata:\n\n").await;
        stream.end().await;
        fixture.verb("GET").await.refuse(503, "").await;
    });
    assert!(matches!(reply, Err(Error::Interrupted(_))), "{reply:?}");
    assert_eq!(fixture.count("GET"), 3, "one of them before the call");
    // A server that does not go on says so at once.
    for status in [400, 404, 405] {
        let (reply, ()) = tokio::join!(client.call("t", ()).into_future(), async {
            let mut stream = fixture.post("tools/call").await.stream().await;
            stream.raw("id: e\nretry: 1\ndata:\n\n").await;
            stream.end().await;
            fixture.verb("GET").await.refuse(status, "").await;
        });
        assert!(matches!(reply, Err(Error::Interrupted(_))), "{reply:?}");
    }
}

/// Row C02: nothing to go on from. Whether the tool ran is not known, so it is not run again.
#[tokio::test]
async fn a_stream_without_ids_or_of_the_modern_era_is_not_resumed() {
    for (revision, id) in [("2025-11-25", None), (MODERN, None), (MODERN, Some("e"))] {
        for graceful in [true, false] {
            let (client, mut fixture) = pair(Client::builder(), revision).await;
            let gets = fixture.count("GET");
            let (reply, ()) = tokio::join!(client.call("t", ()).into_future(), async {
                let seen = fixture.post("tools/call").await;
                let told = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
                let mut stream = seen.stream().await;
                stream.event(id, &told).await;
                if graceful { stream.end().await } else { stream.0.cut() }
            });
            assert!(matches!(reply, Err(Error::Interrupted(_))), "{reply:?}");
            assert_eq!(fixture.count("GET"), gets);
            assert_eq!(fixture.methods().iter().filter(|method| *method == "tools/call").count(), 1);
        }
    }
}

/// Row C05, as far as a stream can tell.
#[tokio::test]
async fn a_stream_is_read_as_browsers_read_it() {
    let (client, mut fixture) = pair(Client::builder(), "2025-06-18").await;
    let (reply, ()) = tokio::join!(client.call("t", ()).into_future(), async {
        let seen = fixture.post("tools/call").await;
        let answer = seen.response_with(said("two lines")).to_string();
        let (first, second) = answer.split_once(',').expect("a comma");
        let mut stream = seen.stream().await;
        stream.raw("\u{feff}retry: x\r\nid: a\0b\r").await;
        stream.raw(&format!("\ndata: {first},\rdata:{second}\r")).await;
        stream.raw("\r\n\n").await;
        stream.end().await;
    });
    assert_eq!(reply.expect("a reply").text(), "two lines");
}

/// Row C19: a server of the modern era asks nothing. Row C21: what nobody subscribed to is dropped.
#[tokio::test]
async fn what_does_not_belong_on_a_stream_is_dropped() {
    let (client, mut fixture) = pair(Client::builder(), MODERN).await;
    let other = client.call("other", ()).start();
    let held = fixture.post("tools/call").await;
    let foreign = held.response_with(said("stolen"));
    let (reply, ()) = tokio::join!(client.call("t", ()).into_future(), async {
        let seen = fixture.post("tools/call").await;
        let answer = seen.response_with(said("mine"));
        let mut stream = seen.stream().await;
        stream.event(None, &json!({ "jsonrpc": "2.0", "id": 1, "method": "roots/list" })).await;
        let meta = json!({ "io.modelcontextprotocol/subscriptionId": 99 });
        let changed = json!({ "_meta": meta });
        let told =
            json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": changed });
        stream.event(None, &told).await;
        stream.event(None, &foreign).await;
        stream.raw("data: not JSON\n\n").await;
        stream.event(None, &answer).await;
        stream.end().await;
    });
    assert_eq!(reply.expect("a reply").text(), "mine");
    held.result(said("theirs")).await;
    assert_eq!(other.await.expect("a reply").text(), "theirs");
    let dropped = client.dropped();
    assert_eq!((dropped.requests, dropped.notifications, dropped.garbage), (1, 1, 1));
    assert!(fixture.requests().iter().all(|request| request.body["method"].is_string()), "not answered");
}

/// The stream that the server speaks on unasked.
pub(crate) async fn listening(fixture: &mut Fixture, builder: contexture::client::Builder) -> (Client, Sse) {
    let connecting = builder.revisions(&contexture::revision::Revision::LEGACY).connect(fixture.url());
    let (client, stream) = tokio::join!(connecting, async {
        fixture.post("initialize").await.opens(SESSION, handshake("2025-06-18")).await;
        fixture.post("notifications/initialized").await.accept().await;
        fixture.verb("GET").await.stream().await
    });
    (client.expect("connected"), stream)
}

fn tools_changed() -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" })
}

// covers: HTTP-GET-STREAM, HTTP-MULTI-STREAMS, HTTP-GET-CLIENT-CLOSE, HTTP-POST-METHOD
#[tokio::test]
async fn the_server_speaks_on_a_stream_of_its_own() {
    let mut fixture = Fixture::start().await;
    let (client, mut stream) = listening(&mut fixture, Client::builder()).await;
    let mut events = client.events();
    stream.event(Some("g-1"), &tools_changed()).await;
    assert!(matches!(events.next().await, Some(Event::ToolsChanged)));
    // Questions are answered by POST, whatever else is under way.
    let calls = [client.call("a", ()).start(), client.call("b", ()).start()];
    let (one, two) = (fixture.post("tools/call").await, fixture.post("tools/call").await);
    // An answer has no business on this stream.
    stream.event(Some("g-2"), &one.response_with(said("y"))).await;
    stream.event(Some("g-3"), &json!({ "jsonrpc": "2.0", "id": "q", "method": "ping" })).await;
    let answer = fixture.response().await;
    assert_eq!(answer.request.body, json!({ "jsonrpc": "2.0", "id": "q", "result": {} }));
    answer.accept().await;
    let (first, second) = (one.response_with(said("x")), two.response_with(said("x")));
    let (mut one, mut two) = (one.stream().await, two.stream().await);
    two.event(None, &second).await;
    one.event(None, &first).await;
    for call in calls {
        assert_eq!(call.await.expect("a reply").text(), "x");
    }
    // It is opened again where it stopped.
    stream.raw("retry: 100\n\n").await;
    stream.end().await;
    let again = fixture.verb("GET").await;
    assert_eq!(again.request.header("last-event-id"), Some("g-3"));
    let mut stream = again.stream().await;
    stream.event(Some("g-4"), &tools_changed()).await;
    let changed = async { while !matches!(events.next().await, Some(Event::ToolsChanged)) {} };
    tokio::time::timeout(Duration::from_secs(20), changed).await.expect("told");
    let ((), ()) = tokio::join!(client.close(), async {
        fixture.verb("DELETE").await.refuse(200, "").await;
    });
    stream.0.gone().await;
}

/// Lets the clock of the client go on, and nothing else.
async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

/// Longer than a connection must stand to count as one.
const LASTING: Duration = Duration::from_millis(1500);
/// Longer than anybody waits between two attempts.
const LONGEST_WAIT: Duration = Duration::from_secs(31);

async fn hear_of_tools(stream: &mut Sse, events: &mut contexture::client::Events) {
    stream.event(None, &tools_changed()).await;
    let changed = async { while !matches!(events.next().await, Some(Event::ToolsChanged)) {} };
    tokio::time::timeout(Duration::from_secs(20), changed).await.expect("told");
}

/// Row C06: what always ends at once is asked for ever more rarely, and calls go on; it is never given up.
#[tokio::test]
async fn a_stream_of_its_own_that_brings_nothing_is_asked_for_rarely() {
    let mut fixture = Fixture::start().await;
    let (client, mut stream) = listening(&mut fixture, Client::builder().policy(hasty())).await;
    let mut events = client.events();
    stream.raw("retry: 1\n\n").await;
    stream.end().await;
    fixture.verb("GET").await.cut();
    fixture.verb("GET").await.stream().await.end().await;
    let (reply, ()) = tokio::join!(client.call("t", ()).into_future(), async {
        fixture.post("tools/call").await.result(said("fine")).await;
    });
    assert_eq!(reply.expect("a reply").text(), "fine");
    fixture.settle().await;
    assert_eq!(fixture.count("GET"), 3);
    for turn in 4..=6 {
        // Whether the client has begun to wait already cannot be seen from here.
        for _ in 0..50 {
            if fixture.count("GET") < turn {
                pass(LONGEST_WAIT).await;
                fixture.settle().await;
            }
        }
        let seen = fixture.verb("GET").await;
        if turn < 6 {
            seen.refuse(503, "").await;
        } else {
            hear_of_tools(&mut seen.stream().await, &mut events).await;
        }
    }
}

/// What closes quiet streams now and then, as proxies do, costs nothing.
#[tokio::test]
async fn a_stream_of_its_own_that_lasted_is_opened_again_for_ever() {
    let mut fixture = Fixture::start().await;
    let (client, mut stream) = listening(&mut fixture, Client::builder().policy(hasty())).await;
    let mut events = client.events();
    stream.raw("retry: 1\n\n").await;
    for graceful in [true, false, true, false, true] {
        fixture.settle().await;
        pass(LASTING).await;
        if graceful {
            stream.end().await
        } else {
            stream.0.cut()
        }
        stream = fixture.verb("GET").await.stream().await;
    }
    hear_of_tools(&mut stream, &mut events).await;
}

/// Neither a first failure nor a place that is no longer known is the end of listening.
#[tokio::test]
async fn a_stream_of_its_own_begins_late_or_anew() {
    let mut fixture = Fixture::start().await;
    let legacy = contexture::revision::Revision::LEGACY;
    let connecting = Client::builder().revisions(&legacy).connect(fixture.url());
    let (client, mut stream) = tokio::join!(connecting, async {
        fixture.post("initialize").await.opens(SESSION, handshake("2025-06-18")).await;
        fixture.post("notifications/initialized").await.accept().await;
        fixture.verb("GET").await.refuse(503, "").await;
        fixture.verb("GET").await.cut();
        fixture.verb("GET").await.stream().await
    });
    let client = client.expect("connected");
    let mut events = client.events();
    stream.raw("id: g-1\nretry: 1\ndata:\n\n").await;
    stream.end().await;
    let again = fixture.verb("GET").await;
    assert_eq!(again.request.header("last-event-id"), Some("g-1"));
    again.refuse(400, "never given").await;
    let afresh = fixture.verb("GET").await;
    assert_eq!(afresh.request.header("last-event-id"), None);
    assert_eq!(afresh.request.header("mcp-session-id"), Some(SESSION));
    hear_of_tools(&mut afresh.stream().await, &mut events).await;
}

/// A long call behind something that cuts quiet streams: every connection does its part.
#[tokio::test]
async fn a_call_outlives_many_connections_that_lasted() {
    let (client, mut fixture) = pair(Client::builder().policy(hasty()), "2025-11-25").await;
    let (reply, ()) = tokio::join!(client.call("t", ()).into_future(), async {
        let seen = fixture.post("tools/call").await;
        let answer = seen.response_with(said("at last"));
        let mut stream = seen.stream().await;
        stream.raw("id: e\nretry: 1\ndata:\n\n").await;
        for _ in 0..5 {
            fixture.settle().await;
            pass(LASTING).await;
            stream.end().await;
            let again = fixture.verb("GET").await;
            assert_eq!(again.request.header("last-event-id"), Some("e"));
            stream = again.stream().await;
            stream.raw("id: e\ndata:\n\n").await;
        }
        stream.event(Some("f"), &answer).await;
        stream.end().await;
    });
    assert_eq!(reply.expect("a reply").text(), "at last");
    // Its own patience ends it all the same.
    let call = client.call("t", ()).max_time(Duration::from_secs(5));
    let (reply, ()) = tokio::join!(call.into_future(), async {
        let mut stream = fixture.post("tools/call").await.stream().await;
        stream.raw("id: e\nretry: 1\ndata:\n\n").await;
        for _ in 0..2 {
            fixture.settle().await;
            pass(LASTING).await;
            stream.end().await;
            stream = fixture.verb("GET").await.stream().await;
        }
        fixture.settle().await;
        pass(Duration::from_secs(5)).await;
        stream.0.gone().await;
    });
    assert!(matches!(reply, Err(Error::Timeout(_))), "{reply:?}");
}

/// A server that takes what nobody waits for, and never says so, holds nothing for ever.
#[tokio::test]
async fn what_nobody_waits_for_has_its_time() {
    let mut policy = Policy::default();
    policy.patience.idle = Duration::from_millis(300);
    let mut fixture = Fixture::start().await;
    let date = contexture::revision::Revision::parse("2025-06-18").expect("a revision");
    let connecting = Client::builder().policy(policy).revisions(&[date]).connect(fixture.url());
    let (client, mut initialized) = tokio::join!(connecting, async {
        fixture.post("initialize").await.opens(SESSION, handshake("2025-06-18")).await;
        fixture.post("notifications/initialized").await
    });
    let client = client.expect("connected");
    // What waits for it goes on without it.
    let call = client.call("t", ()).timeout(Duration::from_secs(20));
    let (reply, ()) = tokio::join!(call.into_future(), async {
        initialized.gone().await;
        fixture.post("tools/call").await.result(said("fine")).await;
    });
    assert_eq!(reply.expect("a reply").text(), "fine");
    // The stream of the server is asked for again.
    fixture.verb("GET").await.gone().await;
    fixture.verb("GET").await.refuse(405, "").await;
    // A call that is given up is cancelled, and that is given up, too.
    let (reply, held) = tokio::join!(client.call("t", ()).into_future(), fixture.post("tools/call"));
    assert!(matches!(reply, Err(Error::Timeout(_))), "{reply:?}");
    fixture.post("notifications/cancelled").await.gone().await;
    drop(held);
    assert!(!client.is_closed());
}

/// Changes of the modern era come on a request that stays open.
#[tokio::test]
async fn a_subscription_is_a_request_that_stays_open() {
    let (client, mut fixture) = pair(Client::builder(), MODERN).await;
    let mut events = client.events();
    let (watching, mut stream) = tokio::join!(client.watch_lists(), async {
        let seen = fixture.post("subscriptions/listen").await;
        let filter = seen.request.body["params"]["notifications"].clone();
        let meta = json!({ "io.modelcontextprotocol/subscriptionId": seen.request.body["id"] });
        let mut stream = seen.stream().await;
        let method = "notifications/subscriptions/acknowledged";
        let params = json!({ "_meta": meta, "notifications": filter });
        stream.event(None, &json!({ "jsonrpc": "2.0", "method": method, "params": params })).await;
        let mut changed = tools_changed();
        changed["params"] = json!({ "_meta": meta });
        stream.event(None, &changed).await;
        stream
    });
    watching.expect("acknowledged");
    assert!(matches!(events.next().await, Some(Event::ToolsChanged)));
    stream.raw(": still here\n\n").await;
    stream.0.cut();
    assert!(matches!(events.next().await, Some(Event::SubscriptionEnded)));
    assert!(!client.is_closed());
}
