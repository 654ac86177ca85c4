//! A handler's view of one exchange.
//!
//! It is the same in every era: who asks, progress, log, cancellation, and questions. It does not reveal
//! sessions, ids or revisions' quirks, except through what the peer can do.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::Waker;

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use serde::Serialize;
use tokio::sync::Notify;

use super::asks::Asks;
use super::mirrored::Head;
use super::serving::Serving;
use super::talk::Talk;
use super::wire::Wire;
use super::{Principal, Registry, Session};
use crate::engine::{Exchange, Peer};
use crate::json_rpc::{Member, Members};
use crate::model::{LoggingLevel, LoggingMessageParams, Meta, Method, ProgressParams};
use crate::revision::{Lower, Revision, Rules};

/// What a handler knows about the call that it serves, and can do for it.
///
/// A handler that asks questions ([`elicit`](Self::elicit), [`sample`](Self::sample), [`roots`](Self::roots))
/// is run again from its beginning, in the modern era, when the answers are there. What must not happen twice
/// belongs into [`once`](Self::once).
#[derive(Clone)]
pub struct Context {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) exchange: Exchange,
    pub(super) serving: Arc<Serving>,
    pub(super) wire: Arc<Wire>,
    pub(super) principal: Principal,
    /// The text of `_meta`, or nothing.
    pub(super) meta: Bytes,
    /// Over HTTP: the headers.
    #[cfg_attr(not(feature = "http-server"), allow(dead_code, reason = "there are none then"))]
    pub(super) head: Option<Head>,
    pub(super) life: Life,
    last_progress: Mutex<f64>,
    pub(super) asks: Mutex<Asks>,
}

/// Whether anybody still waits for the answer.
#[derive(Debug, Default)]
pub(super) struct Life {
    cancelled: AtomicBool,
    finished: AtomicBool,
    reason: OnceLock<String>,
    changed: Notify,
    driver: AtomicWaker,
}

impl Life {
    pub(super) fn register(&self, waker: &Waker) {
        self.driver.register(waker);
    }

    pub(super) fn wake(&self) {
        self.driver.wake();
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    pub(super) fn cancel(&self, reason: Option<String>) {
        if let Some(reason) = reason {
            self.reason.get_or_init(|| reason);
        }
        self.cancelled.store(true, Ordering::Release);
        self.changed.notify_waiters();
        self.driver.wake();
    }

    pub(super) fn finish(&self) {
        if !self.finished.swap(true, Ordering::AcqRel) {
            self.changed.notify_waiters();
        }
    }

    fn is_over(&self) -> bool {
        self.finished.load(Ordering::Acquire) || self.is_cancelled()
    }
}

impl Context {
    pub(super) fn new(
        exchange: Exchange,
        serving: Arc<Serving>,
        wire: Arc<Wire>,
        principal: Principal,
        meta: Bytes,
        head: Option<Head>,
        asks: Asks,
    ) -> Self {
        let inner = Inner {
            exchange,
            serving,
            wire,
            principal,
            meta,
            head,
            life: Life::default(),
            last_progress: Mutex::new(f64::NEG_INFINITY),
            asks: Mutex::new(asks),
        };
        Self { inner: Arc::new(inner) }
    }

    /// The revision that is spoken.
    pub fn revision(&self) -> Revision {
        self.rules().revision
    }

    pub(super) fn rules(&self) -> &'static Rules {
        self.inner.exchange.rules
    }

    pub(super) fn method(&self) -> Method {
        self.inner.exchange.method
    }

    /// What the client says about itself, which proves nothing.
    pub fn peer(&self) -> &Peer {
        &self.inner.exchange.peer
    }

    /// Who is calling, proven.
    pub fn principal(&self) -> &Principal {
        &self.inner.principal
    }

    /// The metadata of the request: trace context, and keys of your own.
    pub fn meta(&self) -> Meta {
        serde_json::from_slice(&self.inner.meta).unwrap_or_default()
    }

    /// The same without these keys, whose values are not even read.
    pub fn meta_without(&self, keys: &[&str]) -> Meta {
        let text = std::str::from_utf8(&self.inner.meta).unwrap_or_default();
        let mut meta = Meta::new();
        for Member { name, value } in Members::of(text).filter(|member| !keys.contains(&&*member.name)) {
            if let Ok(value) = serde_json::from_str(value) {
                meta.0.insert(name.into_owned(), value);
            }
        }
        meta
    }

    /// The headers of the HTTP request that this call came with. `None` over a pipe.
    #[cfg(feature = "http-server")]
    pub fn headers(&self) -> Option<&http::HeaderMap> {
        self.inner.head.as_deref()
    }

    /// Lets go of the client's HTTP connection while this call goes on; the client comes back for the answer
    /// after this time. For calls that take long, where the revision has polling (2025-11-25); without effect
    /// elsewhere.
    pub fn hang_up(&self, come_back: std::time::Duration) {
        if self.rules().has_polling {
            self.inner.wire.hang_up(come_back);
        }
    }

    /// The session that this call belongs to, where the era has sessions. Through it a server can speak
    /// outside of any call.
    pub fn session(&self) -> Option<Session> {
        self.rules().has_server_requests.then(|| {
            let own = || Arc::clone(&self.inner.wire);
            let general = self.inner.wire.talk().and_then(|talk| talk.general()).unwrap_or_else(own);
            Session::new(general, Arc::clone(&self.inner.exchange.peer), &self.inner.serving)
        })
    }

