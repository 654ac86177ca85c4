//! A connection to a peer's server, with everything that it told and asked.
//!
//! Answers to its questions are fixed by the contract, except whether to accept a form.

use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use contexture::client::{ElicitAnswer, Elicitation, Event, Question, Roots, Sampling, SamplingQuestion};
use contexture::model::{
    CreateMessageParams, CreateMessageResult, ElicitSchema, LoggingMessageParams, Root, SamplingContent,
};
use contexture::revision::Revision;
use contexture::transport::{ChildCommand, Stderr};
use contexture::{Client, Policy, Result};

pub(crate) const ROOTS: [&str; 2] = ["file:///srv/one", "file:///srv/two"];

/// How long a server may take to leave before it is made to. More than by default: where everything is run at once,
/// an interpreter takes its time to go.
pub(crate) const GRACE: Duration = Duration::from_secs(8);

/// What came in, in order.
#[derive(Debug)]
pub(crate) struct Inbox<T>(Arc<Mutex<Vec<T>>>);

impl<T> Clone for Inbox<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Clone> Inbox<T> {
    fn new() -> Self {
        Self(Arc::default())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn push(&self, item: T) {
        self.lock().push(item);
    }

    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    /// What is there, after waiting at most two seconds for so many.
    pub(crate) async fn arrived(&self, count: usize) -> Vec<T> {
        for _ in 0..200 {
            if self.lock().len() >= count {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        self.lock().clone()
    }
}

/// What changed at the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    Tools,
    Resource(String),
}

pub(crate) struct Peer {
    pub(crate) client: Client,
    pub(crate) logged: Inbox<LoggingMessageParams>,
    pub(crate) changes: Inbox<Change>,
    pub(crate) sampled: Inbox<CreateMessageParams>,
    pub(crate) elicited: Inbox<ElicitSchema>,
    /// Whether forms are accepted.
    pub(crate) accepting: Arc<AtomicBool>,
    /// Where a stream that broke cannot be taken up again, the reason.
    not_resumable: Option<&'static str>,
}

impl Peer {
    /// Starts the server, or reaches it by its URL.
    pub(crate) async fn connect(revisions: &[Revision], target: Vec<OsString>) -> Result<Self> {
        let (logged, sampled, elicited) = (Inbox::new(), Inbox::new(), Inbox::new());
        let accepting = Arc::new(AtomicBool::new(true));
        let mut words = target.into_iter();
        let first = words.next().unwrap_or_default();
        let mut roots = Roots::new();
        for uri in ROOTS {
            roots = roots.with(Root::new(uri))?;
        }
        let log = logged.clone();
        let mut policy = Policy::default();
        policy.child_exit = GRACE;
        let builder = Client::builder()
            .name("contexture-interop", env!("CARGO_PKG_VERSION"))
            .revisions(revisions)
            .policy(policy)
            .roots(roots)
            .sampling(model(sampled.clone()))
            .elicitation(person(elicited.clone(), Arc::clone(&accepting)))
            .on_log(move |_, message| log.push(message.clone()));
        let url = first.to_str().filter(|first| first.starts_with("http://"));
        let not_resumable = match url {
            None => Some("a pipe that broke is gone"),
            Some(url) if url.ends_with("/sse") => Some("HTTP+SSE cannot take up a stream again"),
            Some(_) => None,
        };
        let client = match url {
            Some(url) => builder.connect(url).await?,
            None => builder.spawn(ChildCommand::new(first).args(words).stderr(Stderr::Inherit)).await?,
        };
        let changes = Inbox::new();
        listen(&client, changes.clone());
        Ok(Self { client, logged, changes, sampled, elicited, accepting, not_resumable })
    }

    /// Why a stream that broke cannot be taken up again, if so.
    pub(crate) fn not_resumable(&self) -> Option<&'static str> {
        if self.is_modern() { Some("2026-07-28 cannot take up a stream again") } else { self.not_resumable }
    }

    pub(crate) fn is_modern(&self) -> bool {
        self.client.revision().is_modern()
    }
}

fn model(sampled: Inbox<CreateMessageParams>) -> Sampling {
    Sampling::new(move |question: SamplingQuestion| {
        sampled.push(question.params);
        let answer = CreateMessageResult::new("fixed", SamplingContent::text("It is 42."));
        std::future::ready(Ok::<_, String>(answer.stop_reason("endTurn")))
    })
    .approve_all()
}

fn person(elicited: Inbox<ElicitSchema>, accepting: Arc<AtomicBool>) -> Elicitation {
    Elicitation::new(move |question| {
        if let Question::Form { schema, .. } = question {
            elicited.push(schema);
        }
        let answer = if accepting.load(Ordering::Relaxed) {
            ElicitAnswer::accept([("name", "Ada")])
        } else {
            ElicitAnswer::Decline
        };
        std::future::ready(answer)
    })
}

fn listen(client: &Client, changes: Inbox<Change>) {
    let mut events = client.events();
    tokio::spawn(async move {
        while let Some(event) = events.next().await {
            match event {
                Event::ToolsChanged => changes.push(Change::Tools),
                Event::ResourceUpdated(uri) => changes.push(Change::Resource(uri)),
                _ => {}
            }
        }
    });
}
