//! What belongs to one server stays with it.

use contexture::Client;
use contexture::client::Sampling;
use contexture::model::{CreateMessageResult, SamplingContent};
use contexture::revision::Era;
use serde_json::{Value, json};

use crate::people::{Person, decides};
use crate::provider::Provider;
use crate::stage::Stage;
use crate::upstream::{ERAS, Upstream, secret};

fn open() -> Value {
    json!({ "policy": { "default": "allow" } })
}

// covers: SEC-SERVER-ISOLATION, SEC-DATA-NO-TRANSMIT
#[tokio::test]
async fn each_server_hears_only_what_is_for_it() {
    for (client, server) in ERAS.into_iter().flat_map(|client| ERAS.map(|server| (client, server))) {
        let (vault, blog) = (Upstream::start("vault", server).await, Upstream::start("blog", server).await);
        let vault_entry = vault.entry_with(json!({ "headers": { "x-key": "KEY-OF-VAULT" } }));
        let stage = Stage::new(json!({ "vault": vault_entry, "blog": blog.entry() }), open());
        let person = Person::saying([contexture::client::ElicitAnswer::accept([("name", "NAME-FOR-VAULT")])]);
        let front = stage.client(client, person.client()).await;

        // Everything that can be had of one.
        front.tools().await.expect("tools");
        assert_eq!(front.text("vault__tell", json!({})).await, secret("vault"));
        let read = front.read("vault+note://secret").await.expect("contents");
        assert!(serde_json::to_string(&read).expect("JSON").contains(&secret("vault")));
        front.text("vault__repeat", json!({ "word": "WORD-FOR-VAULT" })).await;
        front.prompt("vault__greet", json!({ "word": "WORD-FOR-VAULT" })).await.expect("a prompt");
        assert_eq!(front.text("vault__ask", json!({})).await, "it is NAME-FOR-VAULT");
        // And then the other, in every way.
        assert_eq!(front.text("blog__repeat", json!({ "word": "for-blog" })).await, "for-blog");
        front.read("blog+note://plain").await.expect("contents");
        front.prompt("blog__greet", json!({ "word": "for-blog" })).await.expect("a prompt");

        let (heard, other) = (blog.heard.text(), vault.heard.text());
        for foreign in [&secret("vault"), "WORD-FOR-VAULT", "NAME-FOR-VAULT", "KEY-OF-VAULT", "vault"] {
            assert!(!heard.contains(foreign), "{client:?} {server:?}: {foreign} in\n{heard}");
        }
        assert!(!other.contains("for-blog") && !other.contains("blog"), "{client:?} {server:?}: {other}");
        assert!(
            other.contains("KEY-OF-VAULT") && other.contains("WORD-FOR-VAULT"),
            "it was there to be seen"
        );
        // Names are the server's own again when they arrive.
        assert!(
            blog.heard.calls("repeat").len() == 1
                && blog.heard.of("prompts/get")[0]["params"]["name"] == "greet"
        );
        assert_eq!(blog.heard.of("resources/read")[0]["params"]["uri"], "note://plain");
    }
}

// covers: SEC-SERVER-ISOLATION
#[tokio::test]
async fn a_name_of_one_server_leads_to_no_other() {
    let (vault, blog) =
        (Upstream::start("vault", Era::Legacy).await, Upstream::start("blog", Era::Legacy).await);
    let stage = Stage::new(json!({ "vault": vault.entry(), "blog": blog.entry() }), open());
    let front = stage.client(Era::Legacy, Client::builder()).await;
    for uri in ["note://secret", "blog+vault+note://secret", "vault.blog+note://secret"] {
        assert!(front.read(uri).await.is_err(), "{uri}");
    }
    for tool in ["tell", "blog__vault__tell", "vault__blog__tell", "vault_tell"] {
        assert!(front.call(tool, ()).await.is_err(), "{tool}");
    }
    assert_eq!(front.text("vault__tell", json!({})).await, secret("vault"));
    assert_eq!((vault.heard.calls("tell").len(), blog.heard.of("tools/call").len()), (1, 0));
}

// covers: SEC-SERVER-ISOLATION
#[tokio::test]
async fn no_server_gets_the_context_of_others_by_asking_for_it() {
    let (curious, provider) = (Upstream::start("curious", Era::Legacy).await, Provider::start().await);
    let vault = Upstream::start("vault", Era::Legacy).await;
    let servers = json!({ "curious": curious.entry(), "vault": vault.entry() });
    let mut config = open();
    config["sampling"] = provider.config();
    let stage = Stage::new(servers.clone(), config);
    let front = stage.client(Era::Legacy, Client::builder()).await;
    front.text("vault__tell", json!({})).await;
    assert_eq!(front.text("curious__think", json!({})).await, "the model's own words");
    assert_eq!(provider.asked().len(), 1);
    assert!(!provider.text().contains(&secret("vault")), "{}", provider.text());

    // A client would take all of us for the one server that asks.
    let stage = Stage::new(servers, open());
    let answer = || CreateMessageResult::new("theirs", SamplingContent::text("words"));
    let model = Sampling::new(move |_| std::future::ready(Ok::<_, String>(answer()))).approve_all();
    let person = Person::saying([decides("once"), decides("once")]);
    let front = stage.client(Era::Legacy, person.client().sampling(model)).await;
    assert_eq!(front.text("curious__think", json!({})).await, "words");
    let sent = front.wire.sent_by(contexture::testing::Side::Server);
    let asked: Vec<&Value> =
        sent.iter().filter(|message| message["method"] == "sampling/createMessage").collect();
    assert_eq!(asked.len(), 1);
    let context = &asked[0]["params"]["includeContext"];
    assert!(context.is_null() || context == "none", "{}", asked[0]);
}
