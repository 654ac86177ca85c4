//! The host: configuration, servers, catalog and consent, put together, and changed while it runs.
//!
//! A change of the configuration touches what it changes: servers whose entry stays the same keep their connections and
//! their calls, the others finish what is in flight and start anew.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use contexture::engine::Patience;
use contexture::{Policy, Principal, Server};
use futures_util::future::join_all;

use crate::catalog::Offer;
use crate::config::{Config, ServerEntry};
use crate::consent::{CallLimits, Consent, Person, Settings};
use crate::gateway::{Declared, Face, Gateway, Parts};
use crate::login::Logins;
use crate::operations::{Metrics, Source, UpstreamReport};
use crate::sampling::Models;
use crate::upstream::{Audience, Health, Surroundings, Upstream, lock};

/// How long a person may take who is asked through a client.
const PERSON: Patience =
    Patience { idle: Duration::from_secs(600), total: Duration::from_secs(3600), renewed_by_progress: true };

/// How long a server that was reconfigured still takes calls that were on their way to it.
const HANDOVER: Duration = Duration::from_secs(1);

/// What a host does not do itself.
#[derive(Clone, Default)]
pub struct Services {
    /// Who is asked where no client can be.
    pub person: Option<Arc<dyn Person>>,
    /// Who logs people in at servers that want it.
    pub login: Option<Arc<Logins>>,
    /// Who counts.
    pub metrics: Arc<Metrics>,
    /// The folder in which answers are remembered; in memory only, if there is none.
    pub state: Option<PathBuf>,
}

/// Many servers as one.
pub struct Host {
    gateway: Arc<Gateway>,
    state: Option<PathBuf>,
    /// What it was last told; held while it is being told something else.
    config: tokio::sync::Mutex<Config>,
    /// What was configured and cannot be used, as health.
    name: Mutex<String>,
}

impl Host {
    /// Begins. Servers are started when they are needed; only a single one whose names are left alone is started now,
    /// because what it declares is what we declare.
    ///
    /// # Errors
    /// When the configuration contradicts itself.
    pub async fn start(config: Config, services: Services) -> Result<Arc<Self>, String> {
        let models = Models::new(&config.sampling)?;
        let parts = Parts {
            consent: Consent::open(settings(&config, services.state.clone())),
            models: models.clone(),
            limits: config.limits.clone(),
            person: services.person,
            logins: services.login,
            metrics: services.metrics,
        };
        let gateway = Gateway::new(parts);
        let host = Arc::new(Self {
            state: services.state,
            name: Mutex::new(config.name.clone()),
            config: tokio::sync::Mutex::new(Config::new(Vec::new())),
            gateway,
        });
        let source: Arc<dyn Source> = Arc::<Self>::clone(&host);
        host.gateway.metrics.watch(Arc::downgrade(&source));
        host.put_in_place(&config, models, &[]);
        *host.config.lock().await = config;
        host.look_through().await;
        Ok(host)
    }

    /// Gets to know the servers on behalf of whoever started this process, for no longer than lists wait for them. How
    /// to use them is told to a client when it says hello and never again; where one is certain to say it at once, it
    /// is to be known by then.
    pub async fn look_around(&self) {
        let logins = self.gateway.logins_of(&Principal::local()).await;
        let upstreams = self.gateway.upstreams();
        let offers = upstreams.iter().map(|upstream| {
            let personal = logins.contains(&upstream.entry().name);
            let who = Audience::local(upstream.entry(), self.gateway.has_models(), personal);
            // Why one has nothing to show is in its health.
            async move { drop(upstream.offer(&who).await) }
        });
        // Those that take longer are listed when they come.
        let _ = tokio::time::timeout(self.gateway.limits().list_grace, join_all(offers)).await;
    }

    /// A server that shows what all servers offer. Each call gives another one, of the same.
    pub fn server(&self) -> Server {
        let mut policy = Policy::default();
        policy.patience = PERSON;
        policy.drain = self.gateway.limits().drain_time;
        let name = lock(&self.name).clone();
        let gateway = Arc::downgrade(&self.gateway);
        let server = Server::new(name, env!("CARGO_PKG_VERSION"))
            .policy(policy)
            .provided_by(Face(Arc::clone(&self.gateway)))
            .on_roots_changed(move |session| {
                if let Some(gateway) = gateway.upgrade() {
                    gateway.roots_changed(&session);
                }
                std::future::ready(())
            });
        self.gateway.register(server.registry());
        server
    }

