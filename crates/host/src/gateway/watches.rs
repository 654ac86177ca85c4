//! Resources that somebody watches: at their server once for each connection, here as often as they are watched.
//!
//! A subscription is made before it is promised, kept while anybody watches, and made anew when its connection was lost or its
//! server was replaced. It goes over the connection that the same people's calls go over, so that a server which keeps its
//! state in its process tells of what these calls change. One person watches no more than so much, and whoever begins to is
//! admitted as a call is.

use std::any::Any;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use contexture::engine::BUSY;
use contexture::model::{ErrorObject, Method, SubscriptionFilter};
use contexture::server::{Context, OperationResult, Reply};
use contexture::{Error, Principal};
use serde_json::json;
use tokio::time::{Instant, sleep_until};

use super::{Gateway, faults};
use crate::config::{ServerEntry, TransportSpec};
use crate::consent::{Case, Kind};
use crate::upstream::{Audience, Observer, Upstream, Watching, lock};

/// How long a subscription stays that nobody has taken hold of.
const LINGERS: Duration = Duration::from_secs(10);
/// Between two attempts to watch something again.
const PAUSE: Duration = Duration::from_secs(2);

type Key = (Principal, Option<u64>, String);
type Table = Arc<Mutex<HashMap<Key, Watch>>>;

pub(super) struct Watches {
    table: Table,
    /// Servers whose resources are being watched again.
    reviving: Arc<Mutex<HashSet<String>>>,
    gateway: Weak<Gateway>,
}

/// One resource that is watched by one person.
#[derive(Clone)]
struct Watched {
    upstream: Arc<Upstream>,
    who: Audience,
    /// The server's own URI.
    original: String,
}

struct Watch {
    of: Watched,
    /// Whoever watches it, or is about to.
    holders: usize,
    /// One makes the subscription; whoever else wants it waits for what comes of that.
    turn: Arc<tokio::sync::Mutex<()>>,
    subscribed: Option<Watching>,
    /// Until when it stays though nobody has taken hold of it, if anybody minds that.
    lingers: Option<Instant>,
}

impl Watches {
    pub(super) fn new(gateway: Weak<Gateway>) -> Self {
        Self { table: Arc::default(), reviving: Arc::default(), gateway }
    }

    /// Somebody watches this from now on, until what is returned is dropped.
    pub(super) fn hold(&self, context: &Context, uri: &str) -> Option<Box<dyn Any + Send + Sync>> {
        let holding = self.take_hold(key(context, uri))?;
        Some(Box::new(holding))
    }

    /// Takes hold of what is watched, or about to be.
    fn take_hold(&self, key: Key) -> Option<Holding> {
        lock(&self.table).get_mut(&key)?.holders += 1;
        Some(Holding { table: Arc::clone(&self.table), key })
    }

    /// Takes hold of what is to be watched from now on.
    ///
    /// # Errors
    /// That would be too much.
    fn enter(&self, key: Key, of: Watched, most: usize) -> Result<Holding, ErrorObject> {
        let mut table = lock(&self.table);
        if !table.contains_key(&key) {
            let own = table.keys().filter(|(principal, ..)| *principal == key.0).count();
            if table.len() >= most || own >= most.div_ceil(2) {
                let why = "too many resources are watched; let go of some, or try again later";
                return Err(ErrorObject::new(BUSY, why).data(json!({ "retryAfterMs": 1000 })));
            }
        }
        let watch = table.entry(key.clone()).or_insert_with(|| Watch::new(of.clone()));
        if !Arc::ptr_eq(&watch.of.upstream, &of.upstream) {
            // The server was replaced, and nobody hears the old one any more.
            (watch.of, watch.subscribed) = (of, None);
        }
        watch.holders += 1;
        Ok(Holding { table: Arc::clone(&self.table), key })
    }

    /// Counts as held for a while, until whoever wants to watch has taken hold of it. One task minds that, however often
    /// somebody wants to.
    fn linger(&self, holding: Holding) {
        let until = Instant::now() + LINGERS;
        let minded =
            lock(&self.table).get_mut(&holding.key).is_some_and(|it| it.lingers.replace(until).is_some());
        if !minded {
            tokio::spawn(async move {
                while let Some(until) = holding.lingers() {
                    sleep_until(until).await;
                }
            });
        }
    }

    /// Connections of this server were lost: what was watched over them is watched over others.
    pub(super) fn lost(&self, server: &str) {
        let Some(gateway) = self.gateway.upgrade() else { return };
        // One sees to it, however often they are lost.
        if self.lost_of(&gateway, server).is_empty() || !lock(&self.reviving).insert(server.to_owned()) {
            return;
        }
        drop(gateway);
        tokio::spawn(revive(self.gateway.clone(), server.to_owned()));
    }

