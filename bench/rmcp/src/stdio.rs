//! rmcp's server on standard input and output.
//!
//! - As taught: what `#[tool_router(server_handler)]` writes, which rebuilds the router for every call, and
//!   `transport::stdio`, whose reads and writes go through tokio's blocking pool. Numbered tools cannot be
//!   written with the macro, so with them the router is in a field.
//! - Tuned: `transport::stdio_pipes`, the router in a field, and one thread.

use crate::tools::Tools;
use bench_program::{Outcome, command::Serve};
use rmcp::ServiceExt;
use rmcp::transport::{stdio, stdio_pipes};

/// Serves until stdin ends.
pub async fn serve(serve: &Serve) -> Outcome {
    if serve.tuned {
        Tools::kept(serve.tools)?.serve(stdio_pipes()).await?.waiting().await?;
    } else if serve.tools > 0 {
        Tools::kept(serve.tools)?.serve(stdio()).await?.waiting().await?;
    } else {
        Tools::new().serve(stdio()).await?.waiting().await?;
    }
    Ok(())
}
