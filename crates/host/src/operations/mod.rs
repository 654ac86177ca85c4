//! What those who run a gateway see of it: metrics, traces, health, and the way out.
//!
//! One door for the rest of the crate, [`Metrics`]: it counts, and it makes spans where traces are exported. Labels come from
//! the configuration and from the protocol, never from a peer, so that nobody can make them grow. Arguments, results, tokens
//! and headers are not seen here at all.

mod count;
mod doors;
mod exchange;
mod metrics;
mod otlp;
mod render;
pub mod trace;

pub use doors::Doors;
pub use exchange::{Outcome, Seen, UpstreamCall};
pub use metrics::{Decision, Dropped, Metrics, Source, UpstreamReport};
pub use otlp::Settings;
pub use trace::Tracer;
