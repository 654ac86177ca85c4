//! Servers as processes: noise, death, deafness, and what they inherit (H01 to H14).

use serde_json::json;

use crate::stage::{
    ERAS, Folder, Gateway, Pipe, allowing, call, corpses_of, is_alive, meta, text, tools, until,
};
use crate::upstream::Upstream;

/// Two servers, one of which behaves.
async fn with_a_good_one(role: &str) -> (Gateway, Upstream, Upstream) {
    let folder = Folder::new();
    let bad = Upstream::new(&folder, "bad", role).with("callTimeout", json!("3s"));
    let good = Upstream::new(&folder, "good", "legacy");
    let config = allowing(json!({ "bad": bad.entry, "good": good.entry }));
    (Gateway::with(folder, config, &[], &[]).await, bad, good)
}

#[tokio::test]
async fn h01_banners_are_passed_over() {
    for era in ["legacy", "modern"] {
        let (gateway, ..) = with_a_good_one(&format!("{era} banner")).await;
        let client = gateway.client(ERAS[0]).await;
        assert!(text(&client, "bad__echo", json!({ "x": 1 })).await.contains("echo"), "H01 {era}");
    }
}

#[tokio::test]
async fn h01_garbage_without_end_ends_the_connection() {
    let (gateway, ..) = with_a_good_one("legacy").await;
    let client = gateway.client(ERAS[0]).await;
    text(&client, "good__echo", json!({})).await;
    // A gibibyte, or as much of it as anybody listens to.
    let outcome = call(&client, "bad__garbage", json!({ "mib": 1024 })).await;
    let failed = match &outcome {
        Ok(reply) => reply.is_error(),
        Err(_) => true,
    };
    assert!(failed, "H01: all of it was read: {outcome:?}");
    assert!(gateway.peak() < 200, "H01: {} MiB", gateway.peak());
    let log = gateway.log.text();
    assert!(log.len() < 1 << 20, "H01: {} bytes of log", log.len());
    text(&client, "good__echo", json!({})).await;
    text(&client, "bad__echo", json!({})).await;
}

#[tokio::test]
async fn h02_children_that_die_fail_their_calls_and_are_started_again() {
    for revision in ERAS {
        let (gateway, bad, _good) = with_a_good_one("legacy").await;
        let client = gateway.client(revision).await;
        text(&client, "bad__echo", json!({})).await;
        for (number, how) in ["0", "1", "KILL", "SEGV"].into_iter().enumerate() {
            let outcome = call(&client, "bad__exit", json!({ "how": how })).await;
            let error = outcome.expect_err("H02: it is dead").to_string();
            let says =
                ["exit", "signal", "status", "ended", "killed"].iter().any(|word| error.contains(word));
            assert!(says, "H02 {how}: it is not said how it ended: {error}");
            assert_eq!(bad.calls("exit"), number + 1, "H02 {how}: replayed");
            let mut last = String::new();
            let again = crate::stage::within("H02: started again", async {
                loop {
                    match call(&client, "bad__echo", json!({})).await {
                        Ok(reply) => return reply.text(),
                        Err(error) => last = error.to_string(),
                    }
                    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                }
            });
            assert!(again.await.contains("echo"), "{last}");
        }
        assert!(bad.pids().len() >= 5, "H02: {:?}", bad.pids());
        until("H02: no corpse is left", || corpses_of(gateway.pid) == 0).await;
    }
}

#[tokio::test]
async fn h02_children_that_die_at_every_step_hide_no_other() {
    for era in ["legacy", "modern"] {
        for vice in ["dies", "stammers"] {
            let folder = Folder::new();
            let good = Upstream::new(&folder, "good", "legacy");
            let mut servers = json!({ "good": good.entry });
            let mut bad = Vec::new();
            for step in 1..=8 {
                let name = format!("bad{step}");
                let upstream = Upstream::new(&folder, &name, &format!("{era} {vice} {step}"));
                servers[&name] =
                    upstream.with("startupTimeout", json!("10s")).with("callTimeout", json!("3s")).entry;
                bad.push(name);
            }
            let gateway = Gateway::with(folder, allowing(servers), &[], &[]).await;
            for revision in ERAS {
                let client = gateway.client(revision).await;
                let names = tools(&client).await;
                assert!(names.contains(&"good__echo".to_owned()), "H02 {era} {vice}: {names:?}");
                // Whatever comes of these, it comes, and blames the right one.
                for name in &bad {
                    for _ in 0..3 {
                        if let Err(error) = call(&client, &format!("{name}__echo"), json!({})).await {
                            assert!(error.to_string().contains(name), "H02 {era} {vice} {name}: {error}");
                        }
                    }
                }
                text(&client, "good__echo", json!({})).await;
            }
            until("H02: no corpse is left", || corpses_of(gateway.pid) == 0).await;
        }
    }
}

