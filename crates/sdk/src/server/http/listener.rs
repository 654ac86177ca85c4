//! Listening: accepts connections, as many as may be, and stops in good order.
//!
//! Loopback unless told otherwise. What is spoken on a connection is not seen here.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::HttpServer;
use super::connection::{Protocols, serve_one};
use crate::server::built::terminated;
use crate::server::bus::Change;
use crate::{Error, Result};

/// After an error of accepting, which may be for want of descriptors.
const BREATH: Duration = Duration::from_millis(100);

/// A server that is bound to an address and not serving yet.
#[derive(Debug)]
pub struct Bound {
    server: HttpServer,
    listener: TcpListener,
    address: SocketAddr,
    stopping: watch::Sender<bool>,
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
        Ok(Self { server, listener, address, stopping: watch::channel(false).0 })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL that clients connect to.
    pub fn url(&self) -> String {
        format!("http://{}{}", self.address, self.server.path())
    }

    /// Waits until no more is accepted and the work at hand is being finished.
    pub fn draining(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut stopped = self.stopping.subscribe();
        async move { drop(stopped.wait_for(|stopped| *stopped).await) }
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
        let protocols = Arc::new(Protocols::new(&policy));
        let room = Arc::new(Semaphore::new(policy.connections));
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
                // What a connection leaves behind goes when it ends, and not only when another comes.
                Some(_) = connections.join_next() => continue,
                accepted = accepted => accepted,
            };
            match (place, accepted) {
                (Ok(place), Ok((stream, _))) => {
                    let (server, protocols) = (self.server.clone(), Arc::clone(&protocols));
                    connections.spawn(serve_one(stream, server, protocols, self.stopping.subscribe(), place));
                }
                (_, Err(error)) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(BREATH).await;
                }
                (Err(_), _) => break,
            }
        }
        drop(self.listener);
        self.stopping.send_replace(true);
        self.server.bus().publish(&Change::Stopping);
        let drained = async { while connections.join_next().await.is_some() {} };
        if tokio::time::timeout(policy.drain, drained).await.is_err() {
            tracing::warn!(left = connections.len(), "work was left unfinished: it took too long");
            connections.shutdown().await;
        }
        Ok(())
    }
}
