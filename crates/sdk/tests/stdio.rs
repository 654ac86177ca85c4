//! A server in a process of its own, over real pipes, files and sockets.
//!
//! The process is this test binary once more: told to, it serves instead of testing. Whatever it writes to
//! standard output after the line of the test harness must be a message, and is judged.
#![cfg(unix)]

#[path = "stdio/process.rs"]
mod process;

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::Stdio;

use contexture_judge::{From, Watch};
use process::{Process, finished_file, line_of};
use serde_json::{Value, json};

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_default()
}

// covers: STDIO-STREAM-ROLES
#[test]
fn requests_come_from_stdin_and_answers_go_to_stdout() {
    let mut server = Process::start();
    let answer = server.initialize("2025-06-18");
    assert_eq!(answer["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(text(&server.call("echo", json!({ "message": "hello" }))), "hello");
    let ended = server.finish();
    assert_eq!(ended.code, Some(0));
    assert!(!ended.errors.contains("jsonrpc"), "messages go to stdout alone: {}", ended.errors);
}

// covers: STDIO-NEWLINE-DELIMITED
#[test]
fn many_messages_in_one_write_and_one_message_in_many() {
    let mut server = Process::start();
    server.initialize("2025-06-18");
    let many: String =
        (100..200).map(|id| line_of(id, "echo", json!({ "message": format!("no. {id}") }))).collect();
    server.write(many.as_bytes());
    for id in 100..200 {
        assert_eq!(text(&server.answer(id)), format!("no. {id}"));
    }
    let one = line_of(200, "echo", json!({ "message": "in pieces: 🦀" }));
    for byte in one.bytes() {
        server.write(&[byte]);
    }
    assert_eq!(text(&server.answer(200)), "in pieces: 🦀");
    // A write that ends in the middle of the next message.
    let (second, third) =
        (line_of(201, "echo", json!({ "message": "a" })), line_of(202, "echo", json!({ "message": "b" })));
    let (head, tail) = third.split_at(third.len() / 2);
    server.write(format!("{second}{head}").as_bytes());
    assert_eq!(text(&server.answer(201)), "a");
    server.write(tail.as_bytes());
    assert_eq!(text(&server.answer(202)), "b");
    assert_eq!(server.finish().code, Some(0));
}

#[test]
fn carriage_returns_and_empty_lines_are_not_part_of_messages() {
    let mut server = Process::start();
    server.initialize("2024-11-05");
    let line = line_of(7, "echo", json!({ "message": "crlf" }));
    server.write(format!("\r\n\n  \n{}\r\n\r\n", line.trim_end()).as_bytes());
    assert_eq!(text(&server.answer(7)), "crlf");
    assert_eq!(server.finish().code, Some(0));
}

// covers: STDIO-NO-EMBEDDED-NEWLINE, STDIO-SINGLE-MESSAGE
#[test]
fn a_message_is_one_line_and_one_object() {
    let mut server = Process::start();
    server.initialize("2025-06-18");
    for words in ["a\nb", "a\r\nb", "\n\n", "a\u{2028}b", "tab\tand \u{0}"] {
        assert_eq!(text(&server.call("echo", json!({ "message": words }))), words);
    }
    let ended = server.finish();
    assert_eq!(ended.code, Some(0));
    assert_eq!(ended.output.len(), 6, "one line for each answer: {:?}", ended.output);
    for line in ended.output {
        assert!(serde_json::from_str::<Value>(&line).is_ok_and(|message| message.is_object()), "{line}");
    }
}

#[test]
fn garbage_is_answered_and_what_follows_it_served() {
    let mut server = Process::start();
    server.initialize("2025-06-18");
    let too_long =
        format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{}\"}}", "x".repeat(process::LINE_LIMIT));
    let rubbish =
        [b"hello".to_vec(), b"{\"jsonrpc\":".to_vec(), b"\xff\xfe\x00".to_vec(), too_long.into_bytes()];
    for (number, line) in rubbish.iter().enumerate() {
        server.write(&[line.as_slice(), b"\n"].concat());
        let refused = server.next();
        assert_eq!((&refused["error"]["code"], &refused["id"]), (&json!(-32700), &Value::Null), "{refused}");
        let id = 300 + i64::try_from(number).expect("few");
        server.write(line_of(id, "echo", json!({ "message": "still here" })).as_bytes());
        assert_eq!(text(&server.answer(id)), "still here");
    }
    assert_eq!(server.finish().code, Some(0));
}

// covers: STDIO-STDOUT-CLEAN
#[test]
fn nothing_but_messages_reaches_stdout_whatever_the_handlers_print() {
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut server = Process::start();
        server.initialize(revision);
        assert_eq!(text(&server.call("print", json!({}))), "printed");
        assert_eq!(text(&server.call("child", json!({}))), "the child read nothing");
        for (method, params) in [
            ("tools/list", json!({})),
            ("prompts/list", json!({})),
            ("prompts/get", json!({ "name": "greet" })),
            ("resources/list", json!({})),
            ("resources/templates/list", json!({})),
            ("resources/read", json!({ "uri": "demo://note" })),
            ("resources/subscribe", json!({ "uri": "demo://note" })),
            ("logging/setLevel", json!({ "level": "debug" })),
            ("tools/call", json!({ "name": "panic" })),
            ("tools/call", json!({ "name": "noisy", "_meta": { "progressToken": 1 } })),
            ("no/such", json!({})),
        ] {
            server.request(method, params);
        }
        let ended = server.finish();
        assert_eq!(ended.code, Some(0));
        for stray in ["stray line", "from a child", "careless subscriber"] {
            assert!(ended.errors.contains(stray), "{stray} is missing: {}", ended.errors);
        }
        let mut watch = Watch::new(From::Server);
        for (from, message) in &ended.conversation {
            watch.message(*from, message);
        }
        assert!(watch.judged() == ended.output.len() && ended.output.len() > 12, "every line is a message");
    }
}