    /// Goes on with another configuration. Returns when the new one is in place; what has to end finishes by itself.
    ///
    /// # Errors
    /// When the configuration contradicts itself; then everything stays as it was.
    pub async fn reload(&self, config: Config) -> Result<(), String> {
        let mut current = self.config.lock().await;
        let models = Models::new(&config.sampling)?;
        self.gateway.consent.reload(settings(&config, self.state.clone()));
        let before = self.gateway.upstreams();
        let leaving = self.put_in_place(&config, models, &before);
        let drain = config.limits.drain_time;
        *lock(&self.name) = config.name.clone();
        *current = config;
        drop(current);
        tokio::spawn(async move {
            // Calls that were routed a moment ago still find what they were routed to.
            tokio::time::sleep(HANDOVER).await;
            join_all(leaving.iter().map(|upstream| upstream.stop(drain))).await
        });
        self.look_through().await;
        Ok(())
    }

    /// How every server is, in the order of the configuration.
    pub fn health(&self) -> Vec<Health> {
        self.gateway.upstreams().iter().map(|upstream| upstream.health()).collect()
    }

    /// Calls that wait for a client to come back with an answer.
    pub fn parked(&self) -> usize {
        self.gateway.parked.count()
    }

    /// Decides what may be done here.
    pub fn consent(&self) -> &Consent {
        &self.gateway.consent
    }

    /// Takes back every question of ours that a person has not answered yet, and asks no more. What they were about counts as
    /// denied: whoever ends does not wait for somebody who may be away.
    pub fn ask_no_more(&self) {
        self.gateway.ask_no_more();
    }

    /// Ends. Calls in flight have as long as the configuration says; all processes are gone when this returns.
    pub async fn stop(&self) {
        let drain = self.gateway.limits().drain_time;
        let upstreams = self.gateway.upstreams();
        self.ask_no_more();
        self.gateway.parked.clear();
        join_all(upstreams.iter().map(|upstream| upstream.stop(drain))).await;
    }

    /// Puts these servers in place of those that were there; gives the ones that are not wanted any more.
    fn put_in_place(&self, config: &Config, models: Models, before: &[Arc<Upstream>]) -> Vec<Arc<Upstream>> {
        let around = Surroundings {
            name: config.name.clone(),
            logins: self.gateway.logins.clone(),
            observer: self.gateway.observer(),
            connections: config.limits.connections,
        };
        let kept = |entry: &ServerEntry| before.iter().find(|upstream| **upstream.entry() == *entry).cloned();
        let upstreams: Vec<_> = config
            .servers
            .iter()
            .map(|entry| {
                kept(entry).unwrap_or_else(|| Upstream::new(Arc::new(entry.clone()), around.clone()))
            })
            .collect();
        let leaving =
            before.iter().filter(|old| !upstreams.iter().any(|new| Arc::ptr_eq(old, new))).cloned().collect();
        self.gateway.metrics.servers(config.servers.iter().map(|entry| entry.name.as_str()));
        self.gateway.replace(upstreams, models, config.limits.clone());
        leaving
    }

    /// With one server whose names are left alone we are that server to clients, and declare what it declares.
    async fn look_through(&self) {
        let Some(only) = self.gateway.only() else { return self.gateway.declare(None) };
        let who = Audience::local(only.entry(), self.gateway.has_models(), false);
        match only.offer(&who).await {
            Ok(offer) => self.gateway.declare(Some(declared(&offer))),
            Err(error) => {
                tracing::warn!(%error, "what the server declares is not known; everything is declared in its place");
                self.gateway.declare(None);
            }
        }
    }
}

impl Source for Host {
    fn upstreams(&self) -> Vec<UpstreamReport> {
        let report = |health: Health| UpstreamReport {
            is_usable: !health.state.is_degraded(),
            state: health.state.word(),
            connections: health.connections,
            server: health.name,
        };
        self.health().into_iter().map(report).collect()
    }

    fn parked(&self) -> usize {
        Self::parked(self)
    }

    fn audit_lost(&self) -> u64 {
        self.gateway.consent.audit_lost()
    }
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host").field("servers", &self.gateway.upstreams().len()).finish_non_exhaustive()
    }
}

/// What can be passed on of what a server declares.
fn declared(offer: &Offer) -> Declared {
    let mut capabilities = offer.capabilities.clone();
    // Tasks have methods of their own, which are not passed on.
    capabilities.tasks = None;
    Declared { capabilities: Arc::new(capabilities), instructions: offer.instructions.clone() }
}

fn settings(config: &Config, state: Option<PathBuf>) -> Settings {
    let (policy, audit) = (config.policy.clone(), config.audit.clone());
    Settings { policy, audit, limits: CallLimits::from(&config.limits), state }
}
