//! Calls whose server waits for an answer while their client has gone to get one.
//!
//! The call goes on in a task, its handle travels with the client, sealed. Whoever comes back must be the same principal.
//! Nobody coming back within the time is a call that is cancelled. As many wait as the configuration says, and of one
//! principal no more than half of these.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use contexture::client::Forwarded;
use contexture::engine::BUSY;
use contexture::model::{ErrorObject, InputRequest};
use contexture::server::{BoxFuture, Context};
use contexture::{Error, Principal};
use ring::rand::{SecureRandom, SystemRandom};
use serde_json::json;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

use super::legacy::Running;
use crate::config::Limits;
use crate::upstream::{Answered, Question, lock};

/// Under which the handle of a parked call is kept.
pub(super) const HANDLE: &str = "parked";

/// A question whose answer the client went to get.
pub(super) struct Waiting {
    pub(super) key: String,
    pub(super) question: Question,
}

/// All calls that are parked.
#[derive(Clone, Default)]
pub(crate) struct Parked(Arc<Mutex<HashMap<String, Entry>>>);

struct Entry {
    principal: Principal,
    running: Running,
    waiting: Vec<Waiting>,
    /// Stops the clock.
    taken: oneshot::Sender<()>,
    /// Says that nobody came back.
    given_up: GivenUp,
}

/// What is done when a call is given up.
pub(super) type GivenUp = Box<dyn FnOnce() + Send>;

impl Parked {
    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        lock(&self.0).len()
    }

    /// Parks a call; gives its handle.
    pub(super) fn park(
        &self,
        principal: &Principal,
        mut running: Running,
        waiting: Vec<Waiting>,
        given_up: GivenUp,
        limits: &Limits,
    ) -> Result<String, ErrorObject> {
        let mut table = lock(&self.0);
        let own = table.values().filter(|entry| entry.principal == *principal).count();
        if table.len() >= limits.parked_calls || own >= limits.parked_calls.div_ceil(2) {
            let why = "too many calls wait for answers; this one was cancelled";
            return Err(ErrorObject::new(BUSY, why).data(json!({ "retryAfterMs": 1000 })));
        }
        let handle = handle()?;
        let (taken, was_taken) = oneshot::channel();
        let (sender, receiver) = oneshot::channel();
        let outcome: BoxFuture<_> = Box::pin(async move { receiver.await.unwrap_or(Err(Error::Cancelled)) });
        let work = std::mem::replace(&mut running.outcome, outcome);
        // Nobody hears it until somebody comes back.
        running.voice.hand_over(None);
        let deadline = Instant::now() + limits.park_time;
        tokio::spawn(self.clone().mind(handle.clone(), work, sender, was_taken, deadline));
        let principal = principal.identity();
        table.insert(handle.clone(), Entry { principal, running, waiting, taken, given_up });
        Ok(handle)
    }

    /// Lets a call go on while nobody waits for it, up to a deadline.
    async fn mind(
        self,
        handle: String,
        mut work: BoxFuture<Result<Forwarded, Error>>,
        mut sender: oneshot::Sender<Result<Forwarded, Error>>,
        was_taken: oneshot::Receiver<()>,
        deadline: Instant,
    ) {
        tokio::pin!(was_taken);
        let mut taken = false;
        let outcome = loop {
            tokio::select! {
                outcome = &mut work => break outcome,
                // Whoever had taken it up is gone.
                () = sender.closed() => return,
                said = &mut was_taken, if !taken => taken = said.is_ok(),
                () = sleep_until(deadline), if !taken => return self.give_up(&handle),
            }
        };
        drop(work);
        if sender.send(outcome).is_ok() && !taken {
            tokio::select! {
                _ = was_taken => {}
                () = sleep_until(deadline) => self.give_up(&handle),
            }
        }
    }

    /// Cancels a call that nobody came back for.
    pub(super) fn give_up(&self, handle: &str) {
        let entry = lock(&self.0).remove(handle);
        if let Some(entry) = entry {
            tracing::info!(server = entry.running.lease.desk().entry.name, "a parked call was given up");
            (entry.given_up)();
        }
    }

    /// What the server of a parked call still wants to know.
    pub(super) fn asked(
        &self,
        handle: &str,
        principal: &Principal,
    ) -> Result<Vec<(String, InputRequest)>, ErrorObject> {
        let table = lock(&self.0);
        let entry = table.get(handle).filter(|entry| entry.principal == *principal).ok_or_else(gone)?;
        let open = entry.waiting.iter().filter(|waiting| !waiting.question.answer.is_closed());
        Ok(open.map(|waiting| (waiting.key.clone(), waiting.question.request.clone())).collect())
    }

    /// Takes a call up again, with answers to what was asked.
    pub(super) fn take_up(
        &self,
        handle: &str,
        principal: &Principal,
        mut answers: HashMap<String, Answered>,
        context: &Context,
    ) -> Result<Running, ErrorObject> {
        let entry = {
            let mut table = lock(&self.0);
            table.get(handle).filter(|entry| entry.principal == *principal).ok_or_else(gone)?;
            table.remove(handle).ok_or_else(gone)?
        };
        let Entry { running, waiting, taken, .. } = entry;
        running.voice.hand_over(Some(context));
        *lock(&running.heard) = Instant::now();
        // Whoever minds it may be done already.
        taken.send(()).ok();
        for Waiting { key, question } in waiting {
            if let Some(answer) = answers.remove(&key) {
                question.answer.send(answer).ok();
            }
        }
        Ok(running)
    }

    /// Cancels all of them.
    pub(crate) fn clear(&self) {
        let entries = std::mem::take(&mut *lock(&self.0));
        entries.into_values().for_each(|entry| (entry.given_up)());
    }
}

fn handle() -> Result<String, ErrorObject> {
    let mut bytes = [0; 16];
    let random = SystemRandom::new().fill(&mut bytes);
    random.map_err(|_| ErrorObject::internal("there is no randomness to be had"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn gone() -> ErrorObject {
    let why = "this call is not waiting here any more: it was given up, taken up already, or is another's; make it anew";
    ErrorObject::invalid_params(why)
}
