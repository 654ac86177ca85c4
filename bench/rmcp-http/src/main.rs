//! An echo server on rmcp over HTTP, one thread, with the router kept in a field instead of being
//! rebuilt for every call. It goes around nothing: the handler is the macro's and the guards stay on.
//!
//! usage: rmcp-http PORT taught|session|stateless
//!
//! - `taught`: sessions, on axum, as its documentation has it; without TCP_NODELAY.
//! - `session`: the same straight on hyper, with TCP_NODELAY.
//! - `stateless`: no sessions and JSON answers, straight on hyper, with TCP_NODELAY: its fastest.

use hyper::server::conn::http1;
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use rmcp::{
    ServerHandler,
    handler::server::{router::tool::ToolRouter, wrapper::Parameters},
    tool, tool_handler, tool_router,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;
use tokio::net::TcpListener;

const USAGE: &str = "usage: rmcp-http PORT taught|session|stateless";

#[derive(Deserialize, JsonSchema)]
struct EchoInput {
    /// What to send back.
    message: String,
}

struct Echo {
    tool_router: ToolRouter<Self>,
}

#[tool_router]
impl Echo {
    #[tool(name = "echo", description = "Sends the message back")]
    async fn echo(&self, Parameters(input): Parameters<EchoInput>) -> String {
        input.message
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Echo {}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [port, mode] = args.as_slice() else { return Err(USAGE.into()) };
    let listener = TcpListener::bind(("127.0.0.1", port.parse()?)).await?;
    let config = StreamableHttpServerConfig::default();
    let config = match mode.as_str() {
        "taught" | "session" => config,
        "stateless" => config.with_legacy_session_mode(false).with_json_response(true),
        _ => return Err(USAGE.into()),
    };
    let echo = Arc::new(Echo { tool_router: Echo::tool_router() });
    let factory = move || Ok(Arc::clone(&echo));
    let service = StreamableHttpService::new(factory, LocalSessionManager::default().into(), config);
    if mode == "taught" {
        axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?;
        return Ok(());
    }
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let service = TowerToHyperService::new(service.clone());
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}
