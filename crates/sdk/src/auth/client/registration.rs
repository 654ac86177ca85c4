//! Becoming known to an authorization server.
//!
//! In this order: the client id that the application was given, its own metadata document, what was registered
//! earlier, a new registration (RFC 7591). What the application was given is shown only to the issuer that it
//! belongs to, and an answer that changes what was asked for is checked before it is used.

use reqwest::Url;

use super::authentication::{Identity, Method};
use super::discovery::Found;
use super::policy::Authorization;
use super::{failed, now};
use crate::auth::metadata::{ClientMetadata, Registration, TokenRefusal, harmless};
use crate::auth::outbound::Outbound;
use crate::error::AuthorizationStep;
use crate::transport::http::is_loopback;
use crate::{Error, Result};

/// The name that people see, if the application says none.
const NAME: &str = "Contexture";

/// Bytes of a client id that somebody else chose.
const ID_BYTES: usize = 4096;

/// What it takes to become known.
pub(super) struct Introduction<'a> {
    pub(super) outbound: &'a Outbound,
    pub(super) policy: &'a Authorization,
    pub(super) found: &'a Found,
    /// The issuer that the application's own client id is bound to, if it was used before.
    pub(super) bound: Option<&'a str>,
}

impl Introduction<'_> {
    /// What needs no registration: a client id of the application's own.
    pub(super) fn given(&self) -> Result<Option<Identity>> {
        let client = &self.policy.client;
        let Some(id) = &client.id else { return Ok(None) };
        let home = client.issuer.as_deref().or(self.bound);
        if home.is_some_and(|home| home != self.found.issuer) {
            return Err(refused(format!(
                "the server now takes tokens of {}, and the client id that was given belongs to {}: it is not shown \
                 to another; register there and give the new one",
                harmless(&self.found.issuer),
                harmless(home.unwrap_or_default())
            )));
        }
        let mut registration = Registration::known(id);
        registration.client_secret.clone_from(&client.secret);
        Ok(Some(Identity { registration, key: client.key.clone() }))
    }

    /// Who we are, for a login that comes back to this address.
    pub(super) async fn identity(&self, redirect: &str, earlier: Option<&Registration>) -> Result<Identity> {
        check_redirect(redirect)?;
        if let Some(given) = self.given()? {
            return Ok(given);
        }
        let known = |registration| Identity { registration, key: self.policy.client.key.clone() };
        if self.found.metadata.client_id_metadata_document_supported
            && let Some(url) = &self.policy.client.metadata_url
        {
            return Ok(known(Registration::known(document_url(url)?)));
        }
        if let Some(earlier) = earlier.filter(|earlier| is_good(earlier, redirect)) {
            return Ok(known(earlier.clone()));
        }
        let Some(endpoint) = &self.found.metadata.registration_endpoint else {
            let what = format!(
                "the authorization server {} takes no registrations: register this client there, and give its client \
                 id (Authorization::client_id)",
                harmless(&self.found.issuer)
            );
            return Err(failed(AuthorizationStep::ClientIdNeeded, what));
        };
        self.register(endpoint, redirect).await.map(known)
    }

    async fn register(&self, endpoint: &str, redirect: &str) -> Result<Registration> {
        let method = self.wished_method()?;
        let request = serde_json::to_value(self.description(redirect, method))
            .map_err(|error| Error::Misuse(error.to_string()))?;
        let answer = self.outbound.post_json(endpoint, &request, &[]).await.map_err(|error| {
            refused(format!("the authorization server's registration endpoint gave no answer: {error}"))
        })?;
        if !matches!(answer.status, 200 | 201) {
            let reason = match answer.json::<TokenRefusal>() {
                Ok(refusal) => refusal.to_string(),
                Err(_) => format!("HTTP status {}", answer.status),
            };
            return Err(refused(format!(
                "the authorization server refused the registration: {reason}; if it keeps doing so, register this \
                 client by hand and give its client id"
            )));
        }
        let mut registration: Registration = answer.json().map_err(|error| {
            refused(format!("the authorization server's answer to the registration cannot be read: {error}"))
        })?;
        self.check(&mut registration, redirect, method)?;
        Ok(registration)
    }

    /// A program on somebody's machine keeps no secret, so none is wanted unless there is no other way.
    fn wished_method(&self) -> Result<Method> {
        let mut methods = vec![Method::None, Method::Basic, Method::Post];
        if self.policy.client.key.is_some() {
            methods.insert(0, Method::Signed);
        }
        let metadata = &self.found.metadata;
        methods.into_iter().find(|method| method.is_offered(metadata)).ok_or_else(|| {
            let offered = metadata.token_endpoint_auth_methods_supported.as_deref().unwrap_or_default();
            refused(format!(
                "the authorization server wants clients to prove themselves by {}, which this one cannot",
                harmless(&offered.join(", "))
            ))
        })
    }

    fn description(&self, redirect: &str, method: Method) -> ClientMetadata {
        let some = |texts: &[&str]| Some(texts.iter().map(|text| (*text).to_owned()).collect());
        let native = Url::parse(redirect).is_ok_and(|url| is_loopback(&url));
        let key = self.policy.client.key.as_ref().filter(|_| method == Method::Signed);
        ClientMetadata {
            client_name: Some(self.policy.client.name.clone().unwrap_or_else(|| NAME.to_owned())),
            redirect_uris: vec![redirect.to_owned()],
            grant_types: some(&["authorization_code", "refresh_token"]),
            response_types: some(&["code"]),
            token_endpoint_auth_method: Some(method.name().to_owned()),
            application_type: Some(if native { "native" } else { "web" }.to_owned()),
            jwks: key.map(|key| serde_json::json!({ "keys": [key.public_jwk()] })),
            ..ClientMetadata::default()
        }
    }

    /// Authorization servers may change what was asked for; not everything can be lived with.
    fn check(&self, registration: &mut Registration, redirect: &str, wished: Method) -> Result<()> {
        if registration.client_id.is_empty() || registration.client_id.len() > ID_BYTES {
            return Err(refused(
                "the authorization server registered a client without an id, or with a huge one",
            ));
        }
        let kept = registration.redirect_uris.as_ref();
        if kept.is_some_and(|kept| !kept.iter().any(|uri| uri == redirect)) {
            return Err(refused(
                "the authorization server registered another redirect URI than the one it was asked for: a login \
                 would come back to somebody else",
            ));
        }
        registration.redirect_uris = Some(vec![redirect.to_owned()]);
        let method = match &registration.token_endpoint_auth_method {
            Some(name) => Method::parse(name),
            None => Some(wished),
        };
        let possible = method.filter(|method| match method {
            Method::None => true,
            Method::Basic | Method::Post => registration.client_secret.is_some(),
            Method::Signed => self.policy.client.key.is_some(),
        });
        let Some(method) = possible else {
            let name = registration.token_endpoint_auth_method.as_deref().unwrap_or(wished.name());
            return Err(refused(format!(
                "the authorization server registered a client that proves itself by {:?}, and gave nothing for that",
                harmless(name)
            )));
        };
        registration.token_endpoint_auth_method = Some(method.name().to_owned());
        Ok(())
    }
}