// covers: STDIO-STDERR-LOG
#[test]
fn a_flood_on_stderr_does_no_harm() {
    let mut server = Process::start();
    server.initialize("2025-06-18");
    assert_eq!(text(&server.call("flood", json!({}))), "flooded");
    assert_eq!(text(&server.call("echo", json!({ "message": "dry" }))), "dry");
    let ended = server.finish();
    assert_eq!(ended.code, Some(0));
    assert!(ended.errors.len() >= process::FLOOD, "all of it arrived");
}

#[test]
fn the_end_of_stdin_finishes_the_work_at_hand_and_exits_with_zero() {
    let mut server = Process::start();
    server.initialize("2025-06-18");
    let file = finished_file("eof");
    server.begin(50, "until", json!({ "file": file }));
    server.begin(51, "until", json!({ "file": file }));
    assert_eq!(server.next()["method"], "notifications/progress");
    assert_eq!(server.next()["method"], "notifications/progress");
    server.close_input();
    std::fs::write(&file, "now").expect("written");
    let answers: Vec<Value> = vec![server.next(), server.next()];
    assert!(answers.iter().all(|answer| text(answer) == "finished"), "{answers:?}");
    assert_eq!(server.finish().code, Some(0));
    std::fs::remove_file(file).ok();
}

#[test]
fn sigterm_finishes_the_work_at_hand_and_exits_with_zero() {
    let mut server = Process::start();
    server.initialize("2025-06-18");
    let file = finished_file("term");
    server.begin(50, "until", json!({ "file": file }));
    assert_eq!(server.next()["method"], "notifications/progress");
    server.terminate();
    std::fs::write(&file, "now").expect("written");
    assert_eq!(text(&server.next()), "finished");
    // Standard input is still open: it is the signal that ends the process.
    assert_eq!(server.wait().code, Some(0));
    std::fs::remove_file(file).ok();

    let mut idle = Process::start();
    idle.initialize("2025-06-18");
    idle.terminate();
    assert_eq!(idle.wait().code, Some(0));
}

#[test]
fn a_client_that_goes_away_without_reading_is_no_failure() {
    let mut server = Process::start();
    server.initialize("2025-06-18");
    server.stop_reading();
    // More than once: a process that another test is starting may hold our end open for a moment.
    let mut id = 2;
    let ended = server.wait_while(|server| {
        id += 1;
        server.begin(id, "echo", json!({ "message": "nobody hears this" }));
    });
    assert_eq!(ended.code, Some(0));
}

#[test]
fn stdin_may_be_a_file() {
    let path = finished_file("script");
    let cut_off = line_of(3, "echo", json!({ "message": "cut off" }));
    let script = format!(
        "{}{}{}",
        process::initialize_line("2024-11-05"),
        line_of(2, "echo", json!({ "message": "from a file" })),
        cut_off.trim_end()
    );
    std::fs::write(&path, script).expect("written");
    let mut server = Process::start_with(Stdio::from(std::fs::File::open(&path).expect("there")));
    assert_eq!(server.answer(1)["result"]["protocolVersion"], "2024-11-05");
    assert_eq!(text(&server.answer(2)), "from a file");
    let ended = server.wait();
    assert_eq!((ended.code, ended.output.len()), (Some(0), 2), "a last line that was cut off is not served");
    std::fs::remove_file(path).ok();
}

#[test]
fn stdin_and_stdout_may_be_a_socket() {
    let (mut own, other) = UnixStream::pair().expect("a pair");
    let input: std::os::fd::OwnedFd = other.try_clone().expect("a copy").into();
    let output: std::os::fd::OwnedFd = other.into();
    let mut child =
        process::command().stdin(input).stdout(output).stderr(Stdio::null()).spawn().expect("runs");
    own.write_all(process::initialize_line("2025-11-25").as_bytes()).expect("sent");
    own.write_all(line_of(2, "echo", json!({ "message": "over a socket" })).as_bytes()).expect("sent");
    own.shutdown(std::net::Shutdown::Write).expect("shut");
    let mut all = String::new();
    own.read_to_string(&mut all).expect("read to the end");
    assert!(child.wait().expect("ended").success());
    let messages: Vec<Value> = all.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    assert_eq!(messages.len(), 2, "{all}");
    assert_eq!(text(&messages[1]), "over a socket");
}
