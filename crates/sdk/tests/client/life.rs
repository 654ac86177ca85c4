//! Life after closing, dropping and starting anew, with real processes.

use std::time::Duration;

use contexture::client::{KeepAlive, OnPingFailure};
use contexture::revision::{Era, Revision};
use contexture::transport::ChildCommand;
use contexture::{Client, Error};

use crate::child::{Log, exists, hasty, is_gone, until};

/// A server that notes its life. What it does depends on its arguments.
const SERVER: &str = r#"
import json, os, signal, sys, time
log = open(os.environ["LOG"], "a")
def note(what): log.write("%s %d\n" % (what, os.getpid())); log.flush()
def answer(id, **member): os.write(1, (json.dumps({"jsonrpc": "2.0", "id": id, **member}) + "\n").encode())
note("start")
again = open(os.environ["LOG"]).read().count("start ") > 1
if "slow" in sys.argv: time.sleep(1)
if "orphan" in sys.argv and os.fork() == 0:
    os.close(1); signal.signal(signal.SIGTERM, signal.SIG_IGN); note("orphan"); time.sleep(600); os._exit(0)
info = {"name": "life", "version": "1"}
for line in sys.stdin:
    message = json.loads(line)
    method, id = message.get("method"), message.get("id")
    note(method)
    if method == "server/discover":
        if "modern" in sys.argv:
            answer(id, result={"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {}, "ttlMs": 0, "cacheScope": "private"})
        elif "upset" in sys.argv: os.close(1)
        elif "mute" not in sys.argv: answer(id, error={"code": -32601, "message": "unknown"})
    elif method == "initialize":
        if again and "slow-again" in sys.argv: time.sleep(0.5)
        if "stuck" not in sys.argv:
            answer(id, result={"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info})
    elif method == "tools/call": os._exit(0)
    elif method == "ping" and "deaf" not in sys.argv: answer(id, result={})
if "upset" in sys.argv: time.sleep(0.2)
note("end")
"#;

const QUICK: Duration = Duration::from_millis(300);

fn server(log: &Log, arguments: &[&str]) -> ChildCommand {
    log.of(ChildCommand::new("python3").args(["-c", SERVER]).args(arguments.iter().copied()))
}

/// What happened, without the process ids.
fn notes(log: &Log) -> Vec<String> {
    let first = |note: String| note.split(' ').next().map(str::to_owned);
    log.read().into_iter().filter_map(first).collect()
}

#[tokio::test]
async fn closing_wins_over_starting_anew() {
    let log = Log::new();
    let builder = Client::builder().policy(hasty());
    let client = builder.spawn(server(&log, &["slow-again"])).await.expect("connected");
    let again = tokio::spawn({
        let client = client.clone();
        async move { client.reconnect().await }
    });
    until(|| notes(&log).iter().filter(|note| *note == "initialize").count() == 2).await;
    client.close().await;
    assert!(log.pids("start ").into_iter().all(|pid| !exists(pid)), "gone when it returns");
    assert!(matches!(again.await.expect("no panic"), Err(Error::Closed(_))));
    assert!(client.is_closed());
    assert!(matches!(client.reconnect().await, Err(Error::Closed(_))), "closed is closed");
    assert_eq!(log.pids("start ").len(), 2);
}

#[tokio::test]
async fn dropping_the_client_ends_its_ping() {
    let keep_alive = KeepAlive::every(Duration::from_secs(1)).timeout(Duration::from_secs(60));
    let log = Log::new();
    let builder = Client::builder().policy(hasty()).keep_alive(keep_alive);
    let client = builder.spawn(server(&log, &["deaf"])).await.expect("connected");
    until(|| notes(&log).iter().any(|note| note == "ping")).await;
    drop(client);
    let began = std::time::Instant::now();
    until(|| log.pids("start ").into_iter().all(|pid| !exists(pid))).await;
    assert!(began.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn dropping_the_client_ends_its_starting_anew() {
    let log = Log::new();
    let second = Duration::from_secs(1);
    let keep_alive = KeepAlive::every(second).timeout(QUICK).after(1, OnPingFailure::Reconnect);
    let builder = Client::builder().policy(hasty()).keep_alive(keep_alive);
    let client = builder.spawn(server(&log, &["deaf", "slow-again"])).await.expect("connected");
    until(|| notes(&log).iter().filter(|note| *note == "initialize").count() == 2).await;
    drop(client);
    until(|| log.pids("start ").into_iter().all(|pid| !exists(pid))).await;
    tokio::time::sleep(2 * second).await;
    assert_eq!(log.pids("start ").len(), 2, "and no third");
}

/// A slow start is no evidence of anything: the process is left alone, and its late answer counts.
#[tokio::test]
async fn a_slow_server_is_started_once_and_found_out_nevertheless() {
    for (arguments, era) in [(["slow", "modern"].as_slice(), Era::Modern), (&["slow", "mute"], Era::Legacy)] {
        let log = Log::new();
        let client =
            Client::builder().probe_timeout(QUICK).spawn(server(&log, arguments)).await.expect("connected");
        assert_eq!(client.era(), era);
        assert_eq!(log.pids("start ").len(), 1, "{arguments:?}");
        let known = client.known_era();
        client.close().await;
        let log = Log::new();
        let again = Client::builder().known_era(known).probe_timeout(QUICK);
        let client = again.spawn(server(&log, arguments)).await.expect("there is nothing to fall back to");
        assert_eq!(client.era(), era);
        client.close().await;
    }
    let log = Log::new();
    let mut policy = hasty();
    policy.patience.idle = QUICK;
    let builder = Client::builder().policy(policy).probe_timeout(QUICK);
    let error = builder.spawn(server(&log, &["mute", "stuck"])).await.expect_err("silent for good");
    assert!(matches!(error, Error::Timeout(_)), "{error}");
    until(|| notes(&log) == ["start", "server/discover", "initialize", "end"]).await;
}

#[tokio::test]
async fn a_server_is_started_anew_only_when_the_old_one_is_gone() {
    let log = Log::new();
    let client = Client::spawn(server(&log, &["upset"])).await.expect("connected");
    assert_eq!(client.revision(), Revision::V2025_06_18);
    client.close().await;
    let notes: Vec<String> =
        notes(&log).into_iter().filter(|note| note == "start" || note == "end").collect();
    assert_eq!(notes, ["start", "end", "start", "end"], "never two at once");
}

#[test]
fn a_runtime_that_ends_takes_orphans_with_it() {
    let log = Log::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let mut policy = hasty();
        policy.child_term = Duration::MAX;
        let builder = Client::builder().policy(policy);
        let client = builder.spawn(server(&log, &["orphan"])).await.expect("connected");
        until(|| log.pids("orphan ").len() == 1).await;
        client.call("leave", ()).await.expect_err("it left");
        // Its orphan has been asked to leave, and does not.
        tokio::time::sleep(2 * QUICK).await;
    });
    drop(runtime);
    let orphan = log.pids("orphan ")[0];
    for _ in 0..200 {
        if is_gone(orphan) {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("the orphan lives");
}
