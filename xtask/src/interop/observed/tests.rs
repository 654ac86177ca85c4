//! Each check on exchanges made up for it: what it accepts, and what it must notice.

use super::*;

fn headers(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// A request of a session, answered by JSON.
fn posted(message: Value, status: u16, answer: &str) -> Exchange {
    Exchange {
        verb: "POST".into(),
        path: "/mcp".into(),
        headers: headers(&[("mcp-session-id", "s"), ("mcp-protocol-version", "2025-11-25")]),
        asked: vec![message],
        status,
        answer_headers: headers(&[("content-type", "application/json")]),
        answer: answer.into(),
        ..Exchange::default()
    }
}

fn opening() -> Exchange {
    let answer = r#"{"id":1,"result":{"protocolVersion":"2025-11-25"}}"#;
    let mut exchange = posted(json!({ "id": 1, "method": "initialize" }), 200, answer);
    exchange.headers.clear();
    exchange.answer_headers.extend(headers(&[("mcp-session-id", "s")]));
    exchange
}

fn streamed(mut exchange: Exchange, messages: &[Value]) -> Exchange {
    exchange.answer_headers = headers(&[("content-type", "text/event-stream")]);
    let events = messages.iter().map(|message| format!("data: {message}\n\n"));
    exchange.answer = events.collect::<String>().into();
    exchange
}

fn verdict(check: &str, more: Vec<Exchange>) -> Outcome {
    Observed::new(Over::Http, true, std::iter::once(opening()).chain(more).collect()).run(check)
}

#[test]
fn a_request_outside_its_session_is_noticed() {
    let ping = || posted(json!({ "id": 2, "method": "ping" }), 200, "{}");
    assert!(verdict("http session id", vec![ping()]).is_ok());
    assert!(verdict("http headers", vec![ping()]).is_ok());
    let bare = Exchange { headers: Vec::new(), ..ping() };
    assert!(matches!(verdict("http session id", vec![bare]), Err(Failure::Wrong(_))));
    let older = Exchange { headers: headers(&[("mcp-protocol-version", "2025-06-18")]), ..ping() };
    assert!(matches!(verdict("http headers", vec![older]), Err(Failure::Wrong(_))));
}

#[test]
fn a_notification_is_answered_by_an_empty_202() {
    let told = |status, answer| posted(json!({ "method": "notifications/initialized" }), status, answer);
    assert!(verdict("http 202 for notifications", vec![told(202, "")]).is_ok());
    for odd in [told(200, ""), told(202, "{}")] {
        assert!(matches!(verdict("http 202 for notifications", vec![odd]), Err(Failure::Wrong(_))));
    }
}

#[test]
fn progress_belongs_before_the_result_on_the_stream_of_the_call() {
    let call = || {
        posted(
            json!({ "id": 2, "method": "tools/call", "params": { "name": "countdown", "arguments": { "steps": 5 } } }),
            200,
            "{}",
        )
    };
    let progress = json!({ "method": "notifications/progress" });
    let result = json!({ "id": 2, "result": "liftoff" });
    let check = "http progress on its stream";
    assert!(verdict(check, vec![streamed(call(), &[progress.clone(), result.clone()])]).is_ok());
    for odd in [call(), streamed(call(), &[result.clone(), progress]), streamed(call(), &[result])] {
        assert!(matches!(verdict(check, vec![odd]), Err(Failure::Wrong(_))));
    }
}

#[test]
fn a_change_on_the_stream_of_a_call_is_on_the_wrong_one() {
    let change = [json!({ "method": "notifications/tools/list_changed" })];
    let post = || streamed(posted(json!({ "id": 2, "method": "tools/call" }), 200, ""), &change);
    let get = Exchange { verb: "GET".into(), asked: Vec::new(), ..post() };
    assert!(verdict("http list_changed stream", vec![get]).is_ok());
    assert!(matches!(verdict("http list_changed stream", vec![post()]), Err(Failure::Wrong(_))));
}

#[test]
fn a_session_is_ended_by_delete_unless_the_server_refuses() {
    let delete =
        |status| Exchange { verb: "DELETE".into(), asked: Vec::new(), ..posted(Value::Null, status, "") };
    assert!(verdict("http DELETE", vec![delete(204)]).is_ok());
    assert!(matches!(verdict("http DELETE", vec![delete(405)]), Err(Failure::Absent(_))));
    assert!(matches!(verdict("http DELETE", vec![delete(400)]), Err(Failure::Wrong(_))));
    assert!(matches!(verdict("http DELETE", Vec::new()), Err(Failure::Wrong(_))));
}

#[test]
fn a_call_is_cancelled_by_name_or_by_closing_its_stream() {
    let call = || posted(json!({ "id": 2, "method": "tools/call", "params": { "name": "sleep" } }), 200, "");
    let notice = |id: u64| {
        posted(json!({ "method": "notifications/cancelled", "params": { "requestId": id } }), 202, "")
    };
    assert!(verdict("http cancel", vec![call(), notice(2)]).is_ok());
    assert!(matches!(verdict("http cancel", vec![call(), notice(3)]), Err(Failure::Wrong(_))));
    assert!(matches!(verdict("http cancel", vec![call()]), Err(Failure::Wrong(_))));
    let mut primed = streamed(call(), &[]);
    primed.answer = b"id: 1\ndata:\n\n".to_vec();
    assert!(verdict("http cancel", vec![primed, notice(2)]).is_ok(), "cut off by the client");
    let mut ended = streamed(call(), &[]);
    (ended.answer, ended.whole) = (b"id: 1\ndata:\n\n".to_vec(), true);
    assert!(matches!(verdict("http cancel", vec![ended, notice(2)]), Err(Failure::Wrong(_))));
    let modern = |exchanges| Observed::new(Over::Http, true, exchanges).run("http cancel");
    assert!(modern(vec![Exchange { given_up: true, ..call() }]).is_ok());
    assert!(matches!(modern(vec![call()]), Err(Failure::Wrong(_))));
    assert!(matches!(modern(vec![Exchange { given_up: true, ..call() }, notice(2)]), Err(Failure::Wrong(_))));
}

#[test]
fn a_stream_is_taken_up_where_it_broke() {
    let progress = |step: u64| json!({ "method": "notifications/progress", "params": { "progress": step } });
    let steps = |from: u64, to: u64| (from..=to).map(progress).collect::<Vec<_>>();
    let arguments = json!({ "steps": 7 });
    let call =
        json!({ "id": 2, "method": "tools/call", "params": { "name": "countdown", "arguments": arguments } });
    let broken = || streamed(posted(call.clone(), 200, ""), &steps(1, 2));
    let rest = |from| {
        let mut messages = steps(from, 7);
        messages.push(json!({ "id": 2, "result": {} }));
        let mut get = streamed(posted(Value::Null, 200, ""), &messages);
        get.verb = "GET".into();
        get.headers.extend(headers(&[("last-event-id", "2")]));
        get
    };
    assert!(verdict("http resumption", vec![broken(), rest(3)]).is_ok());
    for odd in [vec![broken()], vec![broken(), rest(2)], vec![broken(), rest(4)]] {
        assert!(matches!(verdict("http resumption", odd), Err(Failure::Wrong(_))));
    }
    let theirs = Observed::new(Over::Http, false, vec![opening(), broken(), rest(2)]).run("http resumption");
    assert!(matches!(theirs, Err(Failure::Absent(_))));
}

#[test]
fn modern_requests_are_mirrored_in_their_headers() {
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28" });
    let call = json!({ "id": 1, "method": "tools/call", "params": { "name": "echo", "_meta": meta } });
    let mut exchange = posted(call, 200, "{}");
    exchange.headers = headers(&[
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "echo"),
    ]);
    assert!(is_mirrored(&exchange));
    exchange.headers.pop();
    assert!(!is_mirrored(&exchange));
}

#[test]
fn silence_fails_every_check() {
    let silent = Observed::new(Over::HttpSse, true, Vec::new());
    assert_eq!(silent.report().matches("\"fail\"").count(), CHECKS.len());
}
