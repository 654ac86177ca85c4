//! A person's login: there with a challenge, back with a code.
//!
//! What comes back is believed in this order, and not before: that it belongs to this login (`state`), that it comes
//! from this issuer (`iss`, RFC 9207), what it says. Of anything else nothing is kept, shown or sent.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::Url;
use ring::digest::{SHA256, digest};

use super::authentication::Form;
use super::callback::CallbackParams;
use super::discovery::Found;
use super::{failed, unguessable};
use crate::auth::Secret;
use crate::auth::metadata::harmless;
use crate::error::AuthorizationStep;
use crate::scopes::Scopes;
use crate::{Error, Result};

/// A login that has begun. It is for one answer.
pub(super) struct Login {
    /// Where the person goes.
    pub(super) url: String,
    pub(super) state: String,
    /// What proves that whoever redeems the code has begun the login.
    verifier: Secret,
    redirect: String,
    issuer: String,
    /// Whether the issuer promised to name itself.
    names_issuer: bool,
}

impl Login {
    /// Begins one.
    pub(super) fn begin(found: &Found, client_id: &str, redirect: &str, scopes: &Scopes) -> Result<Self> {
        let (state, verifier) = (unguessable()?, unguessable()?);
        let challenge = URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()));
        let mut url = Url::parse(found.authorization_endpoint()?)
            .map_err(|error| failed(AuthorizationStep::Discovery, error.to_string()))?;
        {
            let mut query = url.query_pairs_mut();
            query.append_pair("response_type", "code");
            query.append_pair("client_id", client_id);
            query.append_pair("redirect_uri", redirect);
            query.append_pair("code_challenge", &challenge);
            query.append_pair("code_challenge_method", "S256");
            query.append_pair("state", &state);
            query.append_pair("resource", &found.resource);
            if !scopes.is_empty() {
                query.append_pair("scope", &scopes.to_string());
            }
            if scopes.contains("offline_access") {
                // OpenID Connect gives no refresh token without it.
                query.append_pair("prompt", "consent");
            }
        }
        Ok(Self {
            url: url.into(),
            state,
            verifier: verifier.into(),
            redirect: redirect.to_owned(),
            issuer: found.issuer.clone(),
            names_issuer: found.metadata.authorization_response_iss_parameter_supported,
        })
    }

    /// The form that redeems what came back.
    pub(super) fn finish(self, back: CallbackParams) -> Result<Form> {
        if !back.state.as_deref().is_some_and(|state| Secret::new(self.state.as_str()).is(state)) {
            return Err(wrong(
                "what came back does not belong to this login (state): nothing of it was used; try again",
            ));
        }
        match &back.iss {
            Some(iss) if *iss == self.issuer => {}
            Some(_) => {
                return Err(wrong(
                    "what came back is from another authorization server than the one that was asked (iss): nothing \
                     of it was used",
                ));
            }
            None if self.names_issuer => {
                return Err(wrong(
                    "what came back does not say who it is from, though the authorization server promises to (iss): \
                     nothing of it was used",
                ));
            }
            None => {}
        }
        if let Some(error) = &back.error {
            return Err(said_no(error, back.error_description.as_deref()));
        }
        let code = back.code.ok_or_else(|| wrong("nothing came back that could be redeemed"))?;
        Ok(Form::new("authorization_code")
            .with("code", code.expose())
            .with("redirect_uri", self.redirect)
            .with("code_verifier", self.verifier.expose()))
    }
}

/// The authorization server's own words, made harmless.
fn said_no(error: &str, description: Option<&str>) -> Error {
    let description = description.map(harmless).filter(|text| !text.is_empty());
    let said = description.map_or_else(|| harmless(error), |text| format!("{} ({text})", harmless(error)));
    wrong(match error {
        "access_denied" => format!("the person or the authorization server said no: {said}"),
        "invalid_scope" => {
            format!("the authorization server does not know the scopes that were asked for: {said}")
        }
        "server_error" | "temporarily_unavailable" => {
            format!("the authorization server cannot do it now, try again later: {said}")
        }
        _ => format!("the authorization server refuses: {said}"),
    })
}

fn wrong(message: impl Into<String>) -> Error {
    failed(AuthorizationStep::Login, message)
}