/// A server of a few lines that closes its output when a tool is called, and goes on living for as long as its test's folder.
const HALF: &str = r#"echo $$ > "$0"
while read -r l; do
  id=$(printf '%s' "$l" | sed -n 's/.*"id":\([0-9][0-9]*\).*/\1/p')
  case "$l" in
    *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"0"}}}\n' "$id";;
    *'"tools/list"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"half","inputSchema":{"type":"object"}}]}}\n' "$id";;
    *'"tools/call"'*) exec >&-; while [ -e "$0" ]; do sleep 1; done;;
    *'"id"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id";;
  esac
done"#;

#[tokio::test]
async fn h03_a_closed_output_is_the_end() {
    let folder = Folder::new();
    let file = folder.path("pid");
    let entry = json!({ "command": "/bin/sh", "args": ["-c", HALF, file] });
    let gateway = Gateway::with(folder, allowing(json!({ "half": entry })), &[], &[]).await;
    let client = gateway.client(ERAS[0]).await;
    let outcome = call(&client, "half__half", json!({})).await;
    assert!(outcome.is_err(), "H03: {outcome:?}");
    let pid = crate::stage::read(&file).trim().parse().expect("a process");
    until("H03: it is ended", || !is_alive(pid)).await;
    until("H03: no corpse is left", || corpses_of(gateway.pid) == 0).await;
}

#[tokio::test]
async fn h06_a_deaf_server_delays_nobody() {
    for revision in ERAS {
        let (gateway, ..) = with_a_good_one("legacy").await;
        let client = gateway.client(revision).await;
        text(&client, "good__echo", json!({})).await;
        let deaf = call(&client, "bad__deaf", json!({}));
        let heap = json!({ "x": "x".repeat(1 << 20) });
        let calls = (0..40).map(|_| call(&client, "bad__echo", heap.clone()));
        let others = async {
            for _ in 0..50 {
                text(&client, "good__echo", json!({})).await;
            }
        };
        let (deaf, calls, ()) = tokio::join!(deaf, futures_all(calls), others);
        assert!(deaf.is_err(), "H06: {deaf:?}");
        assert!(calls.iter().all(Result::is_err), "H06");
        assert!(gateway.peak() < 300, "H06: {} MiB", gateway.peak());
    }
}

/// All of them at once.
async fn futures_all<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut pending: Vec<_> = futures.into_iter().map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(|context| {
        let mut ready = true;
        for (future, output) in &mut pending {
            if output.is_none() {
                match future.as_mut().poll(context) {
                    std::task::Poll::Ready(done) => *output = Some(done),
                    std::task::Poll::Pending => ready = false,
                }
            }
        }
        if ready { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    pending.into_iter().filter_map(|(_, output)| output).collect()
}

#[tokio::test]
async fn h07_floods_of_standard_error_are_drained() {
    let (gateway, ..) = with_a_good_one("legacy").await;
    let client = gateway.client(ERAS[1]).await;
    assert_eq!(text(&client, "bad__stderr", json!({ "mib": 64 })).await, "said", "H07");
    assert!(gateway.peak() < 200, "H07: {} MiB", gateway.peak());
    text(&client, "good__echo", json!({})).await;
}

#[tokio::test]
async fn h09_pieces_and_heaps_are_read_alike() {
    let folder = Folder::new();
    let one = Upstream::new(&folder, "one", "legacy");
    let mut pipe = Pipe::start(folder, &allowing(json!({ "one": one.entry })));
    let line = |id: usize, word: &str| {
        let params = json!({ "name": "one__echo", "arguments": { "w": word }, "_meta": meta() });
        format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }))
    };
    for byte in line(0, "é😀").as_bytes() {
        pipe.send(&[*byte]).await;
    }
    assert!(pipe.answer(&json!(0)).await["result"].is_object(), "H09");
    let word = "w".repeat(10_000);
    let heap: String = (1..=50).map(|id| line(id, &word)).collect();
    pipe.send(heap.as_bytes()).await;
    let mut answered = Vec::new();
    while answered.len() < 50 {
        let answer = pipe.line().await.expect("an answer");
        if answer.get("method").is_none() {
            assert!(answer["result"].is_object(), "H09: {answer}");
            answered.push(answer["id"].as_u64().expect("an id"));
        }
    }
    answered.sort_unstable();
    assert_eq!(answered, (1..=50).collect::<Vec<u64>>(), "H09");
}

