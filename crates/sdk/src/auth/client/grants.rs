//! Asking a token endpoint for a token.
//!
//! One request, one answer: nothing is sent twice (but for a nonce that is asked for), no redirect is followed, and a
//! token that cannot be shown to a server is no token.

use http::HeaderValue;

use super::authentication::{Form, Identity};
use super::discovery::Found;
use super::dpop::Dpop;
use super::store::Tokens;
use super::{failed, now};
use crate::auth::Secret;
use crate::auth::metadata::{TokenAnswer, TokenRefusal, harmless};
use crate::auth::outbound::{Answer, Outbound, Unfetched};
use crate::error::AuthorizationStep;
use crate::scopes::Scopes;
use crate::{Error, Result};

/// Bytes of a token: more is no header.
const TOKEN_BYTES: usize = 16 * 1024;

/// Why no token came.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The authorization server says no, and why.
    Refused(TokenRefusal),
    /// It cannot answer now; what we have stays good.
    Unavailable(String),
    /// What it says makes no sense.
    Wrong(String),
    /// We could not ask.
    Ours(Error),
}

impl Trouble {
    /// As a failure of this step.
    pub(super) fn at(self, step: AuthorizationStep) -> Error {
        match self {
            Self::Refused(refusal) => failed(step, format!("the authorization server refuses: {refusal}")),
            Self::Unavailable(how) => {
                failed(step, format!("the authorization server cannot answer now, try again later: {how}"))
            }
            Self::Wrong(what) => failed(step, format!("the authorization server misbehaves: {what}")),
            Self::Ours(error) => error,
        }
    }

    /// Whether the authorization server says this, with the word that the protocol has for it.
    pub(super) fn is(&self, error: &str) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.error == error)
    }
}

/// A client at a token endpoint.
pub(super) struct Asking<'a> {
    pub(super) outbound: &'a Outbound,
    pub(super) found: &'a Found,
    pub(super) identity: &'a Identity,
    pub(super) dpop: Option<&'a Dpop>,
}

impl Asking<'_> {
    /// Asks for a token for the resource, and says what it is good for: what was asked, unless the answer says less.
    pub(super) async fn token(&self, form: Form, requested: &Scopes) -> Result<Tokens, Trouble> {
        let form = form.with("resource", &self.found.resource);
        let form = self.identity.sign(self.found, form).map_err(Trouble::Ours)?;
        let endpoint = &self.found.metadata.token_endpoint;
        let mut answer = self.post(endpoint, &form).await?;
        if let Some(dpop) = self.dpop
            && dpop.wants_nonce(&answer)
        {
            answer = self.post(endpoint, &form).await?;
        }
        self.tokens(read(&answer)?, requested)
    }

    /// Gives a refresh token back (RFC 7009), if the authorization server takes it.
    pub(super) async fn revoke(&self, refresh: &Secret) -> Result<(), Trouble> {
        let Some(endpoint) = &self.found.metadata.revocation_endpoint else { return Ok(()) };
        let form = Form::default().with("token", refresh.expose()).with("token_type_hint", "refresh_token");
        let form = self.identity.sign(self.found, form).map_err(Trouble::Ours)?;
        match post(self.outbound, endpoint, &form, None).await?.status {
            200..300 => Ok(()),
            status => Err(Trouble::Wrong(format!("HTTP status {status}"))),
        }
    }

    async fn post(&self, endpoint: &str, form: &Form) -> Result<Answer, Trouble> {
        let proof = self.dpop.map(|dpop| dpop.for_issuer(endpoint)).transpose().map_err(Trouble::Ours)?;
        let proof = proof.as_deref().map(|proof| ("dpop", proof));
        post(self.outbound, endpoint, form, proof).await
    }

    fn tokens(&self, answer: TokenAnswer, requested: &Scopes) -> Result<Tokens, Trouble> {
        let expected = if self.dpop.is_some() { "DPoP" } else { "Bearer" };
        if !answer.token_type.eq_ignore_ascii_case(expected) {
            let came = harmless(&answer.token_type);
            return Err(Trouble::Wrong(format!(
                "a {expected} token was asked for, it gave one of type {came:?}"
            )));
        }
        let access = answer.access_token;
        let shown = HeaderValue::from_str(access.expose());
        if access.expose().is_empty() || access.expose().len() > TOKEN_BYTES || shown.is_err() {
            return Err(Trouble::Wrong("its token fits into no header".into()));
        }
        Ok(Tokens {
            access,
            refresh: answer.refresh_token.filter(|refresh| !refresh.expose().is_empty()),
            expires_at: answer.expires_in.map(|seconds| now().saturating_add(seconds)),
            scopes: answer.scope.map_or_else(|| requested.clone(), |granted| Scopes::parse(&granted)),
            requested: requested.clone(),
            dpop_key: self.dpop.map(|dpop| Secret::clone(&dpop.kept)),
        })
    }
}

/// Sends a form, whatever comes of it.
pub(super) async fn post(
    outbound: &Outbound,
    endpoint: &str,
    form: &Form,
    more: Option<(&str, &str)>,
) -> Result<Answer, Trouble> {
    let fields: Vec<(&str, &str)> = form.fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let headers = form.headers.iter().map(|(name, value)| (*name, value.as_str()));
    let headers: Vec<(&str, &str)> = headers.chain(more).collect();
    outbound.post_form(endpoint, &fields, &headers).await.map_err(|error| match error {
        Unfetched::Unreachable(how) => Trouble::Unavailable(how),
        other => Trouble::Wrong(other.to_string()),
    })
}

/// The token in an answer, or why there is none.
pub(super) fn read(answer: &Answer) -> Result<TokenAnswer, Trouble> {
    match answer.status {
        200..300 => {
            answer.json().map_err(|_| Trouble::Wrong("its answer has no token that could be read".into()))
        }
        status @ (408 | 425 | 429 | 500..) => Err(Trouble::Unavailable(format!("HTTP status {status}"))),
        status => match answer.json() {
            Ok(refusal) => Err(Trouble::Refused(refusal)),
            Err(_) => Err(Trouble::Wrong(format!("HTTP status {status} without a reason"))),
        },
    }
}
