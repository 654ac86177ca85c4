//! rmcp's server over HTTP, with the router in a field as its examples have it.
//!
//! - As taught: axum, and a factory that makes a new handler, router and all, for every session and for
//!   every request without one.
//! - Tuned: one thread, straight on hyper with TCP_NODELAY, and one handler shared by all. JSON wherever there
//!   is no session (with sessions rmcp answers in SSE whatever it is told); and no event before the answer,
//!   which costs resuming, and no keep-alive comments: some 3% of the CPU together.

use crate::tools::{Kept, Tools};
use bench_program::{Outcome, command::Serve, offer::BODY_BYTES};
use hyper::server::conn::http1;
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use std::io;
use std::sync::Arc;
use tokio::net::TcpListener;

/// Serves until it is killed.
pub async fn serve(port: u16, serve: &Serve) -> Outcome {
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    let config = StreamableHttpServerConfig::default()
        .with_max_request_body_bytes(BODY_BYTES)
        .with_legacy_session_mode(!serve.stateless)
        .with_json_response(serve.stateless || serve.tuned);
    if serve.tuned {
        tuned(listener, config, serve.tools).await
    } else {
        taught(listener, config, serve.tools).await
    }
}

async fn taught(listener: TcpListener, config: StreamableHttpServerConfig, tools: usize) -> Outcome {
    let service: StreamableHttpService<Tools<Kept>, LocalSessionManager> = StreamableHttpService::new(
        move || Tools::kept(tools).map_err(io::Error::other),
        Arc::default(),
        config,
    );
    axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?;
    Ok(())
}

async fn tuned(listener: TcpListener, config: StreamableHttpServerConfig, tools: usize) -> Outcome {
    let tools = Arc::new(Tools::kept(tools)?);
    let config = config.with_sse_retry(None).with_sse_keep_alive(None);
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.sse_retry = None;
    let service: StreamableHttpService<Arc<Tools<Kept>>, LocalSessionManager> =
        StreamableHttpService::new(move || Ok(Arc::clone(&tools)), Arc::new(sessions), config);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let service = TowerToHyperService::new(service.clone());
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}
