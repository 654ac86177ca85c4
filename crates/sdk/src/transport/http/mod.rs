//! Servers that are reached by URL: Streamable HTTP of every revision, and HTTP+SSE.
//!
//! One POST carries one message. Everything that is under way is polled by the connection's own task. Nothing
//! here decides what a message means or whether it is sent again: a request is never POSTed twice.

mod address;
mod credentials;
mod direct;
mod exchange;
mod fetch;
mod outbound;
mod reply;
mod sse_pair;
mod stream;
mod streamable;
mod wire;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ::http::{HeaderMap, HeaderName, HeaderValue};
use contexture_core::http::header;
use tokio::sync::mpsc;

pub(crate) use address::Address;
#[cfg(feature = "auth")]
pub(crate) use address::is_loopback;
pub use credentials::{Challenged, Credentials, Request, Showing};
pub(crate) use fetch::Fetch;
#[cfg(feature = "auth")]
pub(crate) use fetch::challenges_at;
#[cfg(feature = "auth")]
pub(crate) use fetch::{choose_cryptography, reason};
pub(crate) use sse_pair::open as open_pair;
pub(crate) use streamable::HttpTransport;

use super::Failure;
use crate::json_rpc::RequestId;
use crate::{Error, Policy, Result};
use bytes::Bytes;

/// What an application says about the way to a server.
#[derive(Clone, Default)]
pub(crate) struct HttpOptions {
    headers: Vec<(String, String)>,
    pub(crate) unix_socket: Option<PathBuf>,
    pub(crate) proof: Proof,
}

/// How a server learns who asks.
#[derive(Clone, Default)]
pub(crate) enum Proof {
    /// Not at all.
    #[default]
    None,
    Given(Arc<dyn Credentials>),
    /// Found out by this policy, for each server on its own.
    #[cfg(feature = "auth")]
    Policy(Box<crate::auth::Authorization>),
}

impl Proof {
    /// For the server at this address.
    pub(crate) fn credentials(&self, address: &Address) -> Option<Arc<dyn Credentials>> {
        #[cfg(not(feature = "auth"))]
        let _ = address;
        match self {
            Self::None => None,
            Self::Given(credentials) => Some(Arc::clone(credentials)),
            #[cfg(feature = "auth")]
            Self::Policy(policy) => Some(policy.credentials(&address.exact())),
        }
    }
}

impl HttpOptions {
    /// A header for every request.
    pub(crate) fn header(&mut self, name: String, value: String) {
        self.headers.push((name, value));
    }

    fn header_map(&self) -> Result<HeaderMap> {
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let misuse = || Error::Misuse(format!("the header {name:?} cannot be sent"));
            let name: HeaderName = name.parse().map_err(|_| misuse())?;
            let mut value = HeaderValue::from_str(value).map_err(|_| misuse())?;
            // Most headers that applications add are secrets.
            value.set_sensitive(true);
            headers.append(name, value);
        }
        Ok(headers)
    }
}

/// Bounds on what a server may cost.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    /// Bytes of a body or of an event.
    message: usize,
    /// How often in a row a stream is opened again without bringing anything.
    attempts: u32,
    /// How long a server may take to begin an answer that no caller waits for. Without the time of a person.
    time: Duration,
}

impl Bounds {
    fn new(policy: &Policy) -> Self {
        let time = policy.patience.idle.min(policy.patience.total);
        Self { message: policy.line_bytes, attempts: policy.stream_attempts, time }
    }
}

/// What the work under way tells the transport.
enum Report {
    /// A message of the server.
    Message(Bytes),
    /// The answer to this request, after which there is nothing more to come for it.
    Answer { id: RequestId, message: Bytes },
    /// A message of the server on the way of this request, which is not its answer.
    Beside { of: RequestId, message: Bytes },
    /// A request got no answer.
    Failed { id: RequestId, failure: Failure },
    /// There is nothing more to come for this request.
    Done(RequestId),
    /// The server opened a session.
    Session(HeaderValue),
    /// The server has heard that the handshake is done.
    Acknowledged,
    /// The server no longer knows the session.
    Forgotten,
    /// The one stream that everything comes on is over.
    Ended(String),
}

/// Where the work under way reports. Bounded, so that nothing is read that nobody takes.
type Reports = mpsc::Sender<Report>;

/// What every request needs: the way to the server.
#[derive(Clone)]
struct Way {
    fetch: Arc<Fetch>,
    address: Address,
    /// Headers of the protocol.
    headers: HeaderMap,
    bounds: Bounds,
}

impl Way {
    /// Within the time for what no caller waits for.
    async fn in_time<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        self.fetch.person().timeout(self.bounds.time, work).await
    }

    /// For the streams that follow from a POST: who we are stays, what the message said does not.
    fn for_streams(&self) -> Self {
        let mut headers = HeaderMap::new();
        for name in [header::PROTOCOL_VERSION, header::SESSION_ID] {
            if let Some(value) = self.headers.get(name) {
                headers.insert(HeaderName::from_static(name), value.clone());
            }
        }
        Self { headers, ..self.clone() }
    }
}

/// The shortest and the longest time between two attempts to open a stream, whatever a server wishes.
const SHORTEST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// A connection that stood for so long did what it was opened for, whether or not there was something to say.
const LASTING: Duration = Duration::from_secs(1);
