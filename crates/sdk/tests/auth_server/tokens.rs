//! Tokens of every kind: which are taken, and which are not, for whatever reason.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use contexture::auth::Issuer as Trusted;
use contexture::auth::jwt::{Algorithm, SigningKey};
use serde_json::{Value, json};

use super::issuer::{Issuer, now};
use super::protected::{Protected, challenged};
use super::support::text_of;

fn part(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

/// A token of these parts, signed or not.
fn assembled(header: &Value, claims: &Value, signature: &str) -> String {
    format!("{}.{}.{signature}", part(header), part(claims))
}

/// The same header and claims with the signature of another token.
fn with_signature_of(token: &str, header: &Value, claims: &Value) -> String {
    assembled(header, claims, token.rsplit('.').next().expect("a signature"))
}

impl Protected {
    /// Nobody is let in with this, nothing runs, and the challenge says why.
    async fn refuses(&self, case: &str, token: &str) {
        let ran = self.ran();
        let mut reply = self.who(token).await;
        assert_eq!(reply.status, 401, "{case}");
        assert_eq!(challenged(&reply, "error").as_deref(), Some("invalid_token"), "{case}");
        assert!(challenged(&reply, "resource_metadata").is_some(), "{case}");
        let body = reply.text().await;
        assert!(!body.contains("who") && !body.contains(token), "{case}: {body}");
        assert_eq!(self.ran(), ran, "{case}: nothing runs");
    }

    /// The claims of a good token, changed.
    fn changed(&self, name: &str, value: Value) -> String {
        let mut claims = self.issuer.claims("ada", &self.resource, "");
        match value {
            Value::Null => drop(claims.as_object_mut().expect("an object").remove(name)),
            value => claims[name] = value,
        }
        self.issuer.sign(&claims)
    }
}

// covers: AUTH-TOKEN-VALIDATE, SEC-IMPL-ACCESS-CONTROLS, AUTH-UPSTREAM-CLIENT
#[tokio::test]
async fn a_good_token_says_who_calls() {
    let protected = Protected::start().await;
    let (ada, bob) = (protected.token("ada", "b a"), protected.token("bob", ""));
    for (token, name) in [(&ada, "ada [a b]"), (&bob, "bob []"), (&ada, "ada [a b]")] {
        let answer = protected.who(token).await.json().await;
        assert_eq!(text_of(&answer), format!("{} {name}", protected.issuer.url));
    }
    let ask = protected.call("claims").and("authorization", &format!("Bearer {ada}"));
    let claims: Value = serde_json::from_str(&text_of(&ask.send().await.json().await)).expect("JSON");
    assert_eq!(claims["client_id"], "test");
}

/// E02, E03, E10, E16: what the header of a token says decides nothing.
// covers: AUTH-TOKEN-VALIDATE
#[tokio::test]
async fn headers_of_tokens_are_not_believed() {
    let protected = Protected::start().await;
    let good = protected.token("ada", "");
    let claims = protected.issuer.claims("ada", &protected.resource, "");
    assert_eq!(protected.who(&good).await.status, 200);
    let canary = Issuer::start().await;
    let (id, own) = (protected.issuer.key().id().to_owned(), SigningKey::generate_es256().expect("a key"));
    for name in ["none", "None", "nOnE", "NONE", ""] {
        let header = json!({ "alg": name, "kid": id });
        protected
            .refuses("E02", &format!("{}.", assembled(&header, &claims, "").trim_end_matches('.')))
            .await;
        protected.refuses("E02", &with_signature_of(&good, &header, &claims)).await;
    }
    for header in [
        json!({ "alg": "HS256", "kid": id }),
        json!({ "alg": "RS256", "kid": id }),
        json!({ "alg": "ES384", "kid": id }),
        json!({ "alg": "ES256", "kid": id, "crit": ["exp"] }),
        json!({ "alg": "ES256", "kid": id, "cty": "JWT" }),
        json!({ "alg": "ES256", "kid": id, "typ": "dpop+jwt" }),
        json!({ "alg": "ES256", "kid": id, "enc": "A128GCM" }),
        json!({ "alg": "ES256", "kid": [id] }),
        json!({ "alg": ["ES256"], "kid": id }),
    ] {
        protected.refuses(&header.to_string(), &with_signature_of(&good, &header, &claims)).await;
    }
    let jwk = own.public_jwk();
    for (name, value) in [
        ("jku", format!("{}/jwks", canary.url)),
        ("x5u", format!("{}/jwks", canary.url)),
        ("jwk", jwk.to_string()),
        ("x5c", "MIIB".to_owned()),
    ] {
        let header = [("typ", "at+jwt"), (name, value.as_str())];
        protected.refuses(name, &own.sign(&header, &claims).expect("a token")).await;
        let header = [("typ", "at+jwt"), (name, value.as_str())];
        let genuine = protected.issuer.key().sign(&header, &claims).expect("a token");
        assert_eq!(protected.who(&genuine).await.status, 200, "E10: {name} is ignored");
    }
    assert_eq!(canary.asked("/jwks"), 0, "E10: nobody is asked");
    let wrong_kind = protected.issuer.key().sign(&[("typ", "dpop+jwt")], &claims).expect("a token");
    protected.refuses("E16: typ", &wrong_kind).await;
    let parts: Vec<_> = good.split('.').collect();
    for (case, token) in [
        ("five parts", format!("{good}.{}.{}", parts[1], parts[2])),
        ("four parts", format!("{good}.{}", parts[1])),
        ("two parts", format!("{}.{}", parts[0], parts[1])),
        ("one part", parts[0].to_owned()),
        ("nested", assembled(&json!({ "alg": "ES256", "kid": id, "cty": "JWT" }), &json!(good), parts[2])),
        ("another signature", format!("{}.{}.{}", parts[0], parts[1], "A".repeat(86))),
        ("no signature", format!("{}.{}.", parts[0], parts[1])),
        ("other claims", format!("{}.{}.{}", parts[0], part(&json!({ "sub": "bob" })), parts[2])),
        ("garbage", "garbage".to_owned()),
    ] {
        protected.refuses(case, &token).await;
    }
}

/// E04: an issuer signs with the algorithms that it was said to.
#[tokio::test]
async fn only_configured_algorithms() {
    let protected =
        Protected::trusting(|issuer| issuer.algorithms([Algorithm::Rs256, Algorithm::EdDsa])).await;
    protected.refuses("E04", &protected.token("ada", "")).await;
    assert_eq!(protected.issuer.asked("/jwks"), 0, "E04: its keys are not even asked for");
}

/// E05: meant for somebody else.
// covers: AUTH-TOKEN-AUDIENCE, AUTH-SERVER-NO-OTHER-TOKENS, AUTH-URI-CASE
#[tokio::test]
async fn tokens_for_others() {
    let protected = Protected::start().await;
    let (resource, address) = (&protected.resource, protected.site.address);
    let port = address.port();
    for aud in [
        json!("https://other.example/mcp"),
        json!(format!("http://{address}")),
        json!(format!("http://{address}/mcp2")),
        json!(format!("http://{address}/mcp/")),
        json!(format!("http://{address}/mc")),
        json!(format!("https://{address}/mcp")),
        json!(format!("http://127.0.0.1:{}/mcp", port ^ 1)),
        json!(format!("http://127.0.0.10:{port}/mcp")),
        json!(format!("http://localhost.evil.example:{port}/mcp")),
        json!(format!("{resource}#x")),
        json!(format!("{resource}?x")),
        json!("test"),
        json!(""),
        json!([]),
        json!(["https://other.example/mcp"]),
        json!([resource, 5]),
        json!({ "x": resource }),
        json!(5),
        Value::Null,
    ] {
        protected.refuses(&format!("E05 {aud}"), &protected.changed("aud", aud)).await;
    }
    for aud in [
        json!(resource),
        json!(["https://other.example/mcp", resource]),
        json!(format!("HTTP://127.0.0.1:{port}/mcp")),
        json!(format!("http://localhost:{port}/mcp")),
        json!(format!("http://LOCALHOST:{port}/mcp")),
        json!(format!("http://{address}/sse")),
    ] {
        assert_eq!(protected.who(&protected.changed("aud", aud.clone())).await.status, 200, "{aud}");
    }
}

/// E06: from somebody else.
// covers: AUTH-SERVER-NO-OTHER-TOKENS
#[tokio::test]
async fn tokens_of_others() {
    let (other, stranger) = (Issuer::start().await, Issuer::start().await);
    let protected = Protected::with(|protection| protection.issuer(other.url.as_str())).await;
    let url = protected.issuer.url.clone();
    let slash = format!("{url}/");
    for iss in
        [json!(slash), json!(url.to_uppercase()), json!(stranger.url), json!(""), json!([url]), Value::Null]
    {
        protected.refuses(&format!("E06 {iss}"), &protected.changed("iss", iss)).await;
    }
    // Two issuers are trusted, each with its own keys.
    let ours = protected.issuer.claims("ada", &protected.resource, "");
    let theirs = other.claims("ada", &protected.resource, "");
    protected.refuses("E06: our name, their key", &other.sign(&ours)).await;
    protected.refuses("E06: their name, our key", &protected.issuer.sign(&theirs)).await;
    protected.refuses("E06: a stranger", &stranger.token("ada", &protected.resource, "")).await;
    for (issuer, token) in [(&url, protected.issuer.sign(&ours)), (&other.url, other.sign(&theirs))] {
        let who = text_of(&protected.who(&token).await.json().await);
        assert_eq!(who, format!("{issuer} ada []"));
    }
    assert_eq!(stranger.asked("/jwks"), 0);
}

/// E07, E08: not any more, not yet, and times that are none.
// covers: AUTH-TOKEN-INVALID-401
#[tokio::test]
async fn tokens_of_other_times() {
    let protected = Protected::start().await;
    let now = now();
    for (name, value) in [
        ("exp", json!(now - 3600)),
        ("exp", json!(now - 61)),
        ("exp", json!((now + 300).to_string())),
        ("exp", json!(1.5)),
        ("exp", json!(-1)),
        ("exp", json!(1_u64 << 54)),
        ("exp", json!(true)),
        ("exp", Value::Null),
        ("nbf", json!(now + 3600)),
        ("nbf", json!(now.to_string())),
        ("nbf", json!(-1)),
        ("iat", json!(now + 3600)),
        ("iat", json!("yesterday")),
        ("sub", Value::Null),
        ("sub", json!("")),
        ("sub", json!(5)),
        ("scope", json!(5)),
        ("cnf", json!({ "jkt": "x" })),
    ] {
        protected.refuses(&format!("{name} {value}"), &protected.changed(name, value)).await;
    }
    for (name, value) in [("exp", json!(now)), ("nbf", json!(now + 20)), ("iat", json!(now + 20))] {
        let token = protected.changed(name, value.clone());
        assert_eq!(protected.who(&token).await.status, 200, "within the leeway: {name} {value}");
    }
    let gone = protected.changed("exp", json!(now - 3600));
    for method in ["GET", "DELETE"] {
        let ask = protected.site.ask(method, "/mcp").and("accept", "text/event-stream");
        let ask = ask.and("mcp-session-id", "x").and("authorization", &format!("Bearer {gone}"));
        assert_eq!(ask.status().await, 401, "{method}");
    }
}

/// E09: names of keys are names.
#[tokio::test]
async fn names_of_keys() {
    let protected = Protected::start().await;
    let good = protected.token("ada", "");
    let claims = protected.issuer.claims("ada", &protected.resource, "");
    assert_eq!(protected.who(&good).await.status, 200);
    let nowhere = format!("{}/jwks", protected.issuer.url);
    for id in ["../../etc/passwd", "' OR 1=1 --", nowhere.as_str(), "", "\u{0}", &"k".repeat(6000)] {
        let header = json!({ "alg": "ES256", "kid": id });
        protected.refuses("E09", &with_signature_of(&good, &header, &claims)).await;
    }
    assert_eq!(protected.issuer.asked("/jwks"), 1);
    // A token without a name is good for the only key there is, and for none of several.
    let several = Protected::trusting(|issuer: Trusted| issuer).await;
    several.issuer.publish([SigningKey::generate_es256().expect("a key").public_jwk()]);
    let claims = several.issuer.claims("ada", &several.resource, "");
    let header = json!({ "alg": "ES256" });
    let token = with_signature_of(&several.issuer.sign(&claims), &header, &claims);
    several.refuses("E09: no name, several keys", &token).await;
}
