//! Which token is shown to whom: rows F10, F14, F22.

use contexture::AuthorizationStep::{Discovery, LoginNeeded, Refused, Registration};
use contexture::auth::{Authorization, MemoryStore, TokenStore};
use contexture::{Error, client::Client};
use serde_json::json;

use super::support::{Person, policy, step};
use super::world::World;

/// F10: what one issuer gave is not shown to another.
// covers: AUTH-CLIENT-TOKEN-ORIGIN
#[tokio::test]
async fn another_issuer_sees_nothing_of_the_first() {
    let world = World::start().await;
    let client = world.use_with(policy(&Person::default())).await.expect("logged in");
    let other = world.another_issuer().await;
    world.resource(|document| drop(document.insert("authorization_servers".into(), json!([other]))));
    world.expire();
    client.call("add", json!({ "a": 1, "b": 2 })).await.expect("logged in elsewhere").ok().expect("a sum");
    let first = format!("client-at-{}", world.issuer.rsplit(':').next().expect("a port"));
    let theirs: Vec<_> = world.seen().into_iter().filter(|seen| seen.origin == other).collect();
    assert!(theirs.iter().any(|seen| seen.path == "/register"), "it registers anew");
    for seen in theirs {
        assert!(!seen.text.contains(&first) && !seen.text.contains("refresh-"), "{seen:?}");
        assert!(!seen.text.contains("token-"), "{seen:?}");
    }
    assert!(world.grants("refresh_token").is_empty());
}

/// F10: a client id that was given belongs to one issuer.
#[tokio::test]
async fn given_credentials_are_shown_to_no_other_issuer() {
    let world = World::start().await;
    world.metadata(|document| {
        document.insert("token_endpoint_auth_methods_supported".into(), json!(["client_secret_basic"]));
    });
    let policy = policy(&Person::default()).client_id("given").client_secret("hunter2");
    let client = world.use_with(policy).await.expect("logged in");
    let other = world.another_issuer().await;
    world.resource(|document| drop(document.insert("authorization_servers".into(), json!([other]))));
    world.expire();
    assert_eq!(step(client.call("add", json!({ "a": 1, "b": 2 })).await.err()), Registration);
    let theirs = world.seen().into_iter().filter(|seen| seen.origin == other);
    assert!(theirs.clone().all(|seen| seen.path.contains("well-known")), "only its metadata was read");
    assert!(theirs.into_iter().all(|seen| !seen.text.contains("given")));
}

/// F14: a server that is never content.
#[tokio::test]
async fn a_server_that_always_refuses_is_asked_twice() {
    let world = World::start().await;
    let person = Person::default();
    let challenge = world.change(|script| script.challenge.clone());
    world.change(|script| script.always = Some((401, challenge)));
    assert_eq!(step(world.use_with(policy(&person)).await.err()), Refused);
    assert_eq!((world.at_server().len(), person.visits()), (2, 1));
}

/// F14: after a refresh there is one login, and no more.
#[tokio::test]
async fn a_refresh_that_does_not_help_is_followed_by_one_login() {
    let world = World::start().await;
    let person = Person::default();
    let client = world.use_with(policy(&person)).await.expect("logged in");
    let challenge = world.change(|script| script.challenge.clone());
    world.change(|script| script.always = Some((401, challenge)));
    assert_eq!(step(client.call("add", json!({ "a": 1, "b": 2 })).await.err()), Refused);
    assert_eq!((world.grants("refresh_token").len(), person.visits()), (1, 2));
}

/// F22: tokens are of the address that they were issued for.
#[tokio::test]
async fn a_stored_token_is_shown_to_its_own_server_only() {
    let (first, second) = (World::start().await, World::start().await);
    let store = MemoryStore::new();
    let policy = || Authorization::visitor(Person::default()).store(store.clone());
    first.use_with(policy()).await.expect("logged in");
    second.use_with(policy()).await.expect("logged in");
    assert!(
        !second.at_server()[0].headers.contains_key("authorization"),
        "the first server's token is not tried"
    );
    assert_eq!(store.list().await.expect("keys").len(), 2);
    // A neighbour at the same origin is another server, though its tokens come from the same issuer.
    let neighbour = format!("{}/mcp/other", first.mcp);
    let _ = Client::builder().authorization(policy()).connect(&neighbour).await;
    let shown = first.seen().into_iter().filter(|seen| seen.path == "/mcp/other");
    assert!(shown.clone().count() > 0);
    assert!(shown.into_iter().all(|seen| !seen.headers.contains_key("authorization")));
}

