//! The protocol as state and actions: who may say what, and when.
//!
//! Nothing here waits, reads or sends. Callers bring messages and the time; they get decisions.

mod admission;
mod allowance;
mod in_flight;
mod negotiate;
mod pending;
mod session;

pub use admission::{BUSY, Exchange, Mirror, Peer, PeerCache, admit_modern};
pub use allowance::Allowance;
pub use in_flight::{InFlight, NotAccepted};
pub use negotiate::{Disagreement, Heard, Negotiation, Reach, Step};
pub use pending::{Patience, Pending, TooManyPending};
pub use session::{Admitted, Session, negotiate};
