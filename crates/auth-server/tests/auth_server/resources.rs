//! Resource indicators (RFC 8707): a token is for one resource, and says so.

use contexture::auth::jwt::{Algorithm, KeySet, verify};
use serde_json::Value;

use crate::support::{Asking, RESOURCE, Stage, approving, redemption, with};

async fn audience(stage: &Stage, asking: &Asking) -> Value {
    let code = stage.code(asking).await;
    let token = stage.redeem(&code).await.text("access_token");
    let keys = KeySet::parse(stage.get("/jwks").await.body.as_bytes()).expect("keys");
    verify(&token, &keys, &[Algorithm::Es256]).expect("signed")["aud"].clone()
}

#[tokio::test]
async fn a_resource_that_cannot_be_one_is_refused() {
    let stage = Stage::new(approving()).await;
    let bad = [
        "mcp",
        "/mcp",
        "http://example.com/mcp",
        "https://example.com/mcp#x",
        "urn:x",
        "javascript:alert(1)",
        "ftp://h/x",
    ];
    for resource in bad {
        let reply = stage.get(&Asking::new().with("resource", resource).target()).await;
        assert_eq!(reply.parameter("error").as_deref(), Some("invalid_target"), "{resource}");
    }
    let two = Asking::new().and("resource", "https://example.com/other");
    assert_eq!(stage.get(&two.target()).await.parameter("error").as_deref(), Some("invalid_target"));
}

#[tokio::test]
async fn only_resources_that_were_set_up_get_tokens() {
    let stage = Stage::new(approving().resource(RESOURCE).resource("https://example.com")).await;
    assert_eq!(audience(&stage, &Asking::new()).await, RESOURCE);
    assert_eq!(
        audience(&stage, &Asking::new().with("resource", "HTTPS://EXAMPLE.com/")).await,
        "https://example.com"
    );
    // Clients of the older revisions name none.
    assert_eq!(audience(&stage, &Asking::new().without("resource")).await, RESOURCE);
    for resource in [
        "http://127.0.0.1:8000/",
        "http://127.0.0.1:8000/mcp/",
        "http://127.0.0.1:8001/mcp",
        "https://example.com/x",
    ] {
        let reply = stage.get(&Asking::new().with("resource", resource).target()).await;
        assert_eq!(reply.parameter("error").as_deref(), Some("invalid_target"), "{resource}");
    }
}

#[tokio::test]
async fn without_any_resource_a_token_is_good_for_nobody_else() {
    let stage = Stage::new(approving()).await;
    assert_eq!(audience(&stage, &Asking::new().without("resource")).await, stage.issuer);
}

#[tokio::test]
async fn a_token_request_cannot_name_another_resource() {
    let stage = Stage::new(approving()).await;
    for (asked, named) in [
        (Some(RESOURCE), "http://127.0.0.1:8000/other"),
        (Some(RESOURCE), "not a resource"),
        (None, RESOURCE),
    ] {
        let asking = Asking::new().without("resource");
        let asking = asked.map_or(asking.clone(), |asked| asking.with("resource", asked));
        let code = stage.code(&asking).await;
        let reply = stage.post("/token", &with(&redemption(&code), "resource", Some(named))).await;
        assert_eq!(reply.refusal(), (400, "invalid_target".to_owned()), "{asked:?} {named}");
    }
    let code = stage.code(&Asking::new()).await;
    let reply = stage.post("/token", &with(&redemption(&code), "resource", Some(RESOURCE))).await;
    assert_eq!(reply.status, 200, "{reply:?}");
}

#[tokio::test]
async fn scopes_that_there_are_not_are_refused() {
    let stage = Stage::new(approving().scopes(["notes:read", "notes:write"])).await;
    for scope in ["admin", "notes:read admin", "notes:read\u{e9}", "a\"b"] {
        let reply = stage.get(&Asking::new().with("scope", scope).target()).await;
        assert_eq!(reply.parameter("error").as_deref(), Some("invalid_scope"), "{scope}");
    }
    let code = stage.code(&Asking::new().with("scope", "notes:write  notes:read")).await;
    assert_eq!(stage.redeem(&code).await.text("scope"), "notes:read notes:write");
}
