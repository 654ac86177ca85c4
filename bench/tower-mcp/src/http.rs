//! tower-mcp's server over HTTP. It answers in JSON. Progress makes a stream of the answer in the modern era;
//! in the legacy one it goes to the session's GET stream, and nowhere if there is none.
//!
//! - As taught: axum, which is what `HttpTransport::serve` does.
//! - Tuned: one thread, and its router straight on hyper with TCP_NODELAY.

use crate::tools::router;
use axum::Router;
use bench_program::{Outcome, command::Serve, offer::BODY_BYTES};
use hyper::server::conn::http1;
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use tokio::net::TcpListener;
use tower_mcp::HttpTransport;
use tower_mcp::stateless::StatelessConfig;

/// Serves until it is killed.
pub async fn serve(port: u16, serve: &Serve) -> Outcome {
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    let transport = HttpTransport::new(router(serve.tools)).max_body_size(BODY_BYTES);
    let transport = if serve.stateless { transport.stateless(StatelessConfig::new()) } else { transport };
    // This starts tasks, so it has to be done inside the runtime.
    let app = transport.into_router_at("/mcp");
    if serve.tuned { tuned(listener, app).await } else { Ok(axum::serve(listener, app).await?) }
}

async fn tuned(listener: TcpListener, app: Router) -> Outcome {
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let service = TowerToHyperService::new(app.clone());
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}
