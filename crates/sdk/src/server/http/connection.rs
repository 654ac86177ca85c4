//! One connection: HTTP/1.1 or HTTP/2, whichever its first bytes are.
//!
//! Slow heads, large heads and silent clients are bounded here; what is inside a request is the service's.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, watch};

use super::service::Answering;
use super::waking::{Quiet, Quietly};
use super::{Body, HttpServer, reply};
use crate::joined::Joined;
use crate::{Policy, Result};

/// Bytes of a request's head.
const HEAD_BYTES: usize = 64 * 1024;
/// Headers of a request.
const HEADERS: usize = 100;
/// What clients of HTTP/2 say first.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// How each protocol is spoken.
pub(super) struct Protocols {
    http1: http1::Builder,
    /// For clients whose first bytes are those of HTTP/2, or may become them.
    either: auto::Builder<TokioExecutor>,
}

impl Protocols {
    pub(super) fn new(policy: &Policy) -> Self {
        let mut http1 = http1::Builder::new();
        // Slow heads are watched over by `Use`.
        http1.header_read_timeout(None).max_buf_size(HEAD_BYTES).max_headers(HEADERS);
        let mut either = auto::Builder::new(TokioExecutor::new());
        either.http1().header_read_timeout(None).max_buf_size(HEAD_BYTES).max_headers(HEADERS);
        either
            .http2()
            .timer(TokioTimer::new())
            .max_concurrent_streams(u32::try_from(policy.in_flight).unwrap_or(u32::MAX))
            .max_header_list_size(u32::try_from(HEAD_BYTES).unwrap_or(u32::MAX))
            .keep_alive_interval(Some(policy.header_time))
            .keep_alive_timeout(policy.header_time);
        Self { http1, either }
    }
}

/// What a connection has been used for. Counted instead of timed: a timer for every request would cost more than
/// most of what is done for it.
#[derive(Debug, Default)]
struct Use {
    begun: AtomicUsize,
    open: AtomicUsize,
}

/// A request that is being answered.
#[derive(Debug)]
pub(super) struct Open(Arc<Use>);

impl Open {
    fn new(used: &Arc<Use>) -> Self {
        used.begun.fetch_add(1, Ordering::Relaxed);
        used.open.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(used))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Use {
    /// Ready when nobody has asked for anything, and got nothing, for half of this time at least and all of it
    /// at most: the client is silent, or takes too long to say what it wants.
    async fn silence(&self, patience: Duration) {
        let mut begun = 0;
        loop {
            tokio::time::sleep(patience / 2).await;
            let now = self.begun.load(Ordering::Relaxed);
            if now == begun && self.open.load(Ordering::Relaxed) == 0 {
                return;
            }
            begun = now;
        }
    }
}

/// The service of one connection.
struct OneConnection {
    server: HttpServer,
    used: Arc<Use>,
}

impl hyper::service::Service<Request<Incoming>> for OneConnection {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Answered;

    fn call(&self, request: Request<Incoming>) -> Answered {
        let answering = if is_too_large(&request) {
            let why = "the head of a request is limited to 64 KiB";
            let refused = reply::refused(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, why);
            Box::pin(std::future::ready(Ok(refused)))
        } else {
            self.server.answer(request.map(Quiet))
        };
        Answered { open: Some(Open::new(&self.used)), answering }
    }
}

/// hyper looks at its bound between two reads, and the last one may bring nearly as much again.
fn is_too_large(request: &Request<Incoming>) -> bool {
    let target = request.uri().path_and_query().map_or(0, |target| target.as_str().len());
    let headers = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len());
    target + headers.sum::<usize>() > HEAD_BYTES
}

/// A response that keeps its connection from being taken for silent.
struct Answered {
    open: Option<Open>,
    answering: Answering,
}

