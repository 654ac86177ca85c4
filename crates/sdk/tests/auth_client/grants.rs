//! Clients without a person: for themselves, by an identity provider, by a platform.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use contexture::AuthorizationStep::{ClientIdNeeded, Token};
use contexture::auth::jwt::{Algorithm, KeySet, SigningKey, verify};
use contexture::auth::{Authorization, Enterprise, MemoryStore, Secret};
use serde_json::{Value, json};

use super::support::step;
use super::world::World;

async fn start(method: &str) -> World {
    let world = World::start().await;
    world.metadata(|document| {
        document.insert("token_endpoint_auth_methods_supported".into(), json!([method]));
        document.remove("registration_endpoint");
        document.remove("code_challenge_methods_supported");
        document.remove("authorization_endpoint");
    });
    world.change(|script| script.refreshes = false);
    world
}

#[tokio::test]
async fn a_client_acts_for_itself_with_a_secret() {
    for method in ["client_secret_basic", "client_secret_post"] {
        let world = start(method).await;
        let client = world.use_with(Authorization::client_credentials("me", "s:e c")).await.expect("a token");
        let asked = &world.grants("client_credentials")[0];
        assert_eq!(asked.form["resource"], world.url());
        let basic = format!("Basic {}", STANDARD.encode("me:s%3Ae+c"));
        match method {
            "client_secret_basic" => assert_eq!(asked.headers["authorization"], basic),
            _ => assert_eq!(asked.form["client_secret"], "s:e c"),
        }
        world.expire();
        client.call("add", json!({ "a": 1, "b": 2 })).await.expect("another token").ok().expect("a sum");
        assert_eq!(world.grants("client_credentials").len(), 2);
    }
}

#[tokio::test]
async fn a_client_acts_for_itself_with_a_key() {
    let world = start("private_key_jwt").await;
    let key = SigningKey::generate_es256().expect("a key");
    let pem = key.to_pkcs8_pem();
    let policy = Authorization::private_key("me", pem.expose(), Algorithm::Es256).expect("a policy");
    assert!(!format!("{policy:?}").contains("PRIVATE"));
    world.use_with(policy.clone()).await.expect("a token");
    let form = &world.grants("client_credentials")[0].form;
    let keys = KeySet::parse(json!({ "keys": [key.public_jwk()] }).to_string().as_bytes()).expect("keys");
    let claims =
        Value::Object(verify(&form["client_assertion"], &keys, &[Algorithm::Es256]).expect("signed"));
    assert_eq!((&claims["iss"], &claims["sub"]), (&json!("me"), &json!("me")));
    assert_eq!(claims["aud"], json!(world.issuer), "for this issuer alone");
    assert!(claims["exp"].as_u64() > claims["iat"].as_u64() && claims["jti"].is_string());
    world.metadata(|document| {
        document.insert("token_endpoint_auth_signing_alg_values_supported".into(), json!(["RS256"]));
    });
    assert_eq!(step(world.use_with(policy).await.err()), Token);
}

/// An identity provider that exchanges what it is shown.
fn provider(world: &World, idp: &str, answer: Value) -> Enterprise {
    world.change(|script| drop(script.documents.insert(format!("{idp}/exchange"), answer)));
    Enterprise::new(idp, "at-idp", || async { Ok(Secret::new("id-token")) })
        .token_endpoint(format!("{idp}/exchange"))
}

