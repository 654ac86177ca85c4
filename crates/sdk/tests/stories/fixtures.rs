//! What a small server and its client have said once, in every revision, kept under `tests/fixtures`: both must
//! say the same today. `UPDATE_EXPECT=1` records anew; read the difference before you commit it.
//!
//! No input rounds: their sealed state is fresh each time, and grows too old to be kept.

use std::path::{Path, PathBuf};

use contexture::client::Client;
use contexture::revision::Revision;
use contexture::testing::{Side, Story, Transcript, Wiring, stories};
use serde_json::json;

use crate::{judge, server};

fn file(revision: Revision) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/{revision}.jsonl"))
}

/// Every kind of answer, each once.
async fn tell(story: Story) {
    let client = story.client;
    client.tools().await.expect("a list");
    client.call("add", json!({ "a": 20, "b": 22 })).await.expect("an answer");
    client.call("weather", json!({})).await.expect("an answer");
    client.call("fail", json!({})).await.expect("a result");
    client.call("kinds", json!({})).await.expect("content of all kinds");
    client.call("count", json!({})).on_progress(|_| {}).await.expect("an answer");
    client.read("story://readme").await.expect("the resource");
    client.read("story://notes/today").await.expect("the template");
    assert!(client.read("story://nothing").await.is_err());
    client.prompt("ask", json!({ "name": "Bo" })).await.expect("a prompt");
}

async fn told() -> Vec<(Revision, Transcript)> {
    let client = || Client::builder().name("story", "1.0.0");
    let told = stories(server, client, tell).await.expect("all stories begin");
    // What is said does not depend on the wiring; one of each is enough.
    told.into_iter().step_by(Wiring::ALL.len()).collect()
}

#[tokio::test]
async fn both_sides_say_what_they_have_always_said() {
    let updates = std::env::var_os("UPDATE_EXPECT").is_some();
    let told = told().await;
    assert_eq!(told.len(), Revision::ALL.len());
    judge(&told);
    for (revision, now) in told {
        let file = file(revision);
        if updates {
            std::fs::write(&file, now.to_text() + "\n").expect("the fixture is written");
        }
        let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{revision}: {error}"));
        let kept = Transcript::from_text(&text).expect("a transcript");
        for side in [Side::Client, Side::Server] {
            assert!(kept.sent_by(side).len() > 10, "{revision}: {side:?} said next to nothing");
        }
        assert_eq!(now.sent_by(Side::Client), kept.sent_by(Side::Client), "{revision}: the client");
        kept.replay(server()).await.unwrap_or_else(|error| panic!("{revision}: the server: {error}"));
    }
}
