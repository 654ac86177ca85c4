//! Who is at the browser: somebody who opens a link has to prove that they are who it was made for.
//!
//! A link can be sent on. Whoever got somebody else to follow theirs would have that person's tokens in their own
//! name. So the person signs in at the issuer that the gateway takes tokens of, and what comes of it is verified as every
//! token that is shown to the gateway. It says who they are and is then dropped.

use std::sync::Arc;

use contexture::Principal;
use contexture::auth::{Authorization, MemoryStore, Secret, TokenStore, TokenVerifier};
use tokio::sync::oneshot;

use super::passage::{Departure, Passage};
use super::vault::Drawer;

/// Finds out who a person is.
#[derive(Clone)]
pub struct Doorkeeper {
    verifier: Arc<dyn TokenVerifier>,
    client: Option<(String, Option<Secret>)>,
    /// Who the gateway is to its issuer.
    registrations: Arc<dyn TokenStore>,
}

impl Doorkeeper {
    /// Believes tokens that this believes: what the gateway itself is
    /// [protected](contexture::auth::Protection::share_verifier) with.
    pub fn new(verifier: Arc<dyn TokenVerifier>) -> Self {
        Self { verifier, client: None, registrations: Arc::new(MemoryStore::new()) }
    }

    /// The client that the issuer knows the gateway as, where it takes no registrations.
    #[must_use]
    pub fn client(mut self, id: impl Into<String>, secret: Option<Secret>) -> Self {
        self.client = Some((id.into(), secret));
        self
    }

    /// Has somebody sign in for the gateway at `endpoint`, who comes back to `redirect`.
    pub(super) fn identify(
        &self,
        endpoint: &str,
        redirect: String,
    ) -> (oneshot::Receiver<Departure>, impl Future<Output = Result<Principal, String>> + Send + use<>) {
        let (passage, departures) = Passage::new(redirect);
        let own = Arc::new(MemoryStore::new());
        let drawer = Drawer { own: own.clone(), registrations: Arc::clone(&self.registrations) };
        let mut authorization =
            Authorization::visitor(passage).client_name("contexture gateway").store(drawer);
        if let Some((id, secret)) = &self.client {
            authorization = authorization.client_id(id);
            if let Some(secret) = secret {
                authorization = authorization.client_secret(secret.clone());
            }
        }
        let (verifier, endpoint) = (Arc::clone(&self.verifier), endpoint.to_owned());
        (departures, async move {
            let account = authorization.login(&endpoint).await.map_err(|error| error.to_string())?;
            let token = issued(&own).await.ok_or("the issuer gave no token")?;
            let verified = verifier.verify(token.expose(), &[account.resource]).await;
            verified.map_err(|why| why.to_string())
        })
    }
}

/// The token that this one visit has brought.
async fn issued(store: &MemoryStore) -> Option<Secret> {
    let key = store.list().await.ok()?.into_iter().next()?;
    Some(store.load(&key).await.ok()??.tokens?.access)
}
