//! Streams of events: every split, every line end, every lie about how to come back.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use contexture::client::Sampling;
use serde_json::{Value, json};

use crate::support::{
    Act, Heard, LEGACY, MODERN, Rude, SESSION, calls, event, head, said, setup, stream, within,
};

const KIND: (&str, &str) = ("content-type", "text/event-stream");

/// C05: odd streams that are right. `$` stands for the answer, `^` and `|` for its two halves.
const ODD: [&str; 16] = [
    "data: $\n\n",
    "data:$\n\n",
    "data: $\r\r",
    "data: $\r\n\r\n",
    "\u{feff}data: $\n\n",
    ":comment\ndata: $\n:comment\n\n",
    "\n\n\r\r\r\n\r\ndata: $\n\n",
    "data: ^\ndata: |\n\n",
    "data: ^\rdata: |\r\r",
    "event: message\ndata: $\n\n",
    "id: 1\ndata: $\n\n",
    "id: a\0b\ndata: $\n\n",
    "retry: x\ndata: $\n\n",
    "retry: 99999999999999999999999\ndata: $\n\n",
    "unknown: field\nno colon\ndata: $\n\n",
    "id: 1\nretry: 0\ndata:\n\ndata: $\n\n",
];

fn odd(pattern: &str, id: &Value) -> Vec<u8> {
    let answer = said(id, "fine \u{20ac}\u{1f600}").to_string();
    // Between two members a line may end.
    let middle = answer.find(r#","result""#).or_else(|| answer.find(r#","jsonrpc""#)).unwrap_or(1) + 1;
    let (first, second) = answer.split_at(middle);
    pattern.replace('$', &answer).replace('^', first).replace('|', second).into_bytes()
}

/// One event after the other, in two pieces, cut at every byte.
#[tokio::test]
async fn events_in_every_split() {
    let at = Arc::new(AtomicUsize::new(0));
    let cut = Arc::clone(&at);
    let (_rude, client) = calls(MODERN, move |heard| {
        let which = heard.body["params"]["arguments"]["odd"].as_u64().unwrap_or_default() as usize;
        let bytes = odd(ODD[which], &heard.body["id"]);
        let at = cut.load(Ordering::SeqCst).min(bytes.len());
        let (first, second) = bytes.split_at(at);
        Act::Say(vec![head(200, &[KIND]), first.to_vec(), second.to_vec()])
    })
    .await;
    for (which, pattern) in ODD.iter().enumerate() {
        let length = odd(pattern, &json!(100)).len();
        for split in (0..=length).step_by(3) {
            at.store(split, Ordering::SeqCst);
            let reply = within(client.call("t", json!({"odd": which}))).await;
            let reply = reply.unwrap_or_else(|error| panic!("C05 {pattern:?} at {split}: {error}"));
            assert_eq!(reply.text(), "fine \u{20ac}\u{1f600}", "C05 {pattern:?} at {split}");
        }
    }
}

/// Every byte in a piece of its own.
#[tokio::test]
async fn events_byte_by_byte() {
    for revision in [MODERN, LEGACY] {
        let (_rude, client) = calls(revision, |heard| {
            let which = heard.body["params"]["arguments"]["odd"].as_u64().unwrap_or_default() as usize;
            let mut pieces = vec![head(200, &[KIND])];
            pieces.extend(odd(ODD[which], &heard.body["id"]).into_iter().map(|byte| vec![byte]));
            Act::Say(pieces)
        })
        .await;
        for (which, pattern) in ODD.iter().enumerate() {
            let reply = within(client.call("t", json!({"odd": which}))).await;
            let reply = reply.unwrap_or_else(|error| panic!("C05 {revision} {pattern:?}: {error}"));
            assert_eq!(reply.text(), "fine \u{20ac}\u{1f600}", "C05 {revision} {pattern:?}");
        }
    }
}

/// Events that say nothing, or nonsense, before the answer: passed over, within bounds.
#[tokio::test]
async fn garbage_before_the_answer() {
    for revision in [MODERN, LEGACY] {
        for garbage in [
            "data: hello\n\n",
            "data: {\n\n",
            "data: null\n\n",
            "data: []\n\n",
            "data: {\"jsonrpc\":\"2.0\"}\n\n",
            "event: nonsense\ndata: {}\n\n",
            "event: error\ndata: boom\n\n",
            "data: \u{fffd}\n\n",
            ": \n\n",
            "id\n\n",
            "\n",
        ] {
            let (_rude, client) = calls(revision, move |heard| {
                stream(format!("{}{}", garbage.repeat(20), event(&said(&heard.body["id"], "fine"))))
            })
            .await;
            let end = within(client.call("t", ())).await;
            // To give up on a server that talks nonsense is right, too; to hang or to believe it is not.
            assert!(
                end.is_err() || end.is_ok_and(|reply| reply.text() == "fine"),
                "C05 {revision} {garbage:?}"
            );
        }
    }
}

/// rmcp #1146: millions of things to skip neither recurse nor pile up.
#[tokio::test]
async fn rmcp_1146_events_to_skip() {
    for skipped in [": comment\n\n", "\n", "retry: 5\n\n", "id: 7\n\n", "event: x\n\n"] {
        let (_rude, client) = calls(MODERN, move |heard| {
            stream(format!("{}{}", skipped.repeat(500_000), event(&said(&heard.body["id"], "fine"))))
        })
        .await;
        let reply = within(client.call("t", ())).await;
        assert_eq!(reply.unwrap_or_else(|error| panic!("{skipped:?}: {error}")).text(), "fine");
    }
}

/// C14: notifications by the hundred thousand, and then the answer.
#[tokio::test]
async fn notifications_without_number() {
    for revision in [MODERN, LEGACY] {
        let (_rude, client) = calls(revision, |heard| {
            let token = &heard.body["params"]["_meta"]["progressToken"];
            let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress",
                "params": {"progressToken": token, "progress": 1}});
            let log = json!({"jsonrpc": "2.0", "method": "notifications/message",
                "params": {"level": "info", "data": "x"}});
            let noise = format!("{}{}", event(&progress), event(&log)).repeat(50_000);
            stream(format!("{noise}{}", event(&said(&heard.body["id"], "fine"))))
        })
        .await;
        let reply = within(client.call("t", ()).on_progress(|_| {})).await;
        assert_eq!(reply.expect("C14: the result").text(), "fine", "{revision}");
    }
}