    /// A number for the session that this call belongs to; no two sessions of this process have the same. `None`
    /// where no session is kept.
    pub fn session_number(&self) -> Option<u64> {
        self.talk().map(|talk| talk.number())
    }

    /// The session's conversation. Requests that belong to none may share a wire with one.
    fn talk(&self) -> Option<&Arc<Talk>> {
        self.inner.wire.talk().filter(|_| self.rules().has_server_requests)
    }

    /// What the server offers, to change it or to tell that a resource changed.
    pub fn registry(&self) -> Registry {
        self.inner.serving.registry.clone()
    }

    /// Whether the client has withdrawn the request.
    pub fn is_cancelled(&self) -> bool {
        self.inner.life.is_cancelled()
    }

    /// Why, if it said so.
    pub fn cancel_reason(&self) -> Option<&str> {
        self.inner.life.reason.get().map(String::as_str)
    }

    /// Waits until nobody waits for this handler any more: the client has withdrawn the request (then
    /// [`is_cancelled`](Self::is_cancelled) says so), it is answered, or the connection is over. The handler
    /// itself is dropped then; this is for work that it handed to others.
    pub async fn cancelled(&self) {
        loop {
            let changed = self.inner.life.changed.notified();
            if self.inner.life.is_over() {
                return;
            }
            changed.await;
        }
    }

    /// Reports progress, if the client wants to hear of it. Each report must be larger than the last; one
    /// that is not is dropped.
    pub fn progress(&self, done: f64, total: Option<f64>) {
        self.report(done, total, None);
    }

    /// Reports progress with a word about it.
    pub fn progress_message(&self, done: f64, total: Option<f64>, message: impl Into<String>) {
        self.report(done, total, Some(message.into()));
    }

    /// Whether the client wants to hear of progress.
    pub fn wants_progress(&self) -> bool {
        self.inner.exchange.progress_token.is_some()
    }

    /// Reports progress of another server as it came, under this call's token.
    pub fn pass_progress(&self, progress: &ProgressParams) {
        if self.wants_progress() {
            self.send_progress(progress.clone());
        }
    }

    fn report(&self, done: f64, total: Option<f64>, message: Option<String>) {
        let Some(token) = &self.inner.exchange.progress_token else { return };
        let mut params = ProgressParams::new(token.clone(), done);
        (params.total, params.message) = (total, message);
        self.send_progress(params);
    }

    fn send_progress(&self, mut params: ProgressParams) {
        let Some(token) = &self.inner.exchange.progress_token else { return };
        if self.inner.life.is_over() || !params.progress.is_finite() {
            return;
        }
        let mut last = lock(&self.inner.last_progress);
        if params.progress <= *last {
            return;
        }
        *last = params.progress;
        params.progress_token.clone_from(token);
        params.total = params.total.filter(|total| total.is_finite());
        params.lower(self.rules());
        self.inner.wire.chat(Method::Progress, &params);
    }

    /// How many progress and log messages of this connection were dropped for being too many.
    pub fn dropped_notifications(&self) -> u64 {
        self.inner.wire.dropped_chatter()
    }

    /// Sends a log message, if the client wants this level.
    pub fn log(&self, level: LoggingLevel, data: impl Serialize) {
        self.send_log(level, None, &data);
    }

    /// A logger with a name of its own.
    pub fn logger(&self, name: impl Into<String>) -> Logger {
        Logger { context: self.clone(), name: name.into() }
    }

    /// The level from which on this client wants log messages now, if it wants any.
    pub fn log_level(&self) -> Option<LoggingLevel> {
        let session = self.talk().filter(|_| self.rules().has_set_level).and_then(|talk| talk.log_level());
        session.or(self.inner.exchange.log_level).filter(|_| self.inner.serving.has_logging())
    }

    /// Whether this client has said from which level on it wants log messages, instead of leaving that to the server.
    pub fn asked_for_logs(&self) -> bool {
        let level = match self.talk().filter(|_| self.rules().has_set_level) {
            Some(talk) => talk.log_level(),
            None => self.inner.exchange.log_level.filter(|_| !self.rules().has_set_level),
        };
        level.is_some() && self.inner.serving.has_logging()
    }

    /// Sends a log message that another server made, under the name that it came with, if the client wants this
    /// level.
    pub fn pass_log(&self, message: LoggingMessageParams) {
        if self.wants_log(message.level) {
            self.inner.serving.send_log(&self.inner.wire, message, self.rules());
        }
    }

    fn wants_log(&self, level: LoggingLevel) -> bool {
        !self.inner.life.is_over() && self.log_level().is_some_and(|wanted| level >= wanted)
    }

    fn send_log(&self, level: LoggingLevel, logger: Option<&str>, data: &impl Serialize) {
        if !self.wants_log(level) {
            return;
        }
        let Ok(data) = serde_json::to_value(data) else { return };
        let mut message = LoggingMessageParams::new(level, data);
        message.logger = logger.map(str::to_owned);
        self.inner.serving.send_log(&self.inner.wire, message, self.rules());
    }
}

/// Sends log messages under one name.
#[derive(Debug, Clone)]
pub struct Logger {
    context: Context,
    name: String,
}

impl Logger {
    /// Sends a log message, if the client wants this level.
    pub fn log(&self, level: LoggingLevel, data: impl Serialize) {
        self.context.send_log(level, Some(&self.name), &data);
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("method", &self.method().as_str())
            .field("revision", &self.revision())
            .finish_non_exhaustive()
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
