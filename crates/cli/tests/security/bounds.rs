//! Every bound that a peer on a pipe can reach, filled.
//!
//! Lines, depth and ids have their rows elsewhere (`memory`, `envelope`); what is here counts things.

use std::collections::BTreeMap;

use crate::child::{Demo, Line};
use crate::stage::{META, NEWEST, STAGES, Stage};

/// Codes for refusals: JSON-RPC's own, or ones outside the reserved range.
fn clear_refusal(line: &Line) -> bool {
    let Some(code) = line.code() else { return false };
    let reserved = (-32768..=-32000).contains(&code);
    let ours = [-32600, -32602, -32603].contains(&code);
    (ours || !reserved) && line.json["error"]["message"].as_str().is_some_and(|message| !message.is_empty())
}

#[test]
fn calls_in_flight() {
    for stage in NEWEST {
        let mut demo = stage.start();
        let sleep = |id: usize| stage.call(&id.to_string(), "sleep", r#"{"ms":600000}"#);
        for id in 1..=300 {
            demo.send(sleep(id));
        }
        let mut refused: Vec<i64> = (0..44)
            .map(|_| {
                let line = demo.next();
                assert!(clear_refusal(&line), "G13 {stage:?}: {}", line.text);
                line.json["id"].as_i64().expect("the id of the refused call")
            })
            .collect();
        refused.sort_unstable();
        assert_eq!(refused, (257..=300).collect::<Vec<_>>(), "G13 {stage:?}: the first ones were served");
        // One leaves, one more may come, the next may not.
        demo.send(cancel(1));
        demo.send(sleep(301));
        let over = demo.ask(sleep(302), "302");
        assert!(clear_refusal(&over), "G13 {stage:?}: {}", over.text);
        for id in 2..=301 {
            demo.send(cancel(id));
        }
        assert!(stage.settle(&mut demo, 0, "G13").is_empty(), "G13 {stage:?}");
        demo.finish();
    }
}

fn cancel(id: usize) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#)
}

