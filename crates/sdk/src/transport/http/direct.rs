//! Plain HTTP/1.1 to the server itself: no TLS, no proxy, over TCP or a Unix socket.
//!
//! There is one server, so what is kept of a connection is a stack of those that serve on. A connection has no task
//! of its own: whoever waits for an answer moves it, and whoever stops waiting ends it. A request goes over another
//! connection only if the kept one was found closed before a byte of it was written. One task, while any are kept, closes
//! those that nobody has used for long.

use std::collections::VecDeque;
use std::error::Error as StdError;
use std::future::poll_fn;
use std::io;
use std::path::Path;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use ::http::response::Parts;
use ::http::{HeaderValue, Request, Response, Uri};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, Connection, SendRequest};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::proxy::matcher::Matcher;
use tokio::time::{Instant, sleep_until};
use tower_service::Service;

use super::address::Address;
use super::fetch::causes;
use super::wire::Wire;
use crate::transport::Failure;
use crate::{Error, Policy, Result};

/// Connections that are kept though nothing is asked.
const KEPT: usize = 64;
/// For so long. Servers give up theirs sooner or later, and a write into that moment is lost.
const KEPT_FOR: Duration = Duration::from_secs(90);

/// The way to one server.
pub(super) struct Direct {
    to: To,
    host: HeaderValue,
    connect_time: Duration,
    kept: Mutex<Kept>,
}

/// Connections that serve on.
#[derive(Default)]
struct Kept {
    /// The one that was used last is used next, and is the last of these.
    lines: VecDeque<Line>,
    /// Somebody sees to it that they do not stay for ever.
    swept: bool,
}

impl Kept {
    /// Closes those that have been kept for long enough; says when the next one has.
    fn sweep(&mut self) -> Option<Instant> {
        while self.lines.front().is_some_and(|oldest| oldest.since.elapsed() >= KEPT_FOR) {
            self.lines.pop_front();
        }
        self.lines.front().map(|oldest| oldest.since + KEPT_FOR)
    }
}

enum To {
    Tcp(Uri),
    #[cfg(unix)]
    Unix(std::path::PathBuf),
}

impl Direct {
    /// The way to a server, if it is as plain as that.
    pub(super) fn new(address: &Address, socket: Option<&Path>, policy: &Policy) -> Result<Option<Self>> {
        let url = &address.url;
        let has_secrets = !url.username().is_empty() || url.password().is_some();
        let Some(name) = url.host_str().filter(|_| url.scheme() == "http" && !has_secrets) else {
            return Ok(None);
        };
        let host = url.port().map_or_else(|| name.to_owned(), |port| format!("{name}:{port}"));
        let unfit = |error: &dyn std::fmt::Display| Error::Misuse(format!("{address}: {error}"));
        let uri = Uri::try_from(format!("http://{host}/")).map_err(|error| unfit(&error))?;
        let to = match socket {
            #[cfg(unix)]
            Some(path) => To::Unix(path.to_owned()),
            #[cfg(not(unix))]
            Some(_) => return Err(Error::Misuse("there are no Unix sockets here".into())),
            // What stays on this machine has no business with a proxy.
            None if !address.is_loopback() && Matcher::from_system().intercept(&uri).is_some() => {
                return Ok(None);
            }
            None => To::Tcp(uri),
        };
        let host = HeaderValue::try_from(host).map_err(|error| unfit(&error))?;
        let kept = Mutex::default();
        Ok(Some(Self { to, host, connect_time: policy.connect_time, kept }))
    }

    /// What the server is called in requests.
    pub(super) fn host(&self) -> &HeaderValue {
        &self.host
    }

    /// Sends a request.
    pub(super) async fn send(self: &Arc<Self>, mut request: Request<Once>) -> Result<Answer, Failure> {
        loop {
            let kept = poll_fn(|cx| Poll::Ready(self.take(cx))).await;
            let is_kept = kept.is_some();
            let line = match kept {
                Some(line) => line,
                // In a box, as everything that not every request has: the room for it would be moved with each.
                None => Box::pin(self.connect()).await?,
            };
            let mut lost = match line.ask(request).await {
                Ok((response, line)) => return Ok(Answer::new(response, line, self)),
                Err(lost) => lost,
            };
            match lost.take_message() {
                Some(unsent) if is_kept => request = unsent,
                Some(_) => return Err(unreachable(Some(lost.error()))),
                None => return Err(Failure::Interrupted(causes(Some(lost.error())))),
            }
        }
    }

