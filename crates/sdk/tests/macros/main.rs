//! The attribute macros, seen from the other end of the wire; the examples; and what wrong code is told.

mod block;
mod examples;
mod functions;
mod strict;
mod ui;
mod wire;
