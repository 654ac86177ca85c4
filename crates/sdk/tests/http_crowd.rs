//! Ten thousand idle sessions and two thousand open streams in one process: who is told of a change, what it all
//! costs, and what is left when everybody has gone.
//!
//! The server is a process of its own (`examples/crowd.rs`), so that what is measured is the server's. Figures are
//! printed; of time nothing is asserted, and of memory that it is given back.
#![cfg(all(target_os = "linux", feature = "http-server"))]

#[path = "http_crowd/process.rs"]
mod process;
#[path = "http_crowd/raw.rs"]
mod raw;
#[path = "http_crowd/streams.rs"]
mod streams;

use std::time::Duration;

use contexture::revision::Revision;
use futures_util::future::try_join_all;
use process::{Process, State};
use raw::{Connection, Session};
use serde_json::json;
use streams::{Heard, Streams};

/// Sessions that are open at once.
const SESSIONS: usize = 10_000;
/// Sessions that listen, each on a stream of its own.
const LISTENING: usize = 1_000;
/// Streams of the modern era, one half of them for changes of the tools.
const MODERN: usize = 1_000;
/// Connections that open and end sessions, one after the other.
const DOORS: usize = 8;
/// Sessions that watch the news: every second of these has a stream.
const WATCHING: usize = 50;
/// Turns a hang into a failure; nothing is measured by it.
const DEADLINE: Duration = Duration::from_secs(150);
/// What may be left when everybody has gone: tables that have grown; not a hundred bytes for each
/// session.
const LEFT_KIB: i64 = 1_000;
/// Longer than a session may be idle.
const IDLE: u64 = 31 * 60;

const NEWS: &str = "crowd://news";
const TOOLS: &str = "notifications/tools/list_changed";
const PROMPTS: &str = "notifications/prompts/list_changed";
const UPDATED: &str = "notifications/resources/updated";

/// What has to hold in the end, said to whoever reads the output.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), "http_crowd: {}", format_args!($($text)*));
    }};
}

/// Revisions with sessions at one endpoint, in turn: all legacy ones but the first, which has the pair.
fn revision(number: usize) -> Revision {
    let streamable = &Revision::LEGACY[1..];
    streamable[number % streamable.len()]
}

/// Opens sessions over a few connections that stay open meanwhile.
async fn open(address: &str, count: usize) -> Vec<Session> {
    let doors = (0..DOORS).map(|door| async move {
        let mut connection = Connection::open(address).await?;
        let mut sessions = Vec::new();
        for number in (door..count).step_by(DOORS) {
            sessions.push((number, connection.initialize(revision(number)).await?));
        }
        Ok::<_, std::io::Error>(sessions)
    });
    let mut sessions: Vec<_> =
        try_join_all(doors).await.expect("sessions are opened").into_iter().flatten().collect();
    sessions.sort_by_key(|(number, _)| *number);
    sessions.into_iter().map(|(_, session)| session).collect()
}

/// Ends sessions as their clients are asked to.
async fn end(address: &str, sessions: &[Session]) {
    let doors = sessions.chunks(sessions.len().div_ceil(DOORS)).map(|sessions| async move {
        let mut connection = Connection::open(address).await?;
        for session in sessions {
            connection.delete(session).await?;
        }
        Ok::<_, std::io::Error>(())
    });
    try_join_all(doors).await.expect("sessions are ended");
}

/// Sessions that watch the news: one half with a stream, one half without.
fn watches(number: usize) -> bool {
    number < WATCHING / 2 || (LISTENING..LISTENING + WATCHING / 2).contains(&number)
}

async fn watch_news(address: &str, sessions: &[Session]) {
    let mut connection = Connection::open(address).await.expect("a connection");
    for (_, session) in sessions.iter().enumerate().filter(|(number, _)| watches(*number)) {
        connection.request(session, "resources/subscribe", json!({ "uri": NEWS })).await.expect("subscribed");
    }
}

/// What the modern streams ask for: tools, or something else.
fn filter(number: usize) -> serde_json::Value {
    match number {
        _ if number.is_multiple_of(2) => json!({ "toolsListChanged": true }),
        _ if number < WATCHING => json!({ "promptsListChanged": true, "resourceSubscriptions": [NEWS] }),
        _ => json!({ "promptsListChanged": true }),
    }
}

async fn open_streams(address: &str, sessions: &[Session]) -> Streams {
    let mut streams = Streams::default();
    for session in &sessions[..LISTENING] {
        streams.listen_to_session(address, session).await.expect("a stream");
    }
    for number in 0..MODERN {
        streams.listen(address, filter(number)).await.expect("a stream");
    }
    streams.wait_for(MODERN).await;
    streams
}

