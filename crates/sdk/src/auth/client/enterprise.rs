//! Grants that no person gives on the way: what a company's identity provider or a platform says.
//!
//! An identity token is exchanged at the identity provider for a grant that is good for one authorization server and
//! one resource (ID-JAG), and that grant for a token. The identity token is shown to the identity provider alone.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use super::authentication::{Form, with_basic};
use super::discovery::Found;
use super::failed;
use super::grants::{Trouble, post, read};
use crate::auth::Secret;
use crate::auth::canonical::server_metadata_urls;
use crate::auth::metadata::ServerMetadata;
use crate::auth::outbound::{Outbound, Reach};
use crate::error::AuthorizationStep;
use crate::scopes::Scopes;
use crate::{Error, Result};

pub(super) const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";

type Given = Pin<Box<dyn Future<Output = Result<Secret>> + Send>>;
/// A signed statement, for the authorization server with this issuer.
pub(super) type Assertion = Arc<dyn Fn(String) -> Given + Send + Sync>;

/// A company's identity provider, which decides who may use which server (enterprise-managed authorization).
#[derive(Clone)]
pub struct Enterprise {
    issuer: String,
    client_id: String,
    client_secret: Option<Secret>,
    token_endpoint: Option<String>,
    id_token: Arc<dyn Fn() -> Given + Send + Sync>,
}

impl Enterprise {
    /// The identity provider, the client that it knows, and how to come by the identity token of the person who is
    /// logged in there. It is asked for each time a token is needed.
    pub fn new<F>(
        issuer: impl Into<String>,
        client_id: impl Into<String>,
        id_token: impl Fn() -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Secret>> + Send + 'static,
    {
        Self {
            issuer: issuer.into(),
            client_id: client_id.into(),
            client_secret: None,
            token_endpoint: None,
            id_token: Arc::new(move || Box::pin(id_token())),
        }
    }

    /// The secret of the client at the identity provider.
    #[must_use]
    pub fn client_secret(mut self, secret: impl Into<Secret>) -> Self {
        self.client_secret = Some(secret.into());
        self
    }

    /// The token endpoint of the identity provider, if it is not to be found out from its metadata.
    #[must_use]
    pub fn token_endpoint(mut self, url: impl Into<String>) -> Self {
        self.token_endpoint = Some(url.into());
        self
    }

    /// A grant for this server at its authorization server.
    pub(super) async fn grant(&self, found: &Found, scopes: &Scopes) -> Result<Form> {
        // The application named it, so it may be where the application is.
        let outbound = Outbound::new(Reach::of(&self.issuer));
        let endpoint = match &self.token_endpoint {
            Some(endpoint) => endpoint.clone(),
            None => self.find_endpoint(&outbound).await?,
        };
        let id_token = (self.id_token)().await?;
        let form = Form::new(TOKEN_EXCHANGE)
            .with("requested_token_type", ID_JAG)
            .with("audience", &found.issuer)
            .with("resource", &found.resource)
            .with_some("scope", scopes)
            .with("subject_token", id_token.expose())
            .with("subject_token_type", ID_TOKEN);
        let form = match &self.client_secret {
            Some(secret) => with_basic(form, &self.client_id, secret.expose()),
            None => form.with("client_id", &self.client_id),
        };
        let answer = post(&outbound, &endpoint, &form, None).await;
        let answer = answer.and_then(|answer| read(&answer)).map_err(at_provider)?;
        if answer.issued_token_type.as_deref() != Some(ID_JAG) {
            return Err(at_provider(Trouble::Wrong("it issued something else than an ID-JAG".into())));
        }
        Ok(bearer_grant(&answer.access_token))
    }

    async fn find_endpoint(&self, outbound: &Outbound) -> Result<String> {
        let mut trouble = String::from("its issuer is no address");
        for url in server_metadata_urls(&self.issuer) {
            match outbound.get_json::<ServerMetadata>(&url, &[]).await {
                Ok(metadata) if metadata.issuer == self.issuer => return Ok(metadata.token_endpoint),
                Ok(_) => trouble = "its metadata names another issuer".into(),
                Err(error) => trouble = error.to_string(),
            }
        }
        Err(at_provider(Trouble::Wrong(format!("its token endpoint could not be found ({trouble})"))))
    }
}

/// The form that a signed statement is redeemed with (RFC 7523).
pub(super) fn bearer_grant(assertion: &Secret) -> Form {
    Form::new(JWT_BEARER).with("assertion", assertion.expose())
}

fn at_provider(trouble: Trouble) -> Error {
    let step = AuthorizationStep::Token;
    match trouble.at(step) {
        Error::Authorization(failure) => {
            failed(step, format!("at the identity provider, {}", failure.message))
        }
        other => other,
    }
}

impl fmt::Debug for Enterprise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Enterprise")
            .field("issuer", &self.issuer)
            .field("client_id", &self.client_id)
            .finish_non_exhaustive()
    }
}
