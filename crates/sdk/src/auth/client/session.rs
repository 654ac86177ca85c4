//! One server's credentials: what is shown to it, and what is done when it is not enough.
//!
//! However many requests are refused at once, one of them does something about it and the others wait for what comes
//! of it, be it a token or a failure. A token of another issuer than the server names now is not shown any more.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::{HeaderMap, Method};

use super::discovery::{Found, Search};
use super::held::{Held, Origin};
use super::policy::{Authorization, Grant};
use super::store::{StoreKey, TokenStore};
use super::{failed, shown};
use crate::auth::canonical::{canonical, same_resource};
use crate::auth::challenge::{Challenge, bearer_of};
use crate::auth::outbound::{Outbound, Reach};
use crate::error::{AuthorizationFailure, AuthorizationStep};
use crate::scopes::Scopes;
use crate::transport::PersonTime;
use crate::transport::http::{Challenged, Credentials, Request, Showing};
use crate::{Error, Result};

/// Credentials for one server.
pub(crate) struct Session(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) policy: Authorization,
    /// The server's canonical URI.
    pub(super) server: String,
    /// Why nobody may log in to it, if so. It may still be used by everybody.
    unfit: Option<String>,
    pub(super) outbound: Outbound,
    pub(super) reach: Reach,
    pub(super) store: Arc<dyn TokenStore>,
    pub(super) person: PersonTime,
    now: Mutex<Now>,
    /// Whose turn it is to do something about the token.
    turn: tokio::sync::Mutex<()>,
}

/// How things stand.
#[derive(Default)]
struct Now {
    /// Whether the store was looked into.
    looked: bool,
    held: Option<Arc<Held>>,
    /// The issuer that was used so far.
    bound: Option<String>,
    /// How often something was done about the token, and what came of the last time.
    attempts: u64,
    failure: Option<(u16, AuthorizationFailure)>,
}

impl Session {
    /// Nothing is sent or read yet.
    pub(crate) fn new(policy: Authorization, server_url: &str) -> Self {
        let reach = Reach::of(server_url).with_private(policy.private);
        let (server, unfit) = match canonical(server_url) {
            Ok(server) if server.starts_with("https:") || reach == Reach::Loopback => (server, None),
            Ok(server) => (server, Some("tokens are not sent without encryption, use https".to_owned())),
            Err(error) => (server_url.to_owned(), Some(error.to_string())),
        };
        let store = policy.tokens();
        Self(Arc::new(Inner {
            policy,
            server,
            unfit,
            outbound: Outbound::new(reach),
            reach,
            store,
            person: PersonTime::new(),
            now: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
        }))
    }
}

impl Credentials for Session {
    fn show<'a>(&'a self, request: &'a Request<'a>) -> Showing<'a, HeaderMap> {
        Box::pin(async move {
            match self.0.current().await? {
                Some(held) => held.headers(request),
                None => Ok(HeaderMap::new()),
            }
        })
    }

    fn refused<'a>(&'a self, refusal: &'a Challenged) -> Showing<'a, bool> {
        Box::pin(self.0.refused(refusal))
    }

    fn person(&self) -> Option<PersonTime> {
        Some(self.0.person.clone())
    }
}

impl Inner {
    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn held(&self) -> Option<Arc<Held>> {
        self.now().held.clone()
    }

    /// From here on this is shown.
    pub(super) fn hold(&self, held: Held) -> Arc<Held> {
        let held = Arc::new(held);
        let mut now = self.now();
        now.bound = Some(held.key.issuer.clone());
        now.held = Some(Arc::clone(&held));
        held
    }

    /// From here on nothing is shown.
    pub(super) fn forget(&self) {
        self.now().held = None;
    }

    /// The issuer that was used so far.
    pub(super) fn bound(&self) -> Option<String> {
        self.now().bound.clone()
    }

    pub(super) fn key(&self, found: &Found) -> StoreKey {
        StoreKey::new(&found.issuer, &found.resource, &self.policy.account)
    }

    /// Whether tokens may be shown to the server at all.
    pub(super) fn fit(&self) -> Result<()> {
        match &self.unfit {
            Some(why) => {
                let what = format!("nobody can log in to this address: {why}");
                Err(failed(AuthorizationStep::Discovery, what))
            }
            None => Ok(()),
        }
    }

