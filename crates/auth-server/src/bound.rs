//! Listening, on loopback and nowhere else.
//!
//! An address is looked up first and refused unless every one it stands for is on this machine: the server is for
//! development, and no option makes it anything else.

use std::future::{Future, IntoFuture as _};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use contexture::{Error, Result};
use tokio::net::TcpListener;

use crate::NAME;
use crate::config::AuthServer;
use crate::server::Shared;
use crate::service;

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
    pub async fn serve_until(self, stop: impl Future<Output = ()> + Send + 'static) -> Result<()> {
        let shared = Arc::new(Shared::new(&self.config, self.address)?);
        tracing::info!(issuer = shared.issuer, "{NAME}");
        if self.config.auto_approve.is_some() {
            tracing::warn!("{NAME}: every request is approved without asking anybody");
        }
        let (stopping, stopped) = tokio::sync::oneshot::channel();
        let stop = async move {
            stop.await;
            // Whoever waits for it may be gone already.
            let _ = stopping.send(());
        };
        let serving = axum::serve(self.listener, service::router(shared)).with_graceful_shutdown(stop);
        let overdue = async {
            match stopped.await {
                Ok(()) => tokio::time::sleep(DRAIN).await,
                Err(_) => std::future::pending().await,
            }
        };
        tokio::select! {
            served = serving.into_future() => Ok(served?),
            () = overdue => Ok(()),
        }
    }
}

pub(crate) fn issuer(config: &AuthServer, address: SocketAddr) -> String {
    format!("http://{address}{}", config.path)
}
