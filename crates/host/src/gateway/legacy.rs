//! Calls of legacy servers, which ask in the middle of a call and wait.
//!
//! A client of the same era is asked in place. One that cannot wait is answered with the question, and the call is parked
//! until it comes back. The time that a person takes is not counted against the server.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use contexture::Error;
use contexture::client::Forwarded;
use contexture::server::BoxFuture;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use std::sync::Mutex;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::asks::{Way, passed_key};
use super::calls::{BEGUN, Call, Failure};
use super::faults::{self, Fault};
use super::named::Named;
use super::parked::{GivenUp, HANDLE, Waiting};
use crate::consent::{Outcome, Record};
use crate::operations::{Dropped, UpstreamCall};
use crate::upstream::{LONGEST_CALL, Lease, Place, Question, Questions, Voice, lock};

/// Questions that a server asks at once come one after the other. Where it does not say which those are, one that follows
/// within this time belongs to the same round.
const TOGETHER: Duration = Duration::from_millis(200);
/// How long those are waited for that a server has announced. They have left it already.
const ANNOUNCED: Duration = Duration::from_secs(5);

/// A call that its server works on, and all that belongs to it.
pub(super) struct Running {
    pub(super) outcome: BoxFuture<Result<Forwarded, Error>>,
    /// Where the server can ask something.
    pub(super) questions: Option<Questions>,
    pub(super) voice: Arc<Voice>,
    /// When the server last gave a sign of life.
    pub(super) heard: Arc<Mutex<Instant>>,
    /// Keys of the questions that were asked so far.
    pub(super) used: BTreeSet<String>,
    /// What the server itself calls them.
    pub(super) named: Named,
    pub(super) counted: Option<UpstreamCall>,
    pub(super) lease: Lease,
    pub(super) _place: Place,
}

impl Running {
    /// Gives a question the key that its server has for it, or one of ours.
    fn keyed(&mut self, mut question: Question) -> Waiting {
        let own = self.named.take(question.request.meta_mut());
        let number = u32::try_from(self.used.len()).unwrap_or(u32::MAX);
        let key = passed_key(&own, number, &self.used);
        self.used.insert(key.clone());
        Waiting { key, question }
    }

    /// A question, and all that belong to the same round. One that is answered already is only counted.
    async fn round(&mut self, first: Question) -> Vec<Waiting> {
        let latest = Instant::now() + ANNOUNCED;
        let mut waiting = Vec::new();
        let mut next_one = Some(first);
        while let Some(mut question) = next_one {
            match question.answer.is_closed() {
                true => drop(self.named.take(question.request.meta_mut())),
                false => waiting.push(self.keyed(question)),
            }
            let until = match (self.named.are_complete(), waiting.is_empty()) {
                (Some(true), _) | (_, true) => break,
                (Some(false), _) => latest,
                (None, _) => Instant::now() + TOGETHER,
            };
            next_one = timeout_at(until, next(&mut self.questions)).await.ok().flatten();
        }
        waiting
    }
}