#[tokio::test]
async fn h10_what_cannot_be_started_is_said_and_costs_nothing() {
    let folder = Folder::new();
    let good = Upstream::new(&folder, "good", "legacy");
    let locked = folder.path("locked");
    std::fs::write(&locked, "#!/bin/sh\n").expect("written");
    let servers = json!({
        "absent": { "command": "/nonexistent/program" },
        "locked": { "command": locked },
        "nowhere": { "command": "/bin/cat", "cwd": "/nonexistent/folder" },
        "folder": { "command": "/tmp" },
        "good": good.entry,
    });
    let gateway = Gateway::with(folder, allowing(servers), &[], &[]).await;
    for revision in ERAS {
        let client = gateway.client(revision).await;
        let names = tools(&client).await;
        assert!(!names.is_empty() && names.iter().all(|name| name.starts_with("good__")), "H10: {names:?}");
        text(&client, "good__echo", json!({})).await;
        let before = gateway.descriptors();
        for _ in 0..20 {
            for name in ["absent", "locked", "nowhere", "folder"] {
                let outcome = call(&client, &format!("{name}__tool"), json!({})).await;
                let error = outcome.expect_err("H10: there is nothing").to_string();
                assert!(error.contains(name), "H10 {name}: {error}");
            }
        }
        until("H10: no descriptor is left", || gateway.descriptors() <= before + 2).await;
    }
    until("H10: no corpse is left", || corpses_of(gateway.pid) == 0).await;
}

