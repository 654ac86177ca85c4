//! Where the questions of a legacy server arrive, and find the call that they belong to.
//!
//! Such a server does not say which call made it ask. A connection over which it can ask a client is one person's, so any
//! call in flight on it has the right person at its other end; the newest is taken. If that call ends before there is an
//! answer, the question moves to the next one. Outside of any call there is only the session to turn to.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use contexture::Principal;
use contexture::model::{
    ErrorObject, InputRequest, ListRootsResult, LoggingLevel, LoggingMessageParams, ProgressParams, key,
};
use contexture::server::{BoxFuture, Context, Session};
use serde_json::Value;
use tokio::sync::{Notify, mpsc, oneshot};

use crate::config::{RootsFor, ServerEntry};

/// How long a server that asks before its first call has begun waits for that.
const A_MOMENT: Duration = Duration::from_secs(1);
/// Sessions of one person that hear what a server says outside of any call.
const SESSIONS: usize = 64;

/// Questions that are answered without a call and that it is told of.
const MENTIONS: usize = 64;

/// Lists that are not what they were.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Changed {
    /// The tools.
    pub tools: bool,
    /// The prompts.
    pub prompts: bool,
    /// The resources or the templates.
    pub resources: bool,
}

impl Changed {
    /// All of them.
    pub const ALL: Self = Self { tools: true, prompts: true, resources: true };

    /// These and those.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            tools: self.tools || other.tools,
            prompts: self.prompts || other.prompts,
            resources: self.resources || other.resources,
        }
    }

    /// Whether anything is different.
    pub fn is_some(self) -> bool {
        self.tools || self.prompts || self.resources
    }
}

/// What a server gets for its question.
pub type Answered = Result<Value, ErrorObject>;

/// Somebody who knows what to do with what upstreams say by themselves. They hold it weakly.
pub trait Observer: Send + Sync {
    /// What a server offers is not what it was.
    fn offer_changed(&self, changed: Changed);
    /// A resource that somebody watches has changed; `who` is whose connection told it, or nobody's own.
    fn resource_updated(&self, entry: &ServerEntry, who: Option<&Principal>, uri: &str);
    /// A server asks something outside of any call.
    fn asked_outside(&self, desk: Arc<Desk>, request: InputRequest) -> BoxFuture<Answered>;
    /// A connection that resources were watched over is gone.
    fn watching_lost(&self, server: &str);
    /// A server was started again after it had died.
    fn restarted(&self, server: &str);
}

/// A question on its way to a call.
#[derive(Debug)]
pub struct Question {
    /// What is asked.
    pub request: InputRequest,
    /// Where the answer goes. Closed when the server has one, or no longer wants it.
    pub answer: oneshot::Sender<Answered>,
}

/// Questions for one call.
pub type Questions = mpsc::UnboundedReceiver<Question>;

/// The way back to whoever waits for a call. It changes hands when a call is parked and taken up again.
#[derive(Debug, Default)]
pub struct Voice(Mutex<Option<Context>>);

impl Voice {
    /// The way to this client.
    pub fn new(context: &Context) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Some(context.clone()))))
    }

    /// From here on somebody else listens, or nobody.
    pub fn hand_over(&self, to: Option<&Context>) {
        *lock(&self.0) = to.cloned();
    }

    /// The legacy session that the call belongs to.
    fn session_number(&self) -> Option<u64> {
        lock(&self.0).as_ref().and_then(Context::session_number)
    }

    /// Passes on a log message.
    pub fn log(&self, message: LoggingMessageParams) {
        if let Some(context) = &*lock(&self.0) {
            context.pass_log(message);
        }
    }

    /// Passes on progress.
    pub fn progress(&self, progress: &ProgressParams) {
        if let Some(context) = &*lock(&self.0) {
            context.pass_progress(progress);
        }
    }
}

/// The desk of one connection.
pub struct Desk {
    pub(crate) entry: Arc<ServerEntry>,
    /// Whose connection it is.
    pub(crate) principal: Option<Principal>,
    observer: Weak<dyn Observer>,
    /// It was not made for anybody's call.
    lists: bool,
    callers: Mutex<BTreeMap<u64, Caller>>,
    next: AtomicU64,
    entered: Notify,
    sessions: Mutex<Vec<(u64, Session)>>,
    /// From which level on the server was told to log.
    level: Mutex<Option<LoggingLevel>>,
}

struct Caller {
    voice: Arc<Voice>,
    /// Only where the server can ask this call anything.
    questions: Option<mpsc::UnboundedSender<Question>>,
    /// How many of those it was told of that are answered without it.
    mentioned: usize,
}

impl Desk {
    pub(super) fn new(
        entry: Arc<ServerEntry>,
        principal: Option<Principal>,
        observer: Weak<dyn Observer>,
        lists: bool,
    ) -> Arc<Self> {
        Arc::new(Self {
            entry,
            principal,
            observer,
            callers: Mutex::default(),
            next: AtomicU64::new(0),
            entered: Notify::new(),
            lists,
            sessions: Mutex::default(),
            level: Mutex::default(),
        })
    }

    /// A call begins; what the server asks from now on is for it, if it can be asked.
    pub fn enter(self: &Arc<Self>, voice: Arc<Voice>, asks: bool) -> (Place, Option<Questions>) {
        // As many as the client's policy lets a server ask at once.
        let (questions, receiver) = asks.then(mpsc::unbounded_channel).unzip();
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        lock(&self.callers).insert(number, Caller { voice, questions, mentioned: 0 });
        if asks {
            self.entered.notify_waiters();
        }
        (Place { desk: Arc::clone(self), number }, receiver)
    }

