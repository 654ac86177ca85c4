//! Progress, log messages and cancellation, carried through.

use std::sync::{Arc, Mutex};

use contexture::client::{Builder, Event};
use contexture::model::LoggingLevel;

use super::support::{Gate, able, pairings, until};

#[tokio::test]
async fn progress_arrives_in_order() {
    pairings(|pairing| async move {
        let gate = Gate::of(pairing).await;
        let client = gate.client(pairing.client, pairing.front).await;
        let seen = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&seen);
        let call = client.call("up__steps", ()).on_progress(move |progress| {
            kept.lock().expect("whole").push((progress.progress, progress.message));
        });
        assert_eq!(call.await.expect("an answer").text(), "done", "{pairing:?}");
        let seen = seen.lock().expect("whole").clone();
        let steps: Vec<f64> = seen.iter().map(|(step, _)| *step).collect();
        assert_eq!(steps, [1.0, 2.0, 3.0], "{pairing:?}");
        gate.host.stop().await;
    })
    .await;
}

fn listening() -> (Builder, Arc<Mutex<Vec<String>>>) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&heard);
    let builder = able().on_log(move |_, message| kept.lock().expect("whole").push(message.data.to_string()));
    (builder, heard)
}

#[tokio::test]
async fn log_messages_of_the_wanted_level_arrive() {
    pairings(|pairing| async move {
        let gate = Gate::of(pairing).await;
        let (builder, heard) = listening();
        let client = gate.connect(builder, pairing.client, pairing.front).await;
        client.set_log_level(LoggingLevel::Warning).await.expect("a level");
        client.call("up__warn", ()).await.expect("an answer");
        until(&format!("a log message in {pairing:?}"), || async {
            (!heard.lock().expect("whole").is_empty()).then_some(())
        })
        .await;
        client.call("up__echo", serde_json::json!({ "text": "after" })).await.expect("an answer");
        assert_eq!(*heard.lock().expect("whole"), ["\"careful\""], "{pairing:?}");
        gate.host.stop().await;
    })
    .await;
}

#[tokio::test]
async fn a_call_that_is_given_up_is_cancelled_at_its_server() {
    pairings(|pairing| async move {
        let gate = Gate::of(pairing).await;
        let client = gate.client(pairing.client, pairing.front).await;
        let hanging = client.call("up__hang", ()).start();
        // The rich server counts in its process; a call that hangs has a connection to itself where nobody was proven.
        let other = gate.connect(contexture::Client::builder(), pairing.client, pairing.front).await;
        let shared = pairing.back == super::support::Wire::Http;
        if shared {
            until("the call at work", || async {
                (other.call("up__counts", ()).await.ok()?.text() == "1 0").then_some(())
            })
            .await;
        } else {
            until("the call in flight", || async {
                gate.host.health().iter().any(|health| health.in_flight > 0).then_some(())
            })
            .await;
        }
        drop(hanging);
        if shared {
            until(&format!("a cancelled call in {pairing:?}"), || async {
                (other.call("up__counts", ()).await.ok()?.text() == "1 1").then_some(())
            })
            .await;
        }
        until("nothing in flight", || async {
            gate.host.health().iter().all(|health| health.in_flight == 0).then_some(())
        })
        .await;
        gate.host.stop().await;
    })
    .await;
}

#[tokio::test]
async fn events_are_not_lost_on_the_way() {
    // A legacy client hears of log messages outside of calls, too: its session is known to the connection.
    pairings(|pairing| async move {
        let gate = Gate::of(pairing).await;
        let client = gate.client(pairing.client, pairing.front).await;
        let mut events = client.events();
        client.set_log_level(LoggingLevel::Debug).await.expect("a level");
        client.call("up__warn", ()).await.expect("an answer");
        let mut levels = Vec::new();
        while levels.len() < 2 {
            match tokio::time::timeout(super::support::PATIENCE, events.next()).await.expect("in time") {
                Some(Event::Log(message)) => levels.push(message.level),
                Some(_) => {}
                None => break,
            }
        }
        assert_eq!(levels, [LoggingLevel::Warning, LoggingLevel::Debug], "{pairing:?}");
        gate.host.stop().await;
    })
    .await;
}
