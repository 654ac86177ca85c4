//! Tools that change what the server offers, so that those who listen are told.
//!
//! What they add is gone again when they return: other scenarios may be comparing lists meanwhile.

use contexture::{Context, Server, prompt, tool};

pub(super) fn register(server: Server) -> Server {
    server
        .tool(tool("test_trigger_tool_change").description("Changes the list of tools.").handler(tools))
        .tool(tool("test_trigger_prompt_change").description("Changes the list of prompts.").handler(prompts))
}

async fn tools(context: Context) -> contexture::Result<&'static str> {
    let registry = context.registry();
    let passing = tool("test_passing_tool").description("Is about to go.").handler(|| async { "here" });
    registry.add_tool(passing)?;
    registry.remove_tool("test_passing_tool");
    Ok("The list of tools changed.")
}

async fn prompts(context: Context) -> contexture::Result<&'static str> {
    let registry = context.registry();
    let passing = prompt("test_passing_prompt").description("Is about to go.").handler(|| async { "here" });
    registry.add_prompt(passing)?;
    registry.remove_prompt("test_passing_prompt");
    Ok("The list of prompts changed.")
}