/// F22: a redirect takes no token along.
#[tokio::test]
async fn a_token_does_not_follow_a_redirect() {
    let world = World::start().await;
    let client = world.use_with(policy(&Person::default())).await.expect("logged in");
    let elsewhere = World::start().await;
    for status in [301, 302, 303, 307, 308] {
        world.change(|script| {
            script.always = Some((status, String::new()));
            script.location = Some(elsewhere.url());
        });
        let error = client.call("add", json!({ "a": 1, "b": 2 })).await.err();
        assert!(matches!(error, Some(Error::Redirected(_))), "{status}: {error:?}");
    }
    assert!(elsewhere.seen().is_empty());
}

/// The next process finds what was stored, and needs neither a person nor a refusal.
#[tokio::test]
async fn a_stored_token_is_shown_at_once() {
    let world = World::start().await;
    let store = MemoryStore::new();
    world.use_with(Authorization::visitor(Person::default()).store(store.clone())).await.expect("logged in");
    let before = world.seen().len();
    world.use_with(Authorization::stored().store(store.clone())).await.expect("still logged in");
    let seen = world.seen().split_off(before);
    assert!(
        seen.iter().all(|seen| seen.path == "/mcp" && seen.headers.contains_key("authorization")),
        "{seen:?}"
    );
}

/// Whoever logs in anew does so for everybody who shares the store.
#[tokio::test]
async fn a_login_elsewhere_is_noticed() {
    let world = World::start().await;
    world.change(|script| script.refreshes = false);
    let (store, person) = (MemoryStore::new(), Person::default());
    let policy = |person: &Person| Authorization::visitor(person.clone()).store(store.clone());
    let client = world.use_with(policy(&person)).await.expect("logged in");
    world.expire();
    policy(&Person::default()).login(&world.url()).await.expect("logged in anew");
    client.call("add", json!({ "a": 1, "b": 2 })).await.expect("with the new token").ok().expect("a sum");
    assert_eq!(person.visits(), 1);
}

#[tokio::test]
async fn without_a_person_a_login_is_an_error_that_says_so() {
    let world = World::start().await;
    let refused = world.use_with(Authorization::stored().store(MemoryStore::new())).await;
    assert_eq!(step(refused.err()), LoginNeeded);
    assert!(world.at("/register").is_empty() && world.at("/authorize").is_empty());
}

#[tokio::test]
async fn logging_in_and_out_by_hand() {
    let world = World::start().await;
    let policy = Authorization::visitor(Person::default()).store(MemoryStore::new());
    assert_eq!(policy.status(&world.url()).await.expect("known"), None);
    let account = policy.login(&world.url()).await.expect("logged in");
    assert_eq!((account.issuer.as_str(), account.can_refresh), (world.issuer.as_str(), true));
    assert_eq!(policy.status(&world.url()).await.expect("known"), Some(account));
    world.use_with(policy.clone()).await.expect("logged in already");
    assert_eq!(world.at("/authorize").len(), 1);
    let endpoint = format!("{}/revoke", world.issuer);
    world.metadata(|document| drop(document.insert("revocation_endpoint".into(), json!(endpoint))));
    assert!(policy.logout(&world.url()).await.expect("logged out"));
    assert!(world.at("/revoke")[0].form["token"].starts_with("refresh-"), "the authorization server knows");
    assert!(!policy.logout(&world.url()).await.expect("nothing left"));
    assert_eq!(policy.status(&world.url()).await.expect("known"), None);
}

/// Tokens are not sent where others can read along.
#[tokio::test]
async fn a_server_without_encryption_gets_no_token() {
    let refused = policy(&Person::default()).login("http://192.0.2.1/mcp").await;
    assert_eq!(step(refused.err()), Discovery);
}

/// Accounts are kept apart.
#[tokio::test]
async fn each_account_has_its_own_tokens() {
    let world = World::start().await;
    let store = MemoryStore::new();
    let policy =
        |account: &str| Authorization::visitor(Person::default()).store(store.clone()).account(account);
    policy("work").login(&world.url()).await.expect("logged in");
    assert_eq!(policy("home").status(&world.url()).await.expect("known"), None);
    world.use_with(policy("home")).await.expect("logged in");
    assert_eq!(store.list().await.expect("keys").len(), 2);
}
