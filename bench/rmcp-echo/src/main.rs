//! An echo server on rmcp, written the way its macro documentation teaches it:
//! `#[tool_router(server_handler)]` and the `stdio` transport. It tunes nothing;
//! `rmcp-echo-tuned` does.

use rmcp::{ServiceExt, handler::server::wrapper::Parameters, tool, tool_router, transport::stdio};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct EchoInput {
    /// What to send back.
    message: String,
}

struct Echo;

#[tool_router(server_handler)]
impl Echo {
    #[tool(name = "echo", description = "Sends the message back")]
    async fn echo(&self, Parameters(input): Parameters<EchoInput>) -> String {
        input.message
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    Echo.serve(stdio()).await?.waiting().await?;
    Ok(())
}
