//! Looking at tokens, and giving them back.

use std::time::Duration;

use serde_json::json;

use crate::support::{Asking, RESOURCE, Stage, approving};

#[tokio::test]
async fn a_token_is_described_to_those_who_may_know() {
    let stage = Stage::new(approving()).await;
    let code = stage.code(&Asking::new()).await;
    let access = stage.redeem(&code).await.text("access_token");
    let form = [("token", access.as_str()), ("client_id", "vault"), ("client_secret", "the secret")];
    let seen = stage.post("/introspect", &form).await;
    assert_eq!(seen.header("cache-control"), Some("no-store"));
    let seen = seen.json();
    let expected = [
        ("active", json!(true)),
        ("sub", json!("ada")),
        ("aud", json!(RESOURCE)),
        ("client_id", json!("app")),
        ("scope", json!("notes:read")),
        ("iss", json!(stage.issuer)),
        ("token_type", json!("Bearer")),
    ];
    for (name, value) in expected {
        assert_eq!(seen[name], value, "{name}");
    }
    // Not to the public, nor to whoever registers.
    let public = stage.post("/introspect", &[("token", &access), ("client_id", "app")]).await;
    assert_eq!(public.refusal(), (401, "invalid_client".to_owned()));
    let nobody = stage.post("/introspect", &[("token", &access)]).await;
    assert_eq!(nobody.refusal(), (401, "invalid_client".to_owned()));
    let registration = json!({ "redirect_uris": ["http://127.0.0.1/cb"], "token_endpoint_auth_method": "client_secret_post" });
    let registered = stage.register(&registration).await;
    let (id, secret) = (registered.text("client_id"), registered.text("client_secret"));
    let form = [("token", access.as_str()), ("client_id", &id), ("client_secret", &secret)];
    assert_eq!(stage.post("/introspect", &form).await.json(), json!({ "active": false }));
}

#[tokio::test]
async fn what_is_not_a_token_of_ours_is_not_active() {
    let stage = Stage::new(approving()).await;
    for token in ["x", "a.b.c", "e30.e30.", &"a".repeat(10_000), "\u{0}"] {
        assert!(!stage.is_active(token).await, "{token:.20}");
    }
    let expired = Stage::new(approving().access_lifetime(Duration::ZERO)).await;
    let code = expired.code(&Asking::new()).await;
    let token = expired.redeem(&code).await.text("access_token");
    assert!(!expired.is_active(&token).await, "its time is over");
}

#[tokio::test]
async fn a_token_that_is_given_back_is_not_good_any_more() {
    let stage = Stage::new(approving()).await;
    let code = stage.code(&Asking::new()).await;
    let first = stage.redeem(&code).await;
    let access = first.text("access_token");
    let foreign = [("token", access.as_str()), ("client_id", "vault"), ("client_secret", "the secret")];
    assert_eq!(stage.post("/revoke", &foreign).await.refusal(), (400, "invalid_grant".to_owned()));
    assert!(stage.is_active(&access).await, "another client cannot give it back");

    assert_eq!(stage.post("/revoke", &[("token", &access), ("client_id", "app")]).await.status, 200);
    assert!(!stage.is_active(&access).await);
    let second = stage.refresh(&first.text("refresh_token")).await;
    assert_eq!(second.status, 200, "the grant stands");
    let refresh = second.text("refresh_token");
    assert_eq!(stage.post("/revoke", &[("token", &refresh), ("client_id", "app")]).await.status, 200);
    assert!(!stage.is_active(&second.text("access_token")).await, "with the refresh token everything ends");
    assert_eq!(stage.refresh(&refresh).await.refusal(), (400, "invalid_grant".to_owned()));
    for gone in [refresh.as_str(), "never there"] {
        assert_eq!(
            stage.post("/revoke", &[("token", gone), ("client_id", "app")]).await.status,
            200,
            "{gone}"
        );
    }
    assert_eq!(
        stage.post("/revoke", &[("client_id", "app")]).await.refusal(),
        (400, "invalid_request".to_owned())
    );
}
