//! Codes: good once, for one client, for a minute.

use std::time::Duration;

use crate::support::{Asking, Stage, VERIFIER, approving, redemption, with};

fn refused() -> (u16, String) {
    (400, "invalid_grant".to_owned())
}

#[tokio::test]
async fn a_code_that_comes_twice_ends_what_was_given_for_it() {
    let stage = Stage::new(approving()).await;
    let code = stage.code(&Asking::new()).await;
    let tokens = stage.redeem(&code).await;
    let (access, refresh) = (tokens.text("access_token"), tokens.text("refresh_token"));
    assert!(stage.is_active(&access).await);
    assert_eq!(stage.redeem(&code).await.refusal(), refused());
    assert!(!stage.is_active(&access).await, "the access token ends");
    assert_eq!(stage.refresh(&refresh).await.refusal(), refused(), "the refresh token ends");
    assert_eq!(stage.redeem(&code).await.refusal(), refused());
    let other = stage.code(&Asking::new()).await;
    assert_eq!(stage.redeem(&other).await.status, 200, "other codes are not concerned");
}

#[tokio::test]
async fn of_many_attempts_at_once_one_gets_tokens() {
    let stage = Stage::new(approving()).await;
    let code = stage.code(&Asking::new()).await;
    let form = redemption(&code);
    let attempts = (stage.post("/token", &form), stage.post("/token", &form), stage.post("/token", &form));
    let (a, b, c) = tokio::join!(attempts.0, attempts.1, attempts.2);
    let statuses = [a.status, b.status, c.status];
    assert!(statuses.iter().filter(|status| **status == 200).count() <= 1, "{statuses:?}");
}

#[tokio::test]
async fn a_code_is_good_for_one_attempt_whatever_comes_of_it() {
    let stage = Stage::new(approving()).await;
    let wrong = "w".repeat(43);
    let vault = [("client_id", "vault"), ("client_secret", "the secret")];
    for change in [
        vec![("code_verifier", wrong.as_str())],
        vec![("redirect_uri", "http://127.0.0.1:5001/callback")],
        vec![("redirect_uri", "http://127.0.0.1:5000/callback/")],
        vec![("resource", "http://127.0.0.1:8000/other")],
        vault.to_vec(),
    ] {
        let code = stage.code(&Asking::new()).await;
        let mut form = redemption(&code).to_vec();
        for (name, value) in &change {
            form = with(&form, name, Some(value));
        }
        let attempt = stage.post("/token", &form).await;
        assert_eq!(attempt.status, 400, "{change:?}: {attempt:?}");
        assert_eq!(stage.redeem(&code).await.refusal(), refused(), "{change:?}");
    }
}

#[tokio::test]
async fn the_code_of_another_client_is_not_good() {
    let stage = Stage::new(approving()).await;
    let code = stage.code(&Asking::new().with("client_id", "vault")).await;
    assert_eq!(stage.redeem(&code).await.refusal(), refused());
    assert_eq!(stage.redeem("never given out").await.refusal(), refused());
}

#[tokio::test]
async fn a_code_whose_time_is_over_is_not_good() {
    let stage = Stage::new(approving().code_lifetime(Duration::ZERO)).await;
    let code = stage.code(&Asking::new()).await;
    assert_eq!(stage.redeem(&code).await.refusal(), refused());
}

#[tokio::test]
async fn codes_and_tokens_cannot_be_guessed_from_one_another() {
    let stage = Stage::new(approving()).await;
    let (first, second) = (stage.code(&Asking::new()).await, stage.code(&Asking::new()).await);
    assert_ne!(first, second);
    assert!(first.len() >= 43 && first != VERIFIER);
}
