//! `conformance-server ADDRESS`: serves the server under test at `http://ADDRESS/mcp`, until it is killed.

use contexture_conformance::server::server;

#[tokio::main(flavor = "current_thread")]
async fn main() -> contexture::Result<()> {
    server().serve_stdio().await
}
