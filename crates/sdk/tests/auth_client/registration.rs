//! Becoming known to an authorization server: row F19, and which way is taken.

use contexture::AuthorizationStep::{ClientIdNeeded, Registration};
use contexture::auth::{Authorization, MemoryStore, TokenStore};
use serde_json::json;

use super::support::{Person, REDIRECT, policy, step};
use super::world::World;

const DOCUMENT: &str = "https://app.example/client.json";

// covers: AUTH-CLIENT-DCR, AUTH-REDIRECT-REGISTERED
#[tokio::test]
async fn a_client_introduces_itself() {
    let world = World::start().await;
    world.use_with(policy(&Person::default()).client_name("Editor")).await.expect("logged in");
    let said = &world.at("/register")[0].body;
    assert_eq!(said["client_name"], "Editor");
    assert_eq!(said["application_type"], "native");
    assert_eq!(said["grant_types"], json!(["authorization_code", "refresh_token"]));
    assert_eq!(said["response_types"], json!(["code"]));
    assert_eq!(said["redirect_uris"], json!([REDIRECT]));
    assert_eq!(world.at("/authorize")[0].query["redirect_uri"], REDIRECT);
}

// covers: AUTH-CLIENT-PREREGISTERED
#[tokio::test]
async fn the_ways_are_taken_in_order() {
    let world = World::start().await;
    world.metadata(|document| {
        drop(document.insert("client_id_metadata_document_supported".into(), json!(true)))
    });
    let all = || policy(&Person::default()).client_metadata_url(DOCUMENT);
    world.use_with(all().client_id("given")).await.expect("logged in");
    assert_eq!(world.at("/authorize").last().expect("a login").query["client_id"], "given");
    world.use_with(all()).await.expect("logged in");
    assert_eq!(world.at("/authorize").last().expect("a login").query["client_id"], DOCUMENT);
    assert!(world.at("/register").is_empty());
    world.metadata(|document| drop(document.remove("client_id_metadata_document_supported")));
    world.use_with(all()).await.expect("logged in");
    assert_eq!(world.at("/register").len(), 1);
    world.metadata(|document| drop(document.remove("registration_endpoint")));
    assert_eq!(step(world.use_with(all()).await.err()), ClientIdNeeded);
}

/// F19: an answer that nobody can work with is refused; one that only differs is used as it is.
#[tokio::test]
async fn the_answer_to_a_registration_is_checked() {
    for (member, value) in [
        ("redirect_uris", json!(["https://evil.example/cb"])),
        ("redirect_uris", json!([format!("{REDIRECT}/")])),
        ("redirect_uris", json!([])),
        ("token_endpoint_auth_method", json!("client_secret_basic")),
        ("token_endpoint_auth_method", json!("private_key_jwt")),
        ("token_endpoint_auth_method", json!("tls_client_auth")),
        ("client_id", json!("")),
        ("client_id", json!("x".repeat(5000))),
        ("client_id", json!(null)),
    ] {
        let world = World::start().await;
        world.change(|script| drop(script.registered.insert(member.into(), value.clone())));
        assert_eq!(world.fails().await.step, Registration, "{member} {value}");
        assert!(world.at("/authorize").is_empty(), "nobody was sent anywhere");
    }
    let world = World::start().await;
    world.change(|script| {
        script.registered.insert("token_endpoint_auth_method".into(), json!("client_secret_post"));
        script.registered.insert("client_secret".into(), json!("s"));
    });
    world.use_with(policy(&Person::default())).await.expect("logged in");
    assert_eq!(world.at("/token")[0].form["client_secret"], "s", "as the answer says");
}

#[tokio::test]
async fn a_refused_registration_says_why() {
    let world = World::start().await;
    world.change(|script| {
        script.register_status = Some(400);
        script.registered.insert("error".into(), json!("invalid_redirect_uri"));
    });
    let failure = world.fails().await;
    assert_eq!(failure.step, Registration);
    assert!(failure.message.contains("invalid_redirect_uri"), "{failure}");
}

/// Authorization servers name one way to prove oneself; that one is used.
#[tokio::test]
async fn clients_prove_themselves_as_the_authorization_server_wants() {
    for (method, secret) in [("none", false), ("client_secret_basic", true), ("client_secret_post", true)] {
        let world = World::start().await;
        world.metadata(|document| {
            document.insert("token_endpoint_auth_methods_supported".into(), json!([method]));
        });
        if secret {
            world.change(|script| drop(script.registered.insert("client_secret".into(), json!("s e"))));
        }
        world.use_with(policy(&Person::default())).await.expect("logged in");
        assert_eq!(world.at("/register")[0].body["token_endpoint_auth_method"], method);
        let token = &world.at("/token")[0];
        assert_eq!(token.headers.contains_key("authorization"), method == "client_secret_basic");
        assert_eq!(token.form.contains_key("client_secret"), method == "client_secret_post");
        assert_eq!(token.form.contains_key("client_id"), method != "client_secret_basic");
    }
}

#[tokio::test]
async fn a_registration_is_kept_whole_and_used_again() {
    let world = World::start().await;
    let store = MemoryStore::new();
    let policy = || Authorization::visitor(Person::default()).store(store.clone());
    world.change(|script| drop(script.registered.insert("registration_access_token".into(), json!("r"))));
    world.use_with(policy()).await.expect("logged in");
    let key = store.list().await.expect("keys").pop().expect("one");
    let mut stored = store.load(&key).await.expect("read").expect("there");
    assert_eq!(stored.registration.registration_access_token.as_ref().expect("kept").expose(), "r");
    assert_eq!(stored.registration.rest["client_name"], "Contexture");
    stored.tokens = None;
    store.save(&key, &stored).await.expect("saved");
    world.use_with(policy()).await.expect("logged in again");
    assert_eq!(world.at("/register").len(), 1, "known already");
}

/// The authorization server has forgotten us: the next login begins with a registration.
#[tokio::test]
async fn a_registration_that_is_no_longer_known_is_made_anew() {
    let world = World::start().await;
    let store = MemoryStore::new();
    let policy = || Authorization::visitor(Person::default()).store(store.clone());
    world.change(|script| script.answers.push_back((401, json!({ "error": "invalid_client" }))));
    assert!(world.use_with(policy()).await.is_err());
    world.use_with(policy()).await.expect("logged in");
    assert_eq!(world.at("/register").len(), 2);
}
