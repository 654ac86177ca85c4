//! What the official conformance suite tests: a server that offers what its scenarios call, and a client
//! that plays their parts.
//!
//! Both use the public API of `contexture` and nothing else, and neither decides by revision: whatever a
//! scenario finds is the library's doing. The suite itself is run by `cargo xtask conformance`.

pub mod client;
pub mod server;
