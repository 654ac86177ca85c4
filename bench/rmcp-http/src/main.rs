//! An echo server on rmcp over HTTP, with the tool router kept in a field. It goes around nothing: the
//! handler is the macro's and the guards stay on.
//!
//! usage: rmcp-http PORT session|stateless taught|tuned
//!
//! - `session` is its default configuration; `stateless` has no sessions and answers in JSON.
//! - `taught` is what its examples do: `#[tokio::main]`, axum, and a factory that makes a new handler,
//!   router and all, for every session or stateless request. `tuned` is the fastest that we found in its
//!   public API: one thread, straight on hyper with TCP_NODELAY, and one handler shared by all.

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
use tokio::{net::TcpListener, runtime::Builder};

const USAGE: &str = "usage: rmcp-http PORT session|stateless taught|tuned";

type Outcome = Result<(), Box<dyn std::error::Error>>;

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
    fn new() -> Self {
        Self { tool_router: Self::tool_router() }
    }

    #[tool(name = "echo", description = "Sends the message back")]
    async fn echo(&self, Parameters(input): Parameters<EchoInput>) -> String {
        input.message
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Echo {}

fn main() -> Outcome {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [port, mode, how] = args.as_slice() else { return Err(USAGE.into()) };
    let config = StreamableHttpServerConfig::default();
    let config = match mode.as_str() {
        "session" => config,
        "stateless" => config.with_legacy_session_mode(false).with_json_response(true),
        _ => return Err(USAGE.into()),
    };
    let port = port.parse()?;
    match how.as_str() {
        "taught" => Builder::new_multi_thread().enable_all().build()?.block_on(taught(port, config)),
        "tuned" => Builder::new_current_thread().enable_all().build()?.block_on(tuned(port, config)),
        _ => Err(USAGE.into()),
    }
}

async fn taught(port: u16, config: StreamableHttpServerConfig) -> Outcome {
    let service: StreamableHttpService<Echo, LocalSessionManager> =
        StreamableHttpService::new(|| Ok(Echo::new()), Arc::default(), config);
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?;
    Ok(())
}

async fn tuned(port: u16, config: StreamableHttpServerConfig) -> Outcome {
    let echo = Arc::new(Echo::new());
    let service: StreamableHttpService<Arc<Echo>, LocalSessionManager> =
        StreamableHttpService::new(move || Ok(Arc::clone(&echo)), Arc::default(), config);
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let service = TowerToHyperService::new(service.clone());
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}
