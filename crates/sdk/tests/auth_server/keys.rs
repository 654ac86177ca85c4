//! The keys of an issuer: fetched once however many ask, rotated, kept while nobody answers, and not for ever.

use std::time::Duration;

use contexture::auth::jwt::SigningKey;
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::issuer::Mood;
use super::protected::Protected;

const JWKS: &str = "/jwks";
const METADATA: &str = "/.well-known/oauth-authorization-server";

/// Time passes at once. Nothing else happens meanwhile.
async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

impl Protected {
    async fn statuses(&self, tokens: &[String]) -> Vec<u16> {
        join_all(tokens.iter().map(|token| async move { self.who(token).await.status })).await
    }

    /// Tokens of keys that nobody has published, each of another.
    fn unknown(&self, count: usize) -> Vec<String> {
        let claims = self.issuer.claims("mallory", &self.resource, "");
        let sign = |_| SigningKey::generate_es256().expect("a key").sign(&[], &claims).expect("a token");
        (0..count).map(sign).collect()
    }
}

#[tokio::test]
async fn keys_are_fetched_once_however_many_ask() {
    let protected = Protected::start().await;
    protected.issuer.is(Mood::Slow);
    let tokens: Vec<_> = (0..50).map(|number| protected.token(&format!("user{number}"), "")).collect();
    let well = async {
        while protected.issuer.asked(METADATA) == 0 {
            tokio::task::yield_now().await;
        }
        protected.issuer.is(Mood::Well);
    };
    let (statuses, ()) = tokio::join!(protected.statuses(&tokens), well);
    assert_eq!(statuses, [200; 50]);
    assert_eq!((protected.issuer.asked(METADATA), protected.issuer.asked(JWKS)), (1, 1));
}

/// E11: a flood of unknown names of keys is one question in an interval; a real rotation is seen within one.
#[tokio::test]
async fn unknown_keys_and_rotation() {
    let protected = Protected::start().await;
    let old = protected.token("ada", "");
    assert_eq!(protected.who(&old).await.status, 200);
    assert_eq!(protected.issuer.asked(JWKS), 1);
    assert_eq!(protected.statuses(&protected.unknown(50)).await, [401; 50]);
    assert_eq!(protected.issuer.asked(JWKS), 1, "E11: too early to ask again");
    pass(Duration::from_secs(11)).await;
    assert_eq!(protected.statuses(&protected.unknown(50)).await, [401; 50]);
    assert_eq!(protected.issuer.asked(JWKS), 2, "E11: one question");
    assert_eq!(protected.issuer.asked(METADATA), 1, "where the keys are is known");
    protected.issuer.rotate();
    let new = protected.token("ada", "");
    assert_eq!(protected.who(&new).await.status, 401, "not seen yet");
    assert_eq!(protected.who(&old).await.status, 200, "not seen yet");
    pass(Duration::from_secs(11)).await;
    assert_eq!(protected.who(&new).await.status, 200, "E11: rotation works");
    assert_eq!(
        protected.who(&old).await.status,
        401,
        "a key that is gone is good for nothing, whatever was verified"
    );
    assert_eq!(protected.issuer.asked(JWKS), 3);
}

/// A client that goes away does not take the fetch with it.
#[tokio::test]
async fn who_leaves_ends_nothing() {
    let protected = Protected::start().await;
    protected.issuer.is(Mood::Slow);
    let token = protected.token("ada", "");
    let left = protected.who(&token);
    tokio::select! {
        _ = left => panic!("nobody can know yet"),
        () = async { while protected.issuer.asked(METADATA) == 0 { tokio::task::yield_now().await } } => {}
    }
    protected.issuer.is(Mood::Well);
    assert_eq!(protected.who(&token).await.status, 200);
    assert_eq!(protected.issuer.asked(JWKS), 1);
}

/// E12: keys are good until they are too old; then nothing is, until they can be fetched again.
#[tokio::test]
async fn an_issuer_that_is_down() {
    for mood in [Mood::Broken, Mood::Html, Mood::Huge] {
        let protected = Protected::start().await;
        let token = protected.token("ada", "");
        assert_eq!(protected.who(&token).await.status, 200);
        protected.issuer.is(mood);
        pass(Duration::from_secs(30 * 60)).await;
        assert_eq!(protected.who(&token).await.status, 200, "E12 {mood:?}: the keys are still good");
        while protected.issuer.asked(JWKS) < 2 {
            // They were to be renewed long ago, and nobody has to wait for that.
            tokio::task::yield_now().await;
        }
        pass(Duration::from_secs(31 * 60)).await;
        let mut refused = protected.who(&token).await;
        assert_eq!(refused.status, 503, "E12 {mood:?}: too old");
        assert!(refused.header("retry-after").is_some());
        assert!(!refused.text().await.contains("jwks"));
        assert_eq!(protected.who(&token).await.status, 503, "E12 {mood:?}: still");
        protected.issuer.is(Mood::Well);
        pass(Duration::from_secs(11)).await;
        assert_eq!(protected.who(&token).await.status, 200, "E12 {mood:?}: back");
    }
}

/// E12: without keys nobody is let in.
#[tokio::test]
async fn an_issuer_that_was_never_there() {
    for mood in [Mood::Broken, Mood::Html, Mood::Huge] {
        let protected = Protected::start().await;
        protected.issuer.is(mood);
        assert_eq!(protected.who(&protected.token("ada", "")).await.status, 503, "{mood:?}");
        assert_eq!(protected.ran(), 0);
    }
    for (name, value) in [
        ("issuer", json!("https://evil.example")),
        ("jwks_uri", Value::Null),
        ("jwks_uri", json!("file:///etc/x")),
    ] {
        let protected = Protected::start().await;
        protected.issuer.says(name, value);
        assert_eq!(protected.who(&protected.token("ada", "")).await.status, 503, "{name}");
        assert_eq!(protected.issuer.asked(JWKS), 0, "{name}");
    }
}

/// E13: too many keys, and keys that are too weak.
#[tokio::test]
async fn keys_that_are_too_many_or_too_weak() {
    let weak = json!({
        "kty": "RSA", "kid": "weak", "alg": "RS256", "e": "AQAB",
        "n": "u1SU1LfVLPHCozMxH2Mo4lgOEePzNm0tRgeLezV6ffAt0gunVTLw7onLRnrq0_IzW7yWR7QkrmBL7jTKEn5u",
    });
    let protected = Protected::start().await;
    protected.issuer.publish([weak]);
    assert_eq!(protected.who(&protected.token("ada", "")).await.status, 200, "E13: the others are good");
    let crowded = Protected::start().await;
    let many = (0..10_000).map(|number| json!({ "kty": "EC", "crv": "P-256", "kid": number.to_string() }));
    crowded.issuer.publish(many);
    let status = crowded.who(&crowded.token("ada", "")).await.status;
    assert!([200, 503].contains(&status), "E13: bounded: {status}");
}
