//! Dynamic registration: open to all, bounded, and worth nothing until somebody agrees.

use serde_json::{Value, json};

use crate::support::{Asking, Stage, approving, redemption, send, server, with};

fn good() -> Value {
    json!({
        "client_name": "An app", "redirect_uris": ["http://127.0.0.1/callback"], "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"], "application_type": "native",
        "scope": "a b", "software_id": "x",
    })
}

// covers: AUTH-AS-DCR
#[tokio::test]
async fn a_client_registers_and_is_known() {
    let stage = Stage::new(approving()).await;
    let reply = stage.register(&good()).await;
    assert_eq!((reply.status, reply.header("cache-control")), (201, Some("no-store")), "{reply:?}");
    let answer = reply.json();
    for member in [
        "client_name",
        "redirect_uris",
        "token_endpoint_auth_method",
        "grant_types",
        "response_types",
        "application_type",
    ] {
        assert_eq!(answer[member], good()[member], "{member}");
    }
    assert!(answer["client_id_issued_at"].is_u64() && answer.get("client_secret").is_none());
    let id = reply.text("client_id");
    let code = stage.code(&Asking::new().with("client_id", &id)).await;
    let tokens = stage.post("/token", &with(&redemption(&code), "client_id", Some(&id))).await;
    assert!(tokens.status == 200 && tokens.json().get("refresh_token").is_some(), "{tokens:?}");
}

#[tokio::test]
async fn a_client_without_more_gets_a_secret_and_no_refresh_token() {
    let stage = Stage::new(approving()).await;
    let reply = stage.register(&json!({ "redirect_uris": ["http://127.0.0.1/callback"] })).await;
    let (id, secret) = (reply.text("client_id"), reply.text("client_secret"));
    assert_eq!(reply.json()["token_endpoint_auth_method"], "client_secret_basic");
    assert!(reply.json()["client_secret_expires_at"].is_u64());
    let code = stage.code(&Asking::new().with("client_id", &id)).await;
    let form = with(&redemption(&code), "client_id", Some(&id));
    let other_way = [&form[..], &[("client_secret", &secret)]].concat();
    assert_eq!(stage.post("/token", &other_way).await.refusal(), (401, "invalid_client".to_owned()));
    let basic = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, format!("{id}:{secret}"));
    let tokens = stage.post_with("/token", &form, &[("authorization", &format!("Basic {basic}"))]).await;
    assert!(tokens.status == 200 && tokens.json().get("refresh_token").is_none(), "{tokens:?}");
}

#[tokio::test]
async fn what_cannot_be_registered_is_refused() {
    let stage = Stage::new(server()).await;
    let uris = [
        json!(null),
        json!([]),
        json!("http://127.0.0.1/cb"),
        json!([1]),
        json!(["http://evil.example/cb"]),
        json!(["javascript:alert(1)"]),
        json!([" javascript:alert(1)"]),
        json!(["JAVASCRIPT:alert(1)"]),
        json!(["data:,x"]),
        json!(["https://app.example/cb#x"]),
        json!(["https://u:p@app.example/cb"]),
        json!(["app://cb"]),
        json!(["https://app.example/cb", "x"]),
        json!(vec!["https://app.example/cb"; 11]),
        json!([format!("https://app.example/{}", "a".repeat(3000))]),
    ];
    for value in uris {
        let mut registration = good();
        registration["redirect_uris"] = value.clone();
        let reply = stage.register(&registration).await;
        assert_eq!(reply.refusal(), (400, "invalid_redirect_uri".to_owned()), "{value}");
    }
    let members = [
        ("client_name", json!(1)),
        ("client_name", json!("x".repeat(1000))),
        ("grant_types", json!("authorization_code")),
        ("grant_types", json!(["client_credentials"])),
        ("grant_types", json!([])),
        ("grant_types", json!(["implicit"])),
        ("response_types", json!(["token"])),
        ("token_endpoint_auth_method", json!("client_secret_jwt")),
        ("token_endpoint_auth_method", json!(1)),
        ("token_endpoint_auth_method", json!("private_key_jwt")),
        ("application_type", json!("toaster")),
    ];
    for (member, value) in members {
        let mut registration = good();
        registration[member] = value.clone();
        let reply = stage.register(&registration).await;
        assert_eq!(reply.refusal(), (400, "invalid_client_metadata".to_owned()), "{member}: {value}");
    }
    for body in ["", "{", "[]", "null", &format!("{{\"a\":\"{}\"}}", "x".repeat(50_000)), &"[".repeat(10_000)]
    {
        let headers = [("content-type", "application/json")];
        let reply = send(stage.address, "POST", "/register", &headers, body).await;
        assert_eq!(reply.refusal(), (400, "invalid_client_metadata".to_owned()), "{:.20}", body);
    }
    let reply =
        send(stage.address, "POST", "/register", &[("content-type", "text/plain")], &good().to_string())
            .await;
    assert_eq!(reply.status, 400, "a page of another site could send this");
}

#[tokio::test]
async fn who_registers_gets_no_tokens_for_itself() {
    let stage = Stage::new(server()).await;
    let mut registration = good();
    registration["grant_types"] = json!(["authorization_code", "client_credentials"]);
    registration["token_endpoint_auth_method"] = json!("client_secret_post");
    let reply = stage.register(&registration).await;
    assert_eq!(
        reply.json()["grant_types"],
        json!(["authorization_code"]),
        "the answer says what is registered"
    );
    let (id, secret) = (reply.text("client_id"), reply.text("client_secret"));
    let form = [("grant_type", "client_credentials"), ("client_id", &id), ("client_secret", &secret)];
    assert_eq!(stage.post("/token", &form).await.refusal(), (400, "unauthorized_client".to_owned()));
}

#[tokio::test]
async fn a_flood_of_registrations_pushes_out_none_that_somebody_agreed_to() {
    let stage = Stage::new(approving()).await;
    let approved = stage.register(&good()).await.text("client_id");
    stage.code(&Asking::new().with("client_id", &approved)).await;
    let forgotten = stage.register(&good()).await.text("client_id");
    for _ in 0..1_100 {
        assert_eq!(stage.register(&good()).await.status, 201);
    }
    assert_eq!(
        stage.get(&Asking::new().with("client_id", &forgotten).target()).await.status,
        400,
        "there is a bound"
    );
    assert_eq!(stage.get(&Asking::new().with("client_id", &approved).target()).await.status, 302);
    assert_eq!(stage.get(&Asking::new().target()).await.status, 302, "and those that were set up stay");
}
