//! What programs read: one document, or one a line. `docs/output.md` promises it.

use serde_json::{Value, json};

use crate::Bench;

#[test]
fn a_call_is_a_document_or_events_as_they_happen() {
    let bench = Bench::new();
    let whole = bench.run(&["call", "./server", "count", "-o", "json"]);
    assert_eq!(whole.json()["content"][0]["text"], "done", "{}", whole.stderr);
    assert!(whole.stderr.contains("… 3\n") && whole.stderr.contains("[info] counted\n"), "{}", whole.stderr);
    let events = bench.run(&["call", "./server", "count", "-o", "ndjson"]);
    assert_eq!((events.code, events.stderr.as_str()), (Some(0), ""));
    let lines = events.lines();
    let names: Vec<&Value> = lines.iter().map(|line| &line["event"]).collect();
    // What the server says in one go may be told in either order, but for the progress, and before the result.
    assert_eq!(names.iter().filter(|name| **name == "progress").count(), 3, "{lines:?}");
    assert!(lines.contains(&json!({ "event": "progress", "progress": 2 })), "{lines:?}");
    assert!(lines.contains(&json!({ "event": "log", "level": "info", "data": "counted" })), "{lines:?}");
    let last = lines.last().expect("a result");
    assert_eq!((&last["event"], &last["result"]["content"][0]["text"]), (&"result".into(), &"done".into()));
}

#[test]
fn a_question_is_an_event_too_and_declined_where_nobody_wants_to_be_asked() {
    let bench = Bench::new();
    for (tool, kind, message) in [
        ("ask", "form", "Which colours?"),
        ("visit", "url", "Please pay."),
        ("sample", "sampling", "why\u{202e}?"),
    ] {
        let run = bench.run(&["call", "./server", tool, "--no-input", "--unchecked", "-o", "ndjson"]);
        let wanted = json!({ "event": "question", "kind": kind, "server": "scripted", "message": message, "answer": "decline" });
        assert!(run.lines().contains(&wanted), "{tool}: {} {}", run.stdout, run.stderr);
        assert!(
            run.stderr.contains("scripted") && run.stderr.contains("declined: --no-input"),
            "{tool}: {}",
            run.stderr
        );
    }
}

#[test]
fn lists_are_a_document_or_an_entry_a_line() {
    let bench = Bench::new();
    for (verb, member, name) in
        [("tools", "tools", "name"), ("prompts", "prompts", "name"), ("resources", "resources", "uri")]
    {
        let whole = bench.run(&[verb, "list", "demo", "-o", "json"]).json();
        let lines = bench.run(&[verb, "list", "demo", "-o", "ndjson"]).lines();
        let entries = whole[member].as_array().expect("entries");
        assert_eq!(&lines[..entries.len()], entries.as_slice(), "{verb}");
        assert!(lines[0][name].is_string(), "{verb}");
    }
    let templates = bench.run(&["resources", "list", "demo", "-o", "ndjson"]).lines();
    assert!(templates.iter().any(|entry| entry["uriTemplate"].is_string()), "{templates:?}");
}

#[test]
fn reading_prompting_and_completing_have_parts() {
    let bench = Bench::new();
    let read = bench.run(&["read", "demo", "demo://notes/beta", "-o", "ndjson"]).lines();
    assert_eq!(read[0]["text"], "note beta");
    let prompt = bench.run(&["prompt", "demo", "review", "code=x = 1", "-o", "ndjson"]).lines();
    assert_eq!(prompt[1]["role"], "assistant");
    let whole = bench.run(&["complete", "demo", "greeting", "style=p", "-o", "json"]);
    assert!(
        whole.json()["completion"]["values"].as_array().is_some_and(|all| !all.is_empty()),
        "{}",
        whole.stderr
    );
    let lines = bench.run(&["complete", "demo", "greeting", "style=p", "-o", "ndjson"]).lines();
    assert_eq!(Value::from(lines), whole.json()["completion"]["values"]);
    let text = bench.run(&["complete", "demo", "demo://notes/{id}", "id=b"]);
    assert_eq!(text.stdout, "beta\n", "{}", text.stderr);
}

