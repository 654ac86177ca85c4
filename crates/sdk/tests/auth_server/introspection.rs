//! Tokens that only their issuer understands.

use std::time::Duration;

use contexture::auth::{Issuer as Trusted, Protection};
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::issuer::{Issuer, Mood, now};
use super::protected::{Protected, challenged};
use super::support::text_of;

const ASKED: &str = "/introspect";

async fn asking(kept: Duration) -> Protected {
    Protected::trusting(|issuer| issuer.introspection("the server", "s3cret:&").answer_age(kept)).await
}

impl Protected {
    /// An active token with something changed or, if it is null, left out.
    fn active(&self, token: &str, subject: &str, name: &str, value: Value) {
        let mut answer = json!({
            "active": true, "sub": subject, "aud": self.resource, "scope": "a", "exp": now() + 300,
            "token_type": "Bearer",
        });
        match value {
            Value::Null => drop(answer.as_object_mut().expect("an object").remove(name)),
            value => answer[name] = value,
        }
        self.issuer.answers(token, answer);
    }
}

/// E20: what is known about one token is known about no other, and not for long.
// covers: AUTH-TOKEN-VALIDATE
#[tokio::test]
async fn answers_belong_to_one_token() {
    let protected = asking(Duration::from_secs(30)).await;
    protected.active("opaque-a", "ada", "", Value::Null);
    protected.active("opaque-b", "bob", "", Value::Null);
    for (token, name) in [("opaque-a", "ada"), ("opaque-b", "bob"), ("opaque-a", "ada"), ("opaque-b", "bob")]
    {
        let who = text_of(&protected.who(token).await.json().await);
        assert_eq!(who, format!("{} {name} [a]", protected.issuer.url), "E20");
    }
    assert_eq!(protected.issuer.asked(ASKED), 2, "E20: each is asked about once");
    let credentials = protected.issuer.credentials().expect("credentials");
    assert_eq!(credentials, "Basic dGhlK3NlcnZlcjpzM2NyZXQlM0ElMjY=");
    for near in ["opaque-", "opaque-aa", "Opaque-a", "opaque-c"] {
        assert_eq!(protected.who(near).await.status, 401, "E20 {near}");
    }
    // It is revoked, and believed for as long as was said.
    protected.issuer.answers("opaque-a", json!({ "active": false }));
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(31)).await;
    tokio::time::resume();
    assert_eq!(protected.who("opaque-a").await.status, 401, "E20: revoked");
    assert_eq!(protected.who("opaque-b").await.status, 200, "E20: not revoked");
}

/// E20: who wants to hear of revocations at once can.
#[tokio::test]
async fn revocation_at_once() {
    let protected = asking(Duration::ZERO).await;
    protected.active("opaque", "ada", "", Value::Null);
    assert_eq!(protected.who("opaque").await.status, 200);
    protected.issuer.answers("opaque", json!({ "active": false }));
    assert_eq!(protected.who("opaque").await.status, 401, "E20");
    // A token that could be verified is asked about all the same.
    let signed = protected.token("ada", "");
    assert_eq!(protected.who(&signed).await.status, 401);
    protected.active(&signed, "ada", "", Value::Null);
    assert_eq!(protected.who(&signed).await.status, 200);
    assert_eq!(protected.issuer.asked("/jwks"), 0);
}