    /// The newest call before this one that can be asked.
    fn caller(&self, before: u64) -> Option<(u64, mpsc::UnboundedSender<Question>)> {
        let callers = lock(&self.callers);
        let mut newest = callers.range(..before).rev();
        newest.find_map(|(number, caller)| Some((*number, caller.questions.clone()?)))
    }

    /// Waits a moment for a call, where one is about to begin.
    async fn expect_caller(&self) {
        let entered = async {
            loop {
                let entered = self.entered.notified();
                if self.caller(u64::MAX).is_some() {
                    return;
                }
                entered.await;
            }
        };
        // Nobody came: it is asked outside of any call.
        let _ = tokio::time::timeout(A_MOMENT, entered).await;
    }

    /// A session that this connection is used for.
    pub(super) fn meet(&self, number: u64, session: &Session) {
        let mut sessions = lock(&self.sessions);
        if sessions.iter().any(|(known, _)| *known == number) {
            return;
        }
        sessions.retain(|(_, session)| session.is_open());
        if sessions.len() < SESSIONS {
            sessions.push((number, session.clone()));
        }
    }

    /// The sessions that this connection is used for and that are still there, newest last.
    pub fn sessions(&self) -> Vec<Session> {
        lock(&self.sessions)
            .iter()
            .map(|(_, session)| session)
            .filter(|session| session.is_open())
            .cloned()
            .collect()
    }

    /// Whether it is used for this session.
    pub(super) fn knows(&self, number: u64) -> bool {
        lock(&self.sessions).iter().any(|(known, _)| *known == number)
    }

    /// Whether the server must be told to log more than so far.
    pub(super) fn wants_more(&self, level: LoggingLevel) -> bool {
        let mut told = lock(&self.level);
        let more = told.is_none_or(|told| level < told);
        if more {
            *told = Some(level);
        }
        more
    }

    /// A log message that did not come with any call. The server does not say whose it is, so it is passed on only
    /// where there is one session or, without any, one call that it can belong to.
    pub(super) fn log(&self, message: LoggingMessageParams) {
        let voices: Vec<_> = lock(&self.callers).values().map(|caller| Arc::clone(&caller.voice)).collect();
        let sessions = self.sessions();
        let strays = voices.iter().filter(|voice| voice.session_number().is_none()).count();
        match (sessions.as_slice(), strays, voices.last()) {
            ([_], 0, Some(voice)) | ([], 1, Some(voice)) => voice.log(message),
            ([session], 0, None) => session.pass_log(message),
            _ => tracing::debug!(server = self.entry.name, "a log message that nobody can be told to own"),
        }
    }

    /// Lets a call know of a question that is answered without it: others that belong to it may say so.
    fn mention(&self, request: &InputRequest) {
        let InputRequest::ListRoots(Some(params)) = request else { return };
        if !params.meta.as_ref().is_some_and(|meta| meta.contains_key(key::TOGETHER)) {
            return;
        }
        let mut callers = lock(&self.callers);
        let asked = callers
            .values_mut()
            .rev()
            .find_map(|caller| Some((caller.questions.as_ref()?, &mut caller.mentioned)));
        if let Some((questions, mentioned)) = asked.filter(|(_, mentioned)| **mentioned < MENTIONS) {
            *mentioned += 1;
            let (answer, _) = oneshot::channel();
            // That call may be over.
            questions.send(Question { request: request.clone(), answer }).ok();
        }
    }

    /// Answers a question of the server.
    pub(super) async fn answer(self: Arc<Self>, request: InputRequest) -> Answered {
        if let (InputRequest::ListRoots(_), RootsFor::Fixed(roots)) = (&request, &self.entry.roots) {
            self.mention(&request);
            return wire(&ListRootsResult { roots: roots.clone().into(), meta: None });
        }
        // Later than that it may be about a call that is over, and the next may be somebody else's.
        let is_early = self.next.load(Ordering::Relaxed) == 0;
        if is_early && !self.lists && lock(&self.sessions).is_empty() {
            self.expect_caller().await;
        }
        let mut before = u64::MAX;
        while let Some((number, questions)) = self.caller(before) {
            let (answer, answered) = oneshot::channel();
            if questions.send(Question { request: request.clone(), answer }).is_ok()
                && let Ok(answered) = answered.await
            {
                return answered;
            }
            // That call is over.
            before = number;
        }
        match self.observer.upgrade() {
            Some(observer) => observer.asked_outside(Arc::clone(&self), request).await,
            None => Err(ErrorObject::internal("the gateway is ending")),
        }
    }
}

/// A call's place at the desk, for as long as this is kept.
#[derive(Debug)]
pub struct Place {
    desk: Arc<Desk>,
    number: u64,
}

impl Drop for Place {
    fn drop(&mut self) {
        lock(&self.desk.callers).remove(&self.number);
    }
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Desk").field("server", &self.entry.name).finish_non_exhaustive()
    }
}

/// A result of ours as the server gets it.
pub(crate) fn wire(result: &impl serde::Serialize) -> Answered {
    serde_json::to_value(result).map_err(|error| ErrorObject::internal(error.to_string()))
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
