//! An echo server on tower-mcp, as its README has it: `StdioTransport`, whose
//! pipes are driven by the reactor by default on Linux. It adds no middleware.

use schemars::JsonSchema;
use serde::Deserialize;
use tower_mcp::{BoxError, CallToolResult, McpRouter, StdioTransport, ToolBuilder};

#[derive(Debug, Deserialize, JsonSchema)]
struct EchoInput {
    /// What to send back.
    message: String,
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let echo = ToolBuilder::new("echo")
        .description("Sends the message back")
        .handler(|input: EchoInput| async move { Ok(CallToolResult::text(input.message)) })
        .build();
    let router = McpRouter::new().server_info("tower-mcp-echo", "1.0.0").tool(echo);
    StdioTransport::new(router).run().await?;
    Ok(())
}