    /// Who issues tokens now.
    pub(super) async fn search(&self, challenge: Option<&Challenge>) -> Result<Arc<Found>> {
        self.fit()?;
        let bound = self.bound();
        let search = Search {
            outbound: &self.outbound,
            reach: self.reach,
            server: &self.server,
            policy: &self.policy,
            bound: bound.as_deref(),
        };
        let named = challenge.and_then(|challenge| challenge.get("resource_metadata"));
        search.run(named).await.map(Arc::new)
    }

    /// What there is to show. What is about to end is replaced before.
    async fn current(self: &Arc<Self>) -> Result<Option<Arc<Held>>> {
        self.look().await;
        let Some(held) = self.held() else { return Ok(None) };
        if held.is_fresh() || !self.can_renew(&held) {
            return Ok(Some(held));
        }
        let before = self.now().attempts;
        let _turn = self.turn.lock().await;
        match self.held() {
            None => return Ok(None),
            Some(other) if !Arc::ptr_eq(&other, &held) => return Ok(Some(other)),
            Some(_) => self.failure_since(before, 0)?,
        }
        let renewed = self.renew(&held).await;
        self.note(0, renewed.as_ref().err());
        // What is still good is shown; there will be another chance.
        renewed.or_else(|error| if held.is_good() { Ok(Some(held)) } else { Err(error) })
    }

    fn can_renew(&self, held: &Held) -> bool {
        held.tokens.refresh.is_some() || !self.asks_person()
    }

    /// Whether a new token needs a person.
    pub(super) fn asks_person(&self) -> bool {
        matches!(self.policy.grant, Grant::Local { .. } | Grant::Visitor(_) | Grant::Stored)
    }

    async fn renew(self: &Arc<Self>, held: &Arc<Held>) -> Result<Option<Arc<Held>>> {
        let found = match &held.found {
            Some(found) => Arc::clone(found),
            None => self.search(None).await?,
        };
        if self.key(&found) != held.key {
            // The server takes tokens of somebody else now.
            self.forget();
            return Ok(None);
        }
        if held.tokens.refresh.is_some() {
            return self.refresh(held, &found).await;
        }
        let scopes = held.tokens.requested.clone();
        self.log_in(&found, scopes, held.dpop.is_some()).await.map(Some)
    }

    /// Looks into the store, once.
    async fn look(&self) {
        if self.now().looked || self.unfit.is_some() {
            return;
        }
        let _turn = self.turn.lock().await;
        if self.now().looked {
            return;
        }
        let stored = self.stored().await.unwrap_or_else(|error| {
            tracing::warn!(%error, "stored tokens cannot be read");
            None
        });
        self.now().looked = true;
        if let Some(held) = stored {
            self.hold(held);
        }
    }

    /// What was issued for this very server; rather one that is fresh.
    pub(super) async fn stored(&self) -> Result<Option<Held>> {
        let wanted = self.policy.client.issuer.as_ref();
        let mut found = None;
        for key in self.store.list().await? {
            let fits = key.account == self.policy.account && same_resource(&self.server, &key.resource);
            if !fits || wanted.is_some_and(|issuer| *issuer != key.issuer) {
                continue;
            }
            let stored = self.store.load(&key).await?.filter(|stored| stored.server == self.server);
            if let Some(held) = stored.map(|stored| Held::load(key, stored)).transpose()?.flatten() {
                let fresh = held.is_fresh();
                found = Some(held);
                if fresh {
                    break;
                }
            }
        }
        Ok(found)
    }

    /// What came of what others did while we waited for our turn.
    fn failure_since(&self, before: u64, status: u16) -> Result<()> {
        let now = self.now();
        match &now.failure {
            Some((of, failure)) if now.attempts != before && *of == status => Err(failure.clone().into()),
            _ => Ok(()),
        }
    }

    fn note(&self, status: u16, error: Option<&Error>) {
        let mut now = self.now();
        now.attempts += 1;
        now.failure = match error {
            Some(Error::Authorization(failure)) => Some((status, (**failure).clone())),
            _ => None,
        };
    }

