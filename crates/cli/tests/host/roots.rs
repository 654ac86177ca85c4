//! Where people work is told to the servers that may know it, and to each only what is meant for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use contexture::Client;
use contexture::client::{Builder, ElicitAnswer, Roots};
use contexture::model::Root;
use contexture::revision::Era;
use serde_json::{Value, json};

use crate::people::{Person, decides};
use crate::stage::Stage;
use crate::upstream::{ERAS, Upstream};

fn allowed() -> Value {
    json!({ "policy": { "rules": [{ "kinds": ["tool"], "decision": "allow" }] } })
}

fn pairings() -> impl Iterator<Item = (Era, Era)> {
    ERAS.into_iter().flat_map(|client| ERAS.map(|server| (client, server)))
}

/// A client with a root, and how often it gave it away.
fn rooted(builder: Builder) -> (Builder, Arc<AtomicUsize>) {
    let told = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&told);
    let roots = Roots::new().provider(move || {
        counted.fetch_add(1, Ordering::SeqCst);
        std::future::ready(Ok::<_, String>(vec![Root::new("file:///home/ada/letters")]))
    });
    (builder.roots(roots), told)
}

// covers: ROOTS-SEC-ACCESS, SEC-SERVER-ISOLATION
#[tokio::test]
async fn every_server_has_roots_of_its_own() {
    for (client, server) in pairings() {
        let (one, two) = (Upstream::start("one", server).await, Upstream::start("two", server).await);
        let none = Upstream::start("none", server).await;
        let servers = json!({
            "one": one.entry_with(json!({ "roots": ["file:///srv/one"] })),
            "two": two.entry_with(json!({ "roots": ["file:///srv/two"] })),
            "none": none.entry(),
        });
        let stage = Stage::new(servers, allowed());
        let (builder, told) = rooted(Client::builder());
        let front = stage.client(client, builder).await;
        assert_eq!(front.text("one__where", json!({})).await, "file:///srv/one", "{client:?} {server:?}");
        assert_eq!(front.text("two__where", json!({})).await, "file:///srv/two", "{client:?} {server:?}");
        if let Ok(reply) = front.call("none__where", ()).await {
            assert!(reply.is_error(), "{}", reply.text());
        }
        assert!(!one.heard.text().contains("/srv/two"), "{client:?} {server:?}");
        assert!(!two.heard.text().contains("/srv/one"), "{client:?} {server:?}");
        assert!(!none.heard.text().contains("file:///"), "{client:?} {server:?}");
        assert_eq!(told.load(Ordering::SeqCst), 0, "the client's own are nobody's business");
    }
}

// covers: ROOTS-CLIENT-CONSENT, SEC-DATA-CONSENT, SEC-CONSENT-OPERATIONS
#[tokio::test]
async fn the_clients_roots_are_shown_when_the_person_agrees() {
    for (client, server) in pairings() {
        for (answer, is_shown) in [
            (decides("once"), true),
            (decides("deny"), false),
            (ElicitAnswer::Decline, false),
            (ElicitAnswer::Cancel, false),
        ] {
            let files = Upstream::start("files", server).await;
            let stage =
                Stage::new(json!({ "files": files.entry_with(json!({ "roots": "client" })) }), allowed());
            let person = Person::silent([answer]);
            let (builder, told) = rooted(person.client());
            let front = stage.client(client, builder).await;
            let call = front.call("files__where", ()).start();
            person.is_asked(1).await;
            assert!(person.messages()[0].contains("\"files\"") && person.messages()[0].contains("roots"));
            assert_eq!(front.text("files__look", json!({})).await, "seen");
            assert_eq!(told.load(Ordering::SeqCst), 0, "{client:?} {server:?}: before anybody agreed");
            assert!(!files.heard.text().contains("file:///home"), "{client:?} {server:?}");
            person.speak();
            let reply = call.await;
            if is_shown {
                assert_eq!(
                    reply.expect("an answer").text(),
                    "file:///home/ada/letters",
                    "{client:?} {server:?}"
                );
                assert!(files.heard.text().contains("file:///home/ada/letters"));
            } else {
                assert!(!reply.is_ok_and(|reply| !reply.is_error()), "{client:?} {server:?}");
                assert!(!files.heard.text().contains("file:///home"), "{client:?} {server:?}");
                assert_eq!(told.load(Ordering::SeqCst), 0, "{client:?} {server:?}");
                assert!(!front.received().contains("roots/list"), "{client:?} {server:?}");
            }
        }
    }
}

// covers: ROOTS-CLIENT-UI
#[tokio::test]
async fn roots_are_changed_while_it_runs() {
    let files = Upstream::start("files", Era::Legacy).await;
    let servers = |roots: Value| json!({ "files": files.entry_with(json!({ "roots": roots })) });
    let stage = Stage::new(servers(json!(["file:///srv/before"])), allowed());
    let front = stage.client_with(Era::Legacy, Client::builder(), &["--stdio", "--watch"]).await;
    assert_eq!(front.text("files__where", json!({})).await, "file:///srv/before");
    for roots in [json!(["file:///srv/after", "file:///srv/more"]), json!([])] {
        stage.configure(servers(roots.clone()), allowed());
        let wanted: Vec<&str> = roots.as_array().expect("a list").iter().filter_map(Value::as_str).collect();
        let wanted = wanted.join(" ");
        let begun = std::time::Instant::now();
        while front.text("files__where", json!({})).await != wanted {
            assert!(begun.elapsed().as_secs() < 30, "never: {wanted:?}\n{}", stage.said());
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    }
}
