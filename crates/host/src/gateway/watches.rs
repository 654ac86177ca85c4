//! Resources that somebody watches: at their server once for each connection, here as often as they are watched.
//!
//! A subscription is made before it is promised, kept while anybody watches, and made anew when its connection was lost.
//! It goes over the connection that the same people's calls go over, so that a server which keeps its state in its process
//! tells of what these calls change.

use std::any::Any;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use contexture::model::{ErrorObject, SubscriptionFilter};
use contexture::server::{Context, OperationResult, Reply};
use contexture::{Error, Principal};

use super::{Gateway, faults};
use crate::config::{ServerEntry, TransportSpec};
use crate::consent::{Case, Kind};
use crate::upstream::{Audience, Upstream, Watching, lock};

/// How long a subscription stays that nobody has taken hold of.
const LINGERS: Duration = Duration::from_secs(10);
/// Between two attempts to watch something again.
const PAUSE: Duration = Duration::from_secs(2);

type Key = (Principal, Option<u64>, String);

pub(super) struct Watches {
    table: Arc<Mutex<HashMap<Key, Watch>>>,
    /// Servers whose resources are being watched again.
    reviving: Arc<Mutex<HashSet<String>>>,
    gateway: Weak<Gateway>,
}

/// One resource that is watched by one person.
struct Watch {
    holders: usize,
    upstream: Arc<Upstream>,
    who: Audience,
    /// The server's own URI.
    original: String,
    subscribed: Option<Watching>,
}

impl Watches {
    pub(super) fn new(gateway: Weak<Gateway>) -> Self {
        Self { table: Arc::default(), reviving: Arc::default(), gateway }
    }

    /// Somebody watches this from now on, until what is returned is dropped.
    pub(super) fn hold(&self, context: &Context, uri: &str) -> Option<Box<dyn Any + Send + Sync>> {
        let key = key(context, uri);
        lock(&self.table).get_mut(&key)?.holders += 1;
        Some(Box::new(Holding { table: Arc::clone(&self.table), key }))
    }

    /// Counts as held for a while, until whoever wants to watch has taken hold of it.
    fn linger(&self, key: Key) {
        let lingering = Holding { table: Arc::clone(&self.table), key };
        tokio::spawn(async move {
            tokio::time::sleep(LINGERS).await;
            drop(lingering);
        });
    }

    /// Connections of this server were lost: what was watched over them is watched over others.
    pub(super) fn lost(&self, server: &str) {
        let lost = lock(&self.table).values().any(|watch| watch.is_lost(server));
        // One sees to it, however often they are lost.
        if !lost || !lock(&self.reviving).insert(server.to_owned()) {
            return;
        }
        let (table, gateway, server) = (Arc::clone(&self.table), self.gateway.clone(), server.to_owned());
        let reviving = Arc::clone(&self.reviving);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(PAUSE).await;
                if gateway.strong_count() == 0 {
                    return;
                }
                let lost: Vec<_> = lock(&table)
                    .iter()
                    .filter(|(_, watch)| watch.is_lost(&server))
                    .map(|(key, watch)| {
                        (key.clone(), Arc::clone(&watch.upstream), watch.who.clone(), watch.original.clone())
                    })
                    .collect();
                if lost.is_empty() {
                    let mut reviving = lock(&reviving);
                    // Whoever was lost meanwhile was left to us.
                    if !lock(&table).values().any(|watch| watch.is_lost(&server)) {
                        reviving.remove(&server);
                        return;
                    }
                    continue;
                }
                for (key, upstream, who, original) in lost {
                    match subscribe(&upstream, &who, &original).await {
                        Ok(subscribed) => {
                            if let Some(watch) = lock(&table).get_mut(&key) {
                                watch.subscribed = Some(subscribed);
                            }
                            // It may have changed while nobody looked.
                            if let Some(gateway) = gateway.upgrade() {
                                crate::upstream::Observer::resource_updated(
                                    &*gateway,
                                    upstream.entry(),
                                    Some(&key.0),
                                    &original,
                                );
                            }
                        }
                        Err(error) => tracing::debug!(server, ?error, "still not watched"),
                    }
                }
            }
        });
    }
}

impl Watch {
    fn is_lost(&self, server: &str) -> bool {
        self.upstream.entry().name == server
            && self.subscribed.as_ref().is_none_or(|watching| !watching.is_usable())
    }
}

