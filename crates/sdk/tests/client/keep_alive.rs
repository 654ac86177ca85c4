//! Pings that keep watch.

use std::time::Duration;

use contexture::client::{Event, KeepAlive, OnPingFailure};
use contexture::{Client, Error};
use serde_json::json;
use tokio::time::Instant;

use crate::support::{ALL, MODERN, discovery, full_pair};

const SECOND: Duration = Duration::from_secs(1);

// covers: PING-PERIODIC, PING-FREQ-CONFIG, PING-NOT-EXCESSIVE
#[tokio::test(start_paused = true)]
async fn pings_come_at_their_interval_and_never_two_at_once() {
    for revision in ALL {
        let ping = if revision == MODERN { "server/discover" } else { "ping" };
        for (wanted, interval) in [(5 * SECOND, 5 * SECOND), (Duration::ZERO, SECOND)] {
            let (_client, mut server) =
                full_pair(Client::builder().keep_alive(KeepAlive::every(wanted)), revision).await;
            for _ in 0..3 {
                let before = Instant::now();
                let asked = server.asked(ping).await;
                assert_eq!(before.elapsed().as_secs(), interval.as_secs(), "once a second at most");
                tokio::time::sleep(3 * SECOND).await;
                server.hears_nothing().await;
                let result = if revision == MODERN { discovery(json!({})) } else { json!({}) };
                server.answer(&asked, result).await.expect("sent");
            }
        }
        let (_client, mut server) = full_pair(Client::builder(), revision).await;
        let quiet = tokio::time::timeout(Duration::from_secs(15), server.receive()).await;
        assert!(quiet.is_err(), "none unless asked for");
    }
}

// covers: PING-TIMEOUT-APPROPRIATE, PING-TIMEOUT-FAILURE, PING-UNANSWERED-STALE, PING-LOG-FAILURE, PING-RESET
#[tokio::test(start_paused = true)]
async fn an_unanswered_ping_is_reported_and_the_connection_kept() {
    let log = contexture_judge::Events::on_this_thread();
    let keep_alive = KeepAlive::every(5 * SECOND).timeout(2 * SECOND);
    let (client, mut server) = full_pair(Client::builder().keep_alive(keep_alive), "2025-06-18").await;
    let mut events = client.events();
    server.asked("ping").await;
    let before = Instant::now();
    assert!(matches!(events.next().await, Some(Event::PingFailed { failures: 1 })));
    assert_eq!(before.elapsed().as_secs(), 2);
    tokio::time::sleep(Duration::from_millis(10)).await;
    assert!(client.is_stale() && !client.is_closed());
    assert_eq!(log.containing("ping failed").len(), 1);
    server.asked("notifications/cancelled").await;
    let asked = server.asked("ping").await;
    server.answer(&asked, json!({})).await.expect("sent");
    tokio::time::sleep(SECOND).await;
    assert!(!client.is_stale(), "it answers again");
    let asked = server.asked("ping").await;
    server.refuse(&asked, -32601).await;
    tokio::time::sleep(SECOND).await;
    assert!(!client.is_stale(), "an error is an answer");
}

// covers: PING-UNANSWERED-TERMINATE, PING-RESET
#[tokio::test(start_paused = true)]
async fn so_many_unanswered_pings_close_the_connection() {
    let keep_alive = KeepAlive::every(5 * SECOND).timeout(SECOND).after(2, OnPingFailure::Close);
    let (client, mut server) = full_pair(Client::builder().keep_alive(keep_alive), "2025-06-18").await;
    let call = client.call("slow", ()).start();
    server.asked("tools/call").await;
    server.asked("ping").await;
    server.asked("notifications/cancelled").await;
    tokio::time::sleep(SECOND).await;
    assert!(!client.is_closed(), "one is not enough");
    server.asked("ping").await;
    assert!(matches!(call.await, Err(Error::Closed(_))), "calls in flight fail");
    assert!(client.is_closed());
}
