//! The callers' side of one connection: the table of requests, and the queue of what is to be sent.
//!
//! Entering a request, settling it and withdrawing it are single steps under one lock, so that a reply,
//! an expiry and a caller who loses interest can never all win.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use super::session::Session;
use crate::engine::{Patience, Pending};
use crate::json_rpc::{RequestId, notification_line};
use crate::model::{LoggingMessageParams, Method, ProgressParams, ProgressToken, SubscriptionFilter};
use crate::revision::Rules;
use crate::transport::PersonTime;
use crate::{Error, Result};

mod waiting;

pub(super) use waiting::{Aside, Hears, Outgoing, Waiting};

/// Progress and log messages that a caller has not looked at yet. More than this is dropped.
const ASIDES: usize = 1024;

/// For a request whose end is watched over by whoever makes it.
pub(super) const FOR_EVER: Patience =
    Patience { idle: Duration::MAX, total: Duration::MAX, renewed_by_progress: false };

/// What the connection is to do.
#[derive(Debug)]
pub(super) enum Out {
    /// Send a request, with headers where there are any.
    Request { id: i64, line: Vec<u8>, headers: Vec<(String, String)> },
    /// Send a notification.
    Line(Vec<u8>),
    /// Nobody waits for this request any more; the server is told if it is to know.
    Withdraw { id: i64, reason: Option<String>, tell: bool },
    /// The handshake is done: these rules hold.
    Agreed(&'static Rules),
    /// End the connection.
    Close,
}

/// How a connection ended.
#[derive(Debug, Clone)]
pub(super) enum End {
    Closed(String),
    /// The server has forgotten the session. Nobody knows how far it got with what was in flight; whoever comes
    /// later may open another.
    Forgotten,
    Misbehaved(String),
}

impl End {
    pub(super) fn error(&self) -> Error {
        match self {
            Self::Closed(how) => Error::Closed(how.clone()),
            Self::Forgotten => Error::Closed(self.text().to_owned()),
            Self::Misbehaved(how) => Error::PeerMisbehaved(how.clone()),
        }
    }

    pub(super) fn text(&self) -> &str {
        match self {
            Self::Closed(how) | Self::Misbehaved(how) => how,
            Self::Forgotten => "the server no longer knows the session",
        }
    }
}

/// A request of ours.
pub(super) struct Entry {
    reply: oneshot::Sender<Result<Bytes>>,
    asides: Option<mpsc::Sender<Aside>>,
    /// Of those who asked for it.
    progress: Option<Progress>,
    hears: Hears,
    must_know: bool,
    acknowledged: Option<oneshot::Sender<SubscriptionFilter>>,
    is_listen: bool,
    cancellable: bool,
    opened: Duration,
    patience: Patience,
}

/// What a response was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Settled {
    Call,
    Subscription,
    /// Nobody waits for it.
    Nothing,
}

#[derive(Default)]
struct Progress {
    last: Option<f64>,
}

impl Progress {
    fn grows(&self, progress: f64) -> bool {
        progress.is_finite() && self.last.is_none_or(|last| progress > last)
    }
}

struct Table {
    pending: Pending<Entry>,
    /// Those of them that hear log messages.
    hearing: BTreeSet<i64>,
    end: Option<End>,
}

impl Table {
    fn settle(&mut self, id: &RequestId) -> Option<Entry> {
        let entry = self.pending.settle(id)?;
        self.forget_hearing(&entry, id.as_i64());
        Some(entry)
    }

    fn forget_hearing(&mut self, entry: &Entry, id: Option<i64>) {
        if let Some(id) = id.filter(|_| entry.hears != Hears::Nothing) {
            self.hearing.remove(&id);
        }
    }
}

/// What was dropped because it made no sense; and what was said of the server's own accord.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) garbage: AtomicU64,
    pub(super) unknown_responses: AtomicU64,
    pub(super) dropped_notifications: AtomicU64,
    pub(super) refused_requests: AtomicU64,
    /// Not dropped, but said without having been asked: questions, and log messages that came with no answer.
    pub(super) unasked: AtomicU64,
}

pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// One connection, as callers see it.
pub(super) struct Link {
    table: Mutex<Table>,
    out: mpsc::UnboundedSender<Out>,
    started: Instant,
    /// While a person is asked to log in, the clock stands still; and what people took before.
    person: Option<(PersonTime, Duration)>,
    /// Whether messages have headers.
    pub(super) has_headers: bool,
    /// Set once the era is known and the handshake is done.
    pub(super) session: OnceLock<Session>,
    pub(super) counters: Counters,
    /// Becomes true when the connection and its process are gone.
    pub(super) over: watch::Sender<bool>,
}

