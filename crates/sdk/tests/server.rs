//! Servers through their public door: a peer without manners on one end, a whole server on the other.
//!
//! Every message that a server sends in these tests is judged by the schema of its revision.

#[path = "support/provider.rs"]
mod elsewhere;
#[path = "server/spoken.rs"]
mod spoken;
#[path = "server/support.rs"]
mod support;

#[path = "server/base.rs"]
mod base;
#[path = "server/batches.rs"]
mod batches;
#[path = "server/bounds.rs"]
mod bounds;
#[path = "server/cancellation.rs"]
mod cancellation;
#[path = "server/completion.rs"]
mod completion;
#[path = "server/elicitation.rs"]
mod elicitation;
#[path = "server/forwarded.rs"]
mod forwarded;
#[path = "server/handshake.rs"]
mod handshake;
#[path = "server/layers.rs"]
mod layers;
#[path = "server/lifecycle.rs"]
mod lifecycle;
#[path = "server/listen.rs"]
mod listen;
#[path = "server/logging.rs"]
mod logging;
#[path = "server/modern.rs"]
mod modern;
#[path = "server/pagination.rs"]
mod pagination;
#[path = "server/panics.rs"]
mod panics;
#[path = "server/passed_on.rs"]
mod passed_on;
#[path = "server/ping.rs"]
mod ping;
#[path = "server/pressure.rs"]
mod pressure;
#[path = "server/progress.rs"]
mod progress;
#[path = "server/prompts.rs"]
mod prompts;
#[path = "server/provider.rs"]
mod provider;
#[path = "server/resources.rs"]
mod resources;
#[path = "server/roots.rs"]
mod roots;
#[path = "server/rounds.rs"]
mod rounds;
#[path = "server/sampling.rs"]
mod sampling;
#[path = "server/speaking.rs"]
mod speaking;
#[path = "server/tools.rs"]
mod tools;
#[path = "server/transport.rs"]
mod transport;
