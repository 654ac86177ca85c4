//! Getting tokens: by logging in, and by refreshing.
//!
//! A refresh token is good for one use and one process: others wait, and look first whether it was used. What an
//! authorization server gave is stored before it is shown to anybody. From the moment that something was sent which
//! cannot be sent again, the work goes on though its caller gives up.

use std::sync::Arc;

use super::authentication::{Form, Identity};
use super::discovery::Found;
use super::dpop::Dpop;
use super::enterprise::bearer_grant;
use super::flow::Login;
use super::grants::{Asking, Trouble};
use super::held::{Held, Origin};
use super::policy::Grant;
use super::registration::Introduction;
use super::session::Inner;
use super::store::{StoreKey, Stored, Tokens};
use super::visitor::{Local, Visitor};
use super::{failed, shown};
use crate::auth::metadata::Registration;
use crate::error::AuthorizationStep;
use crate::scopes::Scopes;
use crate::{Error, Result};

impl Inner {
    /// A new token, by whatever the policy has for it.
    pub(super) async fn log_in(
        self: &Arc<Self>,
        found: &Arc<Found>,
        scopes: Scopes,
        dpop: bool,
    ) -> Result<Arc<Held>> {
        let (identity, form) = match &self.policy.grant {
            Grant::Stored => {
                let what = format!("nobody can be asked here; log in to {} first", shown(&self.server));
                return Err(failed(AuthorizationStep::LoginNeeded, what));
            }
            Grant::Local { show, port } => {
                self.visit(&Local { show: Arc::clone(show), port: *port }, found, &scopes).await?
            }
            Grant::Visitor(visitor) => self.visit(&**visitor, found, &scopes).await?,
            Grant::Client => {
                (self.given(found)?, Form::new("client_credentials").with_some("scope", &scopes))
            }
            Grant::Enterprise(enterprise) => {
                let identity = self.given(found)?;
                (identity, enterprise.grant(found, &scopes).await?.with_some("scope", &scopes))
            }
            Grant::Workload(assertion) => {
                let identity = self.given(found)?;
                let assertion = assertion(found.issuer.clone()).await?;
                (identity, bearer_grant(&assertion).with_some("scope", &scopes))
            }
        };
        let dpop = (dpop && Dpop::is_possible(&found.metadata)).then(Dpop::new).transpose()?.map(Arc::new);
        let (inner, found) = (Arc::clone(self), Arc::clone(found));
        to_the_end(async move { inner.redeem(&found, &identity, form, &scopes, dpop).await }).await
    }

    fn given(&self, found: &Found) -> Result<Identity> {
        let bound = self.bound();
        let introduction =
            Introduction { outbound: &self.outbound, policy: &self.policy, found, bound: bound.as_deref() };
        introduction.given()?.ok_or_else(|| {
            failed(
                AuthorizationStep::ClientIdNeeded,
                "clients that act without a person are registered by hand",
            )
        })
    }

    /// Sends a person to the authorization server and back.
    async fn visit(
        &self,
        visitor: &dyn Visitor,
        found: &Arc<Found>,
        scopes: &Scopes,
    ) -> Result<(Identity, Form)> {
        // Before anybody is registered or asked.
        found.authorization_endpoint()?;
        let key = self.key(found);
        let earlier = self.store.load(&key).await?.map(|stored| stored.registration);
        let registered =
            earlier.as_ref().and_then(|it| it.redirect_uris.as_ref()?.first()).map(String::as_str);
        let visit = visitor.prepare(registered).await.map_err(astray)?;
        let redirect = visit.redirect_uri().to_owned();
        let bound = self.bound();
        let introduction =
            Introduction { outbound: &self.outbound, policy: &self.policy, found, bound: bound.as_deref() };
        let identity = introduction.identity(&redirect, earlier.as_ref()).await?;
        if earlier.is_none() {
            // The next login need not register again, whatever comes of this one.
            self.keep(&key, &identity.registration, None).await;
        }
        let login = Login::begin(found, &identity.registration.client_id, &redirect, scopes)?;
        let back = {
            let _asked = self.person.ask();
            visit.go(&login.url, &login.state).await.map_err(astray)?
        };
        Ok((identity, login.finish(back)?))
    }

    async fn redeem(
        &self,
        found: &Arc<Found>,
        identity: &Identity,
        form: Form,
        scopes: &Scopes,
        dpop: Option<Arc<Dpop>>,
    ) -> Result<Arc<Held>> {
        let asking = Asking { outbound: &self.outbound, found, identity, dpop: dpop.as_deref() };
        let key = self.key(found);
        let tokens = match asking.token(form, scopes).await {
            Ok(tokens) => tokens,
            Err(trouble) => {
                if trouble.is("invalid_client") {
                    // The authorization server has forgotten us: the next login registers anew.
                    self.drop_stored(&key).await;
                }
                return Err(trouble.at(AuthorizationStep::Token));
            }
        };
        self.take(key, identity.registration.clone(), tokens, Origin::Granted, found, dpop).await
    }

    /// Stores tokens, then uses them.
    async fn take(
        &self,
        key: StoreKey,
        registration: Registration,
        tokens: Tokens,
        origin: Origin,
        found: &Arc<Found>,
        dpop: Option<Arc<Dpop>>,
    ) -> Result<Arc<Held>> {
        let is_kept = self.keep(&key, &registration, Some(&tokens)).await;
        let mut held = Held::new(key, registration, tokens, origin, Some(Arc::clone(found)))?.with_dpop(dpop);
        held.is_kept = is_kept;
        Ok(self.hold(held))
    }

