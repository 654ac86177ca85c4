//! Tokens that prove nothing.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use crate::played::{Reply, document, reply};
use crate::support::{Minter, Place, now, path, text};

/// MCP Registry: all deployments had one audience, so a token for one was good at another.
#[tokio::test]
async fn cve_2026_44428_a_token_for_another_deployment() {
    let minter = Minter::start().await;
    let (here, there) = (Place::of(&minter).await, Place::of(&minter).await);
    let token = minter.token(&here, "ada", "");
    assert_eq!(text(&here.who(&token).await), "ada");
    let got = there.who(&token).await;
    assert_eq!(got.status, 401, "{got:?}");
    assert_eq!(there.runs(), 0);
}

/// rust-mcp-sdk #141: the algorithm was the token's choice, and the audience was not looked at.
#[tokio::test]
async fn rust_mcp_sdk_141_algorithms_and_audiences() {
    let minter = Minter::start().await;
    let place = Place::of(&minter).await;
    let good = minter.claims(&place.url(), "ada", "");
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    for name in ["none", "None", "HS256", "HS512"] {
        let signed = format!("{}.{}", part(&json!({ "alg": name, "kid": minter.key.id() })), part(&good));
        let secret = minter.key.public_jwk().to_string();
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, secret.as_bytes());
        let tag = URL_SAFE_NO_PAD.encode(ring::hmac::sign(&key, signed.as_bytes()));
        for signature in ["", tag.as_str()] {
            let got = place.who(&format!("{signed}.{signature}")).await;
            assert_eq!(got.status, 401, "{name}: {got:?}");
        }
    }
    for audience in [json!(null), json!([]), json!("https://other.example"), json!(""), json!("*")] {
        let mut claims = good.clone();
        claims["aud"] = audience.clone();
        let got = place.who(&minter.sign(&claims)).await;
        assert_eq!(got.status, 401, "{audience}: {got:?}");
    }
    let mut claims = good;
    claims.as_object_mut().expect("an object").remove("aud");
    assert_eq!(place.who(&minter.sign(&claims)).await.status, 401);
    assert_eq!(place.runs(), 0);
}

/// jsonwebtoken: times that were text counted as absent, so a token was good for ever, or already.
#[tokio::test]
async fn cve_2026_25537_times_that_are_text() {
    let minter = Minter::start().await;
    let place = Place::of(&minter).await;
    for (name, value) in [
        ("exp", json!((now() - 600).to_string())),
        ("exp", json!((now() + 600).to_string())),
        ("nbf", json!((now() + 600).to_string())),
        ("nbf", json!((now() - 600).to_string())),
        ("iat", json!("yesterday")),
    ] {
        let mut claims = minter.claims(&place.url(), "ada", "");
        claims[name] = value.clone();
        let got = place.who(&minter.sign(&claims)).await;
        assert_eq!(got.status, 401, "{name} {value}: {got:?}");
    }
    assert_eq!(place.runs(), 0);
}

/// What an issuer says about the token `t`.
async fn told(status: &'static str, kind: &'static str, answer: Value) -> (Minter, Place) {
    let place = Arc::<std::sync::OnceLock<String>>::default();
    let url = Arc::clone(&place);
    let minter = Minter::answering(move |request| -> Reply {
        let mut answer = answer.clone();
        if answer["aud"] == "here" {
            answer["aud"] = json!(url.get());
        }
        match path(request) {
            "/introspect" => reply(status, &format!("content-type: {kind}\r\n"), &answer.to_string()),
            _ => document("{}"),
        }
    })
    .await;
    let served = Place::asking(&minter).await;
    place.set(served.url()).expect("nobody else");
    (minter, served)
}

/// MCP Toolbox: opaque tokens were let in by answers that say no such thing.
#[tokio::test]
async fn cve_2026_11717_answers_that_do_not_say_yes() {
    let good = json!({ "active": true, "sub": "ada", "aud": "here", "exp": now() + 300, "client_id": "c" });
    let (_minter, place) = told("200 OK", "application/json", good.clone()).await;
    assert_eq!(text(&place.who("opaque").await), "ada", "the others are refused for what they say");
    for active in [json!(false), json!(null), json!("true"), json!(1), json!({}), json!([true])] {
        let mut answer = good.clone();
        answer["active"] = active.clone();
        let (_minter, place) = told("200 OK", "application/json", answer).await;
        let got = place.who("opaque").await;
        assert!([401, 503].contains(&got.status), "{active}: {got:?}");
        assert_eq!(place.runs(), 0);
    }
    let mut silent = good;
    silent.as_object_mut().expect("an object").remove("active");
    let (_minter, place) = told("200 OK", "application/json", silent).await;
    assert!([401, 503].contains(&place.who("opaque").await.status));
}

/// MCP Toolbox: so were tokens for others, and tokens that nobody could be asked about.
#[tokio::test]
async fn cve_2026_11718_answers_about_other_tokens() {
    let good = json!({ "active": true, "sub": "ada", "aud": "here", "exp": now() + 300, "client_id": "c" });
    for (name, value) in [
        ("aud", json!("https://other.example")),
        ("aud", json!([])),
        ("aud", json!(null)),
        ("exp", json!(now() - 600)),
        ("nbf", json!(now() + 600)),
        ("iss", json!("https://other.example")),
    ] {
        let mut answer = good.clone();
        answer[name] = value.clone();
        let (_minter, place) = told("200 OK", "application/json", answer).await;
        let got = place.who("opaque").await;
        assert!([401, 503].contains(&got.status), "{name} {value}: {got:?}");
        assert_eq!(place.runs(), 0);
    }
    for (status, kind) in [
        ("500 Internal Server Error", "application/json"),
        ("401 Unauthorized", "application/json"),
        ("404 Not Found", "application/json"),
        ("302 Found", "application/json"),
        ("201 Created", "application/json"),
        ("200 OK", "text/html"),
    ] {
        let (_minter, place) = told(status, kind, good.clone()).await;
        let got = place.who("opaque").await;
        assert!([401, 503].contains(&got.status), "{status} {kind}: {got:?}");
        assert_eq!(place.runs(), 0);
    }
}
