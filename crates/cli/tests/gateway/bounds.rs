//! Servers that hang, crash again and again, or flood: the others go on (J13, J14).

use std::time::{Duration, Instant};

use serde_json::json;

use crate::stage::{ERAS, Folder, Gateway, allowing, call, text, tools};
use crate::upstream::Upstream;

async fn beside(role: &str) -> (Gateway, Upstream, Upstream) {
    let folder = Folder::new();
    let bad = Upstream::new(&folder, "bad", role)
        .with("callTimeout", json!("20s"))
        .with("startupTimeout", json!("20s"));
    let good = Upstream::new(&folder, "good", "legacy");
    let config = allowing(json!({ "bad": bad.entry, "good": good.entry }));
    (Gateway::with(folder, config, &[], &[]).await, bad, good)
}

#[tokio::test]
async fn j13_servers_that_crash_or_say_nothing_hide_no_other() {
    for role in ["legacy crash", "legacy mute"] {
        let (gateway, bad, _good) = beside(role).await;
        for revision in ERAS {
            let client = gateway.client(revision).await;
            let began = Instant::now();
            let names = tools(&client).await;
            assert!(names.iter().any(|name| name == "good__echo"), "J13 {role}: {names:?}");
            assert!(names.iter().all(|name| !name.starts_with("bad__")), "J13 {role}: {names:?}");
            // A net under a list that waits for the start of a server that never starts, which would take 20 s.
            assert!(began.elapsed() < Duration::from_secs(15), "J13 {role}: the list waits");
            for _ in 0..20 {
                text(&client, "good__echo", json!({})).await;
            }
            let error =
                call(&client, "bad__echo", json!({})).await.expect_err("J13: it is not there").to_string();
            assert!(error.contains("bad"), "J13 {role}: {error}");
        }
        assert!(bad.pids().len() < 20, "J13 {role}: started {} times", bad.pids().len());
    }
}

#[tokio::test]
async fn j13_a_call_that_hangs_delays_no_other() {
    for revision in ERAS {
        let (gateway, bad, _good) = beside("legacy").await;
        let client = gateway.client(revision).await;
        text(&client, "bad__echo", json!({})).await;
        let hanging = tokio::spawn({
            let client = client.clone();
            async move { call(&client, "bad__hang", json!({})).await }
        });
        crate::stage::until("J13: it hangs", || bad.calls("hang") == 1).await;
        for _ in 0..20 {
            text(&client, "good__echo", json!({})).await;
            text(&client, "bad__echo", json!({})).await;
        }
        let outcome = hanging.await.expect("no panic");
        assert!(outcome.is_err(), "J13: {outcome:?}");
        text(&client, "bad__echo", json!({})).await;
    }
}

#[tokio::test]
async fn j13_a_server_that_does_not_keep_its_word_about_changes_is_still_of_use() {
    let (gateway, ..) = beside("modern aloof").await;
    for revision in ERAS {
        let client = gateway.client(revision).await;
        text(&client, "bad__echo", json!({})).await;
    }
}

#[tokio::test]
async fn j14_lists_without_end_are_cut() {
    for role in ["legacy pages", "legacy circle", "modern pages", "legacy huge"] {
        let (gateway, bad, _good) = beside(role).await;
        let client = gateway.client(ERAS[0]).await;
        let names = tools(&client).await;
        assert!(names.iter().any(|name| name == "good__echo"), "J14 {role}: {} names", names.len());
        text(&client, "good__echo", json!({})).await;
        let pages = bad.heard().iter().filter(|it| it["method"] == "tools/list").count();
        assert!(pages <= 25_000, "J14 {role}: {pages} pages");
        assert!(gateway.peak() < 400, "J14 {role}: {} MiB", gateway.peak());
    }
}

#[tokio::test]
async fn j14_floods_of_notifications_drown_nobody() {
    for era in ["legacy", "modern"] {
        let (gateway, ..) = beside(era).await;
        for revision in ERAS {
            let client = gateway.client(revision).await;
            text(&client, "good__echo", json!({})).await;
            for kind in ["message", "progress", "tools/list_changed", "resources/updated", "no/such/thing"] {
                let flood = call(&client, "bad__flood", json!({ "kind": kind, "thousands": 100 }));
                let others = async {
                    for _ in 0..10 {
                        text(&client, "good__echo", json!({})).await;
                    }
                };
                let (_, ()) = tokio::join!(flood, others);
                text(&client, "bad__echo", json!({})).await;
            }
        }
        assert!(gateway.peak() < 300, "J14 {era}: {} MiB", gateway.peak());
        assert!(gateway.log.text().len() < 2 << 20, "J14 {era}: {} bytes of log", gateway.log.text().len());
    }
}

#[tokio::test]
async fn j14_results_without_end_are_refused() {
    for era in ["legacy", "modern"] {
        let (gateway, ..) = beside(era).await;
        for revision in ERAS {
            let client = gateway.client(revision).await;
            let outcome = call(&client, "bad__big", json!({ "bytes": 20 << 20 })).await;
            assert!(outcome.is_err(), "J14 {era} {revision}: all of it came");
            text(&client, "good__echo", json!({})).await;
            text(&client, "bad__echo", json!({})).await;
        }
        assert!(gateway.peak() < 400, "J14 {era}: {} MiB", gateway.peak());
    }
}
