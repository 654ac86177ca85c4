//! Code of a strict author with odd names: nothing that the macros write is warned of, or meets those names.

#![deny(warnings, clippy::pedantic)]

use std::error::Error;

use contexture::{Context, Server, handlers, prompt, resource, tool};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const TITLE: &str = "Moves";

/// A name that is a word of the language.
#[tool(title = TITLE)]
async fn r#move(
    mut context: u8,
    #[allow(unused_variables)] arguments: u8,
    value: u8,
    #[arg(default)] shared: u8,
) -> u8 {
    context += value + shared;
    context
}

/// An argument may be called as a tool is.
#[tool(spawned)]
async fn path(path: String, r#move: String) -> Result<String> {
    let _: u8 = path.parse()?;
    Ok(r#move)
}

/// A type may be called as an extractor is.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct State {
    /// One field.
    on: bool,
}

#[tool]
async fn set(#[arg] state: State) -> bool {
    state.on
}

#[prompt]
fn hidden(context: Context) -> String {
    context.revision().to_string()
}

#[resource("demo://{r}/{type}")]
async fn typed(r: String, r#type: String) -> String {
    r + &r#type
}

#[tool]
#[cfg(any())]
async fn absent(missing: Missing) {}

struct Shared;

#[handlers]
impl Shared {
    /// Takes names that the macro uses too.
    #[tool]
    async fn method(&self, shared: u8, server: u8, arguments: u8) -> u8 {
        let _ = self;
        shared + server + arguments
    }
}

#[tokio::test]
async fn names_do_not_meet() {
    let server = Server::new("strict", "1").tool(path).tool(r#move).tool(set).prompt(hidden);
    let mut wire = crate::wire::Wire::open(server.resource(typed).handlers(Shared)).await;
    let (path, arguments) = ("7".to_owned(), serde_json::json!({ "path": "7", "move": "on" }));
    assert_eq!(wire.call("path", arguments).await["content"][0]["text"], "on");
    assert_eq!(path::call(path, "on".to_owned()).await.ok().as_deref(), Some("on"));
    let result = wire.call("move", serde_json::json!({ "context": 1, "arguments": 2, "value": 3 })).await;
    assert_eq!(result["structuredContent"]["result"], 4);
    let result = wire.call("method", serde_json::json!({ "shared": 1, "server": 2, "arguments": 3 })).await;
    assert_eq!(result["structuredContent"]["result"], 6);
    let result = wire.call("set", serde_json::json!({ "state": { "on": true } })).await;
    assert_eq!(result["structuredContent"]["result"], true);
    let answer = wire.ask("resources/read", serde_json::json!({ "uri": "demo://a/b" })).await;
    assert_eq!(answer["result"]["contents"][0]["text"], "ab");
}
