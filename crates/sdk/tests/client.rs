//! Clients through their public door: a server played by hand on one end, a whole client on the other.
//!
//! Every message that a client sends in these tests is judged by the schema of its revision.

#[path = "client/support.rs"]
mod support;

#[path = "client/asks.rs"]
mod asks;
#[path = "client/calls.rs"]
mod calls;
#[path = "client/child.rs"]
mod child;
#[path = "client/elicitation.rs"]
mod elicitation;
#[path = "client/events.rs"]
mod events;
#[path = "client/forward.rs"]
mod forward;
#[path = "client/handshake.rs"]
mod handshake;
#[path = "client/hooks.rs"]
mod hooks;
#[path = "client/keep_alive.rs"]
mod keep_alive;
#[path = "client/life.rs"]
mod life;
#[path = "client/lists.rs"]
mod lists;
#[path = "client/restart.rs"]
mod restart;
#[path = "client/robust.rs"]
mod robust;
#[path = "client/rounds.rs"]
mod rounds;
#[path = "client/timing.rs"]
mod timing;
#[path = "client/transport.rs"]
mod transport;
