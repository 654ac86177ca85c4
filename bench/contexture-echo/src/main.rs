//! An echo server on contexture, as its front page teaches it: all features, arguments validated.

use contexture::{Server, tool};

/// Says back what it is told.
#[tool]
async fn echo(message: String) -> String {
    message
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> contexture::Result<()> {
    Server::new("echo", "1.0.0").tool(echo).serve_stdio().await
}
