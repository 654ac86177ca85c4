//! Roots, seen from the server: asked for when allowed, remembered while they hold, and stayed inside of.

use std::path::PathBuf;

use contexture::model::Root;
use contexture::server::{resolve_inside, root_path};
use contexture::{Context, Error, Server, tool};
use serde_json::{Value, json};

use super::spoken::{ALL, Spoken, text_of};
use super::support::{LEGACY, MODERN};

fn server() -> Server {
    Server::new("test", "1.0.0").tool(tool("roots").handler(|ctx: Context| async move {
        let roots = ctx.roots("roots").await?;
        Ok::<_, Error>(roots.iter().map(|root| root.uri.as_str()).collect::<Vec<_>>().join(" "))
    }))
}

fn call() -> Value {
    json!({ "name": "roots", "arguments": {} })
}

fn announcing() -> Value {
    json!({ "roots": { "listChanged": true } })
}

fn list(uris: &[&str]) -> Value {
    json!({ "roots": uris.iter().map(|uri| json!({ "uri": uri })).collect::<Vec<_>>() })
}

/// Calls, answers the question for roots, and returns the text.
async fn answered(peer: &mut Spoken, uris: &[&str]) -> String {
    let id = peer.begin("tools/call", call()).await;
    let question = peer.expect("roots/list").await.expect("a question");
    peer.answer(&question, list(uris)).await.expect("is sent");
    text_of(&peer.response(&id).await.expect("a response")).to_owned()
}

// covers: ROOTS-SRV-CHECK-CAP
#[tokio::test]
async fn who_has_no_roots_is_not_asked() {
    for revision in ALL {
        let (told, mut tells) = tokio::sync::mpsc::unbounded_channel();
        let server = server().on_initialized(move |session| {
            let told = told.clone();
            async move { told.send(session.roots().await.map(drop)).expect("is told") }
        });
        let mut peer = Spoken::to(server, revision, json!({})).await;
        let answer = peer.ask("tools/call", call()).await;
        if revision == MODERN {
            assert_eq!(answer["error"]["code"], -32021);
        } else {
            assert_eq!(answer["result"]["isError"], true);
            let refused = tells.recv().await.expect("is told");
            assert!(matches!(refused, Err(Error::Unsupported(contexture::Capability::Roots))), "{refused:?}");
        }
        assert!(peer.heard("roots/list").await.is_empty());
    }
}

// covers: ROOTS-SRV-CACHE
#[tokio::test]
async fn roots_are_remembered_by_those_who_would_hear_of_changes() {
    for revision in LEGACY {
        let mut peer = Spoken::to(server(), revision, announcing()).await;
        assert_eq!(answered(&mut peer, &["file:///a"]).await, "file:///a");
        assert_eq!(text_of(&peer.ask("tools/call", call()).await), "file:///a");
        assert!(peer.heard("roots/list").await.is_empty(), "asked once");
        peer.notify("notifications/roots/list_changed", Value::Null).await.expect("is sent");
        assert_eq!(answered(&mut peer, &["file:///b"]).await, "file:///b", "and again after a change");

        let mut silent = Spoken::to(server(), revision, json!({ "roots": {} })).await;
        assert_eq!(answered(&mut silent, &["file:///a"]).await, "file:///a");
        assert_eq!(answered(&mut silent, &["file:///b"]).await, "file:///b", "each time");
    }
}

// covers: ROOTS-SERVER-REFRESH
#[tokio::test]
async fn a_server_that_tracks_roots_asks_by_itself() {
    for revision in LEGACY {
        let mut peer = Spoken::to(server().track_roots(), revision, announcing()).await;
        for root in ["file:///a", "file:///b"] {
            let question = peer.expect("roots/list").await.expect("a question");
            assert_eq!(question.get("params"), None);
            peer.answer(&question, list(&[root])).await.expect("is sent");
            peer.settle().await.expect("lives");
            assert_eq!(text_of(&peer.ask("tools/call", call()).await), root);
            assert!(peer.heard("roots/list").await.is_empty(), "known already");
            peer.notify("notifications/roots/list_changed", json!({})).await.expect("is sent");
        }
    }
}

// covers: ROOTS-SRV-HANDLE-CHANGE
#[tokio::test]
async fn an_answer_from_before_a_change_is_not_remembered() {
    for revision in LEGACY {
        let mut peer = Spoken::to(server(), revision, announcing()).await;
        let id = peer.begin("tools/call", call()).await;
        let question = peer.expect("roots/list").await.expect("a question");
        peer.notify("notifications/roots/list_changed", Value::Null).await.expect("is sent");
        peer.answer(&question, list(&["file:///old"])).await.expect("is sent");
        let answer = peer.response(&id).await.expect("a response");
        assert_eq!(text_of(&answer), "file:///old", "whoever asked before gets what was true before");
        assert_eq!(answered(&mut peer, &["file:///new"]).await, "file:///new");
    }
}