/// E21: whatever is not a plain yes is a no.
// covers: AUTH-TOKEN-AUDIENCE
#[tokio::test]
async fn answers_that_are_no_yes() {
    let protected = asking(Duration::ZERO).await;
    let cases = [
        ("active", json!(false)),
        ("active", json!("true")),
        ("active", json!(1)),
        ("active", Value::Null),
        ("aud", json!("https://other.example/mcp")),
        ("aud", Value::Null),
        ("aud", json!([])),
        ("iss", json!("https://other.example")),
        ("exp", json!(now() - 3600)),
        ("exp", json!("soon")),
        ("exp", json!(-1)),
        ("nbf", json!(now() + 3600)),
        ("sub", Value::Null),
        ("sub", json!(5)),
        ("token_type", json!("DPoP")),
        ("token_type", json!(5)),
        ("cnf", json!({ "jkt": "x" })),
    ];
    for (name, value) in cases {
        protected.active("opaque", "ada", name, value.clone());
        let reply = protected.who("opaque").await;
        assert_eq!(reply.status, 401, "E21 {name} {value}");
        assert_eq!(challenged(&reply, "error").as_deref(), Some("invalid_token"));
    }
    for (name, value) in
        [("exp", Value::Null), ("token_type", Value::Null), ("aud", json!([protected.resource]))]
    {
        protected.active("opaque", "ada", name, value);
        assert_eq!(protected.who("opaque").await.status, 200, "E21: {name} may be so");
    }
    let ran = protected.ran();
    for answer in [json!([]), json!("active"), json!(null), json!(true)] {
        protected.issuer.answers("opaque", answer.clone());
        assert_eq!(protected.who("opaque").await.status, 503, "E21 {answer}");
    }
    let huge = json!({ "active": true, "sub": "x".repeat(100_000), "aud": protected.resource });
    protected.issuer.answers("opaque", huge);
    assert_eq!(protected.who("opaque").await.status, 503, "E21: too long");
    protected.active("opaque", "ada", "", Value::Null);
    for mood in [Mood::Broken, Mood::Html, Mood::Huge] {
        protected.issuer.is(mood);
        assert_eq!(protected.who("opaque").await.status, 503, "E21 {mood:?}");
    }
    assert_eq!(protected.ran(), ran, "E21: nothing runs");
    protected.issuer.is(Mood::Well);
    assert_eq!(protected.who("opaque").await.status, 200, "E21: and it recovers");
}

/// E21: an issuer that cannot be asked at all.
#[tokio::test]
async fn issuers_that_cannot_be_asked() {
    for (name, value) in [("introspection_endpoint", Value::Null), ("issuer", json!("https://evil.example"))]
    {
        let protected = asking(Duration::ZERO).await;
        protected.active("opaque", "ada", "", Value::Null);
        protected.issuer.says(name, value);
        assert_eq!(protected.who("opaque").await.status, 503, "E21 {name}");
        assert_eq!(protected.issuer.asked(ASKED), 0);
    }
}

/// A token is shown to nobody but its issuer.
#[tokio::test]
async fn tokens_are_shown_to_their_issuer_only() {
    let (signing, asked) = (Issuer::start().await, Issuer::start().await);
    let opaque = Trusted::new(asked.url.as_str()).introspection("server", "secret");
    let protection = Protection::new(signing.url.as_str()).issuer(opaque);
    let protected = Protected::by(signing, protection).await;
    assert_eq!(protected.who(&protected.token("ada", "")).await.status, 200);
    let mut forged = protected.token("ada", "");
    forged.truncate(forged.len() - 4);
    forged.push_str("AAAA");
    assert_eq!(protected.who(&forged).await.status, 401);
    assert_eq!(asked.asked(ASKED), 0, "they are another issuer's");
    assert_eq!(protected.who("opaque").await.status, 401);
    assert_eq!(asked.asked(ASKED), 1);
    assert_eq!(protected.issuer.asked(ASKED), 0);
}

/// An issuer that takes its time is not asked more and more; who comes too many is told to come again.
#[tokio::test]
async fn questions_at_once_are_bounded() {
    let protected = asking(Duration::from_secs(30)).await;
    protected.active("opaque", "ada", "", Value::Null);
    assert_eq!(protected.who("opaque").await.status, 200);
    protected.issuer.is(Mood::Slow);
    let tokens: Vec<_> = (0..80).map(|number| format!("opaque-{number}")).collect();
    let asked = join_all(tokens.iter().map(|token| async { protected.who(token).await.status }));
    let answered = async {
        while protected.issuer.asked(ASKED) < 1 + 64 {
            tokio::task::yield_now().await;
        }
        assert_eq!(protected.who("opaque").await.status, 200, "what is known needs no question");
        protected.issuer.is(Mood::Well);
    };
    let (statuses, ()) = tokio::join!(asked, answered);
    let count = |status: u16| statuses.iter().filter(|other| **other == status).count();
    assert_eq!((count(401), count(503)), (64, 16));
    assert_eq!(protected.issuer.asked(ASKED), 1 + 64);
}
