//! Callers who take their time: with the head, with the body, or with saying anything at all.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use contexture::{Policy, Server, tool};
use serde_json::json;

use crate::support::{Ask, Got, Line, Served, ask, begin, serve};

const SHORT: Duration = Duration::from_millis(300);

/// A server whose only tool counts its calls.
async fn counting(change: impl FnOnce(&mut Policy)) -> (Served, Arc<AtomicUsize>) {
    let mut policy = Policy::default();
    change(&mut policy);
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let count = tool("count").handler(move || {
        let counted = Arc::clone(&counted);
        async move { counted.fetch_add(1, Ordering::SeqCst).to_string() }
    });
    let server = Server::new("slow", "0").policy(policy).tool(count).into_http().expect("a server");
    (serve(server).await, calls)
}

async fn healthy(served: &Served) {
    let got = ask(served, &Ask::modern(9, "count", json!({}))).await;
    assert_eq!(got.status, 200, "{got:?}");
}

/// B19: heads that do not come, at every stage of not coming.
#[tokio::test]
async fn slow_heads() {
    let (served, _) = counting(|policy| policy.header_time = SHORT).await;
    let whole = Ask::modern(1, "count", json!({})).bytes(served.port);
    let text = String::from_utf8(whole.clone()).expect("text");
    let head = text.find("\r\n\r\n").expect("a head");
    let mut slow = Vec::new();
    for end in (2..head).step_by(9) {
        let mut line = Line::open(&served).await;
        line.write(&whole[..end]).await;
        slow.push(line);
    }
    healthy(&served).await;
    for mut line in slow {
        let got = Got::parse(line.to_the_end().await);
        assert!([0, 400, 408].contains(&got.status), "B19: {got:?}");
    }
    healthy(&served).await;
}

/// B19: one byte now and then is not progress enough.
#[tokio::test]
async fn heads_that_trickle() {
    let (served, _) = counting(|policy| policy.header_time = SHORT).await;
    let mut line = Line::open(&served).await;
    line.write(b"POST /mcp HTTP/1.1\r\nx: ").await;
    let trickled = async {
        let mut taken = 0;
        while line.write(b"x").await {
            taken += 1;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        taken
    };
    let taken = tokio::time::timeout(Duration::from_secs(20), trickled).await.expect("B19: it is cut off");
    assert!(taken < 900, "B19: {taken}");
    healthy(&served).await;
}

/// B19: bodies that do not come.
#[tokio::test]
async fn slow_bodies() {
    let (served, calls) = counting(|policy| policy.body_time = SHORT).await;
    let whole = Ask::modern(1, "count", json!({})).bytes(served.port);
    let head = String::from_utf8_lossy(&whole).find("\r\n\r\n").expect("a head") + 4;
    let mut slow = Vec::new();
    for end in [head, head + 1, (head + whole.len()) / 2, whole.len() - 1] {
        let mut line = Line::open(&served).await;
        line.write(&whole[..end]).await;
        slow.push(line);
    }
    for mut line in slow {
        let got = Got::parse(line.until(|text| text.contains("\r\n\r\n")).await);
        assert!([0, 408].contains(&got.status), "B19: {got:?}");
        // And what comes too late is not taken for the rest.
        line.write(&whole[head..]).await;
        line.to_the_end().await;
    }
    assert_eq!(calls.load(Ordering::SeqCst), 0, "B19: a call ran without its body");
    healthy(&served).await;
}

/// B19: a byte now and then, for ever.
#[tokio::test]
async fn bodies_that_trickle() {
    let (served, calls) = counting(|policy| policy.body_time = SHORT).await;
    let mut request = Ask::modern(1, "count", json!({}));
    request.body.push_str(&" ".repeat(100_000));
    let whole = request.bytes(served.port);
    let head = String::from_utf8_lossy(&whole).find("\r\n\r\n").expect("a head") + 4;
    let mut line = Line::open(&served).await;
    line.write(&whole[..head]).await;
    let mut sent = head;
    let trickled = async {
        while sent < whole.len() && line.write(&whole[sent..=sent]).await {
            sent += 1;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        sent - head
    };
    let taken = tokio::time::timeout(Duration::from_secs(20), trickled).await.expect("B19: it is cut off");
    assert!(taken < 900, "B19: {taken}");
    assert_eq!(calls.load(Ordering::SeqCst), 0, "B19");
    healthy(&served).await;
}

/// B19, B20: a connection on which nothing is ever said.
#[tokio::test]
async fn silence_from_the_start() {
    let (served, _) = counting(|policy| policy.header_time = SHORT).await;
    let mut silent = Line::open(&served).await;
    silent.to_the_end().await;
    healthy(&served).await;
}

/// B19: what could still become HTTP/2.
#[tokio::test]
async fn slow_prefaces() {
    let (served, _) = counting(|policy| policy.header_time = SHORT).await;
    let mut wrong = Vec::new();
    for said in ["P", "PRI * HTTP/2.0\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"] {
        let mut slow = Line::open(&served).await;
        slow.write(said.as_bytes()).await;
        if tokio::time::timeout(Duration::from_secs(5), slow.to_the_end()).await.is_err() {
            wrong.push(said);
        }
    }
    assert!(wrong.is_empty(), "B19: held open: {wrong:?}");
    healthy(&served).await;
}

/// B20: a connection on which nothing more is said.
#[tokio::test]
async fn silence_after_an_answer() {
    let (served, _) = counting(|policy| policy.header_time = SHORT).await;
    let (mut done, got) = begin(&served, &Ask::modern(1, "count", json!({}))).await;
    assert_eq!(got.status, 200);
    done.to_the_end().await;
    healthy(&served).await;
}

/// B20: more connections than there may be wait until others have gone, and then are served.
#[tokio::test]
async fn connections_without_number() {
    let (served, calls) = counting(|policy| policy.connections = 4).await;
    let mut held = Vec::new();
    for _ in 0..4 {
        let (line, got) = begin(&served, &Ask::modern(1, "count", json!({}))).await;
        assert_eq!(got.status, 200);
        held.push(line);
    }
    let mut waiting = Line::open(&served).await;
    waiting.write(&Ask::modern(2, "count", json!({})).bytes(served.port)).await;
    // Nothing may come; if the bound is kept, nothing will, however long one waits.
    let early = tokio::time::timeout(SHORT, waiting.until(|text| !text.is_empty())).await;
    assert!(early.is_err(), "B20: served beyond the bound: {early:?}");
    assert_eq!(calls.load(Ordering::SeqCst), 4, "B20");
    held.pop();
    let got = Got::parse(waiting.until(|text| text.contains("\r\n\r\n")).await);
    assert_eq!(got.status, 200, "B20: {got:?}");
}

/// B20: connections come and go by the thousand; what they cost is over when they are.
#[tokio::test]
async fn connections_come_and_go() {
    let (served, _) = counting(|policy| policy.connections = 50).await;
    for _ in 0..40 {
        let mut some = Vec::new();
        for _ in 0..50 {
            some.push(Line::open(&served).await);
        }
    }
    healthy(&served).await;
}
