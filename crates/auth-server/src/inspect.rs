//! Introspection (RFC 7662) and revocation (RFC 7009) of tokens.
//!
//! Only our own tokens are known here; all others are simply not active. Who may look at other clients' tokens was set up
//! and proves itself; a client can always look at its own and give them back.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{Request, StatusCode};
use axum::response::{IntoResponse as _, Response};
use contexture::auth::jwt::{Algorithm, verify};
use serde_json::{Map, Value, json};

use crate::answer::{self, Refusal};
use crate::client::{Known, Origin};
use crate::form::Form;
use crate::secrets::now;
use crate::server::Shared;

/// `POST /introspect`.
pub(crate) async fn introspect(State(shared): State<Arc<Shared>>, request: Request<Body>) -> Response {
    match introspected(&shared, request).await {
        Ok(answer) => answer::json(StatusCode::OK, &answer),
        Err(refusal) => refusal.into_response(),
    }
}

async fn introspected(shared: &Shared, request: Request<Body>) -> Result<Value, Refusal> {
    let (client, form) = proven(shared, request).await?;
    if !client.is_confidential() {
        return Err(Refusal::client("only clients that prove themselves may ask", false));
    }
    let token = form.get("token")?.ok_or_else(|| Refusal::malformed("token is missing"))?;
    let sees_all = client.origin == Origin::SetUp;
    let seen = own_token(shared, token).filter(|(owner, _)| sees_all || *owner == client.id);
    Ok(match seen {
        Some((_, mut claims)) => {
            claims.insert("active".to_owned(), json!(true));
            claims.insert("token_type".to_owned(), json!("Bearer"));
            Value::Object(claims)
        }
        None => json!({ "active": false }),
    })
}

/// `POST /revoke`.
pub(crate) async fn revoke(State(shared): State<Arc<Shared>>, request: Request<Body>) -> Response {
    match revoked(&shared, request).await {
        Ok(()) => answer::json(StatusCode::OK, &json!({})),
        Err(refusal) => refusal.into_response(),
    }
}

/// A token that is not known, or not any more, is as good as revoked.
async fn revoked(shared: &Shared, request: Request<Body>) -> Result<(), Refusal> {
    let (client, form) = proven(shared, request).await?;
    let token = form.get("token")?.ok_or_else(|| Refusal::malformed("token is missing"))?;
    if let Some(grant) = shared.grant_of(&client.id, token) {
        shared.tables().end_grant(&grant, now());
        return Ok(());
    }
    if let Some((owner, claims)) = own_token(shared, token) {
        if owner != client.id {
            return Err(Refusal::grant("the token is another client's"));
        }
        if let Some(id) = claims.get("jti").and_then(Value::as_str) {
            shared.tables().issued.take(id, now());
        }
    }
    Ok(())
}

async fn proven(shared: &Shared, request: Request<Body>) -> Result<(Arc<Known>, Form), Refusal> {
    let (headers, form) = Form::read(request).await.map_err(Refusal::malformed)?;
    let client = shared.authenticate(&headers, &form).await?;
    Ok((client, form))
}

/// Whose access token it is and what it says, if it is one of ours and still good.
fn own_token(shared: &Shared, token: &str) -> Option<(String, Map<String, Value>)> {
    let claims = verify(token, &shared.keys, &[Algorithm::Es256]).ok()?;
    let id = claims.get("jti").and_then(Value::as_str)?;
    let owner = shared.tables().is_good(id, now())?.client.clone();
    Some((owner, claims))
}