    /// Says whether it worked. A token that cannot be stored is as good as another, for this process.
    async fn keep(&self, key: &StoreKey, registration: &Registration, tokens: Option<&Tokens>) -> bool {
        let stored = Stored {
            server: self.server.clone(),
            registration: registration.clone(),
            tokens: tokens.cloned(),
        };
        let saved = self.store.save(key, &stored).await;
        if let Err(error) = &saved {
            tracing::warn!(%error, "tokens cannot be stored: after a restart a login is needed");
        }
        saved.is_ok()
    }

    async fn drop_stored(&self, key: &StoreKey) {
        if let Err(error) = self.store.remove(key).await {
            tracing::warn!(%error, "what is stored for a server cannot be removed");
        }
    }

    /// A token that replaces this one. `None` if there will be none without a login.
    pub(super) async fn refresh(
        self: &Arc<Self>,
        held: &Arc<Held>,
        found: &Arc<Found>,
    ) -> Result<Option<Arc<Held>>> {
        let (inner, held, found) = (Arc::clone(self), Arc::clone(held), Arc::clone(found));
        to_the_end(async move { inner.refresh_locked(&held, &found).await }).await
    }

    async fn refresh_locked(&self, held: &Arc<Held>, found: &Arc<Found>) -> Result<Option<Arc<Held>>> {
        let storage = |error: Error| failed(AuthorizationStep::Storage, error.to_string());
        let _lock = self.store.lock(&held.key).await.map_err(storage)?;
        let stored = self.store.load(&held.key).await.map_err(storage)?;
        let (registration, tokens) = match stored {
            Some(Stored { registration, tokens: Some(tokens), .. }) => {
                if tokens.access != held.tokens.access {
                    // Somebody else was faster.
                    let theirs = Held::new(
                        held.key.clone(),
                        registration.clone(),
                        tokens.clone(),
                        Origin::Refreshed,
                        Some(Arc::clone(found)),
                    )?;
                    if theirs.is_fresh() {
                        return Ok(Some(self.hold(theirs)));
                    }
                }
                (registration, tokens)
            }
            // Somebody logged out.
            Some(_) => return Ok(self.gone()),
            None if held.is_kept => return Ok(self.gone()),
            None => (held.registration.clone(), held.tokens.clone()),
        };
        self.refresh_with(held, found, registration, tokens).await
    }

    /// Tells the authorization server that nobody needs this login any more. It may be gone: that changes nothing here.
    pub(super) async fn give_back(&self, held: &Held) {
        let Some(refresh) = &held.tokens.refresh else { return };
        let told = async {
            let found = self.search(None).await?;
            if self.key(&found) != held.key {
                return Ok(());
            }
            let identity =
                Identity { registration: held.registration.clone(), key: self.policy.client.key.clone() };
            let asking = Asking { outbound: &self.outbound, found: &found, identity: &identity, dpop: None };
            asking.revoke(refresh).await.map_err(|trouble| trouble.at(AuthorizationStep::Token))
        };
        if let Err(error) = told.await {
            tracing::info!(%error, "the authorization server was not told of the logout");
        }
    }

    fn gone(&self) -> Option<Arc<Held>> {
        self.forget();
        None
    }

    async fn refresh_with(
        &self,
        held: &Arc<Held>,
        found: &Arc<Found>,
        registration: Registration,
        old: Tokens,
    ) -> Result<Option<Arc<Held>>> {
        let Some(refresh) = &old.refresh else { return Ok(self.gone()) };
        let identity = match &self.policy.client.id {
            Some(_) => self.given(found)?,
            None => Identity { registration: registration.clone(), key: self.policy.client.key.clone() },
        };
        let asking =
            Asking { outbound: &self.outbound, found, identity: &identity, dpop: held.dpop.as_deref() };
        let form = Form::new("refresh_token").with("refresh_token", refresh.expose());
        let key = held.key.clone();
        match asking.token(form, &old.scopes).await {
            Ok(mut new) => {
                new.refresh = new.refresh.or_else(|| old.refresh.clone());
                new.requested = old.requested;
                let taken = self.take(key, registration, new, Origin::Refreshed, found, held.dpop.clone());
                taken.await.map(Some)
            }
            Err(trouble) if trouble.is("invalid_grant") => {
                self.keep(&key, &registration, None).await;
                Ok(self.gone())
            }
            Err(trouble) if trouble.is("invalid_client") || trouble.is("unauthorized_client") => {
                self.drop_stored(&key).await;
                Ok(self.gone())
            }
            Err(trouble @ Trouble::Ours(_)) => Err(trouble.at(AuthorizationStep::Token)),
            Err(trouble) => Err(trouble.at(AuthorizationStep::Refresh)),
        }
    }
}

/// On a task of its own: what was sent can not be sent again, whoever loses interest.
async fn to_the_end<T: Send + 'static>(work: impl Future<Output = Result<T>> + Send + 'static) -> Result<T> {
    match tokio::spawn(work).await {
        Ok(done) => done,
        Err(error) => Err(failed(AuthorizationStep::Token, format!("the work was ended: {error}"))),
    }
}

/// The person did not come back.
fn astray(error: Error) -> Error {
    match error {
        Error::Authorization(_) | Error::Misuse(_) => error,
        Error::Timeout(time) => failed(
            AuthorizationStep::Login,
            format!("nobody came back from the authorization server within {time:?}"),
        ),
        other => failed(AuthorizationStep::Login, other.to_string()),
    }
}
