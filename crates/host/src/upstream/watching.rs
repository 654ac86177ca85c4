//! Resources that are watched over one connection: at its server once, however many watch them here.
//!
//! Whoever begins and whoever ends take turns, so that a server is never told in another order than it was meant.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use contexture::Error;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::connection::{Connection, Lease};
use super::desk::lock;

/// How many watch each resource, by the server's own URI.
#[derive(Debug, Default)]
pub(super) struct Subscriptions(Mutex<HashMap<String, usize>>);

impl Lease {
    /// Watches a resource until what is returned is dropped. The connection stays meanwhile, though no call is in flight.
    ///
    /// # Errors
    /// The server does not want to tell.
    pub(crate) async fn watch(&self, uri: &str) -> Result<Watching, Error> {
        let connection = Arc::clone(self.connection());
        connection.watched.fetch_add(1, Ordering::AcqRel);
        let mut watching = Watching { connection: Arc::clone(&connection), uri: None };
        let uri = uri.to_owned();
        // A server that was asked is asked to its end, and told again if nobody waits any more.
        let asking = tokio::spawn(async move {
            let mut counts = connection.subscriptions.0.lock().await;
            match counts.get_mut(&uri) {
                Some(count) => *count += 1,
                None => {
                    connection.client().subscribe(uri.as_str()).await?;
                    counts.insert(uri.clone(), 1);
                }
            }
            watching.uri = Some(uri);
            Ok(watching)
        });
        asking.await.unwrap_or(Err(Error::Cancelled))
    }
}

impl Connection {
    /// One less watches this.
    async fn unwatch(&self, uri: &str) {
        let mut counts = self.subscriptions.0.lock().await;
        let Some(count) = counts.get_mut(uri) else { return };
        *count -= 1;
        if *count > 0 {
            return;
        }
        counts.remove(uri);
        if let Err(error) = self.client().unsubscribe(uri).await {
            tracing::debug!(%error, "a subscription could not be ended");
        }
    }
}

/// Keeps a connection that something is watched over.
#[derive(Debug)]
pub(crate) struct Watching {
    connection: Arc<Connection>,
    /// What is watched, once it is.
    uri: Option<String>,
}

impl Watching {
    pub(crate) fn is_usable(&self) -> bool {
        self.connection.is_usable()
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        *lock(&self.connection.last_used) = Instant::now();
        self.connection.watched.fetch_sub(1, Ordering::AcqRel);
        let Some(uri) = self.uri.take().filter(|_| self.is_usable()) else { return };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let connection = Arc::clone(&self.connection);
            runtime.spawn(async move { connection.unwatch(&uri).await });
        }
    }
}
