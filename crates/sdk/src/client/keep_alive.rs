//! Asking now and then whether the server is still there.

use std::sync::Arc;
use std::time::Duration;

use super::Client;
use super::events::Event;
use crate::{Error, Result};

/// More often than this is not asked.
const SHORTEST: Duration = Duration::from_secs(1);

/// When to ping, and what to do if there is no answer.
#[derive(Debug, Clone, Copy)]
pub struct KeepAlive {
    interval: Duration,
    timeout: Duration,
    failures: u32,
    on_failure: OnPingFailure,
}

/// What to do when pings are not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnPingFailure {
    /// Only report it: [`Event::PingFailed`], [`Client::is_stale`].
    Report,
    /// Close the connection.
    Close,
    /// Start the server anew, if it was spawned; otherwise close the connection. A server that has ended is
    /// started anew as well.
    Reconnect,
}

impl KeepAlive {
    /// Pings so often, at most once a second. An answer may take 10 seconds, and a failure is only
    /// reported.
    pub fn every(interval: Duration) -> Self {
        let interval = interval.max(SHORTEST);
        Self { interval, timeout: Duration::from_secs(10), failures: 1, on_failure: OnPingFailure::Report }
    }

    /// How long an answer may take.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// What to do after so many failures in a row.
    #[must_use]
    pub fn after(mut self, failures: u32, on_failure: OnPingFailure) -> Self {
        self.failures = failures.max(1);
        self.on_failure = on_failure;
        self
    }

    /// Begins. It ends with the client, and does not keep it alive.
    pub(super) fn start(self, client: &Client) {
        let client = Client { inner: Arc::clone(&client.inner), _held: None };
        tokio::spawn(async move { self.run(&client).await });
    }

    async fn run(self, client: &Client) {
        let mut closed = client.inner.closed.subscribe();
        let mut failures = 0;
        loop {
            let answered = tokio::select! {
                biased;
                // A ping must not outlive the interest in it.
                _ = closed.wait_for(|closed| *closed) => return,
                answered = self.beat(client) => answered,
            };
            match answered {
                None => return,
                // An error is an answer, too.
                Some(Ok(()) | Err(Error::Remote(_))) => failures = 0,
                Some(Err(error)) => {
                    failures += 1;
                    tracing::warn!(%error, failures, "ping failed");
                    client.hub().emit(Event::PingFailed { failures });
                }
            }
            client.set_stale(failures > 0);
            if failures >= self.failures && !self.act(client).await {
                return;
            }
            if failures >= self.failures {
                failures = 0;
            }
        }
    }

    /// Waits and pings; nothing if there is nobody left to ping. The next interval begins when the answer is
    /// there: never two pings at once.
    async fn beat(self, client: &Client) -> Option<Result<()>> {
        tokio::time::sleep(self.interval).await;
        if client.is_closed() && self.on_failure != OnPingFailure::Reconnect {
            return None;
        }
        Some(client.ping_call().timeout(self.timeout).max_time(self.timeout).await)
    }

    /// Whether to go on.
    async fn act(self, client: &Client) -> bool {
        match self.on_failure {
            OnPingFailure::Report => true,
            OnPingFailure::Close => {
                client.close().await;
                false
            }
            OnPingFailure::Reconnect => match client.reconnect().await {
                Ok(()) => true,
                Err(_) if *client.inner.closed.borrow() => false,
                Err(error) => {
                    tracing::error!(%error, "cannot start the server anew");
                    client.close().await;
                    false
                }
            },
        }
    }
}
