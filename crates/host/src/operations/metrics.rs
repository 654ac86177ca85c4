//! What is counted.
//!
//! By server, method and outcome, and by nothing else: names of servers are those of the configuration, and one that is
//! not among them is counted as `other`. What has a state of its own (upstreams, parked calls, sessions) is asked for when
//! somebody looks, through [`Source`], instead of being reported here at every change.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, Weak};
use std::time::SystemTime;

use contexture::model::Method;

use super::count::{Counter, Histogram, Level};
use super::exchange::Outcome;
use super::trace::Tracer;

/// Under which servers are counted that nobody has configured.
const OTHER: &str = "other";

/// What one upstream is like, now.
#[derive(Debug, Clone)]
pub struct UpstreamReport {
    /// Its name in the configuration.
    pub server: String,
    /// One of a few words: `ready`, `idle`, `starting`, `failed`…
    pub state: &'static str,
    /// Whether it can be used, perhaps after it was started.
    pub is_usable: bool,
    /// Connections to it.
    pub connections: usize,
}

/// What knows the state of things.
pub trait Source: Send + Sync {
    /// Every upstream.
    fn upstreams(&self) -> Vec<UpstreamReport>;
    /// Calls that wait for a client to come back with an answer.
    fn parked(&self) -> usize;
    /// Lines of the audit that could not be written.
    fn audit_lost(&self) -> u64;
}

/// How a call was decided about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// It may be made.
    Allowed,
    /// Somebody was asked.
    Asked,
    /// It may not be made.
    Denied,
}

impl Decision {
    pub(super) const ALL: [Self; 3] = [Self::Allowed, Self::Asked, Self::Denied];

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Asked => "asked",
            Self::Denied => "denied",
        }
    }
}

/// What was not kept: there was too much of it, or nowhere to put it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dropped {
    /// A notification of an upstream.
    Notification,
    /// A span that the collector did not take in time.
    Span,
    /// A line of the audit log that could not be written.
    AuditLine,
    /// A call whose client did not come back with an answer.
    ParkedCall,
}

impl Dropped {
    pub(super) const ALL: [Self; 4] = [Self::Notification, Self::Span, Self::AuditLine, Self::ParkedCall];

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Notification => "notification",
            Self::Span => "span",
            Self::AuditLine => "audit_line",
            Self::ParkedCall => "parked_call",
        }
    }
}

/// One row for each method that is counted by itself; the last is for all others.
pub(super) const METHODS: [Option<Method>; 13] = [
    Some(Method::ToolsCall),
    Some(Method::ToolsList),
    Some(Method::PromptsGet),
    Some(Method::PromptsList),
    Some(Method::ResourcesRead),
    Some(Method::ResourcesList),
    Some(Method::ResourcesTemplatesList),
    Some(Method::ResourcesSubscribe),
    Some(Method::SubscriptionsListen),
    Some(Method::CompletionComplete),
    Some(Method::LoggingSetLevel),
    Some(Method::ServerDiscover),
    None,
];

fn row(method: Method) -> usize {
    METHODS.iter().position(|known| *known == Some(method)).unwrap_or(METHODS.len() - 1)
}

/// How often each method had each outcome.
#[derive(Debug, Default)]
pub(super) struct Outcomes([[Counter; Outcome::ALL.len()]; METHODS.len()]);

impl Outcomes {
    pub(super) fn add(&self, method: Method, outcome: Outcome) {
        self.0[row(method)][outcome as usize].add(1);
    }

    /// All that are not zero.
    pub(super) fn rows(&self) -> impl Iterator<Item = (&'static str, &'static str, u64)> + '_ {
        let row = |at: usize| self.0[at].iter().zip(Outcome::ALL);
        (0..METHODS.len())
            .flat_map(move |at| row(at).map(move |(count, outcome)| (name(at), outcome.word(), count.get())))
            .filter(|(_, _, count)| *count > 0)
    }
}

pub(super) fn name(row: usize) -> &'static str {
    METHODS[row].map_or(OTHER, Method::as_str)
}

/// What is counted about one server.
#[derive(Debug, Default)]
pub(super) struct ServerCounts {
    pub(super) calls: Outcomes,
    pub(super) took: [Histogram; METHODS.len()],
    pub(super) in_flight: Level,
    pub(super) restarts: Counter,
    pub(super) decisions: [Counter; Decision::ALL.len()],
}