impl Link {
    pub(super) fn new(
        limit: usize,
        has_headers: bool,
        person: Option<PersonTime>,
    ) -> (Arc<Self>, mpsc::UnboundedReceiver<Out>) {
        let (out, queue) = mpsc::unbounded_channel();
        let link = Self {
            table: Mutex::new(Table { pending: Pending::new(limit), hearing: BTreeSet::new(), end: None }),
            out,
            started: Instant::now(),
            person: person.map(|person| (person.clone(), person.spent())),
            has_headers,
            session: OnceLock::new(),
            counters: Counters::default(),
            over: watch::Sender::new(false),
        };
        (Arc::new(link), queue)
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time since the beginning, without what people took to log in.
    pub(super) fn now(&self) -> Duration {
        self.started.elapsed().saturating_sub(self.people())
    }

    fn people(&self) -> Duration {
        let person = self.person.as_ref();
        person.map_or(Duration::ZERO, |(person, before)| person.spent().saturating_sub(*before))
    }

    /// The moment that lies so far after the beginning, if nobody is asked until then.
    pub(super) fn instant(&self, since: Duration) -> Instant {
        // Far enough for any connection, and near enough for any clock.
        const FAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
        let instant = self.started + since.min(FAR) + self.people();
        match &self.person {
            Some((person, _)) if person.is_asking() => {
                instant.max(Instant::now() + person.look_again(Duration::ZERO))
            }
            _ => instant,
        }
    }

    /// What comes of `work`, if it comes within this time; people take theirs.
    pub(super) async fn in_time<T>(&self, time: Duration, work: impl Future<Output = T>) -> Option<T> {
        match &self.person {
            Some((person, _)) => person.timeout(time, work).await,
            None => tokio::time::timeout(time, work).await.ok(),
        }
    }

    /// Enters a request and queues it.
    pub(super) fn open(self: &Arc<Self>, request: Outgoing<'_>) -> Result<Waiting> {
        let (reply, answer) = oneshot::channel();
        let wants_progress = request.meta.wants_progress;
        let hears_log = request.hears != Hears::Nothing;
        let (sender, asides) = (wants_progress || hears_log).then(|| mpsc::channel(ASIDES)).unzip();
        let now = self.now();
        let entry = Entry {
            reply,
            asides: sender,
            progress: wants_progress.then(Progress::default),
            hears: request.hears,
            must_know: request.must_know,
            is_listen: request.acknowledged.is_some(),
            acknowledged: request.acknowledged,
            cancellable: request.cancellable,
            opened: now,
            patience: request.patience,
        };
        let mut table = self.table();
        match &table.end {
            Some(End::Forgotten) => return Err(Error::SessionEnded),
            Some(end) => return Err(end.error()),
            None => {}
        }
        let id = table
            .pending
            .open(entry, request.patience, now)
            .map_err(|full| Error::TooMuch(format!("{} requests are waiting for the server", full.limit)))?;
        if hears_log {
            table.hearing.insert(id);
        }
        let line = request.payload.request(id, request.method, &request.meta);
        // The queue is read for as long as the table is open.
        let _ = self.out.send(Out::Request { id, line, headers: request.headers });
        drop(table);
        Ok(Waiting { link: Arc::clone(self), id, answer: Some(answer), asides, reason: None })
    }

    /// Queues a notification that has no parameters.
    pub(super) fn notify(&self, method: Method) {
        let mut line = Vec::new();
        notification_line::<()>(method.as_str(), None, &mut line);
        line.push(b'\n');
        let _ = self.out.send(Out::Line(line));
    }

    /// The handshake is done.
    pub(super) fn agree(&self, rules: &'static Rules) {
        let _ = self.out.send(Out::Agreed(rules));
    }

    pub(super) fn close(&self) {
        let _ = self.out.send(Out::Close);
    }

    /// A response has come. Says who waited for it.
    pub(super) fn settle(&self, id: &RequestId, outcome: Result<Bytes>) -> Settled {
        let entry = self.table().settle(id);
        let Some(entry) = entry else { return Settled::Nothing };
        let settled = if entry.is_listen { Settled::Subscription } else { Settled::Call };
        // A caller that goes away at this very moment finds nothing to withdraw.
        let _ = entry.reply.send(outcome);
        settled
    }

    /// Whether a subscription to changes is open under this id.
    pub(super) fn is_listening(&self, id: &RequestId) -> bool {
        let id = id.as_i64();
        id.is_some_and(|id| self.table().pending.get_mut(id).is_some_and(|entry| entry.is_listen))
    }

    /// The server acknowledged a subscription. `false` if there is none.
    pub(super) fn acknowledge(&self, id: &RequestId, filter: SubscriptionFilter) -> bool {
        let mut table = self.table();
        let entry = id.as_i64().and_then(|id| table.pending.get_mut(id));
        match entry.and_then(|entry| entry.acknowledged.take()) {
            Some(acknowledged) => acknowledged.send(filter).is_ok(),
            None => false,
        }
    }

    /// Passes progress on to its own call. `false` if it belongs to none or does not increase.
    pub(super) fn progress(&self, progress: ProgressParams) -> bool {
        let now = self.now();
        let ProgressToken::Integer(id) = progress.progress_token else { return false };
        let mut table = self.table();
        // Only a call that asked for progress has any: ids are easily guessed.
        let Some(entry) = table.pending.get_mut(id) else { return false };
        let wanted = entry.progress.as_mut().filter(|wanted| wanted.grows(progress.progress));
        let (Some(wanted), Some(sender)) = (wanted, entry.asides.clone()) else { return false };
        wanted.last = Some(progress.progress);
        table.pending.progress(&progress.progress_token, now);
        sender.try_send(Aside::Progress(progress)).is_ok()
    }

    /// Gives a log message to the request that it belongs to: the one that it came with or, where messages do not
    /// say, the only one that hears any, if it takes those. Given back if there is none: who else may read it is not
    /// decided here.
    pub(super) fn log(
        &self,
        of: Option<&RequestId>,
        message: LoggingMessageParams,
    ) -> Result<(), LoggingMessageParams> {
        let mut table = self.table();
        let (id, least) = match of {
            Some(id) => (id.as_i64(), Hears::Own),
            None if table.hearing.len() == 1 => (table.hearing.first().copied(), Hears::Unclaimed),
            None => (None, Hears::Unclaimed),
        };
        let entry = id.and_then(|id| table.pending.get_mut(id)).filter(|entry| entry.hears >= least);
        match entry.and_then(|entry| entry.asides.as_ref()) {
            // One that is too slow loses it, as it loses progress.
            Some(sender) => {
                let _ = sender.try_send(Aside::Log(message));
                Ok(())
            }
            None => Err(message),
        }
    }

    /// When the next request expires.
    pub(super) fn next_deadline(&self) -> Option<Duration> {
        self.table().pending.next_deadline()
    }

    /// Fails one request whose time is over. Its id, and whether the server is to be told.
    pub(super) fn expire(&self) -> Option<(i64, bool)> {
        let now = self.now();
        let mut table = self.table();
        let (id, entry) = table.pending.expire(now)?;
        table.forget_hearing(&entry, Some(id));
        drop(table);
        let total = entry.opened.saturating_add(entry.patience.total) <= now;
        let waited = if total { entry.patience.total } else { entry.patience.idle };
        let _ = entry.reply.send(Err(Error::Timeout(waited)));
        Some((id, entry.cancellable))
    }

    /// The connection is over: from here on nothing is entered.
    pub(super) fn seal(&self, end: &End) {
        self.table().end.get_or_insert_with(|| end.clone());
    }

    /// Fails everything: the connection is over. Those in `unsent` have not left. Returns the requests that the
    /// server could be told about.
    pub(super) fn end(&self, end: &End, unsent: &[i64]) -> Vec<i64> {
        self.seal(end);
        let mut table = self.table();
        let entries = table.pending.drain();
        table.hearing.clear();
        drop(table);
        let mut open = Vec::new();
        for (id, entry) in entries {
            let left = !unsent.contains(&id);
            if entry.cancellable && left {
                open.push(id);
            }
            let error = match entry.must_know && left {
                true => Error::Interrupted(end.text().to_owned()),
                false => end.error(),
            };
            let _ = entry.reply.send(Err(error));
        }
        open.sort_unstable();
        open
    }

    /// How it ended, if it has.
    pub(super) fn ended(&self) -> Option<End> {
        self.table().end.clone()
    }

    /// How many requests wait for an answer.
    pub(super) fn waiting(&self) -> usize {
        self.table().pending.len()
    }
}
