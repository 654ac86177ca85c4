//! A complete server, and the connections that it serves.

use std::future::Future;
use std::sync::Arc;

use super::connection::Connection;
use super::serving::Serving;
use super::{Principal, Registry};
use crate::Result;
use crate::transport::Transport;

/// A complete server. Cheap to clone; every clone serves the same offer.
#[derive(Debug, Clone)]
pub struct BuiltServer {
    serving: Arc<Serving>,
}

impl BuiltServer {
    pub(super) fn new(serving: Serving) -> Self {
        crate::memory::expect_large_blocks();
        Self { serving: Arc::new(serving) }
    }

    /// How long a line may be.
    pub(super) fn line_bytes(&self) -> usize {
        self.serving.policy.line_bytes
    }

    /// Serves one connection until the client has finished.
    ///
    /// # Errors
    /// When reading or writing fails.
    pub async fn serve(&self, transport: impl Transport) -> Result<()> {
        self.serve_until(transport, std::future::pending()).await
    }

    /// Serves one connection until the client has finished or `stop` is ready; then the work at hand is
    /// finished and the connection closed.
    ///
    /// # Errors
    /// When reading or writing fails.
    pub async fn serve_until(&self, transport: impl Transport, stop: impl Future<Output = ()>) -> Result<()> {
        Connection::new(Arc::clone(&self.serving), transport, Principal::local()).serve(stop).await
    }

    /// Serves over HTTP: a tower service.
    #[cfg(feature = "http-server")]
    pub fn into_http(self) -> super::HttpServer {
        super::HttpServer::new(self.serving)
    }

    /// A handle to change the offer while serving.
    pub fn registry(&self) -> Registry {
        self.serving.registry.clone()
    }
}

/// Ready when the process is asked to end.
pub(super) async fn terminated() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut signal) = signal(SignalKind::terminate()) {
            signal.recv().await;
            return;
        }
    }
    std::future::pending().await
}