// covers: ROOTS-URI-FILE
#[tokio::test]
async fn what_is_no_root_is_left_out() {
    let mixed = ["http://example.com/", "file:///good", "/bare", "file:///a/../../etc", "file://host/x"];
    for revision in LEGACY {
        let mut peer = Spoken::to(server(), revision, json!({ "roots": {} })).await;
        assert_eq!(answered(&mut peer, &mixed).await, "file:///good");
    }
    let mut peer = Spoken::to(server(), MODERN, json!({ "roots": {} })).await;
    let round = peer.ask("tools/call", call()).await;
    assert_eq!(round["result"]["inputRequests"]["roots"]["method"], "roots/list");
    let mut retry = call();
    retry["requestState"] = round["result"]["requestState"].clone();
    retry["inputResponses"] = json!({ "roots": list(&mixed) });
    assert_eq!(text_of(&peer.ask("tools/call", retry).await), "file:///good");
}

/// A directory of this test alone, gone afterwards.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("contexture-{}-{name}", std::process::id()));
        std::fs::remove_dir_all(&path).ok();
        std::fs::create_dir_all(path.join("b/inner")).expect("a directory");
        std::fs::create_dir_all(path.join("bc")).expect("a directory");
        std::fs::create_dir_all(path.join("with space")).expect("a directory");
        for file in ["b/inner/file", "bc/file", "file", "with space/file"] {
            std::fs::write(path.join(file), "x").expect("a file");
        }
        Self(path.canonicalize().expect("is there"))
    }

    fn root(&self, below: &str) -> Root {
        Root::new(format!("file://{}/{below}", self.0.display()))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

// covers: ROOTS-SRV-BOUNDARIES, ROOTS-SRV-VALIDATE-PATHS
#[test]
fn a_path_is_inside_or_it_is_not_found() {
    let place = Place::new("inside");
    let roots = [place.root("b"), place.root("with%20space")];
    let inside = |path: &str| resolve_inside(&roots, &place.0.join(path));
    assert_eq!(inside("b/inner/file").expect("inside"), place.0.join("b/inner/file"));
    assert_eq!(inside("b").expect("the root itself"), place.0.join("b"));
    assert_eq!(inside("b/inner/../inner/file").expect("inside after all"), place.0.join("b/inner/file"));
    assert!(inside("with space/file").is_ok());
    for outside in
        ["bc/file", "file", "b/../file", "b/inner/../../bc/file", "b/%2e%2e/file", "b/missing", "missing"]
    {
        assert!(matches!(inside(outside), Err(Error::NotFound)), "{outside}");
    }
    assert!(resolve_inside(&[], &place.0.join("b")).is_err(), "without roots nothing is inside");
}

// covers: ROOTS-SRV-BOUNDARIES
#[cfg(unix)]
#[test]
fn links_lead_nowhere_else() {
    let place = Place::new("links");
    std::os::unix::fs::symlink(place.0.join("bc"), place.0.join("b/out")).expect("a link");
    std::os::unix::fs::symlink(place.0.join("b/inner"), place.0.join("b/in")).expect("a link");
    let roots = [place.root("b")];
    assert!(resolve_inside(&roots, &place.0.join("b/out/file")).is_err());
    assert!(resolve_inside(&roots, &place.0.join("b/in/file")).is_ok());
}

// covers: ROOTS-SRV-UNAVAILABLE
#[test]
fn a_root_that_has_vanished_contains_nothing() {
    let place = Place::new("gone");
    let roots = [place.root("b"), place.root("bc")];
    let path = place.0.join("b/inner/file");
    assert!(resolve_inside(&roots, &path).is_ok());
    std::fs::remove_dir_all(place.0.join("b")).expect("can be removed");
    assert!(matches!(resolve_inside(&roots, &path), Err(Error::NotFound)));
    assert!(resolve_inside(&roots, &place.0.join("bc/file")).is_ok(), "the others are as they were");
}

#[test]
fn the_path_of_a_root() {
    let path = |uri: &str| root_path(&Root::new(uri));
    assert_eq!(path("file:///a%20b"), Some(PathBuf::from("/a b")));
    assert_eq!(path("file://localhost/a"), Some(PathBuf::from("/a")));
    for none in ["http://a/b", "file://elsewhere/a", "file:///a/%2e%2e/b", "file:///a%00", "/a"] {
        assert_eq!(path(none), None, "{none}");
    }
}