    async fn connect(&self) -> Result<Line, Failure> {
        let connecting = async {
            let wire = match &self.to {
                To::Tcp(uri) => Wire::tcp(connector().call(uri.clone()).await?),
                #[cfg(unix)]
                To::Unix(path) => Wire::unix(tokio::net::UnixStream::connect(path).await?),
            };
            let (sender, driver) = http1::handshake(wire).await?;
            let driver = Some(Box::pin(driver));
            Ok(Line { sender, driver, since: Instant::now() })
        };
        match tokio::time::timeout(self.connect_time, connecting).await {
            Ok(connected) => {
                connected.map_err(|error: Box<dyn StdError + Send + Sync>| unreachable(Some(&*error)))
            }
            Err(_) => Err(unreachable(Some(&io::Error::from(io::ErrorKind::TimedOut)))),
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A kept connection that the server has not closed, as far as can be seen.
    fn take(&self, cx: &mut Context<'_>) -> Option<Line> {
        loop {
            let mut line = self.kept().lines.pop_back()?;
            if line.since.elapsed() < KEPT_FOR && line.is_free(cx) {
                return Some(line);
            }
        }
    }

    /// Keeps a connection.
    fn keep(self: &Arc<Self>, line: Line) {
        let mut kept = self.kept();
        if kept.lines.len() >= KEPT {
            kept.lines.pop_front();
        }
        kept.lines.push_back(line);
        if !std::mem::replace(&mut kept.swept, true) {
            tokio::spawn(sweep(Arc::downgrade(self)));
        }
    }
}

/// Closes what nobody uses, for as long as there is anything.
async fn sweep(way: Weak<Direct>) {
    loop {
        let Some(way) = way.upgrade() else { return };
        let due = {
            let mut kept = way.kept();
            let due = kept.sweep();
            kept.swept = due.is_some();
            due
        };
        drop(way);
        match due {
            Some(due) => sleep_until(due).await,
            None => return,
        }
    }
}

/// To all addresses that a name has, the one family a little before the other.
fn connector() -> HttpConnector {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    connector
}

fn unreachable(error: Option<&(dyn StdError + 'static)>) -> Failure {
    Failure::Unreachable(format!("the server cannot be reached: {}", causes(error)))
}

/// One connection.
struct Line {
    sender: SendRequest<Once>,
    /// Until it is over.
    driver: Option<Pin<Box<Connection<Wire, Once>>>>,
    /// When it last had something to do.
    since: Instant,
}

impl Line {
    /// Moves whatever can be moved. How it ends is heard where the answer is waited for.
    fn drive(&mut self, cx: &mut Context<'_>) {
        if let Some(driver) = &mut self.driver
            && driver.as_mut().poll(cx).is_ready()
        {
            self.driver = None;
        }
    }

    /// Whether the next request can be sent.
    fn is_free(&mut self, cx: &mut Context<'_>) -> bool {
        self.drive(cx);
        self.driver.is_some() && matches!(self.sender.poll_ready(cx), Poll::Ready(Ok(())))
    }

    /// Sends a request and waits for the head of its answer.
    async fn ask(mut self, request: Request<Once>) -> Result<(Response<Incoming>, Self), Lost> {
        let response = {
            let mut sent = pin!(self.sender.try_send_request(request));
            poll_fn(|cx| {
                self.drive(cx);
                sent.as_mut().poll(cx)
            })
            .await?
        };
        Ok((response, self))
    }
}

type Lost = hyper::client::conn::TrySendError<Request<Once>>;

/// An answer whose body is still to be read.
pub(super) struct Answer {
    pub(super) head: Parts,
    body: Incoming,
    /// Until the body is over.
    line: Option<Line>,
    way: Arc<Direct>,
}

impl Answer {
    fn new(response: Response<Incoming>, line: Line, way: &Arc<Direct>) -> Self {
        let (head, body) = response.into_parts();
        Self { head, body, line: Some(line), way: Arc::clone(way) }
    }

    /// How long the body is going to be, if that is known.
    pub(super) fn content_length(&self) -> Option<u64> {
        self.body.size_hint().exact()
    }

    /// The next piece of the body.
    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, Failure> {
        poll_fn(|cx| self.poll_chunk(cx)).await
    }

    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, Failure>> {
        loop {
            match ready!(self.poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) if !data.is_empty() => return Poll::Ready(Ok(Some(data))),
                    // Nobody has a use for trailers.
                    _ => {}
                },
                Some(Err(error)) => {
                    self.line = None;
                    return Poll::Ready(Err(Failure::Interrupted(causes(Some(&error)))));
                }
                None => {
                    self.release(cx);
                    return Poll::Ready(Ok(None));
                }
            }
        }
    }

    /// More of a body is read only once somebody has asked for it, so that is done first.
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            return Poll::Ready(frame);
        }
        if let Some(line) = &mut self.line {
            line.drive(cx);
        }
        Pin::new(&mut self.body).poll_frame(cx)
    }

    /// The answer is whole: its connection serves on, unless the server wants otherwise.
    fn release(&mut self, cx: &mut Context<'_>) {
        if let Some(mut line) = self.line.take()
            && line.is_free(cx)
        {
            line.since = Instant::now();
            self.way.keep(line);
        }
    }
}

/// A body that is there already, if there is one.
pub(super) struct Once(Option<Bytes>);

impl Once {
    pub(super) fn new(body: Option<Bytes>) -> Self {
        Self(body.filter(|body| !body.is_empty()))
    }
}

impl Body for Once {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Poll::Ready(self.0.take().map(|body| Ok(Frame::data(body))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.as_ref().map_or(0, |body| body.len() as u64))
    }
}
