//! tower-mcp's client: `StdioClientTransport` or `HttpClientTransport`, and one connection for all calls.
//!
//! - As taught: its client guide. In the legacy era it always offers 2025-11-25 and takes what the server
//!   chooses; it cannot be told to offer another revision.
//! - Tuned: the same on one thread.

use bench_program::Outcome;
use bench_program::clock::{self, MESSAGE};
use bench_program::command::{Client, Target};
use serde_json::json;
use std::sync::Arc;
use tower_mcp::ProtocolSupport;
use tower_mcp::client::{HttpClientTransport, McpClient, StdioClientTransport};

/// Connects, makes the calls, and closes when stdin ends.
pub async fn call(client: &Client) -> Outcome {
    let mcp = Arc::new(connect(client).await?);
    let caller = Arc::clone(&mcp);
    clock::run(client, move || echo(Arc::clone(&caller))).await?;
    if let Some(mcp) = Arc::into_inner(mcp) {
        mcp.shutdown().await?;
    }
    Ok(())
}

async fn echo(mcp: Arc<McpClient>) -> Outcome<String> {
    let result = mcp.call_tool("echo", json!({ "message": MESSAGE })).await?;
    match result.content.as_slice() {
        [block] => Ok(block.as_text().ok_or("the server's answer is not a text")?.into()),
        blocks => Err(format!("the server's answer has {} blocks instead of one", blocks.len()).into()),
    }
}

async fn connect(client: &Client) -> Outcome<McpClient> {
    let builder = McpClient::builder();
    let builder = match client.modern {
        true => builder.protocol_support(ProtocolSupport::try_new(["2026-07-28"])?),
        false => builder,
    };
    let mcp = match &client.target {
        Target::Program(program) => {
            builder.connect_simple(StdioClientTransport::spawn(program, &["stdio"]).await?).await?
        }
        Target::Url(url) => builder.connect_simple(HttpClientTransport::new(url)).await?,
    };
    if client.modern {
        mcp.discover("bench", "1").await?;
    } else {
        mcp.initialize("bench", "1").await?;
    }
    Ok(mcp)
}
