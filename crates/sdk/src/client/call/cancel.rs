//! Why a call is cancelled, once it is. Most calls can only be dropped: they pay nothing for more than that.

use std::future::pending;
use std::sync::Arc;

use tokio::sync::watch;

use crate::{Error, Result};

pub(super) type Canceller = Arc<watch::Sender<Option<String>>>;

/// Whether a call is cancelled, for whoever makes it.
#[derive(Default)]
pub(in crate::client) struct Cancel(Option<Canceller>);

impl Cancel {
    /// From now on there is someone who may cancel the call.
    pub(super) fn canceller(&mut self) -> Canceller {
        Arc::clone(self.0.get_or_insert_with(|| Arc::new(watch::Sender::new(None))))
    }

    /// Ready when the call is cancelled.
    pub(super) async fn reason(&self) -> Option<String> {
        match &self.0 {
            // In a box, so that calls without it have no room for it.
            Some(canceller) => Box::pin(reason(canceller)).await,
            None => pending().await,
        }
    }

    /// Waits for something that is not on the wire.
    pub(super) async fn unless<O>(&self, work: impl Future<Output = O>) -> Result<O> {
        tokio::select! {
            biased;
            _ = self.reason() => Err(Error::Cancelled),
            output = work => Ok(output),
        }
    }
}

async fn reason(canceller: &Canceller) -> Option<String> {
    canceller.subscribe().wait_for(Option::is_some).await.ok().and_then(|reason| reason.clone())
}