/// C02: the end before the answer: an error that says so, and no second call.
#[tokio::test]
async fn streams_that_end_early() {
    for revision in [MODERN, LEGACY] {
        let answer = |heard: &Heard| event(&said(&heard.body["id"], "fine"));
        for cut in [0, 1, 7, 40] {
            let (rude, client) = calls(revision, move |heard| {
                let whole = answer(heard);
                let end = if cut == 0 { 0 } else { whole.len() - cut };
                stream(&whole[..end])
            })
            .await;
            let end = within(client.call("t", ())).await;
            assert!(end.is_err(), "C02 {revision} {cut}: {end:?}");
            assert_eq!(rude.count("POST", "tools/call"), 1, "C02 J15 {revision} {cut}: sent again");
        }
    }
}

/// C06: a stream that can be taken up again, and ends again, for ever: asked for a few times, and given up.
#[tokio::test]
async fn streams_that_always_end() {
    let mut all = tokio::task::JoinSet::new();
    for opening in ["id: e1\ndata:\n\n", "id: e1\nretry: 0\ndata:\n\n", "id: e1\nretry: 1\ndata:\n\n"] {
        for again in ["", "id: e1\ndata:\n\n", ": nothing new\n\n", "retry: 0\n\n"] {
            all.spawn(always_ends(opening, again));
        }
    }
    all.join_all().await;
}

async fn always_ends(opening: &'static str, again: &'static str) {
    let resumed = |rude: &Rude| {
        let heard = rude.heard();
        heard.into_iter().filter(|heard| heard.header("last-event-id").is_some()).collect::<Vec<_>>()
    };
    let rude = Rude::start(LEGACY, move |heard| match (heard.verb.as_str(), heard.method()) {
        ("POST", "tools/call") => Some(stream(opening)),
        ("GET", _) if heard.header("last-event-id").is_some() => Some(stream(again)),
        _ => None,
    })
    .await;
    let client = crate::support::client(LEGACY, &rude).await;
    let end = within(client.call("t", ()).max_time(Duration::from_secs(25))).await;
    assert!(end.is_err(), "C06 {opening:?} {again:?}: {end:?}");
    let attempts = resumed(&rude);
    assert!((1..=20).contains(&attempts.len()), "C06 {opening:?} {again:?}: {} attempts", attempts.len());
    assert_eq!(rude.count("POST", "tools/call"), 1, "C06 J15: sent again");
    assert_eq!(attempts[0].header("last-event-id"), Some("e1"), "C06");
    assert_eq!(attempts[0].header("mcp-session-id"), Some(SESSION), "C06");
    // TS 295267e24: once it was given up, nobody asks any more.
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(resumed(&rude).len(), attempts.len(), "C06: it goes on after the call is over");
}

