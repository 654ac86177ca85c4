//! An echo server on tower-mcp's blocking transport, its fastest. It handles one
//! request at a time and sends no notifications: less than the protocol asks for.

use schemars::JsonSchema;
use serde::Deserialize;
use tower_mcp::{BoxError, CallToolResult, McpRouter, SyncStdioTransport, ToolBuilder};

#[derive(Debug, Deserialize, JsonSchema)]
struct EchoInput {
    /// What to send back.
    message: String,
}

fn main() -> Result<(), BoxError> {
    let echo = ToolBuilder::new("echo")
        .description("Sends the message back")
        .handler(|input: EchoInput| async move { Ok(CallToolResult::text(input.message)) })
        .build();
    let router = McpRouter::new().server_info("tower-mcp-echo", "1.0.0").tool(echo);
    SyncStdioTransport::new(router).run_blocking()?;
    Ok(())
}
