//! Who this client is to one authorization server, and how it proves that.
//!
//! An identity belongs to the issuer that gave it. Secrets go into the header or the body of a request to that
//! issuer's endpoints, never into an address.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Url;
use serde_json::json;

use super::discovery::Found;
use super::{failed, now, unguessable};
use crate::auth::jwt::SigningKey;
use crate::auth::metadata::{Registration, ServerMetadata, harmless};
use crate::error::AuthorizationStep;
use crate::{Error, Result};

const ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/// Seconds that a signed proof is good for.
const PROOF_AGE: u64 = 60;

/// This client, as one authorization server knows it.
#[derive(Clone)]
pub(super) struct Identity {
    pub(super) registration: Registration,
    /// What the application signs with.
    pub(super) key: Option<Arc<SigningKey>>,
}

/// How a client proves itself at a token endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    None,
    Basic,
    Post,
    Signed,
}

impl Method {
    pub(super) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "none" => Self::None,
            "client_secret_basic" => Self::Basic,
            "client_secret_post" => Self::Post,
            "private_key_jwt" => Self::Signed,
            _ => return None,
        })
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Basic => "client_secret_basic",
            Self::Post => "client_secret_post",
            Self::Signed => "private_key_jwt",
        }
    }

    /// Whether the authorization server takes it; one that says nothing may.
    pub(super) fn is_offered(self, metadata: &ServerMetadata) -> bool {
        let offered = metadata.token_endpoint_auth_methods_supported.as_ref();
        offered.is_none_or(|offered| offered.iter().any(|name| name == self.name()))
    }
}

/// A form in the making, and the headers that go with it.
#[derive(Default)]
pub(super) struct Form {
    pub(super) fields: Vec<(&'static str, String)>,
    pub(super) headers: Vec<(&'static str, String)>,
}

impl Form {
    pub(super) fn new(grant: &str) -> Self {
        Self::default().with("grant_type", grant)
    }

    pub(super) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.fields.push((name, value.into()));
        self
    }

    /// Left out if there is nothing to say.
    pub(super) fn with_some(self, name: &'static str, value: impl ToString) -> Self {
        match value.to_string() {
            value if value.is_empty() => self,
            value => self.with(name, value),
        }
    }
}

impl Identity {
    /// How it proves itself there: as was agreed, else by the best that both can do.
    pub(super) fn method(&self, metadata: &ServerMetadata) -> Result<Method> {
        if let Some(agreed) = &self.registration.token_endpoint_auth_method {
            return Method::parse(agreed).ok_or_else(|| unable(agreed));
        }
        let can = match (&self.key, &self.registration.client_secret) {
            (Some(_), _) => &[Method::Signed][..],
            (None, Some(_)) => &[Method::Basic, Method::Post],
            (None, None) => &[Method::None],
        };
        let offered = can.iter().copied().find(|method| method.is_offered(metadata));
        // Servers forget to list what needs no proof.
        let fallback = (can == [Method::None]).then_some(Method::None);
        offered.or(fallback).ok_or_else(|| {
            let offered = metadata.token_endpoint_auth_methods_supported.as_deref().unwrap_or_default();
            unable(&offered.join(", "))
        })
    }

    /// Adds to a form for the token endpoint what proves who sends it.
    pub(super) fn sign(&self, found: &Found, form: Form) -> Result<Form> {
        let method = self.method(&found.metadata)?;
        let id = &self.registration.client_id;
        let secret = || {
            let secret = self.registration.client_secret.as_ref();
            secret.map(|secret| secret.expose()).ok_or_else(|| unable(method.name()))
        };
        Ok(match method {
            Method::None => form.with("client_id", id),
            Method::Post => form.with("client_id", id).with("client_secret", secret()?),
            Method::Basic => with_basic(form, id, secret()?),
            Method::Signed => {
                let assertion = self.assertion(found)?;
                form.with("client_assertion_type", ASSERTION).with("client_assertion", assertion)
            }
        })
    }

    /// A statement about ourselves, for this issuer alone and for a minute.
    fn assertion(&self, found: &Found) -> Result<String> {
        let key = self.key.as_ref().ok_or_else(|| unable(Method::Signed.name()))?;
        let algorithm = key.algorithm().name();
        let known = found.metadata.token_endpoint_auth_signing_alg_values_supported.as_ref();
        if known.is_some_and(|known| !known.iter().any(|name| name == algorithm)) {
            let what =
                format!("the authorization server does not verify {algorithm}: use a key of another kind");
            return Err(failed(AuthorizationStep::Token, what));
        }
        let (id, now) = (&self.registration.client_id, now());
        let claims = json!({
            "iss": id, "sub": id, "aud": found.issuer, "jti": unguessable()?, "iat": now, "exp": now + PROOF_AGE,
        });
        key.sign(&[], &claims)
    }
}

/// Id and secret as forms encode them (RFC 6749, section 2.3.1), then as HTTP does.
pub(super) fn with_basic(mut form: Form, id: &str, secret: &str) -> Form {
    let credentials = format!("{}:{}", form_encoded(id), form_encoded(secret));
    form.headers.push(("authorization", format!("Basic {}", STANDARD.encode(credentials))));
    form
}

fn form_encoded(text: &str) -> String {
    let Ok(mut url) = Url::parse("http://h/") else { return String::new() };
    url.query_pairs_mut().append_pair("", text);
    url.query().and_then(|query| query.strip_prefix('=')).unwrap_or_default().to_owned()
}

fn unable(offered: &str) -> Error {
    let what = format!(
        "the authorization server wants clients to prove themselves by {:?}, and this one has nothing for that: give \
         it a client secret or a private key",
        harmless(offered)
    );
    failed(AuthorizationStep::Token, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_secrets_are_form_encoded_before_anything_else() {
        assert_eq!(form_encoded("a b+c:d/é*-._"), "a+b%2Bc%3Ad%2F%C3%A9*-._");
        let form = with_basic(Form::default(), "a:b", "c d");
        assert_eq!(form.headers, [("authorization", format!("Basic {}", STANDARD.encode("a%3Ab:c+d")))]);
    }

    #[test]
    fn the_method_is_one_that_both_can_do() {
        let mut metadata = ServerMetadata::default();
        let mut identity = Identity { registration: Registration::known("c"), key: None };
        assert_eq!(identity.method(&metadata).ok(), Some(Method::None));
        identity.registration.client_secret = Some("s".into());
        assert_eq!(identity.method(&metadata).ok(), Some(Method::Basic), "what servers do that say nothing");
        metadata.token_endpoint_auth_methods_supported =
            Some(vec!["client_secret_post".into(), "none".into()]);
        assert_eq!(identity.method(&metadata).ok(), Some(Method::Post));
        metadata.token_endpoint_auth_methods_supported = Some(vec!["tls_client_auth".into()]);
        assert!(identity.method(&metadata).is_err());
        identity.registration.token_endpoint_auth_method = Some("none".into());
        assert_eq!(identity.method(&metadata).ok(), Some(Method::None), "as agreed");
    }
}
