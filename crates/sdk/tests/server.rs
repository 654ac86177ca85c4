//! Servers through their public door: a peer without manners on one end, a whole server on the other.
//!
//! Every message that a server sends in these tests is judged by the schema of its revision.

#[path = "server/support.rs"]
mod support;

#[path = "server/handshake.rs"]
mod handshake;

#[path = "server/tools.rs"]
mod tools;

#[path = "server/resources.rs"]
mod resources;

#[path = "server/batches.rs"]
mod batches;

#[path = "server/base.rs"]
mod base;

#[path = "server/lifecycle.rs"]
mod lifecycle;
