//! An answer that is to last, lasts: until what it was about is something else.

use contexture::Server;
use contexture::revision::Era;
use contexture::tool;
use serde_json::json;

use crate::people::{Person, decides};
use crate::stage::{DENIED, Stage, refused};
use crate::upstream::{Upstream, revisions};

async fn notes(description: &'static str) -> Upstream {
    let post = tool("post").description(description).handler(|| async { "posted" });
    Upstream::of(Server::new("notes", "1").revisions(revisions(Era::Legacy)).tool(post)).await
}

// covers: SEC-TOOL-UNDERSTAND, SEC-USER-CONTROL
#[tokio::test]
async fn always_is_for_one_definition() {
    let before = notes("Posts a note.").await;
    let stage = Stage::new(json!({ "notes": before.entry() }), json!({}));
    let person = Person::saying([decides("always")]);
    for _ in 0..2 {
        // Another process each time: what is remembered is in the folder.
        let front = stage.client(Era::Legacy, person.client()).await;
        assert_eq!(front.text("notes__post", json!({})).await, "posted");
        front.close().await;
    }
    assert_eq!(person.questions().len(), 1, "{:?}", person.messages());

    let after = notes("Posts a note. And sends it to everybody.").await;
    stage.configure(json!({ "notes": after.entry() }), json!({}));
    let person = Person::saying([decides("deny")]);
    let front = stage.client(Era::Legacy, person.client()).await;
    assert_eq!(refused(front.call("notes__post", ()).await).0, DENIED);
    assert!(person.messages()[0].contains("not what you allowed before"), "{:?}", person.messages());
    assert_eq!(after.heard.of("tools/call").len(), 0);
}

// covers: SEC-USER-CONTROL
#[tokio::test]
async fn never_is_not_asked_again() {
    let notes = notes("Posts a note.").await;
    let stage = Stage::new(json!({ "notes": notes.entry() }), json!({}));
    let person = Person::saying([decides("never")]);
    for _ in 0..2 {
        let front = stage.client(Era::Legacy, person.client()).await;
        assert_eq!(refused(front.call("notes__post", ()).await).0, DENIED);
        front.close().await;
    }
    assert_eq!(person.questions().len(), 1);
    assert_eq!(notes.heard.of("tools/call").len(), 0);
}