    async fn refused(self: &Arc<Self>, refusal: &Challenged) -> Result<bool> {
        let challenges = Challenge::parse_all(refusal.challenges());
        let challenge = bearer_of(&challenges);
        if let Some(dpop) = self.held().and_then(|held| held.dpop.clone())
            && challenge.and_then(|challenge| challenge.get("error")) == Some("use_dpop_nonce")
            && dpop.learn_nonce(&refusal.headers)
        {
            return Ok(true);
        }
        let before = self.now().attempts;
        let _turn = self.turn.lock().await;
        self.failure_since(before, refusal.status)?;
        let held = self.held();
        if held.as_ref().is_some_and(|held| !held.was_shown(&refusal.shown)) {
            return Ok(true);
        }
        let answered = match (refusal.status, held) {
            (403, Some(held)) => self.step_up(refusal, challenge, &held).await,
            (_, held) => self.authorize(refusal, challenge, held).await,
        };
        self.note(refusal.status, answered.as_ref().err());
        answered
    }

    /// The server wants a token, or another one.
    async fn authorize(
        self: &Arc<Self>,
        refusal: &Challenged,
        challenge: Option<&Challenge>,
        held: Option<Arc<Held>>,
    ) -> Result<bool> {
        let found = self.search(challenge).await?;
        let key = self.key(&found);
        let mut held = held.filter(|held| held.key == key);
        let stored = self.store.load(&key).await?.map(|stored| Held::load(key, stored)).transpose()?;
        // What could not be stored is newer than what is.
        let is_kept = held.as_ref().is_none_or(|held| held.is_kept);
        let stored = stored.flatten().filter(|stored| is_kept && !stored.was_shown(&refusal.shown));
        if let Some(stored) = stored {
            // Another process has logged in or refreshed.
            let stored = self.hold(stored.found(&found));
            if stored.is_fresh() {
                return Ok(true);
            }
            held = Some(stored);
        }
        if let Some(held) = &held {
            if refusal.round > 0 && held.origin == Origin::Granted {
                return Err(failed(
                    AuthorizationStep::Refused,
                    "the server asked for a login and does not take the token that came of it: its operator has to \
                     look whether it takes tokens of this issuer for this address",
                ));
            }
            let untried = refusal.round == 0 || held.origin == Origin::Loaded;
            if untried && held.tokens.refresh.is_some() && self.refresh(held, &found).await?.is_some() {
                return Ok(true);
            }
        }
        let before = held.as_ref().map(|held| &held.tokens.requested);
        let scopes = self.first_scopes(challenge, &found)?.union(before.unwrap_or(&Scopes::default()));
        self.log_in_unless_leaving(refusal, &found, scopes, challenge).await
    }

    /// The token is good, but not for this.
    async fn step_up(
        self: &Arc<Self>,
        refusal: &Challenged,
        challenge: Option<&Challenge>,
        held: &Arc<Held>,
    ) -> Result<bool> {
        let wanted = self.more_scopes(challenge, &held.tokens, refusal.round)?;
        let found = self.search(challenge).await?;
        if self.key(&found) != held.key {
            let scopes = self.first_scopes(challenge, &found)?;
            return self.log_in_unless_leaving(refusal, &found, scopes, challenge).await;
        }
        if matches!(self.policy.grant, Grant::Stored) {
            // A login by hand would not know of them.
            let what = format!(
                "nobody can be asked here; log in to {} for the scopes {wanted}",
                shown(&self.server)
            );
            let mut failure = AuthorizationFailure::new(AuthorizationStep::LoginNeeded, what);
            failure.scopes = wanted;
            return Err(failure.into());
        }
        self.log_in_unless_leaving(refusal, &found, wanted, challenge).await
    }

    /// Nobody is asked for the sake of a good-bye.
    async fn log_in_unless_leaving(
        self: &Arc<Self>,
        refusal: &Challenged,
        found: &Arc<Found>,
        scopes: Scopes,
        challenge: Option<&Challenge>,
    ) -> Result<bool> {
        if refusal.method == Method::DELETE && self.asks_person() {
            return Ok(false);
        }
        let dpop = challenge.is_some_and(|challenge| challenge.scheme.eq_ignore_ascii_case("dpop"));
        self.log_in(found, scopes, dpop).await.map(|_| true)
    }
}
