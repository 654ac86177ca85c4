//! Listening: accepts connections, speaks HTTP/1.1 and HTTP/2 on them, and stops in good order.
//!
//! Loopback unless told otherwise. Slow heads, large heads and too many connections are bounded here; what is
//! inside a request is the service's.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;

use super::service::Answering;
use super::{Body, HttpServer};
use crate::server::built::terminated;
use crate::server::bus::Change;
use crate::{Error, Policy, Result};

/// Bytes of a request's head.
const HEAD_BYTES: usize = 64 * 1024;
/// Headers of a request.
const HEADERS: usize = 100;
/// After an error of accepting, which may be for want of descriptors.
const BREATH: Duration = Duration::from_millis(100);

/// A server that is bound to an address and not serving yet.
#[derive(Debug)]
pub struct Bound {
    server: HttpServer,
    listener: TcpListener,
    address: SocketAddr,
}

impl Bound {
    pub(super) async fn bind(mut server: HttpServer, address: &str) -> Result<Self> {
        let listener = TcpListener::bind(address).await.map_err(|error| {
            Error::Transport(std::io::Error::new(
                error.kind(),
                format!("cannot listen on {address}: {error}"),
            ))
        })?;
        let address = listener.local_addr()?;
        server.listens_on(address)?;
        Ok(Self { server, listener, address })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL that clients connect to.
    pub fn url(&self) -> String {
        format!("http://{}{}", self.address, self.server.path())
    }

    /// Serves until the process is asked to terminate.
    ///
    /// # Errors
    /// None at present; connections that fail end by themselves.
    pub async fn serve(self) -> Result<()> {
        self.serve_until(terminated()).await
    }

    /// Serves until `stop` is ready; then no more is accepted, streams are ended and the work at hand is
    /// finished, for as long as the policy allows.
    ///
    /// # Errors
    /// None at present; connections that fail end by themselves.
    pub async fn serve_until(self, stop: impl Future<Output = ()>) -> Result<()> {
        let policy = self.server.policy().clone();
        let builder = Arc::new(protocol(&policy));
        let room = Arc::new(Semaphore::new(policy.connections));
        let (stopping, stopped) = watch::channel(false);
        let mut connections = JoinSet::new();
        let mut stop = std::pin::pin!(stop);
        loop {
            let accepted = async {
                let place = Arc::clone(&room).acquire_owned().await;
                (place, self.listener.accept().await)
            };
            let (place, accepted) = tokio::select! {
                biased;
                () = &mut stop => break,
                accepted = accepted => accepted,
            };
            match (place, accepted) {
                (Ok(place), Ok((stream, _))) => {
                    let (server, builder) = (self.server.clone(), Arc::clone(&builder));
                    connections.spawn(serve_one(stream, server, builder, stopped.clone(), place));
                    while connections.try_join_next().is_some() {}
                }
                (_, Err(error)) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(BREATH).await;
                }
                (Err(_), _) => break,
            }
        }
        drop(self.listener);
        stopping.send_replace(true);
        self.server.bus().publish(&Change::Stopping);
        let drained = async { while connections.join_next().await.is_some() {} };
        if tokio::time::timeout(policy.drain, drained).await.is_err() {
            tracing::warn!(left = connections.len(), "work was left unfinished: it took too long");
            connections.shutdown().await;
        }
        Ok(())
    }
}

fn protocol(policy: &Policy) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        // Slow heads are watched over by `Use`.
        .header_read_timeout(None)
        .max_buf_size(HEAD_BYTES)
        .max_headers(HEADERS);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(u32::try_from(policy.in_flight).unwrap_or(u32::MAX))
        .max_header_list_size(u32::try_from(HEAD_BYTES).unwrap_or(u32::MAX))
        .keep_alive_interval(Some(policy.header_time))
        .keep_alive_timeout(policy.header_time);
    builder
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
        Answered { open: Some(Open::new(&self.used)), answering: self.server.answer(request) }
    }
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

async fn serve_one(
    stream: TcpStream,
    server: HttpServer,
    builder: Arc<Builder<TokioExecutor>>,
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
    let service = OneConnection { server, used: Arc::clone(&used) };
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let stop = async { drop(stopped.wait_for(|stopped| *stopped).await) };
    let ended = tokio::select! {
        // Nearly always it is the connection that has something to do.
        biased;
        ended = connection.as_mut() => ended,
        () = used.silence(patience) => return,
        () = stop => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(error = &*error, "a connection ended with an error");
    }
}