    /// What is watched of a server and heard no more.
    fn lost_of(&self, gateway: &Gateway, server: &str) -> Vec<Key> {
        let upstreams = gateway.upstreams();
        let Some(current) = upstreams.iter().find(|it| it.entry().name == server) else { return Vec::new() };
        let table = lock(&self.table);
        let lost = table.iter().filter(|(_, watch)| {
            watch.of.upstream.entry().name == server
                && watch.holders > 0
                && watch.turn.try_lock().is_ok()
                && !(watch.is_live() && Arc::ptr_eq(&watch.of.upstream, current))
        });
        lost.map(|(key, _)| key.clone()).collect()
    }
}

/// Sees to it that what is watched of a server is heard again.
async fn revive(gateway: Weak<Gateway>, server: String) {
    loop {
        tokio::time::sleep(PAUSE).await;
        let Some(gateway) = gateway.upgrade() else { return };
        let lost = gateway.watches.lost_of(&gateway, &server);
        if lost.is_empty() {
            let mut reviving = lock(&gateway.watches.reviving);
            // Whoever was lost meanwhile was left to us.
            if gateway.watches.lost_of(&gateway, &server).is_empty() {
                reviving.remove(&server);
                return;
            }
        }
        for key in lost {
            let Some(holding) = gateway.watches.take_hold(key) else { continue };
            if let Err(error) = gateway.watch_again(&holding, &server).await {
                tracing::debug!(server, ?error, "still not watched");
            }
        }
    }
}

impl Watch {
    fn new(of: Watched) -> Self {
        Self { of, holders: 0, turn: Arc::default(), subscribed: None, lingers: None }
    }

    fn is_live(&self) -> bool {
        self.subscribed.as_ref().is_some_and(Watching::is_usable)
    }
}

impl Gateway {
    /// Sees to it that changes of a resource are told.
    ///
    /// # Errors
    /// There is no such resource, or its server does not tell; or too much is watched already.
    pub(super) async fn begin_watching(
        self: &Arc<Self>,
        context: &Context,
        uri: &str,
    ) -> Result<(), ErrorObject> {
        let key = key(context, uri);
        let known = lock(&self.watches.table).get(&key).map(|watch| Arc::clone(&watch.of.upstream));
        let current = |known: &Arc<Upstream>| self.upstreams().iter().any(|it| Arc::ptr_eq(it, known));
        let holding = match known.filter(current) {
            Some(upstream) => {
                self.may_use(context, upstream.entry()).await?;
                self.watches.take_hold(key.clone())
            }
            None => None,
        };
        let holding = match holding {
            Some(holding) => holding,
            None => {
                let wanted = self.watchable(context, uri).await?;
                self.watches.enter(key, wanted, self.limits().watched_resources)?
            }
        };
        let turn = holding.turn();
        let _turn = turn.lock().await;
        if let Some(wanted) = holding.missing() {
            let entry = wanted.upstream.entry();
            let _admission = self.consent.admit(context.principal(), &entry.name)?;
            let subscribed = subscribe(&wanted).await.map_err(|refused| match refused {
                Refused::Unavailable(unavailable) => faults::unavailable(&unavailable).error,
                Refused::By(error) => faults::of(self, entry, context, Method::ResourcesRead, error).error,
            })?;
            holding.watched(wanted, subscribed);
        }
        self.watches.linger(holding);
        Ok(())
    }

    /// The resource of this URI, if this client may know of its changes.
    async fn watchable(self: &Arc<Self>, context: &Context, uri: &str) -> Result<Watched, ErrorObject> {
        let look =
            |view: &super::View| view.catalog.resource(uri).map(|route| (route.server, route.original));
        let code = context.revision().rules().not_found_code;
        let unknown = || ErrorObject::resource_not_found(code, uri);
        let ((server, original), view) = self.find(context, uri, look, unknown).await?;
        let served = &view.servers[server];
        if self.conceals(context.principal(), served.upstream.entry(), &original) {
            return Err(ErrorObject::resource_not_found(code, uri));
        }
        self.may_use(context, served.upstream.entry()).await?;
        let who = self.audience(context, served.upstream.entry(), served.personal);
        Ok(Watched { upstream: Arc::clone(&served.upstream), who, original })
    }

    /// Watches again what was lost, at the server as it is now, and tells of a change: there may have been one while nobody
    /// looked.
    async fn watch_again(&self, holding: &Holding, server: &str) -> Result<(), Refused> {
        let turn = holding.turn();
        let _turn = turn.lock().await;
        let upstreams = self.upstreams();
        let current = upstreams.iter().find(|upstream| upstream.entry().name == server);
        let (Some(current), Some(lost)) = (current, holding.of()) else { return Ok(()) };
        if Arc::ptr_eq(current, &lost.upstream) && holding.missing().is_none() {
            return Ok(());
        }
        let wanted = Watched { upstream: Arc::clone(current), ..lost };
        let subscribed = subscribe(&wanted).await?;
        self.resource_updated(wanted.upstream.entry(), Some(&holding.key.0), &wanted.original);
        holding.watched(wanted, subscribed);
        Ok(())
    }

