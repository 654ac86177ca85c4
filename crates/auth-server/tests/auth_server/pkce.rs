//! PKCE cannot be left out, weakened or talked away (CVE-2025-4144).

use crate::support::{Asking, CALLBACK, CHALLENGE, Stage, VERIFIER, approving, redemption, with};

#[tokio::test]
async fn a_request_without_s256_gets_no_code() {
    let stage = Stage::new(approving()).await;
    let plain = Asking::new().with("code_challenge", VERIFIER).with("code_challenge_method", "plain");
    let cases = [
        Asking::new().without("code_challenge"),
        Asking::new().without("code_challenge").without("code_challenge_method"),
        Asking::new().with("code_challenge", ""),
        // Without a method, plain is meant.
        Asking::new().without("code_challenge_method"),
        plain,
        Asking::new().with("code_challenge_method", "s256"),
        Asking::new().with("code_challenge_method", "S512"),
        Asking::new().and("code_challenge_method", "plain"),
        Asking::new().and("code_challenge", CHALLENGE),
        Asking::new().with("code_challenge", "short"),
        Asking::new().with("code_challenge", &CHALLENGE.repeat(2)),
        Asking::new().with("code_challenge", &CHALLENGE.replace('-', "+")),
    ];
    for asking in cases {
        let reply = stage.get(&asking.target()).await;
        assert_eq!(reply.status, 302, "{}", asking.target());
        assert!(reply.header("location").expect("an address").starts_with(CALLBACK));
        assert_eq!(reply.parameter("error").as_deref(), Some("invalid_request"), "{}", asking.target());
        assert_eq!(reply.parameter("code"), None);
        assert_eq!(reply.parameter("iss"), Some(stage.issuer.clone()));
        assert_eq!(reply.parameter("state").as_deref(), Some("xyz"));
    }
}

#[tokio::test]
async fn a_code_without_its_verifier_gets_no_token() {
    let stage = Stage::new(approving()).await;
    let other = "E".repeat(43);
    let long = VERIFIER.repeat(3);
    let cases = [
        (None, "invalid_request"),
        (Some(""), "invalid_request"),
        (Some(other.as_str()), "invalid_grant"),
        // As if the method had been plain.
        (Some(CHALLENGE), "invalid_grant"),
        (Some("short"), "invalid_grant"),
        (Some(long.as_str()), "invalid_grant"),
    ];
    for (verifier, error) in cases {
        let code = stage.code(&Asking::new()).await;
        let reply = stage.post("/token", &with(&redemption(&code), "code_verifier", verifier)).await;
        assert_eq!(reply.refusal(), (400, error.to_owned()), "{verifier:?}");
    }
}

#[tokio::test]
async fn confidential_clients_need_it_too() {
    let stage = Stage::new(approving()).await;
    let asking =
        Asking::new().with("client_id", "vault").without("code_challenge").without("code_challenge_method");
    assert_eq!(stage.get(&asking.target()).await.parameter("error").as_deref(), Some("invalid_request"));
    let code = stage.code(&Asking::new().with("client_id", "vault")).await;
    let form = with(&redemption(&code), "client_id", Some("vault"));
    let form = [&with(&form, "code_verifier", None)[..], &[("client_secret", "the secret")]].concat();
    assert_eq!(stage.post("/token", &form).await.refusal(), (400, "invalid_request".to_owned()));
}