impl Gateway {
    /// Sees to it that changes of a resource are told.
    ///
    /// # Errors
    /// There is no such resource, or its server does not tell.
    pub(super) async fn begin_watching(
        self: &Arc<Self>,
        context: &Context,
        uri: &str,
    ) -> Result<(), ErrorObject> {
        let key = key(context, uri);
        let known = lock(&self.watches.table).get(&key).map(|watch| Arc::clone(&watch.upstream));
        if let Some(upstream) = known {
            self.may_watch(context, upstream.entry()).await?;
            if let Some(watch) = lock(&self.watches.table).get_mut(&key) {
                watch.holders += 1;
                self.watches.linger(key);
                return Ok(());
            }
        }
        let look =
            |view: &super::View| view.catalog.resource(uri).map(|route| (route.server, route.original));
        let code = context.revision().rules().not_found_code;
        let unknown = || ErrorObject::resource_not_found(code, uri);
        let ((server, original), view) = self.find(context, uri, look, unknown).await?;
        let served = &view.servers[server];
        if self.conceals(context, served.upstream.entry(), &original) {
            return Err(ErrorObject::resource_not_found(code, uri));
        }
        self.may_watch(context, served.upstream.entry()).await?;
        let (upstream, personal) = (Arc::clone(&served.upstream), served.personal);
        let who = self.audience(context, upstream.entry(), personal);
        let subscribed = subscribe(&upstream, &who, &original).await.map_err(|fault| match fault {
            Refused::Unavailable(unavailable) => faults::unavailable(&unavailable).error,
            Refused::By(error) => {
                let method = contexture::model::Method::ResourcesRead;
                faults::of(self, upstream.entry(), context, method, error).error
            }
        })?;
        let watch = Watch { holders: 1, upstream, who, original, subscribed: Some(subscribed) };
        lock(&self.watches.table).insert(key.clone(), watch);
        self.watches.linger(key);
        Ok(())
    }

    /// Whether this client may use the login that this person has at the server. Nobody is asked here.
    async fn may_watch(&self, context: &Context, entry: &ServerEntry) -> Result<(), ErrorObject> {
        let (Some(logins), TransportSpec::Http { .. }) = (&self.logins, &entry.transport) else {
            return Ok(());
        };
        let refused = |_| faults::denied(entry, "this client may not use your login there".into());
        logins.permits(entry, context.principal()).await.map_err(refused)
    }

    /// Whether a resource may not be read by this caller, so that its changes are none of their business either.
    fn conceals(&self, context: &Context, entry: &ServerEntry, original: &str) -> bool {
        let case = Case {
            kind: Kind::Resource,
            server: &entry.name,
            trusted: entry.trusted,
            name: original,
            principal: context.principal(),
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

async fn subscribe(upstream: &Arc<Upstream>, who: &Audience, original: &str) -> Result<Watching, Refused> {
    let lease = upstream.share(who).await.map_err(Refused::Unavailable)?;
    let watching = lease.watch();
    lease.client().subscribe(original).await.map_err(Refused::By)?;
    Ok(watching)
}

/// Somebody's interest in a resource.
struct Holding {
    table: Arc<Mutex<HashMap<Key, Watch>>>,
    key: Key,
}

impl Drop for Holding {
    fn drop(&mut self) {
        let mut table = lock(&self.table);
        let Some(watch) = table.get_mut(&self.key) else { return };
        watch.holders -= 1;
        if watch.holders > 0 {
            return;
        }
        let Some(watch) = table.remove(&self.key) else { return };
        // Others may watch the same over the same connection.
        let shared = watch.subscribed.as_ref().is_some_and(|own| {
            table.values().any(|other| {
                other.original == watch.original
                    && other.subscribed.as_ref().is_some_and(|theirs| theirs.is_same(own))
            })
        });
        drop(table);
        if let (Some(watching), false, Ok(runtime)) =
            (watch.subscribed, shared, tokio::runtime::Handle::try_current())
        {
            runtime.spawn(async move {
                if let Err(error) = watching.client().unsubscribe(&watch.original).await {
                    tracing::debug!(%error, "a subscription could not be ended");
                }
            });
        }
    }
}

fn key(context: &Context, uri: &str) -> Key {
    (context.principal().identity(), context.session_number(), uri.to_owned())
}
