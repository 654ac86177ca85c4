//! What one client shares between its connections, its calls and its callers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::value::RawValue;
use tokio::sync::broadcast;

use super::cache::Cache;
use super::config::Config;
use super::events::Event;
use super::link::Link;
use super::prompts::KnownPrompts;
use super::responders::Ask;
use super::session::Session;
use super::tools::KnownTools;
use crate::json_rpc::Request;
use crate::model::{ErrorObject, LoggingLevel};

/// Events that a slow receiver may be behind.
const EVENTS: usize = 1024;

pub(super) struct Hub {
    pub(super) config: Config,
    pub(super) cache: Cache,
    pub(super) tools: KnownTools,
    pub(super) prompts: KnownPrompts,
    pub(super) events: broadcast::Sender<Event>,
    log_level: Mutex<Option<LoggingLevel>>,
    calls: AtomicU64,
}

impl Hub {
    pub(super) fn new(config: Config) -> Arc<Self> {
        Arc::new(Self {
            cache: Cache::default(),
            tools: KnownTools::new(&config),
            prompts: KnownPrompts::new(config.policy.list_items),
            events: broadcast::Sender::new(EVENTS),
            log_level: Mutex::new(None),
            calls: AtomicU64::new(0),
            config,
        })
    }

    pub(super) fn emit(&self, event: Event) {
        // Nobody listening is fine.
        let _ = self.events.send(event);
    }

    /// As `emit`, for what happens so often that it is put into words only if somebody listens.
    pub(super) fn emit_with(&self, event: impl FnOnce() -> Event) {
        if self.events.receiver_count() > 0 {
            self.emit(event());
        }
    }

    pub(super) fn next_call(&self) -> u64 {
        self.calls.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(super) fn log_level(&self) -> Option<LoggingLevel> {
        *self.log_level.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_log_level(&self, level: LoggingLevel) {
        *self.log_level.lock().unwrap_or_else(PoisonError::into_inner) = Some(level);
    }

    /// What a request of the server asks, if it may.
    pub(super) fn question(&self, session: &Session, request: &Request<'_>) -> Result<Ask, ErrorObject> {
        self.config.ask(session, request)
    }

    /// Answers the server.
    pub(super) async fn answer(&self, link: &Link, ask: Ask) -> Result<Box<RawValue>, ErrorObject> {
        match link.session.get() {
            Some(session) => self.config.answer(session, ask).await,
            None => Err(ErrorObject::internal("not connected")),
        }
    }
}