#[tokio::test]
async fn an_identity_provider_decides() {
    let world = start("client_secret_basic").await;
    world.resource(|document| drop(document.insert("scopes_supported".into(), json!(["read"]))));
    let idp = world.another_issuer().await;
    let kind = "urn:ietf:params:oauth:token-type:id-jag";
    let grant = json!({ "access_token": "id-jag", "issued_token_type": kind, "token_type": "N_A" });
    let policy = Authorization::enterprise(provider(&world, &idp, grant)).client_id("me").client_secret("s");
    world.use_with(policy).await.expect("a token");
    let exchange = world.seen().into_iter().find(|seen| seen.path == "/exchange").expect("an exchange").form;
    let expected = [
        ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
        ("requested_token_type", kind),
        ("audience", &world.issuer),
        ("resource", &world.url()),
        ("scope", "read"),
        ("subject_token", "id-token"),
        ("subject_token_type", "urn:ietf:params:oauth:token-type:id_token"),
        ("client_id", "at-idp"),
    ];
    let expected: HashMap<_, _> =
        expected.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    assert_eq!(exchange, expected);
    let granted = &world.grants("urn:ietf:params:oauth:grant-type:jwt-bearer")[0];
    assert_eq!(granted.form["assertion"], "id-jag");
    assert!(granted.headers["authorization"].starts_with("Basic "));
    let others = world.seen().into_iter().filter(|seen| seen.origin != idp);
    assert!(
        others.into_iter().all(|seen| !seen.text.contains("id-token")),
        "shown to the identity provider alone"
    );
}

#[tokio::test]
async fn what_is_no_grant_is_not_redeemed() {
    for answer in [
        json!({ "access_token": "x", "token_type": "Bearer" }),
        json!({ "access_token": "x", "token_type": "N_A", "issued_token_type": "urn:ietf:params:oauth:token-type:jwt" }),
        json!({ "token_type": "N_A" }),
    ] {
        let world = start("client_secret_basic").await;
        let idp = world.another_issuer().await;
        let policy =
            Authorization::enterprise(provider(&world, &idp, answer)).client_id("me").client_secret("s");
        assert_eq!(step(world.use_with(policy).await.err()), Token);
        assert!(world.at("/token").is_empty());
    }
    let world = start("none").await;
    let idp = world.another_issuer().await;
    let policy = Authorization::enterprise(provider(&world, &idp, json!({})));
    assert_eq!(step(world.use_with(policy).await.err()), ClientIdNeeded);
}

#[tokio::test]
async fn a_platform_vouches_for_a_workload() {
    let world = start("none").await;
    let policy =
        Authorization::workload("me", |issuer| async move { Ok(Secret::new(format!("for {issuer}"))) });
    world.use_with(policy.clone()).await.expect("a token");
    let form = &world.at("/token")[0].form;
    assert_eq!(form["assertion"], format!("for {}", world.issuer));
    assert_eq!(form["client_id"], "me");
    world.change(|script| script.answers.push_back((400, json!({ "error": "invalid_grant" }))));
    let before = world.at("/token").len();
    assert_eq!(step(world.use_with(policy).await.err()), Token);
    assert_eq!(world.at("/token").len(), before + 1, "no is no");
}

/// A server that asks for proof of possession gets it, with each request anew.
#[tokio::test]
async fn a_token_can_be_bound_to_a_key() {
    let world = World::start().await;
    world.metadata(|document| {
        drop(document.insert("dpop_signing_alg_values_supported".into(), json!(["ES256"])))
    });
    world.change(|script| {
        script.challenge = script.challenge.replace("Bearer", "DPoP");
        script.granted.insert("token_type".into(), json!("DPoP"));
    });
    // This server knows no such tokens, so the client gives up after showing one.
    let policy = Authorization::visitor(super::support::Person::default()).store(MemoryStore::new());
    assert!(world.use_with(policy).await.is_err());
    let claims = |proof: &str| -> Value {
        let part = proof.split('.').nth(1).expect("three parts");
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).expect("base64url")).expect("JSON")
    };
    let issuer = claims(&world.at("/token")[0].headers["dpop"]);
    assert_eq!((&issuer["htm"], &issuer["htu"]), (&json!("POST"), &json!(format!("{}/token", world.issuer))));
    let shown = world.at_server().pop().expect("a request");
    assert!(shown.headers["authorization"].starts_with("DPoP token-"));
    let server = claims(&shown.headers["dpop"]);
    assert_eq!(server["htu"], json!(world.url()));
    assert!(server["ath"].is_string() && server["jti"] != issuer["jti"]);
}
