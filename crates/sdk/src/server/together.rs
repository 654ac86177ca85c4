//! Questions that a handler asks at once, on their way to a legacy client that passes them on.
//!
//! In that era each is a request of its own, and nothing says which of them make one round. A client that has to make
//! a round of them is told: with each question go its key and the keys of all that the handler waits for beside it. For
//! that they are held back until the handler cannot go on; what it has asked by then belongs together. Other clients are
//! asked without delay, and told nothing. Of a handler on a task of its own it is not known when it cannot go on:
//! what it asks at once may be told as several rounds.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::oneshot;

use super::Context;
use super::asks::request_now;
use super::context::lock;
use crate::model::{InputRequest, key};
use crate::{Error, Result};

/// The keys of questions that belong together.
type Keys = Arc<[String]>;

/// Questions that have not left.
#[derive(Debug, Default)]
pub(super) struct Leaving(Vec<(String, oneshot::Sender<Keys>)>);

impl Leaving {
    /// The handler cannot go on: they leave, each with the keys of all that somebody still waits for.
    pub(super) fn depart(mut self) {
        self.0.retain(|(_, question)| !question.is_closed());
        let (keys, questions): (Vec<_>, Vec<_>) = self.0.into_iter().unzip();
        let keys: Keys = keys.into();
        for question in questions {
            // Whoever asked may be gone by now.
            question.send(Arc::clone(&keys)).ok();
        }
    }
}

impl Context {
    /// Asks together with all that the handler asks before it has to wait.
    pub(super) async fn ask_together(&self, key: &str, mut request: InputRequest) -> Result<Value> {
        let (question, leaves) = oneshot::channel();
        lock(&self.inner.asks).round().leaving.0.push((key.to_owned(), question));
        // Whoever drives the exchange looks at what leaves when the handler cannot go on.
        self.inner.life.wake();
        let together = leaves.await.map_err(|_| Error::Cancelled)?;
        name(&mut request, key, &together);
        request_now(self, &request).await
    }
}

/// Says the key of a question, and the keys of all that it belongs to.
pub(super) fn name(request: &mut InputRequest, key: &str, together: &[String]) {
    let meta = request.meta_mut().get_or_insert_default();
    meta.set(key::QUESTION, key);
    meta.set(key::TOGETHER, together);
}
