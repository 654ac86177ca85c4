//! What is configured: which servers there are, and what may be done with them.
//!
//! Read from files of our own (`contexture.json`, see [`schema()`]) and from the files of seven other hosts; written by [`edit`]
//! alone, when somebody asks for that.
//! Several files become one [`Config`]; each thing in it knows the file and the line that it came from.
//!
//! A mistake in one entry costs that entry, and says so as a [`Fault`]; a mistake in a policy ends the reading, because what
//! it would have forbidden must not be allowed meanwhile. What lies in a project's folder starts nothing and decides
//! nothing until its definition is [trusted](Trust). Nothing here starts a process or opens a connection.

mod changes;
mod content;
mod draft;
pub mod edit;
mod entry;
mod env_file;
mod expand;
mod fault;
mod files;
mod format;
mod load;
mod nearest;
mod node;
mod pattern;
mod places;
mod reading;
mod rules;
mod schema;
mod sections;
mod stray;
mod trust;
mod watch;

use std::path::PathBuf;
use std::time::Duration;

use crate::consent::{AuditConfig, PolicyConfig};
use crate::sampling::SamplingConfig;

pub use changes::{Changes, diff};
pub use entry::{
    HostKind, Login, LoginFor, Origin, RootsFor, Scope, ServerEntry, Sharing, Standing, TransportSpec,
};
pub use expand::Environment;
pub use fault::{Concern, ConfigError, Fault, Severity};
pub use load::{Proposal, Proposed, load, proposals};
pub use nearest::near;
pub use pattern::{Filter, Pattern};
pub use places::{ConfigFile, Platform, Sources, discover};
pub use schema::schema;
pub use trust::{Agreed, Trust, Trusted};
pub use watch::Watcher;

/// All that is configured, out of all files that were read. Immutable: after a change there is another one.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Config {
    /// What the gateway calls itself; `contexture`, if nothing is said.
    pub name: String,
    /// The servers, in the order of their names. Also those that are disabled or held; not those whose entry is broken,
    /// which are among the [faults](Self::faults) only.
    pub servers: Vec<ServerEntry>,
    /// What is allowed: rules of the user, then those of projects, then what other hosts' files allow.
    pub policy: PolicyConfig,
    /// Who answers for a model.
    pub sampling: SamplingConfig,
    /// Where decisions and calls are written down, if anywhere.
    pub audit: Option<AuditConfig>,
    /// Bounds.
    pub limits: Limits,
    /// What is wrong, or was left out, and where.
    pub faults: Vec<Fault>,
    /// The files that were read or would have been if they existed: where a change can come from.
    pub files: Vec<PathBuf>,
}

impl Config {
    /// A configuration of these servers alone, in which everything else is as if nothing had been said.
    pub fn new(servers: Vec<ServerEntry>) -> Self {
        Self {
            name: NAME.to_owned(),
            servers,
            policy: PolicyConfig::default(),
            sampling: SamplingConfig::default(),
            audit: None,
            limits: Limits::default(),
            faults: Vec::new(),
            files: Vec::new(),
        }
    }

    /// The server of this name.
    pub fn server(&self, name: &str) -> Option<&ServerEntry> {
        self.servers.iter().find(|server| server.name == name)
    }
}

/// What the gateway is called.
const NAME: &str = "contexture";

/// Bounds on what one caller, or all of them, may keep busy.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Calls per second of one principal; no bound, if nothing is said.
    pub calls_per_second: Option<u32>,
    /// Calls per second to one server, of everybody; no bound, if nothing is said.
    pub server_calls_per_second: Option<u32>,
    /// Questions per second of one server: to people, to models, for roots.
    pub questions_per_second: Option<u32>,
    /// Calls of one principal at the same time.
    pub concurrent_calls: usize,
    /// Calls of everybody that wait for a client to come back with an answer.
    pub parked_calls: usize,
    /// How long one of these waits.
    pub park_time: Duration,
    /// Resources that everybody watches together; of one principal, half of it.
    pub watched_resources: usize,
    /// Connections to one server.
    pub connections: usize,
    /// How long a list waits for a server that has not told yet what it offers.
    pub list_grace: Duration,
    /// How long calls may go on when we are to end, or their server was reconfigured.
    pub drain_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            calls_per_second: None,
            server_calls_per_second: None,
            questions_per_second: Some(10),
            concurrent_calls: 64,
            parked_calls: 256,
            park_time: Duration::from_secs(300),
            watched_resources: 10_000,
            connections: 64,
            list_grace: Duration::from_secs(10),
            drain_time: Duration::from_secs(10),
        }
    }
}