/// Whether an earlier registration can be used for a login that comes back to this address.
fn is_good(registration: &Registration, redirect: &str) -> bool {
    let expires = registration.client_secret_expires_at.unwrap_or(0);
    // Of what was registered by hand nobody has told us.
    let redirects = registration.redirect_uris.as_ref();
    (expires == 0 || expires > now()) && redirects.is_none_or(|uris| uris.iter().any(|uri| uri == redirect))
}

/// A code must not travel to where others can read it.
fn check_redirect(redirect: &str) -> Result<()> {
    let good = Url::parse(redirect).is_ok_and(|url| {
        url.fragment().is_none() && (url.scheme() == "https" || (url.scheme() == "http" && is_loopback(&url)))
    });
    if good {
        Ok(())
    } else {
        Err(Error::Misuse(format!("the redirect URI {redirect:?} is neither https nor local")))
    }
}

fn document_url(url: &str) -> Result<&str> {
    let good = Url::parse(url).is_ok_and(|url| {
        url.scheme() == "https" && url.path() != "/" && url.fragment().is_none() && url.username().is_empty()
    });
    if good { Ok(url) } else { Err(Error::Misuse(format!("{url:?} is not an https URL with a path"))) }
}

fn refused(message: impl Into<String>) -> Error {
    failed(AuthorizationStep::Registration, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    // covers: AUTH-REDIRECT-SCHEME
    #[test]
    fn codes_come_back_over_https_or_to_this_machine() {
        for good in
            ["http://127.0.0.1:1234/callback", "http://localhost:1/cb", "http://[::1]:1/cb", "https://h/cb"]
        {
            assert!(check_redirect(good).is_ok(), "{good}");
        }
        for bad in
            ["http://example.com/cb", "http://localhost.evil.example/cb", "app://cb", "https://h/cb#x", ""]
        {
            assert!(check_redirect(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_metadata_document_has_an_address_of_its_own() {
        assert!(document_url("https://app.example/client.json").is_ok());
        for bad in
            ["http://app.example/client.json", "https://app.example/", "https://app.example", "client.json"]
        {
            assert!(document_url(bad).is_err(), "{bad}");
        }
    }
}