/// C06: the stream of the session itself: not opened again and again without a breath.
#[tokio::test]
async fn sessions_whose_stream_always_ends() {
    for again in ["", "retry: 0\n\n", ": x\n\n"] {
        let rude = Rude::start(LEGACY, move |heard| (heard.verb == "GET").then(|| stream(again))).await;
        let client = crate::support::client(LEGACY, &rude).await;
        for _ in 0..50 {
            within(client.call("t", ())).await.expect("C06: calls go on");
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
        let opened = rude.count("GET", "");
        assert!(opened <= 20, "C06 {again:?}: opened {opened} times");
        client.close().await;
    }
}

/// C05: a wait of a million years is not waited.
#[tokio::test]
async fn waits_without_end() {
    let rude = Rude::start(LEGACY, |heard| match (heard.verb.as_str(), heard.method()) {
        ("POST", "tools/call") => Some(stream("id: e1\nretry: 1000000000000\ndata:\n\n")),
        _ => None,
    })
    .await;
    let client = crate::support::client(LEGACY, &rude).await;
    let end = within(client.call("t", ()).timeout(Duration::from_millis(500))).await;
    assert!(end.is_err(), "C05: {end:?}");
    within(client.close()).await;
}

/// C19, A38: a modern server asks nothing. What it asks anyway is not done, and not answered.
#[tokio::test]
async fn requests_of_modern_servers() {
    let asked = Arc::new(AtomicUsize::new(0));
    let rude = Rude::start(MODERN, |heard| {
        (heard.method() == "tools/call").then(|| {
            let question = json!({"jsonrpc": "2.0", "id": 1, "method": "sampling/createMessage",
                "params": {"messages": [], "maxTokens": 1}});
            let ping = json!({"jsonrpc": "2.0", "id": "p", "method": "ping"});
            let answer = event(&said(&heard.body["id"], "fine"));
            stream(format!("{}{}{answer}", event(&question), event(&ping)))
        })
    })
    .await;
    let counted = Arc::clone(&asked);
    let sampling = Sampling::new(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        async { Err(contexture::Error::Declined) }
    });
    let client = within(setup(MODERN).sampling(sampling).connect(rude.url())).await.expect("connects");
    let reply = within(client.call("t", ())).await;
    assert_eq!(reply.expect("C19: the answer").text(), "fine");
    within(client.call("t", ())).await.expect("C19: the next");
    assert_eq!(asked.load(Ordering::SeqCst), 0, "C19: it was asked");
    let answers =
        rude.heard().iter().filter(|heard| heard.verb == "POST" && heard.method().is_empty()).count();
    assert_eq!(answers, 0, "C19: it was answered");
}

/// C21: news for a subscription that nobody has.
#[tokio::test]
async fn news_for_nobody() {
    let (_rude, client) = calls(MODERN, |heard| {
        let news = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed",
            "params": {"_meta": {"io.modelcontextprotocol/subscriptionId": 4711}}});
        let done = said(&json!(4711), "stolen");
        stream(format!("{}{}{}", event(&news), event(&done), event(&said(&heard.body["id"], "fine"))))
    })
    .await;
    let reply = within(client.call("t", ())).await;
    assert_eq!(reply.expect("C21").text(), "fine");
}

/// Two answers to one call, and more after the answer: the first stands.
#[tokio::test]
async fn answers_after_the_answer() {
    for revision in [MODERN, LEGACY] {
        let (_rude, client) = calls(revision, |heard| {
            let id = &heard.body["id"];
            stream(format!("{}{}", event(&said(id, "first")), event(&said(id, "second"))))
        })
        .await;
        for _ in 0..5 {
            assert_eq!(within(client.call("t", ())).await.expect("A34").text(), "first", "{revision}");
        }
    }
}
