//! Strangers without a session, who take turns on connections to a server that does not say whom it talks to (J10, J30): what it
//! says late, or in vain, reaches no other.

use std::sync::{Arc, Mutex, PoisonError};

use contexture::Client;
use contexture::client::{ElicitAnswer, Elicitation};
use contexture::model::LoggingLevel;
use contexture::revision::Revision;
use serde_json::{Value, json};

use crate::stage::{Folder, Gateway, allowing, call, text, until};
use crate::upstream::Upstream;

/// What somebody was asked, and heard of the log.
type Heard = Arc<Mutex<Vec<String>>>;

fn all(heard: &Heard) -> Vec<String> {
    heard.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Somebody who can be asked, says this word, and may want to read the log.
async fn stranger(gateway: &Gateway, word: &'static str, logs: bool) -> (Client, Heard) {
    let heard = Heard::default();
    let (asked, logged) = (Arc::clone(&heard), Arc::clone(&heard));
    let elicitation = Elicitation::new(move |question| {
        asked.lock().unwrap_or_else(PoisonError::into_inner).push(question.message().to_owned());
        async move { ElicitAnswer::accept([("word", word)]) }
    });
    let builder = Client::builder().revisions(&[Revision::V2026_07_28]).elicitation(elicitation);
    let builder = builder.on_log(move |_, message| {
        logged.lock().unwrap_or_else(PoisonError::into_inner).push(message.data.to_string());
    });
    let client = gateway.connect(builder).await;
    if logs {
        client.set_log_level(LoggingLevel::Debug).await.expect("a level");
    }
    (client, heard)
}

async fn scene(change: impl FnOnce(&mut Value)) -> (Gateway, Upstream) {
    let folder = Folder::new();
    let one = Upstream::new(&folder, "one", "legacy");
    let mut config = allowing(json!({ "one": one.entry }));
    change(&mut config);
    (Gateway::with(folder, config, &[], &[]).await, one)
}

#[tokio::test]
async fn j30_what_is_said_late_reaches_no_other_stranger() {
    for logs in [false, true] {
        let (gateway, one) = scene(|_| {}).await;
        let (ada, _) = stranger(&gateway, "alpha", logs).await;
        let (ben, heard) = stranger(&gateway, "beta", logs).await;
        for turn in 1..=5 {
            assert_eq!(text(&ada, "one__later", json!({})).await, "done", "J30");
            assert_eq!(text(&ben, "one__sleep", json!({ "ms": 100 })).await, "slept", "J30");
            // It was said before this was answered, so it would be here.
            assert!(one.heard().iter().all(|it| !it.to_string().contains("beta")), "J30 {logs} {turn}");
            assert_eq!(all(&heard), Vec::<String>::new(), "J30 {logs} {turn}: meant for somebody else");
        }
    }
}

/// What did not come to an answer, or was asked about, may still be talked about.
#[tokio::test]
async fn j10_a_connection_serves_another_stranger_only_if_nothing_can_be_left_of_the_last() {
    let (gateway, one) = scene(|_| {}).await;
    let (ada, _) = stranger(&gateway, "alpha", false).await;
    let (ben, _) = stranger(&gateway, "beta", false).await;
    text(&ada, "one__echo", json!({})).await;
    let first = one.pids().len();
    for client in [&ada, &ben, &ada, &ben] {
        text(client, "one__echo", json!({})).await;
        assert_eq!(one.pids().len(), first, "J10: what keeps its state in its process keeps it");
    }
    assert!(text(&ada, "one__ask", json!({})).await.contains("alpha"));
    text(&ben, "one__echo", json!({})).await;
    assert_eq!(one.pids().len(), first + 1, "J10: it has asked ada");
    let mut gone = Box::pin(call(&ada, "one__hang", json!({})));
    tokio::select! {
        outcome = &mut gone => panic!("J10: {outcome:?}"),
        () = until("J10: it hangs", || one.calls("hang") == 1) => {}
    }
    drop(gone);
    until("J10: the server is told", || {
        one.heard().iter().any(|it| it["method"] == "notifications/cancelled")
    })
    .await;
    text(&ben, "one__echo", json!({})).await;
    assert_eq!(one.pids().len(), first + 2, "J10: it still works for ada");
}
