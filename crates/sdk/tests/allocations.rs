//! Counted work: allocations of one call, from the envelope to the reply.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use contexture::transport::{Incoming, Transport};
use contexture::{Args, Server, tool};
use contexture_judge::{From, Watch};

/// What is promised for an echo call, in any era.
const PROMISED: u64 = 25;
/// What it was measured to take (7 and 9), with a little room for other versions of the standard library: a change
/// that costs more is to be noticed long before the promise is broken.
const LEGACY: u64 = 10;
const MODERN: u64 = 12;
const _: () = assert!(LEGACY <= PROMISED && MODERN <= PROMISED);
const CALLS: u64 = 1_000;

/// Messages that are there from the beginning; answers are only counted.
struct Canned {
    incoming: VecDeque<Bytes>,
    /// What the server said, in memory that was there before.
    answers: Arc<Mutex<Vec<u8>>>,
}

impl Transport for Canned {
    fn poll_receive(&mut self, _cx: &mut Context<'_>) -> Poll<io::Result<Incoming>> {
        Poll::Ready(Ok(self.incoming.pop_front().map_or(Incoming::End, Incoming::Message)))
    }

    fn send(&mut self, lines: &mut Vec<u8>) {
        self.answers.lock().expect("one thread").append(lines);
    }

    fn unsent(&self) -> usize {
        0
    }

    fn poll_flush(&mut self, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(&mut self, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Echo {
    message: String,
}

fn allocations(calls: u64, meta: &str) -> u64 {
    let server = Server::new("echo", "1.0.0")
        .tool(tool("echo").handler(|Args(echo): Args<Echo>| async move { echo.message }))
        .build()
        .expect("a server");
    let mut incoming = VecDeque::new();
    incoming.push_back(Bytes::from_static(br#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"count","version":"1"}}}"#));
    let message = "x".repeat(64);
    for id in 1..=calls {
        incoming.push_back(Bytes::from(format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"echo","arguments":{{"message":"{message}"}}{meta}}}}}"#
        )));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let asked: Vec<Bytes> = incoming.iter().cloned().collect();
    let answers = Arc::new(Mutex::new(Vec::with_capacity(1024 * asked.len())));
    let canned = Canned { incoming, answers: Arc::clone(&answers) };
    let counted = allocation_counter::measure(|| runtime.block_on(server.serve(canned)).expect("serves"));
    judge(&asked, &answers.lock().expect("one thread"));
    counted.count_total
}

/// Every request is answered, and every answer is valid.
fn judge(asked: &[Bytes], answers: &[u8]) {
    let mut watch = Watch::new(From::Server);
    let answers: Vec<&[u8]> = answers.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).collect();
    assert_eq!(answers.len(), asked.len(), "every request is answered");
    for (request, answer) in asked.iter().zip(answers) {
        watch.message(From::Client, &serde_json::from_slice(request).expect("JSON"));
        watch.message(From::Server, &serde_json::from_slice(answer).expect("JSON"));
    }
}

#[test]
fn an_echo_call_stays_within_its_budget() {
    let modern = r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"count","version":"1"}}"#;
    for (era, meta, budget) in [("legacy", "", LEGACY), ("modern", modern, MODERN)] {
        let calls = allocations(CALLS, meta) - allocations(0, meta);
        let each = calls.div_ceil(CALLS);
        eprintln!("{era}: {each} allocations for an echo call");
        assert!(each <= budget, "{era}: {each} allocations for an echo call, {budget} are allowed");
    }
}
