//! Completion while someone types: waits for a pause, and forgets what was overtaken.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::sync::watch;

use super::Client;
use crate::Result;
use crate::model::{Completion, Reference};

/// Proposals for one argument, as a person types its value.
#[derive(Debug)]
pub struct Completer {
    client: Client,
    reference: Reference,
    argument: String,
    pause: Duration,
    typed: watch::Sender<u64>,
}

impl Client {
    /// Completes an argument as someone types; asks the server only after a pause.
    pub fn completer(&self, reference: Reference, argument: impl Into<String>, pause: Duration) -> Completer {
        let (client, argument) = (self.clone(), argument.into());
        Completer { client, reference, argument, pause, typed: watch::Sender::new(0) }
    }
}

impl Completer {
    /// The value is now this. `None` if it changed again before there was an answer; then the question is
    /// withdrawn, if it was asked at all.
    pub async fn typed(
        &self,
        value: impl Into<String>,
        context: BTreeMap<String, String>,
    ) -> Result<Option<Completion>> {
        self.typed.send_modify(|count| *count += 1);
        let mut overtaken = self.typed.subscribe();
        let asked = async {
            tokio::time::sleep(self.pause).await;
            self.client.complete(self.reference.clone(), &self.argument, value, context).await
        };
        tokio::select! {
            biased;
            _ = overtaken.changed() => Ok(None),
            completion = asked => completion.map(Some),
        }
    }
}
