//! The token endpoint: codes, refresh tokens and machines' own credentials for access tokens.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{Request, StatusCode};
use axum::response::{IntoResponse as _, Response};
use serde_json::Value;

use crate::answer::{self, Refusal};
use crate::authorize::{TARGET, resource};
use crate::client::Known;
use crate::form::Form;
use crate::grants::{Redemption, Renewal};
use crate::server::Shared;

/// `POST /token`.
pub(crate) async fn token(State(shared): State<Arc<Shared>>, request: Request<Body>) -> Response {
    match answered(&shared, request).await {
        Ok(tokens) => answer::json(StatusCode::OK, &tokens),
        Err(refusal) => refusal.into_response(),
    }
}

async fn answered(shared: &Shared, request: Request<Body>) -> Result<Value, Refusal> {
    let (headers, form) = Form::read(request).await.map_err(Refusal::malformed)?;
    let client = shared.authenticate(&headers, &form).await?;
    let kind = form.get("grant_type")?.ok_or_else(|| Refusal::malformed("grant_type is missing"))?;
    match kind {
        "authorization_code" => code(shared, &client, &form),
        "refresh_token" => refresh(shared, &client, &form),
        "client_credentials" => machine(shared, &client, &form),
        _ => Err(Refusal::new(
            "unsupported_grant_type",
            "codes, refresh tokens and client credentials are possible",
        )),
    }
}

/// What the request names, if it names anything.
fn named(shared: &Shared, form: &Form) -> Result<Option<String>, Refusal> {
    if form.all("resource").next().is_none() {
        return Ok(None);
    }
    resource(shared, form).map(Some).ok_or_else(|| Refusal::new("invalid_target", TARGET))
}

fn code(shared: &Shared, client: &Known, form: &Form) -> Result<Value, Refusal> {
    let missing = |name: &str| Refusal::malformed(format!("{name} is missing"));
    let resource = named(shared, form)?;
    let redemption = Redemption {
        code: form.get("code")?.ok_or_else(|| missing("code"))?,
        verifier: form.get("code_verifier")?.ok_or_else(|| missing("code_verifier"))?,
        redirect_uri: form.get("redirect_uri")?,
        resource: resource.as_ref(),
    };
    shared.redeem(client, &redemption)
}

fn refresh(shared: &Shared, client: &Known, form: &Form) -> Result<Value, Refusal> {
    let token = form.get("refresh_token")?.ok_or_else(|| Refusal::malformed("refresh_token is missing"))?;
    let resource = named(shared, form)?;
    shared.refresh(client, &Renewal { token, scopes: form.get("scope")?, resource: resource.as_ref() })
}

fn machine(shared: &Shared, client: &Known, form: &Form) -> Result<Value, Refusal> {
    if !client.grants.machine || !client.is_confidential() {
        return Err(Refusal::new("unauthorized_client", "this client is not set up to act for itself"));
    }
    let scopes =
        shared.scopes_for(client, form.get("scope")?).map_err(|why| Refusal::new("invalid_scope", why))?;
    let resource = resource(shared, form).ok_or_else(|| Refusal::new("invalid_target", TARGET))?;
    shared.machine_token(client, &scopes, &resource)
}
