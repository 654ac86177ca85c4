//! The Model Context Protocol without I/O: envelope, model, revisions, engine.
//!
//! Time and ids come in as arguments; nothing here reads a clock, a socket or a source of chance.

pub mod engine;
pub mod http;
pub mod json_rpc;
pub mod model;
pub mod revision;
pub mod uri;
pub mod uri_template;
