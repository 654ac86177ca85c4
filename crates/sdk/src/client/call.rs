//! One operation, with its options: awaited as it is, or started and held by a handle.
//!
//! A call that nobody waits for any more is cancelled at the server. It may take several exchanges, if
//! the server asks something first; the caller sees only the result.

use std::borrow::Cow;
use std::convert::identity;
use std::future::IntoFuture;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::Value;
use tokio::task::JoinHandle;

use super::Client;
use super::live::Live;
use super::payload::Payload;
use crate::engine::Patience;
use crate::model::{Meta, Method, ProgressParams, key};
use crate::{Error, Result};

mod approved;
mod cancel;
mod exchanges;
mod reply;
mod tool;

use cancel::{Cancel, Canceller};
use exchanges::Exchanges;
pub(super) use exchanges::raise;
pub use reply::ToolReply;

pub(super) type Finish<T> = Box<dyn FnOnce(&Client, &Live, &Bytes) -> Result<T> + Send>;

/// An operation that is about to begin. Await it, or set options first.
#[must_use = "nothing is sent before this is awaited or started"]
pub struct Call<T> {
    client: Client,
    method: Cow<'static, str>,
    known: Option<Method>,
    payload: Result<Payload>,
    options: Options,
    ending: Ending<T>,
}

/// What becomes of the result.
enum Ending<T> {
    /// It is that of this tool, and given as it is.
    Tool(String, fn(ToolReply) -> T),
    Other {
        finish: Finish<T>,
        /// Under which key it may be kept.
        cache_key: Option<String>,
    },
}

/// How one call is made.
pub(super) struct Options {
    pub(super) patience: Patience,
    pub(super) meta: Meta,
    pub(super) on_progress: Option<Box<dyn FnMut(ProgressParams) + Send>>,
    pub(super) misuse: Option<String>,
    /// Whether a session that the server has forgotten is opened anew for this call.
    pub(super) renews: bool,
    /// Whether the server is asked for what it did not say that it has.
    insists: bool,
    until: Option<BoxFuture<'static, ()>>,
    pub(super) cancel: Cancel,
}

impl Options {
    pub(super) fn new(patience: Patience) -> Self {
        Self {
            patience,
            meta: Meta::new(),
            on_progress: None,
            misuse: None,
            renews: true,
            insists: false,
            until: None,
            cancel: Cancel::default(),
        }
    }
}

impl Call<ToolReply> {
    pub(super) fn tool(client: &Client, tool: String, payload: Result<Payload>) -> Self {
        let method = Method::ToolsCall;
        Self {
            client: client.clone(),
            method: Cow::Borrowed(method.as_str()),
            known: Some(method),
            payload,
            options: Options::new(client.policy().patience),
            ending: Ending::Tool(tool, identity),
        }
    }
}