#[test]
fn a_raw_request_is_answered_as_it_came() {
    let bench = Bench::new();
    let strange = bench.run(&["raw", "./server", "example/strange", "{\"x\": [1]}", "-o", "json"]);
    assert_eq!(strange.json()["got"]["x"], json!([1]), "{}", strange.stderr);
    let known =
        bench.run(&["raw", "./server", "tools/call", "{\"name\":\"echo\",\"arguments\":{\"b\":1,\"a\":2}}"]);
    assert!(known.stdout.starts_with("{\n  \"content\": ["), "{} {}", known.stdout, known.stderr);
    let meta = bench.run(&["raw", "./server", "tools/list", "{\"_meta\":{\"example/mine\":7}}"]);
    assert_eq!(meta.code, Some(0), "{}", meta.stderr);
    assert!(crate::heard(&bench.folder, "example/mine").contains("\"example/mine\":7"));
    let mut piped = bench.command(&["raw", "demo", "tools/list", "-", "-o", "json"]);
    let mut child = piped.stdin(std::process::Stdio::piped()).spawn().expect("starts");
    std::io::Write::write_all(&mut child.stdin.take().expect("a pipe"), b"{}").expect("it reads");
    let piped = crate::Run::from(child.wait_with_output().expect("ends"));
    assert!(piped.json()["tools"].is_array(), "{}", piped.stderr);
    for (arguments, code) in
        [(&["ping", "[1]"][..], 1), (&["notifications/initialized"], 1), (&["no/such"], 1), (&[], 1)]
    {
        let failed = bench.run(&[&["raw", "demo"], arguments].concat());
        assert_eq!(
            (failed.code, failed.stdout.as_str()),
            (Some(code), ""),
            "{arguments:?}: {}",
            failed.stderr
        );
    }
}

#[test]
fn a_ping_tells_how_long_it_took_in_every_era() {
    let bench = Bench::new();
    for era in ["legacy", "modern"] {
        let run = bench.run(&["ping", "demo", "--count", "2", "--interval", "0", "--era", era, "-o", "json"]);
        let summary = run.json();
        assert_eq!((&summary["sent"], &summary["answered"]), (&2.into(), &2.into()), "{era}: {}", run.stderr);
        assert!(
            summary["times"].as_array().is_some_and(|times| times.iter().all(Value::is_f64)),
            "{summary}"
        );
        let text = bench.run(&["ping", "demo", "-n", "1", "--era", era]);
        assert!(
            text.stdout.contains(" speaks 20") && text.stdout.contains("1 of 1 answered"),
            "{}",
            text.stdout
        );
    }
    let lines = bench.run(&["ping", "./server", "-n", "2", "--interval", "0", "-o", "ndjson"]).lines();
    assert_eq!((lines.len(), &lines[1]["event"], &lines[1]["number"]), (2, &"pong".into(), &2.into()));
}

#[test]
fn arguments_are_read_by_the_whole_schema_and_refused_before_anything_is_sent() {
    let bench = Bench::new();
    let sent = bench.run(&["call", "./server", "echo", "size=m", "n=7", "list=[1]"]);
    assert_eq!(sent.stdout, "{\"list\":[1],\"n\":7,\"size\":\"m\"}\n", "{}", sent.stderr);
    std::fs::remove_file(bench.folder.join("heard")).expect("it wrote one");
    for (word, fault) in [
        ("size=xl", "size: \"xl\" is not one of s, m"),
        ("size:=3", "size: 3 is not one of s, m"),
        ("n=x", "n: \"x\" is not an integer"),
        ("list=x", "list: \"x\" is not a JSON array"),
    ] {
        let refused = bench.run(&["call", "./server", "echo", word]);
        assert_eq!(refused.code, Some(1), "{word}: {}", refused.stderr);
        assert!(refused.stderr.contains(fault), "{word}: {}", refused.stderr);
        assert!(refused.stderr.contains("size?: \"s\" | \"m\""), "the signature: {}", refused.stderr);
    }
    assert!(!crate::heard(&bench.folder, "tools/list").contains("tools/call"));
}
