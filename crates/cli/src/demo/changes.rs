//! Tools that change what the server offers, and the clock that they turn.
//!
//! They only change the registry; who is told about it is not their concern.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use contexture::{Context, Server, State, tool};

use super::resources::CLOCK_URI;

/// What `demo://clock` shows.
#[derive(Debug, Default)]
pub(super) struct Clock {
    touched: AtomicU64,
}

impl Clock {
    /// The text of the resource.
    pub(super) fn text(&self) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let touched = self.touched.load(Ordering::Relaxed);
        format!("{} seconds since 1970, touched {touched} times", now.as_secs())
    }
}

pub(super) fn register(server: Server) -> Server {
    server
        .tool(
            tool("toggle")
                .description("Adds the tool `extra`, or removes it.")
                .destructive(false)
                .handler(toggle),
        )
        .tool(tool("touch").description("Changes demo://clock.").destructive(false).handler(touch))
}

async fn toggle(ctx: Context) -> contexture::Result<&'static str> {
    let registry = ctx.registry();
    if registry.remove_tool("extra") {
        return Ok("removed extra");
    }
    let extra = tool("extra").description("Was not always here.").read_only().handler(|| async { "extra" });
    registry.add_tool(extra)?;
    Ok("added extra")
}

async fn touch(ctx: Context, clock: State<Clock>) -> &'static str {
    clock.touched.fetch_add(1, Ordering::Relaxed);
    ctx.registry().resource_updated(CLOCK_URI);
    "touched"
}