impl<T: Send + 'static> Call<T> {
    pub(super) fn new(
        client: &Client,
        method: Method,
        payload: Result<Payload>,
        finish: impl FnOnce(&Client, &Live, &Bytes) -> Result<T> + Send + 'static,
    ) -> Self {
        Self {
            client: client.clone(),
            method: Cow::Borrowed(method.as_str()),
            known: Some(method),
            payload,
            options: Options::new(client.policy().patience),
            ending: Ending::Other { finish: Box::new(finish), cache_key: None },
        }
    }

    /// A request that this library need not know.
    pub(super) fn custom(
        client: &Client,
        method: String,
        params: Result<(Payload, Meta)>,
        finish: impl FnOnce(&Client, &Live, &Bytes) -> Result<T> + Send + 'static,
    ) -> Self {
        let known = Method::parse(&method);
        let mut options = Options::new(client.policy().patience);
        let payload = params.map(|(payload, meta)| {
            options.meta = meta;
            payload
        });
        let (client, method) = (client.clone(), Cow::Owned(method));
        Self {
            client,
            method,
            known,
            payload,
            options,
            ending: Ending::Other { finish: Box::new(finish), cache_key: None },
        }
    }

    /// The call belongs to the session that there is: a new one is not opened for it.
    pub(super) fn in_this_session(mut self) -> Self {
        self.options.renews = false;
        self
    }

    /// Asks though the server did not say that it has this: for those who find out whether it tells the truth.
    pub fn insist(mut self) -> Self {
        self.options.insists = true;
        self
    }

    /// The result may be kept, and a kept one used.
    pub(super) fn cached(mut self, key: String) -> Self {
        if let Ending::Other { cache_key, .. } = &mut self.ending {
            *cache_key = Some(key);
        }
        self
    }

    /// How long the server may be silent. Progress starts the time anew.
    pub fn timeout(mut self, idle: Duration) -> Self {
        self.options.patience.idle = idle;
        self
    }

    /// How long it may take altogether, whatever progress is reported, and however often the server asks
    /// something first.
    pub fn max_time(mut self, total: Duration) -> Self {
        self.options.patience.total = total;
        self
    }

    /// Progress does not extend the timeout.
    pub fn fixed_timeout(mut self) -> Self {
        self.options.patience.renewed_by_progress = false;
        self
    }

    /// Asks for progress, and is called with it, in order.
    pub fn on_progress(mut self, on_progress: impl FnMut(ProgressParams) + Send + 'static) -> Self {
        self.options.on_progress = Some(Box::new(on_progress));
        self
    }

    /// Adds metadata under a key of yours.
    pub fn meta(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        if let Err(error) = self.options.meta.insert_custom(key, value) {
            self.options.misuse = Some(error.to_string());
        }
        self
    }

    /// Passes on the trace that this call is part of, as W3C Trace Context has it.
    pub fn trace(mut self, traceparent: impl Serialize, tracestate: Option<&str>) -> Self {
        self.options.meta.set(key::TRACEPARENT, traceparent);
        if let Some(tracestate) = tracestate {
            self.options.meta.set(key::TRACESTATE, tracestate);
        }
        self
    }

    /// Cancels the call when this future is ready: the wait of a cancellation token, for example.
    pub fn cancelled_by(mut self, cancelled: impl Future<Output = ()> + Send + 'static) -> Self {
        self.options.until = Some(Box::pin(cancelled));
        self
    }

    /// Begins, and returns a handle. Dropping the handle cancels the call.
    pub fn start(mut self) -> CallHandle<T> {
        let cancel = self.options.cancel.canceller();
        CallHandle { task: tokio::spawn(self.into_future()), cancel }
    }

    async fn run(self) -> Result<T> {
        let Self { client, method, known, payload, mut options, ending } = self;
        let payload = payload?;
        if let Some(misuse) = options.misuse.take() {
            return Err(Error::Misuse(misuse));
        }
        let live = client.live();
        if let Some(method) = known {
            live.session()?.knows(method)?;
            if !options.insists {
                live.session()?.permits(method)?;
            }
        }
        let mut exchanges = Exchanges {
            client: &client,
            live: live.clone(),
            method: &method,
            known,
            payload: &payload,
            options: &mut options,
        };
        match ending {
            Ending::Tool(tool, give) => tool::run(&tool, &live, &mut exchanges).await.map(give),
            Ending::Other { finish, cache_key } => {
                approved::ask(&live, &mut exchanges).await?;
                let result = match (known, cache_key) {
                    // Rarely a matter of speed: what is kept here is not asked for often.
                    (Some(method), Some(key)) => Box::pin(exchanges.run_cached(method, key)).await?,
                    _ => exchanges.run::<Bytes>().await?.0,
                };
                finish(&client, &live, &result)
            }
        }
    }

    /// Runs, and is cancelled when `until` is ready.
    async fn run_until(mut self, until: impl Future<Output = ()>) -> Result<T> {
        let cancel = self.options.cancel.canceller();
        let mut run = Box::pin(self.run());
        tokio::select! {
            biased;
            result = &mut run => return result,
            () = until => cancel.send_replace(Some(String::new())),
        };
        // The run sees it, tells the server and ends.
        run.await
    }
}

impl<T: Send + 'static> IntoFuture for Call<T> {
    type Output = Result<T>;
    type IntoFuture = BoxFuture<'static, Result<T>>;

    fn into_future(mut self) -> Self::IntoFuture {
        match self.options.until.take() {
            Some(until) => Box::pin(self.run_until(until)),
            None => Box::pin(self.run()),
        }
    }
}

/// A call that has begun. Await it for the result; dropping it cancels the call.
#[derive(Debug)]
pub struct CallHandle<T> {
    task: JoinHandle<Result<T>>,
    cancel: Canceller,
}

impl<T> CallHandle<T> {
    /// Cancels the call; the reason reaches the server, unless it is empty. Without effect if the call is
    /// over.
    pub fn cancel(&self, reason: impl Into<String>) {
        self.cancel.send_if_modified(|cancel| {
            let first = cancel.is_none();
            if first {
                *cancel = Some(reason.into());
            }
            first
        });
    }

    /// Ready when someone asks for the call to be cancelled.
    pub async fn cancel_requested(&self) {
        // The sender lives as long as this handle.
        let _ = self.cancel.subscribe().wait_for(Option::is_some).await;
    }

    /// Whether someone asked for the call to be cancelled.
    pub fn is_cancel_requested(&self) -> bool {
        self.cancel.borrow().is_some()
    }
}

impl<T> Future for CallHandle<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<T>> {
        Pin::new(&mut self.task).poll(cx).map(|joined| match joined {
            Ok(result) => result,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => Err(Error::Cancelled),
        })
    }
}

impl<T> Drop for CallHandle<T> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size<A, F>(_: impl FnOnce(A) -> F) -> usize {
        size_of::<F>()
    }

    /// It is moved into its box, so what only few calls need is in boxes of its own.
    #[test]
    fn the_future_of_a_call_is_small() {
        let size = size(Call::<ToolReply>::run);
        assert!(size <= 2048, "{size} bytes");
    }
}
