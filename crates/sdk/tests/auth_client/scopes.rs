//! What is asked for, and when more is: row F15.

use contexture::AuthorizationStep::Scopes;
use contexture::client::Client;
use serde_json::json;

use super::support::{Person, policy, step};
use super::world::World;

fn asked(world: &World) -> Vec<Option<String>> {
    world.at("/authorize").into_iter().map(|seen| seen.query.get("scope").cloned()).collect()
}

fn challenge(world: &World, scope: &str) {
    let prm = format!("{}/.well-known/oauth-protected-resource/mcp", world.mcp);
    world
        .change(|script| script.challenge = format!("Bearer scope=\"{scope}\", resource_metadata=\"{prm}\""));
}

#[tokio::test]
async fn scopes_come_from_the_challenge_then_from_the_metadata() {
    let world = World::start().await;
    let person = Person::default();
    world.use_with(policy(&person)).await.expect("logged in");
    world.resource(|document| drop(document.insert("scopes_supported".into(), json!(["read", "write"]))));
    world.use_with(policy(&person)).await.expect("logged in");
    challenge(&world, "basic");
    world.use_with(policy(&person)).await.expect("logged in");
    world.use_with(policy(&person).scopes(["extra"])).await.expect("logged in");
    let expected = [None, Some("read write"), Some("basic"), Some("basic extra")];
    assert_eq!(asked(&world), expected.map(|scope| scope.map(str::to_owned)));
}

#[tokio::test]
async fn lasting_access_is_asked_for_only_where_it_is_known() {
    let world = World::start().await;
    challenge(&world, "basic");
    for (known, grants, expected) in [
        (
            json!(["basic", "offline_access"]),
            json!(["authorization_code", "refresh_token"]),
            "basic offline_access",
        ),
        (json!(["basic", "offline_access"]), json!(["authorization_code"]), "basic"),
        (json!(["basic"]), json!(["authorization_code", "refresh_token"]), "basic"),
        (json!(null), json!(null), "basic"),
    ] {
        world.metadata(|document| {
            document.insert("scopes_supported".into(), known);
            document.insert("grant_types_supported".into(), grants);
        });
        world.use_with(policy(&Person::default())).await.expect("logged in");
        assert_eq!(asked(&world).pop().flatten().as_deref(), Some(expected));
    }
}

/// The union of what was asked for and what is needed; the request is sent again.
#[tokio::test]
async fn a_request_that_needs_more_asks_for_more() {
    let world = World::start().await;
    challenge(&world, "basic");
    world.change(|script| drop(script.needs.insert("tools/call", "write".into())));
    let client = world.use_with(policy(&Person::default())).await.expect("stepped up");
    client.call("add", json!({ "a": 1, "b": 2 })).await.expect("called").ok().expect("a sum");
    assert_eq!(asked(&world), [Some("basic".to_owned()), Some("basic write".to_owned())]);
}

/// F15: what was asked for and not granted is not asked for again, by this request or another.
#[tokio::test]
async fn what_was_not_granted_is_not_asked_for_again() {
    let world = World::start().await;
    world.change(|script| {
        script.needs.insert("tools/call", "write".into());
        script.granted.insert("scope".into(), json!("read"));
    });
    let client = Client::builder().authorization(policy(&Person::default())).connect(world.url()).await;
    let client = client.expect("connected");
    for _ in 0..3 {
        assert_eq!(step(client.call("add", json!({ "a": 1, "b": 2 })).await.err()), Scopes);
    }
    assert_eq!(world.at("/authorize").len(), 2, "the login, and one attempt to get more");
}

/// F15: a server that wants ever more.
#[tokio::test]
async fn a_growing_list_of_scopes_comes_to_an_end() {
    let world = World::start().await;
    let person = Person::default();
    let client =
        Client::builder().authorization(policy(&person)).connect(world.url()).await.expect("connected");
    let grows = tokio::spawn({
        let (world, person) = (world.clone(), person.clone());
        async move {
            loop {
                let wanted = format!("s{}", person.visits());
                world.change(|script| drop(script.needs.insert("tools/call", wanted)));
                tokio::task::yield_now().await;
            }
        }
    });
    assert_eq!(step(client.call("add", json!({ "a": 1, "b": 2 })).await.err()), Scopes);
    grows.abort();
    assert!(world.at("/authorize").len() <= 1 + 3, "{:?}", asked(&world));
}

#[tokio::test]
async fn an_application_never_asks_for_more_than_it_wants() {
    let world = World::start().await;
    world.resource(|document| drop(document.insert("scopes_supported".into(), json!(["read", "admin"]))));
    world.change(|script| drop(script.needs.insert("tools/call", "admin".into())));
    let refused = world.use_with(policy(&Person::default()).at_most(["read", "write"])).await;
    assert_eq!(step(refused.err()), Scopes);
    assert_eq!(asked(&world), [Some("read".to_owned())]);
}

/// A 403 that says nothing of scopes is no reason to log in.
#[tokio::test]
async fn a_plain_403_is_an_answer() {
    let world = World::start().await;
    world.change(|script| script.always = Some((403, "Bearer error=\"forbidden\"".into())));
    let error = world.use_with(policy(&Person::default())).await.expect_err("shut");
    assert!(matches!(&error, contexture::Error::Http(refusal) if refusal.status == 403), "{error:?}");
    assert!(world.at("/authorize").is_empty());
}
