//! What is there only if the demo asks for tokens: a tool that needs a scope of its own.

use contexture::{Context, Server, tool};

/// What everything needs.
pub(crate) const USE: &str = "demo:use";
/// What the guest book needs as well.
pub(crate) const SIGN: &str = "demo:sign";

pub(super) fn register(server: Server) -> Server {
    server.tool(
        tool("sign_guestbook")
            .description("Signs the guest book. It needs the scope demo:sign, which a client has to ask for.")
            .destructive(false)
            .scope(SIGN)
            .handler(sign),
    )
}

async fn sign(ctx: Context) -> String {
    format!("{} was here", ctx.principal().subject())
}
