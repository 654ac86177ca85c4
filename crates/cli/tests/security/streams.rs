//! Streams: who gets which message, what happens when one is cut, and who pays for a slow reader.
//!
//! Rows for clients are with the library's own tests; that a lost connection cancels a modern call too, because
//! only a handler can see it.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;

use crate::child::PATIENCE;
use crate::findings::Findings;
use crate::site::{Caller, Site};
use crate::stage::{META, NEWEST, STAGES, Stage};
use crate::wire::{Message, Stream};

const SESSION: Stage = Stage::Session("2025-11-25");

/// A call that reports its steps.
fn countdown(stage: Stage, id: u32, steps: u32, delay: u32) -> String {
    let meta = if stage == Stage::Modern { format!(",{META}") } else { String::new() };
    let params = format!(
        r#"{{"name":"countdown","arguments":{{"steps":{steps},"delay_ms":{delay}}},"_meta":{{"progressToken":"t{id}"{meta}}}}}"#
    );
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#)
}

fn listen(id: u32, filter: &str) -> String {
    Stage::Modern.request(&id.to_string(), "subscriptions/listen", &format!(r#""notifications":{filter}"#))
}

/// Reads events until one has a message, and returns the last id that was seen.
fn first_message(stream: &mut Stream) -> (Option<String>, Message) {
    let mut last = None;
    loop {
        let event = stream.event().expect("a message");
        last = event.id.clone().or(last);
        if let Some(message) = event.message() {
            return (last, message);
        }
    }
}

/// A legacy call goes on without its caller, who comes back for the rest, and gets it once and in order.
#[test]
fn callers_who_come_back() {
    let site = Site::start();
    for stage in STAGES.into_iter().filter(|stage| *stage != Stage::Modern) {
        let mut caller = Caller::open(&site, stage);
        let mut stream = caller.begin(countdown(stage, 5, 6, 50));
        assert!(stream.head.is_stream(), "C01 {stage:?}: {:?}", stream.head);
        let (last, message) = first_message(&mut stream);
        assert_eq!(message.json["params"]["progress"], 1.0, "C01 {stage:?}: {}", message.text);
        let last = last.unwrap_or_else(|| panic!("C01 {stage:?}: an event without an id"));
        drop(stream);
        let mut again = caller.resume(&last);
        assert_eq!(again.head.status, 200, "C01 {stage:?}");
        let mut seen = Vec::new();
        while let Some(message) = again.message() {
            caller.judge(&message);
            seen.push(message.json["params"]["progress"].as_f64().unwrap_or(f64::INFINITY));
            if message.is_response() {
                assert_eq!(message.json["result"]["content"][0]["text"], "liftoff", "C01 {stage:?}");
                break;
            }
        }
        assert_eq!(seen, [2.0, 3.0, 4.0, 5.0, 6.0, f64::INFINITY], "C01 {stage:?}");
    }
}

/// A modern call is over with its connection: the id is free, and nothing more is said about it.
#[test]
fn modern_callers_who_leave() {
    let site = Site::start();
    let mut caller = Caller::open(&site, Stage::Modern);
    // More than may run at once on any account: if the calls went on, the later ones would be refused.
    for round in 0..3 {
        let streams: Vec<Stream> =
            (0..200).map(|id| caller.begin(countdown(Stage::Modern, id, 1000, 60_000))).collect();
        for stream in &streams {
            assert_eq!(stream.head.status, 200, "C01: round {round}");
        }
        drop(streams);
    }
    site.unharmed("C01");
}

#[test]
fn event_ids_that_are_none() {
    let site = Site::start();
    let mut findings = Findings::default();
    let long = "9".repeat(8 << 10);
    for stage in STAGES.into_iter().filter(|stage| *stage != Stage::Modern) {
        let mut caller = Caller::open(&site, stage);
        let mut stream = caller.begin(countdown(stage, 5, 1, 0));
        let (last, _) = first_message(&mut stream);
        let real = last.unwrap_or_default();
        let grown = format!("{real}0");
        let cut = real.chars().take(real.len().saturating_sub(1)).collect::<String>();
        for id in [
            "garbage",
            "-1",
            "0",
            "1",
            "18446744073709551615",
            "18446744073709551616",
            "9223372036854775808",
            "-9223372036854775809",
            "1e9",
            "0x1",
            "null",
            "../../x",
            "1_1",
            "a/99999999999999999999",
            "\u{e9}",
            "_",
            "-",
            ":",
            grown.as_str(),
            cut.as_str(),
            long.as_str(),
        ] {
            let status = caller.resume(id).head.status;
            let right = [200, 400, 404].contains(&status);
            findings
                .check(right, "C07", || format!("{stage:?} {id:.40}: wanted 400, 404 or 200, got {status}"));
            site.unharmed("C07");
        }
        let response = caller.call("echo", r#"{"message":"x"}"#);
        assert_eq!(response.json["result"]["content"][0]["text"], "x", "C07 {stage:?}");
    }
}

/// Somebody else's event ids are nobody's.
#[test]
fn event_ids_of_another_session() {
    let site = Site::start();
    for stage in STAGES.into_iter().filter(|stage| *stage != Stage::Modern) {
        let mut victim = Caller::open(&site, stage);
        let mut stream = victim.begin(countdown(stage, 5, 3, 50));
        let (last, _) = first_message(&mut stream);
        let last = last.unwrap_or_else(|| panic!("C08 {stage:?}: an event without an id"));
        let thief = Caller::open(&site, stage);
        let answer =
            site.ask(&thief.bare("GET").header("Accept", "text/event-stream").header("Last-Event-ID", &last));
        assert!([400, 404].contains(&answer.status()), "C08 {stage:?}: {}", answer.text());
        assert!(!answer.text().contains("progress"), "C08 {stage:?}: {}", answer.text());
        let rest = stream.messages();
        assert!(rest.iter().any(Message::is_response), "C08 {stage:?}: the victim lost {rest:?}");
    }
}

/// Coming back to one stream brings that stream's messages, and no others.
#[test]
fn event_ids_of_another_stream() {
    let site = Site::start();
    for stage in STAGES.into_iter().filter(|stage| *stage != Stage::Modern) {
        let mut caller = Caller::open(&site, stage);
        let mut one = caller.begin(countdown(stage, 1, 3, 50));
        let mut two = caller.begin(countdown(stage, 2, 3, 50));
        let (after_one, _) = first_message(&mut one);
        let (after_two, _) = first_message(&mut two);
        assert_ne!(after_one, after_two, "C09 {stage:?}: one id for two events");
        drop((one, two));
        for (after, id) in [(after_one, 1), (after_two, 2)] {
            let mut stream = caller.resume(&after.expect("an event id"));
            let mut progress = 0;
            loop {
                let message = stream.message().expect("the response");
                if message.is_response() {
                    assert_eq!(message.json["id"], id, "C09 {stage:?}: {}", message.text);
                    break;
                }
                assert_eq!(message.json["params"]["progressToken"], format!("t{id}"), "C09 {stage:?}");
                progress += 1;
            }
            assert_eq!(progress, 2, "C09 {stage:?}");
        }
    }
}

/// Modern requests know neither sessions nor resumption.
#[test]
fn legacy_headers_on_modern_requests() {
    let site = Site::start();
    let own = Caller::open(&site, SESSION).session.expect("a session");
    for session in ["no-such-session", own.as_str()] {
        let request = site.list().header("Mcp-Session-Id", session).header("Last-Event-ID", "7");
        let answer = site.ask(&request);
        assert_eq!(answer.status(), 200, "C10: {}", answer.text());
        assert_eq!(answer.head.header("mcp-session-id"), None, "C10");
        assert!(!answer.head.has_any("last-event-id"), "C10");
    }
}

/// Reads a stream on a thread of its own; the messages arrive with the number of the stream, and an empty
/// one at its end.
fn follow(streams: Vec<Stream>) -> std::sync::mpsc::Receiver<(usize, Option<Message>)> {
    let (sender, messages) = channel();
    for (number, mut stream) in streams.into_iter().enumerate() {
        let sender = sender.clone();
        thread::spawn(move || {
            loop {
                let message = stream.message();
                let end = message.is_none();
                if sender.send((number, message)).is_err() || end {
                    return;
                }
            }
        });
    }
    messages
}

/// Several streams of one session: a change is told once. What is told is settled by ending the session,
/// which ends the streams.
#[test]
fn one_message_on_one_stream() {
    let site = Site::start();
    for stage in STAGES.into_iter().filter(|stage| *stage != Stage::Modern) {
        let mut caller = Caller::open(&site, stage);
        let streams: Vec<Stream> =
            (0..3).map(|_| caller.listen()).filter(|stream| stream.head.status == 200).collect();
        assert!(!streams.is_empty(), "C11 {stage:?}: no stream at all");
        let count = streams.len();
        let messages = follow(streams);
        caller.call("toggle", "{}");
        let mut told = 0;
        let mut ended = 0;
        while ended < count {
            let (_, message) = messages.recv_timeout(PATIENCE).expect("the streams speak or end");
            let Some(message) = message else {
                ended += 1;
                continue;
            };
            caller.judge(&message);
            told += usize::from(message.method() == "notifications/tools/list_changed");
            if told == 1 {
                let answer = site.ask(&caller.bare("DELETE"));
                assert!([200, 204].contains(&answer.status()), "C11 {stage:?}: {}", answer.text());
            }
        }
        assert_eq!(told, 1, "C11 {stage:?}");
    }
}

/// A second stream does not take the first one's place: if it is refused, the first still speaks.
#[test]
fn a_second_stream_takes_nothing_away() {
    let site = Site::start();
    for stage in STAGES.into_iter().filter(|stage| *stage != Stage::Modern) {
        let mut caller = Caller::open(&site, stage);
        let first = caller.listen();
        assert_eq!(first.head.status, 200, "C11 {stage:?}");
        let second = caller.listen();
        let mut streams = vec![first];
        match second.head.status {
            200 => streams.push(second),
            409 => {}
            other => panic!("C11 {stage:?}: a second stream got {other}"),
        }
        let messages = follow(streams);
        caller.call("toggle", "{}");
        let (_, message) = messages.recv_timeout(PATIENCE).expect("a message");
        let message = message.unwrap_or_else(|| panic!("C11 {stage:?}: a stream was closed"));
        assert_eq!(message.method(), "notifications/tools/list_changed", "C11 {stage:?}");
        assert_ne!(messages.try_recv().map(|(_, message)| message.is_none()), Ok(true), "C11 {stage:?}");
    }
}

/// Those who do not read cost themselves, and not much.
#[test]
#[cfg(target_os = "linux")]
fn readers_who_stop() {
    for stage in NEWEST {
        let site = Site::start();
        site.unharmed("C13");
        let caller = Caller::open(&site, stage);
        let before = site.peak();
        let mut deaf = Vec::new();
        for id in 0..8 {
            let mut wire = site.wire();
            let body = stage.call(&id.to_string(), "big", r#"{"bytes":4000000}"#);
            wire.write(&caller.request(body).bytes()).expect("the server reads");
            deaf.push(wire);
        }
        for _ in 0..20 {
            site.unharmed("C13");
        }
        let mut other = Caller::open(&site, stage);
        let response = other.call("echo", r#"{"message":"x"}"#);
        assert_eq!(response.json["result"]["content"][0]["text"], "x", "C13 {stage:?}");
        // Each answer once or a few times over, never once for each notification or round.
        let grown = site.peak() - before;
        assert!(grown < 8 * 4 * 4_000_000 + (16 << 20), "C13 {stage:?}: {grown} bytes");
        drop(deaf);
        site.unharmed("C13");
    }
}

/// A stream that nobody reads does not grow with what happens.
#[test]
#[cfg(target_os = "linux")]
fn changes_for_readers_who_stop() {
    let site = Site::start();
    let mut caller = Caller::open(&site, SESSION);
    let mut modern = Caller::open(&site, Stage::Modern);
    let deaf = caller.listen().into_wire();
    let deafer = modern.begin(listen(9, r#"{"toolsListChanged":true}"#)).into_wire();
    for _ in 0..200 {
        caller.call("toggle", "{}");
    }
    let before = site.peak();
    for _ in 0..2000 {
        caller.call("toggle", "{}");
    }
    let grown = site.peak() - before;
    assert!(grown < 8 << 20, "C13: {grown} bytes");
    drop((deaf, deafer));
    site.unharmed("C13");
}

#[test]
fn what_can_be_listened_to() {
    let site = Site::start();
    let mut caller = Caller::open(&site, Stage::Modern);
    let uris: Vec<String> = (0..10_000).map(|number| format!(r#""demo://{number}""#)).collect();
    let answer = caller.ask(listen(1, &format!(r#"{{"resourceSubscriptions":[{}]}}"#, uris.join(","))));
    assert_eq!(answer.code(), Some(-32602), "C15: {}", answer.text());

    for filter in ["7", "null", "[]", r#"{"resourceSubscriptions":7}"#, r#"{"resourceSubscriptions":[7]}"#] {
        let answer = caller.ask(listen(1, filter));
        assert_eq!(answer.code(), Some(-32602), "C15 {filter}: {}", answer.text());
    }

    // Unknown kinds are not granted.
    for uri in ["demo://clock", "demo://no/such"] {
        let filter =
            format!(r#"{{"toolsListChanged":true,"moonPhases":true,"resourceSubscriptions":["{uri}"]}}"#);
        let mut stream = caller.begin(listen(2, &filter));
        assert!(stream.head.is_stream(), "C15: {:?}", stream.head);
        let first = stream.message().expect("the acknowledgement");
        caller.judge(&first);
        assert_eq!(first.method(), "notifications/subscriptions/acknowledged", "C15: {}", first.text);
        let granted = &first.json["params"]["notifications"];
        assert_eq!(granted["toolsListChanged"], true, "C15: {}", first.text);
        assert!(granted.get("moonPhases").is_none(), "C15: {}", first.text);
        // Nothing is granted that was not asked for.
        let uris = granted["resourceSubscriptions"].as_array().cloned().unwrap_or_default();
        assert!(uris.iter().all(|granted| granted == uri), "C15: {}", first.text);
    }
    site.unharmed("C15");
}

/// One change, told once to each of many, and to nobody who did not ask.
#[test]
fn many_who_listen() {
    let site = Site::start();
    let mut caller = Caller::open(&site, Stage::Modern);
    let mut tools = Vec::new();
    let mut prompts = Vec::new();
    for _ in 0..100 {
        // Ids of different callers may be the same.
        tools.push(caller.begin(listen(1, r#"{"toolsListChanged":true}"#)));
        prompts.push(caller.begin(listen(1, r#"{"promptsListChanged":true}"#)));
    }
    for stream in tools.iter_mut().chain(&mut prompts) {
        assert_eq!(stream.head.status, 200, "C16");
        assert_eq!(
            stream.message().expect("first").method(),
            "notifications/subscriptions/acknowledged",
            "C16"
        );
    }
    caller.call("toggle", "{}");
    for stream in &mut tools {
        let message = stream.message().expect("the change");
        assert_eq!(message.method(), "notifications/tools/list_changed", "C16");
        let tag = &message.json["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
        assert_eq!(*tag, 1, "C16: {}", message.text);
    }
    // The others hear nothing until the end, which says what it ends.
    site.terminate();
    for stream in &mut prompts {
        let rest = stream.messages();
        assert_eq!(rest.len(), 1, "C16 C17: {rest:?}");
        assert_eq!(rest[0].json["id"], 1, "C17: {}", rest[0].text);
    }
}

#[test]
fn the_end_with_listeners() {
    let mut site = Site::start();
    let mut caller = Caller::open(&site, Stage::Modern);
    let body = listen(77, r#"{"toolsListChanged":true}"#);
    let mut stream = caller.begin(body);
    let acknowledged = stream.message().expect("the acknowledgement");
    caller.judge(&acknowledged);
    site.terminate();
    let rest = stream.messages();
    assert_eq!(rest.len(), 1, "C17: {rest:?}");
    caller.judge(&rest[0]);
    assert_eq!(rest[0].json["id"], 77, "C17");
    let tag = &rest[0].json["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
    assert_eq!(*tag, 77, "C17: {}", rest[0].text);
    drop((caller, stream));
    assert!(site.exit().success(), "C17");
}

/// The work at hand is finished, the streams of sessions are closed, and the process ends.
#[test]
fn the_end_with_sessions() {
    let mut site = Site::start();
    let mut caller = Caller::open(&site, SESSION);
    let mut own = caller.listen();
    let mut call = caller.begin(countdown(SESSION, 5, 4, 100));
    first_message(&mut call);
    site.terminate();
    let rest = call.messages();
    assert!(
        rest.iter().any(|message| message.json["result"]["content"][0]["text"] == "liftoff"),
        "C17: {rest:?}"
    );
    assert!(own.messages().is_empty(), "C17");
    drop((caller, own, call));
    assert!(site.exit().success(), "C17");
}

/// Two callers, one id, one token: each hears its own steps. Listeners hear none of it, and nobody hears logs
/// who did not ask for them.
#[test]
fn what_belongs_to_one_call() {
    let site = Site::start();
    for stage in STAGES {
        let mut listener = Caller::open(&site, Stage::Modern);
        let mut listening =
            listener.begin(listen(1, r#"{"promptsListChanged":true,"resourcesListChanged":true}"#));
        listening.message().expect("the acknowledgement");
        let mut one = Caller::open(&site, stage);
        let mut two = Caller::open(&site, stage);
        let own = (stage != Stage::Modern).then(|| one.listen());
        let mut first = one.begin(countdown(stage, 1, 3, 20));
        let mut second = two.begin(countdown(stage, 1, 5, 20));
        for (stream, steps) in [(&mut first, 3.0), (&mut second, 5.0)] {
            let messages = stream.messages();
            let (answers, steps_seen): (Vec<_>, Vec<_>) =
                messages.iter().partition(|message| message.is_response());
            assert_eq!(answers.len(), 1, "C18 {stage:?}: {messages:?}");
            assert!(
                steps_seen.iter().all(|one| one.json["params"]["total"] == steps),
                "C18 {stage:?}: {messages:?}"
            );
            assert!(!steps_seen.is_empty(), "C18 {stage:?}");
        }
        if stage == Stage::Modern {
            let answer = one.ask(stage.call("2", "log_lines", "{}"));
            assert_eq!(answer.messages().len(), 1, "C18 {stage:?}: {}", answer.text());
        }
        // Whatever was said to the wrong stream would have been said by now; the session's end proves it.
        if let Some(mut own) = own {
            site.ask(&one.bare("DELETE"));
            assert!(own.messages().is_empty(), "C18 {stage:?}");
        }
        let heard = follow(vec![listening]);
        let silent = matches!(heard.recv_timeout(std::time::Duration::ZERO), Err(RecvTimeoutError::Timeout));
        assert!(silent, "C18 {stage:?}: a listener heard of a call");
    }
}

/// A proxy that buffers is told not to, and an event is sent when it happens, not when the call is over.
#[test]
fn events_are_not_held_back() {
    let site = Site::start();
    for stage in STAGES {
        let mut caller = Caller::open(&site, stage);
        let mut stream = caller.begin(countdown(stage, 1, 2, 60_000));
        assert_eq!(stream.head.header("x-accel-buffering"), Some("no"), "C20 {stage:?}: {:?}", stream.head);
        let caching = stream.head.header("cache-control").unwrap_or_default().to_owned();
        assert!(caching.contains("no-cache") || caching.contains("no-store"), "C20 {stage:?}: {caching:?}");
        let (_, message) = first_message(&mut stream);
        assert_eq!(message.method(), "notifications/progress", "C20 {stage:?}");
        if stage == Stage::Modern {
            continue;
        }
        let own = caller.listen();
        assert_eq!(own.head.header("x-accel-buffering"), Some("no"), "C20 {stage:?}");
    }
}
