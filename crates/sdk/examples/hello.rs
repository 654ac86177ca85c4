//! The smallest server: two functions, one of which asks the person something.

use contexture::{Context, Error, Server, tool};

/// Who is greeted.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Name {
    /// What people call you.
    name: String,
}

/// Adds two numbers.
#[tool]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Greets whoever is there.
#[tool(read_only)]
async fn greet(ctx: Context, greeting: String) -> Result<String, Error> {
    let who: Name = ctx.elicit("who", "Your name?").await?; // the same line in every era
    Ok(format!("{greeting}, {}", who.name))
}

#[tokio::main]
async fn main() -> contexture::Result<()> {
    Server::new("demo", "1.0.0").tool(add).tool(greet).serve_stdio().await
}