impl ServerCounts {
    pub(super) fn took(&self, method: Method) -> &Histogram {
        &self.took[row(method)]
    }
}

/// Counts, and makes spans. One for each gateway.
#[derive(Default)]
pub struct Metrics {
    pub(super) tracer: Tracer,
    pub(super) exchanges: Outcomes,
    pub(super) in_flight: Level,
    servers: RwLock<Arc<BTreeMap<String, Arc<ServerCounts>>>>,
    /// Of servers that are not configured.
    other: Arc<ServerCounts>,
    dropped: [Counter; Dropped::ALL.len()],
    source: OnceLock<Weak<dyn Source>>,
    sessions: OnceLock<Box<dyn Fn() -> usize + Send + Sync>>,
    draining: AtomicBool,
    pub(super) started: Option<SystemTime>,
}

impl Metrics {
    /// Nothing was counted yet, and no traces are exported.
    pub fn new() -> Self {
        Self::with_tracer(Tracer::default())
    }

    /// Makes spans with this.
    pub fn with_tracer(tracer: Tracer) -> Self {
        Self { tracer, started: Some(SystemTime::now()), ..Self::default() }
    }

    /// What spans are made with.
    pub fn tracer(&self) -> &Tracer {
        &self.tracer
    }

    /// Says which servers there are. What was counted for those that were there before is kept.
    pub fn servers<'a>(&self, names: impl IntoIterator<Item = &'a str>) {
        let mut servers = self.servers.write().unwrap_or_else(PoisonError::into_inner);
        let known = |name: &str| servers.get(name).map(Arc::clone).unwrap_or_default();
        let next = names.into_iter().map(|name| (name.to_owned(), known(name))).collect();
        *servers = Arc::new(next);
    }

    /// Whom to ask for the state of things. The first one counts.
    pub fn watch(&self, source: Weak<dyn Source>) {
        let _ = self.source.set(source);
    }

    /// How many legacy sessions there are, by whoever knows. The first one counts.
    pub fn count_sessions(&self, sessions: impl Fn() -> usize + Send + Sync + 'static) {
        let _ = self.sessions.set(Box::new(sessions));
    }

    /// From here on the gateway is not ready for more.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Release);
    }

    /// Whether the gateway is about to end.
    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Acquire)
    }

    /// A call was decided about.
    pub fn decided(&self, server: &str, decision: Decision) {
        self.server(server).decisions[decision as usize].add(1);
    }

    /// Something was not kept.
    pub fn dropped(&self, what: Dropped) {
        self.dropped[what as usize].add(1);
    }

    /// An upstream was started again after it had ended by itself.
    pub fn restarted(&self, server: &str) {
        self.server(server).restarts.add(1);
    }

    /// What was counted, as Prometheus reads it.
    pub fn render(&self) -> String {
        super::render::render(self)
    }

    pub(super) fn server(&self, name: &str) -> Arc<ServerCounts> {
        let servers = self.servers.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(servers.get(name).unwrap_or(&self.other))
    }

    /// Every server by name; `other` last, if anything was counted for it.
    pub(super) fn all_servers(&self) -> Vec<(String, Arc<ServerCounts>)> {
        let servers = self.servers.read().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<_> =
            servers.iter().map(|(name, counts)| (name.clone(), Arc::clone(counts))).collect();
        if self.other.calls.rows().next().is_some() && !servers.contains_key(OTHER) {
            all.push((OTHER.to_owned(), Arc::clone(&self.other)));
        }
        all
    }

    pub(super) fn dropped_count(&self, what: Dropped) -> u64 {
        let lost = match what {
            Dropped::Span => self.tracer.dropped(),
            Dropped::AuditLine => self.source().map_or(0, |source| source.audit_lost()),
            _ => 0,
        };
        self.dropped[what as usize].get() + lost
    }

    pub(super) fn session_count(&self) -> usize {
        self.sessions.get().map_or(0, |count| count())
    }

    pub(super) fn source(&self) -> Option<Arc<dyn Source>> {
        self.source.get().and_then(Weak::upgrade)
    }
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Metrics").field("draining", &self.is_draining()).finish_non_exhaustive()
    }
}
