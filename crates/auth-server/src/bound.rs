//! Listening, on loopback and nowhere else.
//!
//! An address is looked up first and refused unless every one it stands for is on this machine: the server is for
//! development, and no option makes it anything else.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use contexture::{Error, Result};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;

use crate::NAME;
use crate::config::AuthServer;
use crate::server::Shared;
use crate::service;

/// Connections at once; others wait.
const CONNECTIONS: usize = 256;
/// Bytes of a request's head.
const HEAD_BYTES: usize = 64 * 1024;
/// How long a head may take, and a connection be idle.
const HEAD_TIME: Duration = Duration::from_secs(30);
/// After an error of accepting, which may be for want of descriptors.
const BREATH: Duration = Duration::from_millis(100);
/// How long requests at hand may take once it was asked to stop.
const DRAIN: Duration = Duration::from_secs(2);

/// The authorization server for development, bound to an address and not serving yet.
#[derive(Debug)]
pub struct Bound {
    config: AuthServer,
    listener: TcpListener,
    address: SocketAddr,
}

impl Bound {
    pub(crate) async fn bind(config: AuthServer, address: &str) -> Result<Self> {
        let cannot = |error: std::io::Error| {
            let text = format!("cannot listen on {address}: {error}");
            Error::Transport(std::io::Error::new(error.kind(), text))
        };
        let found: Vec<SocketAddr> = tokio::net::lookup_host(address).await.map_err(cannot)?.collect();
        if found.iter().any(|found| !found.ip().is_loopback()) {
            return Err(Error::Misuse(format!(
                "{address} is not on loopback: this authorization server is for development, use 127.0.0.1"
            )));
        }
        let listener = TcpListener::bind(&*found).await.map_err(cannot)?;
        let address = listener.local_addr()?;
        let bound = Self { config, listener, address };
        // Said now rather than when the first request comes.
        Shared::new(&bound.config, address)?;
        Ok(bound)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it is called, character by character: what protected servers name in their metadata.
    pub fn issuer(&self) -> String {
        issuer(&self.config, self.address)
    }

    /// A resource that tokens are issued for, as [`AuthServer::resource`]: for those that are only known once
    /// this server is, because they name it.
    pub fn resource(self, uri: impl Into<String>) -> Self {
        Self { config: self.config.resource(uri), ..self }
    }

    /// Serves until the future is dropped.
    ///
    /// # Errors
    /// If something in the set-up cannot work.
    pub async fn serve(self) -> Result<()> {
        self.serve_until(std::future::pending()).await
    }

    /// Serves until `stop` is ready; requests at hand are finished, for two seconds.
    ///
    /// # Errors
    /// If something in the set-up cannot work.
    pub async fn serve_until(self, stop: impl Future<Output = ()>) -> Result<()> {
        let shared = Arc::new(Shared::new(&self.config, self.address)?);
        tracing::info!(issuer = shared.issuer, "{NAME}");
        if self.config.auto_approve.is_some() {
            tracing::warn!("{NAME}: every request is approved without asking anybody");
        }
        let router = service::router(shared);
        let room = Arc::new(Semaphore::new(CONNECTIONS));
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
                    connections.spawn(serve_one(stream, router.clone(), stopped.clone(), place));
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
        let drained = async { while connections.join_next().await.is_some() {} };
        // What is not done by then is not waited for.
        let _ = tokio::time::timeout(DRAIN, drained).await;
        Ok(())
    }
}

async fn serve_one(
    stream: TcpStream,
    router: Router,
    mut stopped: watch::Receiver<bool>,
    _place: OwnedSemaphorePermit,
) {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(HEAD_BYTES);
    let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let mut connection = std::pin::pin!(connection);
    let stop = async { drop(stopped.wait_for(|stopped| *stopped).await) };
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended with an error");
    }
}

pub(crate) fn issuer(config: &AuthServer, address: SocketAddr) -> String {
    format!("http://{address}{}", config.path)
}