    /// Whether this client may use the login that this person has at the server. Nobody is asked here.
    pub(super) async fn may_use(&self, context: &Context, entry: &ServerEntry) -> Result<(), ErrorObject> {
        let (Some(logins), TransportSpec::Http { .. }) = (&self.logins, &entry.transport) else {
            return Ok(());
        };
        let refused = |_| faults::denied(entry, "this client may not use your login there".into());
        logins.permits(entry, context.principal()).await.map_err(refused)
    }

    /// Whether a resource may not be read by somebody, so that its changes are none of their business either.
    pub(super) fn conceals(&self, principal: &Principal, entry: &ServerEntry, original: &str) -> bool {
        let case = Case {
            kind: Kind::Resource,
            server: &entry.name,
            trusted: entry.trusted,
            name: original,
            principal,
            annotations: None,
            arguments: None,
        };
        self.consent.conceals(&case, true)
    }

    /// Honours what can be watched of what a client wants to listen for.
    pub(super) async fn listen(
        self: &Arc<Self>,
        context: &Context,
        mut filter: SubscriptionFilter,
    ) -> OperationResult {
        let mut honoured = Vec::new();
        for uri in filter.resource_subscriptions.take().into_iter().flatten() {
            match self.begin_watching(context, &uri).await {
                Ok(()) => honoured.push(uri),
                Err(error) => tracing::debug!(uri, %error, "not watched"),
            }
        }
        filter.resource_subscriptions = (!honoured.is_empty()).then_some(honoured);
        Ok(Reply::Listening(filter))
    }
}

#[derive(Debug)]
enum Refused {
    Unavailable(crate::upstream::Unavailable),
    By(Error),
}

async fn subscribe(wanted: &Watched) -> Result<Watching, Refused> {
    let lease = wanted.upstream.share(&wanted.who).await.map_err(Refused::Unavailable)?;
    lease.watch(&wanted.original).await.map_err(Refused::By)
}

/// Somebody's interest in a resource. When nobody has any, its server is told.
struct Holding {
    table: Table,
    key: Key,
}

impl Holding {
    fn with<T>(&self, look: impl FnOnce(&mut Watch) -> T) -> Option<T> {
        lock(&self.table).get_mut(&self.key).map(look)
    }

    /// What is or is to be watched. It is there for as long as somebody has an interest.
    fn of(&self) -> Option<Watched> {
        self.with(|watch| watch.of.clone())
    }

    fn turn(&self) -> Arc<tokio::sync::Mutex<()>> {
        self.with(|watch| Arc::clone(&watch.turn)).unwrap_or_default()
    }

    /// What is to be watched, and is not.
    fn missing(&self) -> Option<Watched> {
        self.with(|watch| (!watch.is_live()).then(|| watch.of.clone()))?
    }

    /// From here on it is.
    fn watched(&self, of: Watched, subscribed: Watching) {
        let before = self.with(|watch| {
            watch.of = of;
            watch.subscribed.replace(subscribed)
        });
        drop(before);
    }

    /// Until when it stays for those who have not taken hold of it yet; nothing if that is over.
    fn lingers(&self) -> Option<Instant> {
        self.with(|watch| {
            watch.lingers = watch.lingers.filter(|until| *until > Instant::now());
            watch.lingers
        })?
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        let mut table = lock(&self.table);
        let Some(watch) = table.get_mut(&self.key) else { return };
        watch.holders -= 1;
        let last = if watch.holders == 0 { table.remove(&self.key) } else { None };
        drop(table);
        drop(last);
    }
}

fn key(context: &Context, uri: &str) -> Key {
    (context.principal().identity(), context.session_number(), uri.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Limits, Origin};
    use crate::consent::{Consent, Settings};
    use crate::gateway::Parts;
    use crate::sampling::Models;
    use crate::upstream::Surroundings;

    #[tokio::test]
    async fn one_task_sees_to_what_was_lost_however_often_it_is() {
        let (models, limits) = (Models::new(&Default::default()).expect("none"), Limits::default());
        let gateway = Gateway::new(Parts {
            consent: Consent::open(Settings::default()),
            models: models.clone(),
            limits: limits.clone(),
            person: None,
            logins: None,
            metrics: Arc::default(),
        });
        let url = "http://127.0.0.1:9/mcp".to_owned();
        let transport = TransportSpec::Http { url, headers: Vec::new(), sse: false, socket: None };
        let entry = ServerEntry::new("up", transport, Origin::command_line());
        let (name, observer) = ("test".to_owned(), gateway.observer());
        let around = Surroundings { name, logins: None, observer, connections: 1 };
        let upstream = Upstream::new(Arc::new(entry), around);
        gateway.replace(vec![Arc::clone(&upstream)], models, limits);
        let who = Audience::local(upstream.entry(), false, false);
        let wanted = Watched { upstream, who, original: "x:y".into() };
        let key = (Principal::local(), None, "up+x:y".to_owned());
        let _holding = gateway.watches.enter(key, wanted, 2).expect("room");
        let tasks = tokio::runtime::Handle::current().metrics();
        let before = tasks.num_alive_tasks();
        (0..50).for_each(|_| gateway.watches.lost("up"));
        assert_eq!(tasks.num_alive_tasks(), before + 1);
    }
}