/// Changes one thing after the other, and waits each time until all who asked have heard of it. The last two
/// reach every stream, so that whatever was said to the wrong one before is known by then.
async fn tell(process: &mut Process, streams: &Streams) {
    let half = MODERN / 2;
    let news = WATCHING / 2;
    let mut expected = MODERN;
    for (tool, told) in [
        ("change", LISTENING + half),
        ("touch", news + news),
        ("change_prompts", LISTENING + half),
        ("change", LISTENING + half),
    ] {
        process.call(tool, json!({})).await;
        expected += told;
        streams.wait_for(expected).await;
        say!("{tool}: {told} streams were told");
    }
}

fn check(streams: &Streams) {
    for (number, heard) in streams.heard().into_iter().enumerate() {
        let expected: &[&str] = match number {
            _ if number < WATCHING / 2 => &[TOOLS, UPDATED, PROMPTS, TOOLS],
            _ if number < LISTENING => &[TOOLS, PROMPTS, TOOLS],
            _ if (number - LISTENING).is_multiple_of(2) => &[Heard::ACKNOWLEDGED, TOOLS, TOOLS],
            _ if number - LISTENING < WATCHING => &[Heard::ACKNOWLEDGED, UPDATED, PROMPTS],
            _ => &[Heard::ACKNOWLEDGED, PROMPTS],
        };
        assert_eq!(heard, expected, "stream {number}");
    }
}

/// Warm: code is loaded, tables have grown, nothing is left of it.
async fn warm_up(process: &mut Process) -> State {
    let cold = process.state().await;
    let sessions = open(&process.address, 50).await;
    end(&process.address, &sessions).await;
    process.call("later", json!({ "seconds": 61 })).await;
    process.until(|state| state.sessions == 0 && state.tasks == cold.tasks).await
}

/// One half is ended by its clients, the others just go away. Sessions with a stream outlive those without.
async fn leave(process: &mut Process, sessions: &[Session], streams: Streams, start: &State) {
    let (ended, left): (Vec<_>, Vec<_>) =
        sessions.iter().enumerate().partition(|(number, _)| number % 2 == 0);
    let ended: Vec<_> = ended.into_iter().map(|(_, session)| session.clone()).collect();
    end(&process.address, &ended).await;
    streams.wait_for_ends(LISTENING / 2).await;
    let state = process.state().await;
    assert_eq!(state.sessions, left.len(), "one half is left");
    process.call("later", json!({ "seconds": IDLE })).await;
    process.until(|state| state.sessions <= LISTENING / 2).await;
    assert_eq!(process.state().await.sessions, LISTENING / 2, "a session that is listened to is in use");
    drop(streams);
    process.until(|state| state.tasks <= start.tasks + 1).await;
    process.call("later", json!({ "seconds": IDLE })).await;
}

/// What a thing costs: held by the server, and had by the process.
fn print_cost(what: &str, count: usize, before: &State, after: &State) {
    let each = |kib: i64| kib as f64 / count as f64;
    let (heap, rss) = (each(after.heap_kib - before.heap_kib), each(after.rss_kib - before.rss_kib));
    say!("{count} {what}: {heap:.2} KiB each ({rss:.2} KiB of the process)");
}

// covers: TOOLS-LIST-CHANGED, TOOLS-LIST-CHANGED-UNSOLICITED, PROMPT-LIST-CHANGED, PROMPT-LIST-CHANGED-UNSOLICITED, HTTP-GET-SERVER-MSGS
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_comes_is_told_and_leaves_nothing_behind() {
    tokio::time::timeout(DEADLINE, story()).await.expect("nothing hangs");
}

fn need_descriptors() {
    let (limit, wanted) = (process::raise_limit(), (LISTENING + MODERN + 200) as u64);
    assert!(
        limit >= wanted,
        "NOT TESTED: a process may open {limit} files here and this needs {wanted}; raise the hard limit"
    );
}

async fn story() {
    need_descriptors();
    let mut process = Process::start().await;
    let start = warm_up(&mut process).await;
    let address = process.address.clone();
    say!("start: {start:?}");
    let sessions = open(&address, SESSIONS).await;
    let idle = process.state().await;
    assert_eq!(idle.sessions, SESSIONS);
    print_cost("idle sessions", SESSIONS, &start, &idle);
    watch_news(&address, &sessions).await;
    let streams = open_streams(&address, &sessions).await;
    let full = process.state().await;
    print_cost("streams", LISTENING + MODERN, &idle, &full);
    say!("all together: {full:?}");
    tell(&mut process, &streams).await;
    check(&streams);
    let told = process.state().await;
    leave(&mut process, &sessions, streams, &start).await;
    let over = process.until(|state| state.sessions == 0 && state.tasks <= start.tasks).await;
    say!("end: {over:?}");
    assert_eq!(over.tasks, start.tasks);
    let (grown, kept) = (told.heap_kib - start.heap_kib, over.heap_kib - start.heap_kib);
    say!("of {grown} KiB that were held at most, {kept} KiB are left");
    assert!(kept <= LEFT_KIB, "of {grown} KiB the server holds {kept} when everybody has gone");
    process.stop().await;
}
