//! An echo server on rmcp as fast as its public API allows: the pipes are driven
//! by the reactor (`stdio_pipes`) instead of the blocking pool, the router is kept
//! in a field instead of being rebuilt for every call, and one thread runs it all.
//! It goes around nothing: the handler is still the macro's.

use rmcp::{
    ServerHandler, ServiceExt,
    handler::server::{router::tool::ToolRouter, wrapper::Parameters},
    tool, tool_handler, tool_router,
    transport::stdio_pipes,
};
use schemars::JsonSchema;
use serde::Deserialize;

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
    let echo = Echo { tool_router: Echo::tool_router() };
    echo.serve(stdio_pipes()).await?.waiting().await?;
    Ok(())
}
