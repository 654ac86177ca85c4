//! tower-mcp's servers on standard input and output.
//!
//! - As taught: `StdioTransport`, whose pipes are driven by the reactor by default on Linux.
//! - Tuned: the same on one thread: a third less time for a round trip and the least CPU, though with many
//!   calls in flight and two cores the default has more calls per second. Fewer requests at once
//!   (`max_concurrent_requests`) gained nothing. Either way progress may come after the answer.
//! - `--sync`: `SyncStdioTransport`, its lightest. One request at a time and no notifications from the server,
//!   so it is less than a whole MCP server: `steps` answers without its progress.

use crate::tools::router;
use bench_program::{Outcome, command::Serve};
use tower_mcp::{StdioTransport, SyncStdioTransport};

/// Serves until stdin ends.
pub async fn serve(serve: &Serve) -> Outcome {
    StdioTransport::new(router(serve.tools)).run().await?;
    Ok(())
}

/// Serves until stdin ends, on a runtime that the transport makes.
pub fn serve_blocking(serve: &Serve) -> Outcome {
    SyncStdioTransport::new(router(serve.tools)).run_blocking()?;
    Ok(())
}
