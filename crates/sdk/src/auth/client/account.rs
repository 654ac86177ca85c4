//! Logging in and out by hand, and what is known about a login.

use super::failed;
use super::held::Held;
use super::policy::Authorization;
use super::session::Session;
use crate::Result;
use crate::auth::challenge::{Challenge, bearer_of};
use crate::error::AuthorizationStep;
use crate::scopes::Scopes;
use crate::transport::http::challenges_at;

/// What is known about a login. Never a token.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Account {
    /// The server, as tokens name it.
    pub resource: String,
    /// Who issues its tokens.
    pub issuer: String,
    /// Who this client is to the issuer.
    pub client_id: String,
    /// What was granted.
    pub scopes: Scopes,
    /// When the token ends, in seconds since 1970, if that is known.
    pub expires_at: Option<u64>,
    /// Whether it is replaced without a login.
    pub can_refresh: bool,
}

impl From<&Held> for Account {
    fn from(held: &Held) -> Self {
        Self {
            resource: held.key.resource.clone(),
            issuer: held.key.issuer.clone(),
            client_id: held.registration.client_id.clone(),
            scopes: held.tokens.scopes.clone(),
            expires_at: held.tokens.expires_at,
            can_refresh: held.tokens.refresh.is_some(),
        }
    }
}

impl Authorization {
    /// Logs in to a server now, whether or not a token is stored. Fails if the token cannot be stored.
    pub async fn login(&self, server_url: &str) -> Result<Account> {
        let inner = Session::new(self.clone(), server_url).0;
        inner.fit()?;
        let asked = challenges_at(server_url).await?;
        let challenges = Challenge::parse_all(asked.iter().flatten().map(String::as_str));
        let challenge = bearer_of(&challenges);
        let found = inner.search(challenge).await?;
        if asked.is_none() && found.is_guess {
            let what = "the server does not ask for a login, and does not say whose tokens it takes";
            return Err(failed(AuthorizationStep::Discovery, what));
        }
        let scopes = inner.first_scopes(challenge, &found)?;
        let dpop = challenge.is_some_and(|challenge| challenge.scheme.eq_ignore_ascii_case("dpop"));
        let held = inner.log_in(&found, scopes, dpop).await?;
        if !held.is_kept {
            let what = "the login worked, but the store cannot be written: see the log";
            return Err(failed(AuthorizationStep::Storage, what));
        }
        Ok(Account::from(&*held))
    }

    /// What is stored for a server.
    pub async fn status(&self, server_url: &str) -> Result<Option<Account>> {
        let inner = Session::new(self.clone(), server_url).0;
        Ok(inner.stored().await?.as_ref().map(Account::from))
    }

    /// Forgets what is stored for a server, and tells the authorization server so. Says whether there was anything.
    pub async fn logout(&self, server_url: &str) -> Result<bool> {
        let inner = Session::new(self.clone(), server_url).0;
        let mut any = false;
        while let Some(held) = inner.stored().await? {
            inner.store.remove(&held.key).await?;
            inner.give_back(&held).await;
            any = true;
        }
        Ok(any)
    }
}
