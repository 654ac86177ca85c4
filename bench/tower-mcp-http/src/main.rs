//! An echo server on tower-mcp over HTTP, one thread. Sessions are optional as by default: who
//! presents none is served without. It adds no middleware and the guards stay on.
//!
//! usage: tower-mcp-http PORT taught|tuned
//!
//! - `taught`: `HttpTransport::serve`, as in its README; without TCP_NODELAY.
//! - `tuned`: its router straight on hyper, with TCP_NODELAY: its fastest.

use hyper::server::conn::http1;
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::net::TcpListener;
use tower_mcp::{BoxError, CallToolResult, HttpTransport, McpRouter, ToolBuilder};

const USAGE: &str = "usage: tower-mcp-http PORT taught|tuned";

#[derive(Debug, Deserialize, JsonSchema)]
struct EchoInput {
    /// What to send back.
    message: String,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [port, mode] = args.as_slice() else { return Err(USAGE.into()) };
    let echo = ToolBuilder::new("echo")
        .description("Sends the message back")
        .handler(|input: EchoInput| async move { Ok(CallToolResult::text(input.message)) })
        .build();
    let router = McpRouter::new().server_info("tower-mcp-http", "1.0.0").tool(echo);
    let app = HttpTransport::new(router).into_router_at("/mcp");
    let listener = TcpListener::bind(("127.0.0.1", port.parse()?)).await?;
    if mode == "taught" {
        axum::serve(listener, app).await?;
        return Ok(());
    }
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let service = TowerToHyperService::new(app.clone());
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}
