//! For tests of servers and clients: every story in every revision, over real lines, on the record.
//!
//! Nothing here pretends: messages go through the transports and engines that production uses. What is
//! recorded is what was sent, byte for byte.

mod peer;
mod recording;
mod transcript;

pub use peer::RawPeer;
pub use recording::Recording;
pub use transcript::{Entry, Side, Transcript};
