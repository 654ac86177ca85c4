//! What an application decides about a client before it connects.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::approval::{Approve, ApproveRead, ResultFilter, Sensitivity};
use super::keep_alive::KeepAlive;
use super::responders::{Elicitation, Responder, Roots, Sampling};
use super::session::ServerIdentity;
use crate::Policy;
use crate::model::{Implementation, LoggingMessageParams, Method};
use crate::revision::Revision;
use crate::transport::{PersonTime, Tap};

/// Makes somebody who listens to one connection.
pub(super) type Taps = Arc<dyn Fn() -> Box<dyn Tap> + Send + Sync>;
pub(super) type OnLog = Arc<dyn Fn(&ServerIdentity, &LoggingMessageParams) + Send + Sync>;

/// Settings of a client.
#[derive(Clone)]
pub(super) struct Config {
    pub(super) info: Implementation,
    pub(super) server_name: Option<String>,
    pub(super) revisions: Vec<Revision>,
    pub(super) known: Option<Revision>,
    pub(super) policy: Policy,
    pub(super) probe: Duration,
    pub(super) required: Vec<Method>,
    pub(super) roots: Option<Roots>,
    pub(super) sampling: Option<Sampling>,
    pub(super) elicitation: Option<Elicitation>,
    /// In place of the three.
    pub(super) responder: Option<Responder>,
    pub(super) approve: Option<Approve>,
    pub(super) approve_reads: Option<ApproveRead>,
    pub(super) sensitivity: Option<Sensitivity>,
    pub(super) filter: Option<ResultFilter>,
    pub(super) trusted: bool,
    pub(super) on_log: Option<OnLog>,
    pub(super) keep_alive: Option<KeepAlive>,
    pub(super) watch_lists: bool,
    pub(super) completion_ttl: Duration,
    /// Where the time is counted that a person takes to answer.
    pub(super) person: Option<PersonTime>,
    pub(super) taps: Option<Taps>,
    #[cfg(feature = "http-client")]
    pub(super) http: crate::transport::http::HttpOptions,
}

impl Config {
    /// What is counted or remembered per server begins anew, though the settings may be shared.
    pub(super) fn for_one_server(&mut self) {
        self.roots = self.roots.as_ref().map(Roots::for_one_server);
        self.sampling = self.sampling.as_ref().map(Sampling::for_one_server);
        self.elicitation = self.elicitation.as_ref().map(Elicitation::for_one_server);
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            info: Implementation::new("contexture", env!("CARGO_PKG_VERSION")),
            server_name: None,
            revisions: Revision::ALL.to_vec(),
            known: None,
            policy: Policy::default(),
            probe: Duration::from_secs(10),
            required: Vec::new(),
            roots: None,
            sampling: None,
            elicitation: None,
            responder: None,
            approve: None,
            approve_reads: None,
            sensitivity: None,
            filter: None,
            trusted: false,
            on_log: None,
            keep_alive: None,
            watch_lists: false,
            completion_ttl: Duration::ZERO,
            person: None,
            taps: None,
            #[cfg(feature = "http-client")]
            http: crate::transport::http::HttpOptions::default(),
        }
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("info", &self.info)
            .field("revisions", &self.revisions)
            .finish_non_exhaustive()
    }
}
