//! Values that can be no results.

use contexture::{Server, handlers, prompt, resource, tool};

#[derive(serde::Serialize)]
struct NoSchema;

#[tool]
async fn value() -> NoSchema {
    NoSchema
}

#[tool]
async fn in_result() -> Result<NoSchema, String> {
    Ok(NoSchema)
}

struct NoDisplay;

#[tool]
async fn error() -> Result<String, NoDisplay> {
    Err(NoDisplay)
}

#[prompt]
async fn number() -> u8 {
    1
}

#[resource("demo://number")]
async fn contents() -> u8 {
    1
}

struct Notes;

#[handlers]
impl Notes {
    #[tool]
    fn method(&self) -> NoSchema {
        NoSchema
    }
}

fn main() {
    let _ = Server::new("demo", "1").tool(value);
}
