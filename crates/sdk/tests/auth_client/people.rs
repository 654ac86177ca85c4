//! People take their time, and nobody else's.

use std::time::Duration;

use contexture::Policy;
use contexture::auth::client::{CallbackParams, Visiting};
use contexture::auth::{Authorization, MemoryStore, Visit, Visitor};
use contexture::client::Client;
use contexture::engine::Patience;
use serde_json::json;

use super::support::{Person, REDIRECT, location};
use super::world::World;

/// Comes back after a while.
#[derive(Clone)]
struct Slow(Duration);

impl Visitor for Slow {
    fn prepare<'a>(&'a self, _: Option<&'a str>) -> Visiting<'a, Box<dyn Visit>> {
        Box::pin(async { Ok(Box::new(self.clone()) as Box<dyn Visit>) })
    }
}

impl Visit for Slow {
    fn redirect_uri(&self) -> &str {
        REDIRECT
    }

    fn go<'a>(self: Box<Self>, url: &'a str, _: &'a str) -> Visiting<'a, CallbackParams> {
        Box::pin(async move {
            tokio::time::sleep(self.0).await;
            CallbackParams::parse(&location(url).await)
        })
    }
}

/// Neither the probe nor a call nor a list gives up while somebody looks for a password.
#[tokio::test]
async fn a_person_may_take_longer_than_any_timeout() {
    let world = World::start().await;
    world.change(|script| drop(script.needs.insert("tools/call", "write".into())));
    let (short, long) = (Duration::from_millis(2000), Duration::from_millis(3000));
    let mut policy = Policy::default();
    policy.patience = Patience { idle: short, total: short, renewed_by_progress: true };
    policy.list_time = short;
    let authorization = Authorization::visitor(Slow(long)).store(MemoryStore::new());
    let builder = Client::builder().policy(policy).probe_timeout(short).authorization(authorization);
    let client = builder.connect(world.url()).await.expect("connected");
    client.call("add", json!({ "a": 1, "b": 2 })).await.expect("called").ok().expect("a sum");
    world.expire();
    world.change(|script| {
        script.refreshes = false;
        script.answers.push_back((400, json!({ "error": "invalid_grant" })));
    });
    client.tools().await.expect("listed");
    assert_eq!(world.at("/authorize").len(), 3);
}

/// Whoever says good-bye is not asked to log in for it.
#[tokio::test]
async fn closing_asks_nobody() {
    let world = World::start().await;
    let person = Person::default();
    let policy = Authorization::visitor(person.clone()).store(MemoryStore::new());
    let legacy = contexture::revision::Revision::NEWEST_LEGACY;
    let builder = Client::builder().revisions(&[legacy]).authorization(policy);
    let client = builder.connect(world.url()).await.expect("connected");
    client.tools().await.expect("listed");
    world.change(|script| {
        script.always = Some((401, script.challenge.clone()));
        script.answers.extend((0..4).map(|_| (400, json!({ "error": "invalid_grant" }))));
    });
    client.close().await;
    let farewell = world.at_server().into_iter().rfind(|seen| seen.verb == "DELETE").expect("a good-bye");
    assert!(farewell.headers.contains_key("authorization"));
    assert_eq!(person.visits(), 1);
}

/// The transport of the first revision: its stream and its messages are at addresses of their own.
// covers: AUTH-EVERY-REQUEST
#[tokio::test]
async fn a_login_works_over_the_oldest_transport() {
    let world = World::start().await;
    let (mcp, issuer) = (world.mcp.clone(), world.issuer.clone());
    world.change(|script| {
        let prm = format!("{mcp}/.well-known/oauth-protected-resource/sse");
        let document = json!({ "resource": format!("{mcp}/sse"), "authorization_servers": [issuer] });
        script.documents.insert(prm, document);
        script.challenge = "Bearer".into();
    });
    let policy = Authorization::visitor(Person::default()).store(MemoryStore::new());
    let url = format!("{}/sse", world.mcp);
    let client = Client::builder().authorization(policy).connect(&url).await.expect("connected");
    client.call("add", json!({ "a": 1, "b": 2 })).await.expect("called").ok().expect("a sum");
    let seen = world.seen();
    let sent = seen.iter().filter(|seen| seen.path == "/messages");
    assert!(sent.clone().count() > 1);
    assert!(sent.into_iter().all(|seen| seen.headers.contains_key("authorization")));
    assert_eq!(world.at("/token")[0].form["resource"], url);
}

/// Every request of a session carries the token: POST, GET and DELETE.
// covers: AUTH-EVERY-REQUEST
#[tokio::test]
async fn a_session_shows_its_token_with_every_request() {
    let world = World::start().await;
    let policy = Authorization::visitor(Person::default()).store(MemoryStore::new());
    let legacy = contexture::revision::Revision::NEWEST_LEGACY;
    let builder = Client::builder().revisions(&[legacy]).authorization(policy);
    let client = builder.connect(world.url()).await.expect("connected");
    client.call("add", json!({ "a": 1, "b": 2 })).await.expect("called").ok().expect("a sum");
    while !world.at_server().iter().any(|seen| seen.verb == "GET") {
        tokio::task::yield_now().await;
    }
    client.close().await;
    let requests = world.at_server();
    for verb in ["POST", "GET", "DELETE"] {
        assert!(requests.iter().any(|seen| seen.verb == verb), "{verb}");
    }
    assert!(requests[1..].iter().all(|seen| seen.headers.contains_key("authorization")));
}