#[tokio::test]
async fn h11_arguments_are_literal() {
    let folder = Folder::new();
    let one = Upstream::new(&folder, "one", "legacy");
    let traps = [
        "a;b",
        "a&&b",
        "$(touch /tmp/never)",
        "`id`",
        "\"quoted\"",
        "'single'",
        "line\nbreak",
        "-leading",
        "--",
        "*",
        "~",
        "%PATH%",
        "é😀",
        "",
    ];
    let mut entry = one.entry.clone();
    let arguments = entry["args"].as_array_mut().expect("arguments");
    let script = arguments[1].as_str().expect("a script").to_owned();
    arguments[1] = json!(format!(r#"for a; do printf '%s\0' "$a"; done > "$OUT"; {script}"#));
    arguments.extend(traps.iter().map(|trap| json!(trap)));
    let out = folder.path("argv");
    entry["env"]["OUT"] = json!(out);
    let gateway = Gateway::with(folder, allowing(json!({ "one": entry })), &[], &[]).await;
    let client = gateway.client(ERAS[0]).await;
    text(&client, "one__echo", json!({})).await;
    let wanted: String = traps.iter().map(|trap| format!("{trap}\0")).collect();
    assert_eq!(crate::stage::read(&out), wanted, "H11");
}

#[tokio::test]
async fn h12_children_inherit_no_secrets() {
    let folder = Folder::new();
    let one = Upstream::new(&folder, "one", "legacy");
    let mut entry = one.entry.clone();
    entry["env"]["MINE"] = json!("configured");
    let secrets = [
        ("AWS_SECRET_ACCESS_KEY", "canary-1"),
        ("GITHUB_TOKEN", "canary-2"),
        ("OPENAI_API_KEY", "canary-3"),
        ("SSH_AUTH_SOCK", "/canary-4"),
        ("LD_PRELOAD_X", "canary-5"),
        ("CONTEXTURE_CLIENT_SECRET", "canary-6"),
    ];
    let gateway = Gateway::with(folder, allowing(json!({ "one": entry })), &[], &secrets).await;
    let client = gateway.client(ERAS[0]).await;
    let all = text(&client, "one__env", json!({})).await;
    assert!(!all.contains("canary"), "H12: {all}");
    assert!(all.contains("PATH") && all.contains("configured"), "H12: {all}");
}

#[tokio::test]
async fn h13_starting_and_ending_leaves_nothing() {
    let folder = Folder::new();
    let one = Upstream::new(&folder, "one", "legacy").with("idleTimeout", json!("50ms"));
    let gateway = Gateway::with(folder, allowing(json!({ "one": one.entry })), &[], &[]).await;
    let client = gateway.client(ERAS[1]).await;
    text(&client, "one__echo", json!({})).await;
    let mut started = one.pids().len();
    let mut before = 0;
    for round in 0..30 {
        let last = *one.pids().last().expect("a process");
        until("H13: the idle one is ended", || !is_alive(last)).await;
        text(&client, "one__echo", json!({})).await;
        assert!(one.pids().len() > started, "H13: it was not started again");
        started = one.pids().len();
        if round == 5 {
            before = gateway.descriptors();
        }
    }
    until("H13: no descriptor is left", || gateway.descriptors() <= before + 3).await;
    until("H13: no corpse is left", || corpses_of(gateway.pid) == 0).await;
}

#[tokio::test]
async fn h14_children_inherit_no_descriptors() {
    let site = crate::website::Website::start(|_, _| None).await;
    let folder = Folder::new();
    let one = Upstream::new(&folder, "one", "legacy");
    let two = Upstream::new(&folder, "two", "legacy");
    let servers = json!({ "one": one.entry, "site": { "url": site.url }, "two": two.entry });
    let mut config = allowing(servers);
    config["audit"] = json!(folder.path("audit.jsonl"));
    let audit = folder.path("audit.jsonl");
    let gateway = Gateway::with(folder, config, &[], &[]).await;
    let client = gateway.client(ERAS[0]).await;
    text(&client, "site__pay", json!({})).await;
    text(&client, "one__echo", json!({})).await;
    let links: Vec<String> =
        serde_json::from_str(&text(&client, "two__fds", json!({})).await).expect("a list");
    assert!(!links.is_empty());
    // What this test was started with itself, it could not keep from anybody.
    let own: Vec<String> = std::fs::read_dir("/proc/self/fd")
        .expect("descriptors")
        .flatten()
        .filter_map(|it| Some(std::fs::read_link(it.path()).ok()?.display().to_string()))
        .collect();
    let links: Vec<&String> = links.iter().filter(|link| !own.contains(link)).collect();
    let audit = audit.display().to_string();
    let is_foreign =
        |link: &&&String| link.starts_with("socket:") || link.contains("eventpoll") || ***link == audit;
    let foreign: Vec<_> = links.iter().filter(is_foreign).collect();
    assert!(foreign.is_empty(), "H14: {foreign:?} of {links:?}");
    let pipes: std::collections::BTreeSet<_> =
        links.iter().filter(|link| link.starts_with("pipe:")).collect();
    assert!(pipes.len() <= 3, "H14: {links:?}");
}

#[tokio::test]
async fn h05_children_end_with_a_gateway_that_is_killed() {
    let (mut gateway, bad, good) = with_a_good_one("legacy").await;
    let client = gateway.client(ERAS[0]).await;
    text(&client, "bad__echo", json!({})).await;
    text(&client, "good__echo", json!({})).await;
    gateway.signal("KILL");
    gateway.ended().await;
    let pids: Vec<u32> = bad.pids().into_iter().chain(good.pids()).collect();
    assert!(pids.len() >= 2);
    until("H05: the children end", || pids.iter().all(|pid| !is_alive(*pid))).await;
}
