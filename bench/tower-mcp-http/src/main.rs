//! An echo server on tower-mcp over HTTP. It adds no middleware and the guards stay on.
//!
//! usage: tower-mcp-http PORT session|stateless taught|tuned
//!
//! - `session` is its default configuration, `stateless` the one for legacy clients without a session.
//! - `taught` is `#[tokio::main]` and axum, which is what `HttpTransport::serve` does.
//! - `tuned` has one thread and runs its router straight on hyper with TCP_NODELAY, the fastest that we
//!   found in its public API.

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::{net::TcpListener, runtime::Builder};
use tower_mcp::stateless::StatelessConfig;
use tower_mcp::{BoxError, CallToolResult, HttpTransport, McpRouter, ToolBuilder};

const USAGE: &str = "usage: tower-mcp-http PORT session|stateless taught|tuned";

#[derive(Debug, Deserialize, JsonSchema)]
struct EchoInput {
    /// What to send back.
    message: String,
}

fn main() -> Result<(), BoxError> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [port, mode, how] = args.as_slice() else { return Err(USAGE.into()) };
    let port = port.parse()?;
    let stateless = mode == "stateless";
    match how.as_str() {
        "taught" => Builder::new_multi_thread().enable_all().build()?.block_on(taught(port, stateless)),
        "tuned" => Builder::new_current_thread().enable_all().build()?.block_on(tuned(port, stateless)),
        _ => Err(USAGE.into()),
    }
}

/// The transport starts tasks when it is made into a router, so it is made inside the runtime.
fn app(stateless: bool) -> Router {
    let echo = ToolBuilder::new("echo")
        .description("Sends the message back")
        .handler(|input: EchoInput| async move { Ok(CallToolResult::text(input.message)) })
        .build();
    let router = McpRouter::new().server_info("tower-mcp-http", "1.0.0").tool(echo);
    let transport = HttpTransport::new(router);
    let transport = if stateless { transport.stateless(StatelessConfig::new()) } else { transport };
    transport.into_router_at("/mcp")
}

async fn taught(port: u16, stateless: bool) -> Result<(), BoxError> {
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    axum::serve(listener, app(stateless)).await?;
    Ok(())
}

async fn tuned(port: u16, stateless: bool) -> Result<(), BoxError> {
    let app = app(stateless);
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let service = TowerToHyperService::new(app.clone());
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}