impl Future for Answered {
    type Output = Result<Response<Body>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut answer = ready!(self.answering.as_mut().poll(cx));
        if let Ok(response) = &mut answer {
            response.body_mut().holds(self.open.take());
        }
        Poll::Ready(answer)
    }
}

/// Ends connections whose peer takes nothing any more, though it may well be there.
fn bound_stalling(stream: &TcpStream, server: &HttpServer) -> std::io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        let patience = u32::try_from(server.policy().stalled.as_millis()).unwrap_or(u32::MAX);
        rustix::net::sockopt::set_tcp_user_timeout(stream, patience)?;
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (stream, server);
    Ok(())
}

/// Whether a connection begins with what is not HTTP/2, for certain. Nothing is taken from it: hyper doubles its
/// buffer for a connection whose first bytes come apart from the rest.
async fn is_http1(stream: &TcpStream) -> std::io::Result<bool> {
    let mut first = [0; PREFACE.len()];
    let seen = stream.peek(&mut first).await?;
    Ok(!PREFACE.starts_with(&first[..seen]))
}

pub(super) async fn serve_one(
    stream: TcpStream,
    server: HttpServer,
    protocols: Arc<Protocols>,
    mut stopped: watch::Receiver<bool>,
    _place: OwnedSemaphorePermit,
) {
    // Answers are small and waited for: none may wait for more to come.
    if let Err(error) = stream.set_nodelay(true).and_then(|()| bound_stalling(&stream, &server)) {
        tracing::debug!(%error, "a connection was lost at once");
        return;
    }
    let patience = server.policy().header_time;
    let used = Arc::new(Use::default());
    let mut silence = pin!(used.silence(patience));
    let mut stop = pin!(async { drop(stopped.wait_for(|stopped| *stopped).await) });
    let is_http1 = tokio::select! {
        biased;
        is_http1 = is_http1(&stream) => is_http1,
        () = silence.as_mut() => return,
        () = stop.as_mut() => return,
    };
    let service = OneConnection { server, used: Arc::clone(&used) };
    let (silence, stop) = (silence.as_mut(), stop.as_mut());
    let ended = match is_http1 {
        Ok(true) => {
            let connection = pin!(protocols.http1.serve_connection(Joined(TokioIo::new(stream)), service));
            let finish = http1::Connection::graceful_shutdown;
            let mut quietly = Quietly::default();
            let poll = |connection: Pin<&mut _>, cx: &mut Context<'_>| quietly.poll(connection, cx);
            attend(connection, poll, finish, silence, stop).await.map_err(Into::into)
        }
        // Rare, and much larger: in a box, so that the others are as small as they are.
        Ok(false) => {
            let mut connection = Box::pin(protocols.either.serve_connection(TokioIo::new(stream), service));
            let finish = auto::Connection::graceful_shutdown;
            // Taking a piece of a body of HTTP/2 is a reason to wake its connection: there is room for more.
            attend(connection.as_mut(), Future::poll, finish, silence, stop).await
        }
        Err(error) => Err(error.into()),
    };
    if let Err(error) = ended {
        tracing::debug!(error = &*error, "a connection ended with an error");
    }
}

/// Lets a connection go on until it ends, its client is silent for too long, or the server stops: then what has
/// begun is finished.
async fn attend<C, E>(
    mut connection: Pin<&mut C>,
    mut poll: impl FnMut(Pin<&mut C>, &mut Context<'_>) -> Poll<C::Output>,
    finish: impl FnOnce(Pin<&mut C>),
    silence: Pin<&mut impl Future<Output = ()>>,
    stop: Pin<&mut impl Future<Output = ()>>,
) -> std::result::Result<(), E>
where
    C: Future<Output = std::result::Result<(), E>>,
{
    tokio::select! {
        // Nearly always it is the connection that has something to do.
        biased;
        ended = poll_fn(|cx| poll(connection.as_mut(), cx)) => ended,
        () = silence => Ok(()),
        () = stop => {
            finish(connection.as_mut());
            connection.await
        }
    }
}
