//! The whole way, as people and clients go it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use contexture::auth::jwt::{Algorithm, KeySet, peek, verify};
use serde_json::{Map, Value};

use crate::support::{Asking, Browser, CALLBACK, RESOURCE, Stage, approving, redemption, server, with};

/// What an access token says, by the key that the server publishes.
async fn claims(stage: &Stage, token: &str) -> Map<String, Value> {
    let keys = KeySet::parse(stage.get("/jwks").await.body.as_bytes()).expect("keys");
    assert!(peek(token).expect("a token").is("at+jwt"));
    verify(token, &keys, &[Algorithm::Es256]).expect("signed by the server")
}

// covers: AUTH-AS-OAUTH21, AUTH-AS-SHORT-LIVED
#[tokio::test]
async fn somebody_signs_in_agrees_and_a_public_client_gets_a_token() {
    let stage = Stage::new(server()).await;
    let mut browser = Browser::new(&stage);
    let page = browser.open(&Asking::new()).await;
    assert!(page.is_page() && page.body.contains("The app"), "{page:?}");
    let page = browser.sign_in(&page, "ada").await;
    for shown in ["The app", "ada", "notes:read", RESOURCE, "127.0.0.1:5000", "for development"] {
        assert!(page.body.contains(shown), "{shown}: {page:?}");
    }
    let back = browser.decide(&page, "allow").await;
    assert_eq!(back.status, 303);
    assert!(back.header("location").expect("an address").starts_with(&format!("{CALLBACK}?")));
    assert_eq!(back.parameter("state").as_deref(), Some("xyz"));
    assert_eq!(back.parameter("iss"), Some(stage.issuer.clone()));
    assert_eq!(back.parameter("error"), None);

    let code = back.parameter("code").expect("a code");
    let tokens = stage.redeem(&code).await;
    assert_eq!(tokens.status, 200, "{tokens:?}");
    assert_eq!(tokens.header("cache-control"), Some("no-store"));
    assert_eq!(tokens.header("content-type"), Some("application/json"));
    assert_eq!(tokens.text("token_type"), "Bearer");
    assert_eq!(tokens.text("scope"), "notes:read");
    assert_eq!(tokens.json()["expires_in"], 300);
    let claims = claims(&stage, &tokens.text("access_token")).await;
    let expected = [
        ("iss", stage.issuer.as_str()),
        ("aud", RESOURCE),
        ("sub", "ada"),
        ("client_id", "app"),
        ("scope", "notes:read"),
    ];
    for (name, value) in expected {
        assert_eq!(claims[name], value, "{name}");
    }
    let number = |name: &str| claims[name].as_u64().expect("a number");
    assert_eq!(number("exp") - number("iat"), 300);
    assert!(claims["jti"].as_str().is_some_and(|id| id.len() > 20));
}

// covers: AUTH-AS-OAUTH21, AUTH-AS-NO-DCR-ALTERNATIVE
#[tokio::test]
async fn a_confidential_client_that_was_set_up_proves_itself_to_get_a_token() {
    let stage = Stage::new(approving()).await;
    let asking = Asking::new().with("client_id", "vault");
    let basic = format!("Basic {}", STANDARD.encode("vault:the+secret"));
    let post = [("client_secret", "the secret")];
    for (header, more) in [(Some(("authorization", basic.as_str())), &[][..]), (None, &post[..])] {
        let code = stage.code(&asking).await;
        let form = [&with(&redemption(&code), "client_id", Some("vault")), more].concat();
        let headers: Vec<_> = header.into_iter().collect();
        let tokens = stage.post_with("/token", &form, &headers).await;
        assert_eq!(tokens.status, 200, "{tokens:?}");
        assert_eq!(claims(&stage, &tokens.text("access_token")).await["client_id"], "vault");
    }
}

#[tokio::test]
async fn everything_works_below_a_path() {
    let stage = Stage::new(server().path("/tenant")).await;
    let mut browser = Browser { path: "/tenant", ..Browser::new(&stage) };
    let page = browser.asked(&Asking::new()).await;
    let back = browser.decide(&page, "allow").await;
    assert_eq!(back.parameter("iss"), Some(format!("http://{}/tenant", stage.address)));
    let code = back.parameter("code").expect("a code");
    assert_eq!(stage.post("/tenant/token", &redemption(&code)).await.status, 200);
    assert_eq!(stage.post("/token", &redemption(&code)).await.status, 404);
}

#[tokio::test]
async fn a_machine_gets_a_token_for_itself() {
    let machine = contexture_auth_server::Client::confidential("robot", "r").machine().scopes(["notes:read"]);
    let stage = Stage::new(server().client(machine)).await;
    let form = [
        ("grant_type", "client_credentials"),
        ("client_id", "robot"),
        ("client_secret", "r"),
        ("resource", RESOURCE),
        ("scope", "notes:read"),
    ];
    let tokens = stage.post("/token", &form).await;
    assert_eq!(tokens.status, 200, "{tokens:?}");
    assert_eq!(tokens.json().get("refresh_token"), None);
    let claims = claims(&stage, &tokens.text("access_token")).await;
    assert_eq!((claims["sub"].as_str(), claims["aud"].as_str()), (Some("client:robot"), Some(RESOURCE)));
    let more = stage.post("/token", &with(&form, "scope", Some("notes:write"))).await;
    assert_eq!(more.refusal(), (400, "invalid_scope".to_owned()));
}

#[tokio::test]
async fn a_client_may_leave_the_redirect_uri_out_of_the_token_request() {
    let stage = Stage::new(approving()).await;
    let code = stage.code(&Asking::new()).await;
    let tokens = stage.post("/token", &with(&redemption(&code), "redirect_uri", None)).await;
    assert_eq!(tokens.status, 200, "OAuth 2.1 no longer sends it: {tokens:?}");
}

#[tokio::test]
async fn what_is_wrong_with_a_token_request_is_said() {
    let stage = Stage::new(approving()).await;
    let code = stage.code(&Asking::new()).await;
    let form = redemption(&code);
    let cases = [
        (with(&form, "grant_type", None), "invalid_request"),
        (with(&form, "grant_type", Some("password")), "unsupported_grant_type"),
        (with(&form, "grant_type", Some("client_credentials")), "unauthorized_client"),
        (with(&form, "code", None), "invalid_request"),
        ([&form[..], &[("code", "another")]].concat(), "invalid_request"),
    ];
    for (form, error) in cases {
        let reply = stage.post("/token", &form).await;
        assert_eq!(reply.refusal(), (400, error.to_owned()), "{form:?}");
        assert_eq!(reply.header("cache-control"), Some("no-store"));
    }
    let kind = [("content-type", "text/plain")];
    let reply = crate::support::send(stage.address, "POST", "/token", &kind, "grant_type=x").await;
    assert_eq!(reply.refusal(), (400, "invalid_request".to_owned()));
    assert_eq!(stage.get("/token").await.status, 405);
    let large = "x".repeat(100_000);
    assert_eq!(
        stage.post("/token", &[("code", &large)]).await.refusal(),
        (400, "invalid_request".to_owned())
    );
}