#[test]
fn ten_thousand_calls_at_once() {
    for stage in NEWEST {
        let mut demo = stage.start();
        let mut stdin = demo.take_stdin();
        let writer = std::thread::spawn(move || {
            let mut all = String::new();
            for id in 1..=10_000 {
                all.push_str(&stage.call(&id.to_string(), "echo", r#"{"message":"x"}"#));
                all.push('\n');
            }
            std::io::Write::write_all(&mut stdin, all.as_bytes()).expect("the server reads");
            stdin
        });
        let mut outcomes = BTreeMap::new();
        for _ in 0..10_000 {
            let line = demo.next();
            assert!(
                line.json.get("result").is_some() || clear_refusal(&line),
                "G13 {stage:?}: {}",
                line.text
            );
            let again = outcomes.insert(line.json["id"].as_i64().expect("an id"), line);
            assert!(again.is_none(), "G13 {stage:?}: two outcomes for one call");
        }
        drop(writer.join().expect("the writer wrote"));
        assert!(demo.rest().is_empty(), "G13 {stage:?}");
        assert!(demo.exit().success(), "G13 {stage:?}");
    }
}

#[test]
fn progress_tokens() {
    for stage in STAGES {
        let mut demo = stage.start();
        let meta = if stage == Stage::Modern { format!(",{META}") } else { String::new() };
        for (token, served) in [
            (format!("\"{}\"", "t".repeat(1000)), true),
            ("9007199254740993".to_owned(), true),
            (format!("\"{}\"", "t".repeat(1025)), false),
            ("1.5".to_owned(), false),
            ("{}".to_owned(), false),
            ("null".to_owned(), false),
        ] {
            let params = format!(
                r#"{{"name":"countdown","arguments":{{"steps":1}},"_meta":{{"progressToken":{token}{meta}}}}}"#
            );
            demo.send(format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#));
            let mut echoed = false;
            let answer = demo.until_counting(&mut echoed, &format!(r#""progressToken":{token}"#));
            assert_eq!(
                answer.json.get("result").is_some(),
                served,
                "token {stage:?} {token:.40}: {:.300}",
                answer.text
            );
            assert_eq!(echoed, served, "token {stage:?} {token:.40}: progress under it");
            if !served {
                assert!(matches!(answer.code(), Some(-32600 | -32602)), "token {stage:?}: {}", answer.text);
            }
        }
        demo.finish();
    }
}

impl Demo {
    /// The response with id 1; notes whether a line before it contained some text.
    fn until_counting(&mut self, seen: &mut bool, text: &str) -> Line {
        loop {
            let line = self.next();
            if line.raw_id().as_deref() == Some("1") {
                return line;
            }
            *seen |= line.text.contains(text);
        }
    }
}

#[test]
fn subscriptions_of_a_session() {
    let stage = Stage::Session("2025-11-25");
    let mut demo = stage.start();
    let subscribe = |id: usize, uri: &str| {
        stage.request(&id.to_string(), "resources/subscribe", &format!(r#""uri":"{uri}""#))
    };
    for id in 1..=1000 {
        let answer = demo.ask(subscribe(id, &format!("demo://files/f{id}")), &id.to_string());
        assert!(answer.json.get("result").is_some(), "subscription {id}: {}", answer.text);
    }
    let over = demo.ask(subscribe(1001, "demo://files/f1001"), "1001");
    assert!(clear_refusal(&over), "{}", over.text);
    // What is held already takes no more room, and what is given back may be used again.
    assert!(demo.ask(subscribe(1002, "demo://files/f1"), "1002").json.get("result").is_some());
    let back = stage.request("1003", "resources/unsubscribe", r#""uri":"demo://files/f1""#);
    assert!(demo.ask(back, "1003").json.get("result").is_some());
    assert!(demo.ask(subscribe(1004, "demo://clock"), "1004").json.get("result").is_some());
    stage.settle(&mut demo, 0, "subscriptions");
    demo.finish();
}

fn listen(id: &str, uris: usize) -> String {
    let uris: Vec<String> = (0..uris).map(|n| format!("\"demo://files/f{n}\"")).collect();
    let filter = format!(
        r#""notifications":{{"toolsListChanged":true,"resourceSubscriptions":[{}]}}"#,
        uris.join(",")
    );
    Stage::Modern.request(id, "subscriptions/listen", &filter)
}

#[test]
fn listening_streams() {
    let stage = Stage::Modern;
    let mut demo = stage.start();
    for id in 1..=16 {
        demo.send(listen(&id.to_string(), 1));
        let line = demo.next();
        assert_eq!(
            line.method(),
            Some("notifications/subscriptions/acknowledged"),
            "stream {id}: {}",
            line.text
        );
    }
    let over = demo.ask(listen("17", 1), "17");
    assert!(clear_refusal(&over), "{}", over.text);
    // A stream that ends makes room.
    demo.send(cancel(1));
    demo.send(listen("18", 1));
    demo.until(|line| {
        assert_ne!(line.raw_id().as_deref(), Some("18"), "{}", line.text);
        line.method() == Some("notifications/subscriptions/acknowledged")
    });
    stage.settle(&mut demo, 0, "listening streams");
    demo.finish();
}

#[test]
fn uris_of_a_listening_stream() {
    let stage = Stage::Modern;
    let mut demo = stage.start();
    demo.send(listen("1", 1000));
    assert_eq!(demo.next().method(), Some("notifications/subscriptions/acknowledged"));
    let over = demo.ask(listen("2", 1001), "2");
    assert!(clear_refusal(&over), "{:.300}", over.text);
    for filter in [
        "null",
        "[]",
        r#"{"resourceSubscriptions":"x"}"#,
        r#"{"resourceSubscriptions":[7]}"#,
        r#"{"toolsListChanged":"yes"}"#,
    ] {
        let answer = demo
            .ask(stage.request("3", "subscriptions/listen", &format!(r#""notifications":{filter}"#)), "3");
        assert_eq!(answer.code(), Some(-32602), "{filter}: {}", answer.text);
    }
    demo.send(cancel(1));
    stage.settle(&mut demo, 0, "listening URIs");
    demo.finish();
}

/// Many handlers at work, many results on the way: none may be longer than a line may be.
#[test]
fn results_that_are_too_large() {
    for stage in NEWEST {
        let mut demo = stage.start();
        let answer = demo.ask(stage.call("1", "big", r#"{"bytes":100000000}"#), "1");
        let failed = answer.code().is_some() || answer.json["result"]["isError"] == true;
        assert!(failed && answer.text.len() < 64 << 10, "G15 {stage:?}: {:.300}", answer.text);
        let answer = demo.ask(stage.call("2", "big", r#"{"bytes":1000000}"#), "2");
        assert_eq!(
            answer.json["result"]["content"][0]["text"].as_str().map(str::len),
            Some(1_000_000),
            "G15 {stage:?}"
        );
        stage.settle(&mut demo, 0, "G15");
        demo.finish();
    }
}
