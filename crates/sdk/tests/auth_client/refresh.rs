//! Tokens that end: rows F12 and F13.

use std::sync::Arc;

use contexture::AuthorizationStep::Refresh;
use contexture::auth::{Authorization, MemoryStore, Secret, TokenStore};
use contexture::client::Client;
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::support::{Person, policy, step};
use super::world::World;

async fn sum(client: &Client) -> contexture::Result<()> {
    client.call("add", json!({ "a": 1, "b": 2 })).await?.ok().map(drop)
}

/// F12: however many are refused at once, one of them refreshes.
#[tokio::test]
async fn many_refusals_are_one_refresh() {
    let world = World::start().await;
    let person = Person::default();
    let client = world.use_with(policy(&person)).await.expect("logged in");
    world.expire();
    let before = world.at_server().len();
    for outcome in join_all((0..10).map(|_| sum(&client))).await {
        outcome.expect("every call is sent again");
    }
    assert_eq!(world.grants("refresh_token").len(), 1);
    assert_eq!(person.visits(), 1);
    assert!(world.at_server().len() - before <= 20, "each at most twice");
}

/// Before it ends, not after.
#[tokio::test]
async fn a_token_is_replaced_before_it_ends() {
    let world = World::start().await;
    let store = MemoryStore::new();
    let policy = || Authorization::visitor(Person::default()).store(store.clone());
    world.use_with(policy()).await.expect("logged in");
    let old = spoil(&store, |stored| stored["tokens"]["expires_at"] = json!(1)).await;
    let before = world.at_server().len();
    world.use_with(policy()).await.expect("refreshed");
    let refresh = &world.grants("refresh_token")[0];
    assert_eq!(refresh.form["resource"], world.url());
    for request in world.at_server().split_off(before) {
        assert_ne!(
            request.headers["authorization"],
            format!("Bearer {old}"),
            "the old token is shown no more"
        );
    }
    assert_eq!(world.at("/authorize").len(), 1);
}

/// Changes what is stored; gives the access token that was there.
async fn spoil(store: &MemoryStore, change: impl FnOnce(&mut Value)) -> String {
    let key = store.list().await.expect("keys").pop().expect("one");
    let stored = store.load(&key).await.expect("read").expect("there");
    let old = stored.tokens.as_ref().expect("tokens").access.expose().to_owned();
    let mut text = serde_json::to_value(&stored).expect("JSON");
    change(&mut text);
    store.save(&key, &serde_json::from_value(text).expect("stored")).await.expect("saved");
    old
}

async fn kept(store: &MemoryStore) -> Option<Secret> {
    let key = store.list().await.expect("keys").pop()?;
    store.load(&key).await.expect("read")?.tokens?.refresh
}

/// F13: only `invalid_grant` means that a refresh token is gone.
#[tokio::test]
async fn tokens_outlive_an_authorization_server_that_is_down() {
    for (status, body) in [(503, json!({})), (500, json!({ "error": "invalid_grant" })), (429, json!({}))] {
        let world = World::start().await;
        let (store, person) = (MemoryStore::new(), Person::default());
        let policy = Authorization::visitor(person.clone()).store(store.clone());
        let client = world.use_with(policy).await.expect("logged in");
        let before = kept(&store).await;
        world.expire();
        world.change(|script| script.answers.push_back((status, body)));
        assert_eq!(step(sum(&client).await.err()), Refresh, "{status}");
        assert_eq!(kept(&store).await, before, "kept");
        sum(&client).await.expect("later it works");
        assert_eq!(person.visits(), 1);
    }
}

/// F13: then there is one new login.
#[tokio::test]
async fn a_refresh_token_that_is_gone_leads_to_one_login() {
    let world = World::start().await;
    let person = Person::default();
    let client = world.use_with(policy(&person)).await.expect("logged in");
    world.expire();
    world.change(|script| script.answers.push_back((400, json!({ "error": "invalid_grant" }))));
    for outcome in join_all((0..5).map(|_| sum(&client))).await {
        outcome.expect("called");
    }
    assert_eq!(world.grants("refresh_token").len(), 1);
    assert_eq!(person.visits(), 2);
}

/// F13: a new refresh token is stored before anything is done with it; one that is not replaced stays.
#[tokio::test]
async fn a_new_refresh_token_replaces_the_old_one() {
    let world = World::start().await;
    let store = MemoryStore::new();
    let policy = Authorization::visitor(Person::default()).store(store.clone());
    let client = world.use_with(policy).await.expect("logged in");
    let first = kept(&store).await.expect("a refresh token");
    world.expire();
    sum(&client).await.expect("refreshed");
    let second = kept(&store).await.expect("a refresh token");
    assert_ne!(first, second);
    world.expire();
    world.accept_refresh(second.expose());
    world.change(|script| script.refreshes = false);
    sum(&client).await.expect("refreshed");
    assert_eq!(kept(&store).await, Some(second), "the old one stays good if no other is given");
}

/// F13: whoever gives a call up does not give up the refresh token that is on its way.
#[tokio::test]
async fn a_refresh_goes_on_though_its_caller_is_gone() {
    let world = World::start().await;
    let store = MemoryStore::new();
    let policy = Authorization::visitor(Person::default()).store(store.clone());
    let client = world.use_with(policy).await.expect("logged in");
    let first = kept(&store).await;
    let hold = Arc::new(Notify::new());
    world.expire();
    world.change(|script| script.hold = Some(Arc::clone(&hold)));
    tokio::select! {
        outcome = sum(&client) => panic!("nobody has answered: {outcome:?}"),
        () = async { while world.grants("refresh_token").is_empty() { tokio::task::yield_now().await } } => {}
    }
    world.change(|script| script.hold = None);
    hold.notify_one();
    while kept(&store).await == first {
        tokio::task::yield_now().await;
    }
    sum(&client).await.expect("with the new token");
    assert_eq!(world.grants("refresh_token").len(), 1);
}

/// Failures are shared as well: nobody asks again what has just been refused to another.
#[tokio::test]
async fn many_refusals_are_one_failure() {
    let world = World::start().await;
    let person = Person::default();
    let client = world.use_with(policy(&person)).await.expect("logged in");
    world.expire();
    world.change(|script| {
        script.answers.push_back((400, json!({ "error": "invalid_grant" })));
        script.back.extend([("code", None), ("error", Some("access_denied".into()))]);
    });
    let outcomes = join_all((0..10).map(|_| sum(&client))).await;
    assert!(outcomes.iter().all(Result::is_err));
    assert_eq!(person.visits(), 2, "one login, refused once");
}