impl Call<'_> {
    pub(super) async fn in_place(&self, lease: Lease) -> Result<Forwarded, Failure> {
        lease.log_from(self.context.log_level()).await;
        let voice = Voice::new(self.context);
        let (place, questions) = lease.desk().enter(Arc::clone(&voice), self.who.declares().is_some());
        let counted = self.counted();
        let heard = Arc::new(Mutex::new(Instant::now()));
        let mut forward = self.forward(&lease, &counted, Some(&voice));
        if self.who.declares().is_some() {
            // The clock stands still while somebody is asked; it is ours.
            forward = forward.timeout(LONGEST_CALL);
            if self.context.wants_progress() {
                let (voice, heard) = (Arc::clone(&voice), Arc::clone(&heard));
                forward = forward.on_progress(move |progress| {
                    *lock(&heard) = Instant::now();
                    voice.progress(&progress);
                });
            }
        }
        let outcome = forward.into_future();
        let counted = Some(counted);
        self.drive(Running {
            outcome,
            questions,
            voice,
            heard,
            used: BTreeSet::new(),
            named: Named::default(),
            counted,
            lease,
            _place: place,
        })
        .await
    }

    /// Until the server has answered; what it asks meanwhile is passed on.
    pub(super) async fn drive(&self, mut running: Running) -> Result<Forwarded, Failure> {
        let (way, entry) = (Way::Call(self.context), self.target.entry());
        let replayed = self.context.is_replayed();
        let in_rounds = replayed || self.context.peer().capabilities.wants_question_keys();
        let mut asking = FuturesUnordered::new();
        // Where nothing can be asked, the client keeps the time.
        let keeps_time = running.questions.is_some();
        let outcome = loop {
            let silent = *lock(&running.heard) + entry.call_time;
            tokio::select! {
                biased;
                outcome = &mut running.outcome => break outcome,
                Some(question) = next(&mut running.questions) => {
                    let waiting = match in_rounds {
                        true => running.round(question).await,
                        false => vec![running.keyed(question)],
                    };
                    if replayed && !waiting.is_empty() {
                        drop(asking);
                        return self.park(running, waiting).await;
                    }
                    asking.extend(waiting.into_iter().map(|Waiting { key, question }| async move {
                        let Question { request, mut answer } = question;
                        tokio::select! {
                            // The server no longer wants to know.
                            () = answer.closed() => {}
                            answered = way.answer(self.gateway, entry, &key, request) => drop(answer.send(answered)),
                        }
                    }));
                }
                Some(()) = asking.next(), if !asking.is_empty() => *lock(&running.heard) = Instant::now(),
                () = sleep_until(silent), if keeps_time && asking.is_empty() => {
                    if *lock(&running.heard) + entry.call_time <= Instant::now() {
                        break Err(Error::Timeout(entry.call_time));
                    }
                }
            }
        };
        running.lease.ended(&outcome);
        if let Some(counted) = running.counted.take() {
            Self::count(counted, &outcome);
        }
        if let Err(error) = &outcome {
            self.target.upstream().suspect(&running.lease, error);
        }
        // Whoever was asked something was asked for a call that is over now.
        let was_asked = !running.used.is_empty();
        match outcome {
            Err(error) if was_asked => Err(self.fault(error).into()),
            outcome => Ok(outcome?),
        }
    }

    /// Lets go of the client, and waits for it to come back with answers.
    async fn park(&self, running: Running, waiting: Vec<Waiting>) -> Result<Forwarded, Failure> {
        let limits = self.gateway.limits();
        let (principal, given_up) = (self.context.principal(), self.given_up());
        let handle = self.gateway.parked.park(principal, running, waiting, given_up, &limits)?;
        let kept = self.context.keep(HANDLE, &handle).and_then(|()| self.context.keep(BEGUN, &self.what()));
        if let Err(error) = kept {
            self.gateway.parked.give_up(&handle);
            return Err(self.fault(error).into());
        }
        Ok(self.resume(&handle).await?)
    }

    /// Counts and writes down that nobody came back for this call.
    fn given_up(&self) -> GivenUp {
        let (consent, metrics) = (self.gateway.consent.clone(), Arc::clone(&self.gateway.metrics));
        let (principal, target, trace) =
            (self.context.principal().identity(), self.target.clone(), self.trace.clone());
        let parked = Instant::now();
        Box::new(move || {
            metrics.dropped(Dropped::ParkedCall);
            let asking = target.asking(&principal, trace.as_deref());
            consent.record(Record {
                asking: &asking,
                outcome: Outcome::Cancelled,
                duration: parked.elapsed(),
            });
        })
    }

    /// Goes on with a call that was parked. In the round that asks, this is where the handler is dropped.
    pub(super) async fn resume(&self, handle: &str) -> Result<Forwarded, Fault> {
        let principal = self.context.principal();
        let asked = self.gateway.parked.asked(handle, principal)?;
        let way = Way::Call(self.context);
        let asked = asked.into_iter().map(|(key, request)| (key.clone(), key, request)).collect();
        let answers = way.answer_all(self.gateway, self.target.entry(), asked).await;
        let answers = answers.into_iter().map(|(key, _, answer)| (key, answer)).collect();
        let running = self.gateway.parked.take_up(handle, principal, answers, self.context)?;
        match Box::pin(self.drive(running)).await {
            Ok(forwarded) => Ok(forwarded),
            Err(Failure::Told(fault)) => Err(fault),
            Err(Failure::Of(error)) => Err(self.fault(error)),
        }
    }

    pub(super) fn fault(&self, error: Error) -> Fault {
        faults::of(self.gateway, self.target.entry(), self.context, self.target.method, error)
    }
}

/// The next question; none ever, where nothing can be asked.
async fn next(questions: &mut Option<Questions>) -> Option<Question> {
    match questions {
        Some(questions) => questions.recv().await,
        None => std::future::pending().await,
    }
}
