//! Refresh tokens: replaced at every use, and the grant ends when an old one comes back.

use std::time::Duration;

use contexture::auth::jwt::{Algorithm, KeySet, SigningKey, verify};
use contexture_auth_server::Client;
use serde_json::json;

use crate::support::{Asking, RESOURCE, Reply, Stage, approving, with};

fn refused() -> (u16, String) {
    (400, "invalid_grant".to_owned())
}

async fn tokens(stage: &Stage, asking: &Asking) -> Reply {
    let code = stage.code(asking).await;
    stage.redeem(&code).await
}

// covers: AUTH-AS-REFRESH-ROTATE
#[tokio::test]
async fn a_refresh_token_is_replaced_and_the_old_one_ends_the_grant() {
    let stage = Stage::new(approving()).await;
    let first = tokens(&stage, &Asking::new()).await;
    let second = stage.refresh(&first.text("refresh_token")).await;
    assert_eq!(second.status, 200, "{second:?}");
    assert_ne!(first.text("refresh_token"), second.text("refresh_token"));
    assert_ne!(first.text("access_token"), second.text("access_token"));
    let third = stage.refresh(&second.text("refresh_token")).await;
    assert_eq!(third.status, 200);
    assert!(stage.is_active(&third.text("access_token")).await);

    assert_eq!(stage.refresh(&first.text("refresh_token")).await.refusal(), refused(), "it was used before");
    assert_eq!(
        stage.refresh(&third.text("refresh_token")).await.refusal(),
        refused(),
        "the family has ended"
    );
    for reply in [&first, &second, &third] {
        assert!(!stage.is_active(&reply.text("access_token")).await);
    }
}

#[tokio::test]
async fn of_two_refreshes_at_once_one_is_late() {
    let stage = Stage::new(approving()).await;
    let token = tokens(&stage, &Asking::new()).await.text("refresh_token");
    let (a, b) = tokio::join!(stage.refresh(&token), stage.refresh(&token));
    assert!(a.status != 200 || b.status != 200, "{a:?} {b:?}");
}

#[tokio::test]
async fn another_client_cannot_use_it_nor_end_it() {
    let stage =
        Stage::new(approving().client(Client::public("thief").redirect("http://127.0.0.1/callback"))).await;
    let token = tokens(&stage, &Asking::new()).await.text("refresh_token");
    let form = [("grant_type", "refresh_token"), ("client_id", "thief"), ("refresh_token", token.as_str())];
    assert_eq!(stage.post("/token", &form).await.refusal(), refused());
    assert_eq!(stage.post("/revoke", &[("client_id", "thief"), ("token", &token)]).await.status, 200);
    assert_eq!(stage.refresh(&token).await.status, 200);
}

#[tokio::test]
async fn it_can_get_less_than_was_agreed_to_and_not_more() {
    let stage = Stage::new(approving()).await;
    let first = tokens(&stage, &Asking::new().with("scope", "notes:read notes:write")).await;
    let keys = KeySet::parse(stage.get("/jwks").await.body.as_bytes()).expect("keys");
    let token = first.text("refresh_token");
    let form = [("grant_type", "refresh_token"), ("client_id", "app"), ("refresh_token", token.as_str())];
    let more = stage.post("/token", &with(&form, "scope", Some("notes:read admin"))).await;
    assert_eq!(more.refusal(), (400, "invalid_scope".to_owned()));
    let other = stage.post("/token", &with(&form, "resource", Some("http://127.0.0.1:8000/other"))).await;
    assert_eq!(other.refusal(), (400, "invalid_target".to_owned()));

    let less = [&form[..], &[("scope", "notes:read"), ("resource", RESOURCE)]].concat();
    let less = stage.post("/token", &less).await;
    assert_eq!(less.text("scope"), "notes:read");
    let claims = verify(&less.text("access_token"), &keys, &[Algorithm::Es256]).expect("signed");
    assert_eq!((claims["scope"].as_str(), claims["aud"].as_str()), (Some("notes:read"), Some(RESOURCE)));
    let all = stage.refresh(&less.text("refresh_token")).await;
    assert_eq!(all.text("scope"), "notes:read notes:write", "the grant itself has not become smaller");
}

// covers: AUTH-AS-OWN-TOKENS
#[tokio::test]
async fn tokens_of_others_are_not_taken() {
    let stage = Stage::new(approving()).await;
    let elsewhere = Stage::new(approving()).await;
    let foreign = tokens(&elsewhere, &Asking::new()).await;
    assert_eq!(stage.refresh(&foreign.text("refresh_token")).await.refusal(), refused());
    assert!(elsewhere.is_active(&foreign.text("access_token")).await);
    assert!(!stage.is_active(&foreign.text("access_token")).await);

    let key = SigningKey::generate_es256().expect("a key");
    let claims =
        json!({ "iss": stage.issuer, "sub": "ada", "aud": RESOURCE, "exp": 99_999_999_999_u64, "jti": "x" });
    let forged = key.sign(&[("typ", "at+jwt")], &claims).expect("signed");
    assert!(!stage.is_active(&forged).await);
    let own = tokens(&stage, &Asking::new()).await;
    // An access token is no refresh token, and the other way round.
    assert_eq!(stage.refresh(&own.text("access_token")).await.refusal(), refused());
    assert!(!stage.is_active(&own.text("refresh_token")).await);
    for odd in ["", ".", "a.b", "..", "\0"] {
        assert_eq!(stage.refresh(odd).await.status, 400, "{odd:?}");
    }
}

#[tokio::test]
async fn a_grant_ends_by_itself() {
    let server = approving().refresh_lifetime(Duration::ZERO).access_lifetime(Duration::ZERO);
    let stage = Stage::new(server).await;
    let code = stage.code(&Asking::new()).await;
    assert_eq!(stage.redeem(&code).await.status, 400, "what has no duration cannot be had");
}
