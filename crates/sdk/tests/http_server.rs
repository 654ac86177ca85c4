//! Servers over HTTP, through their public door: a real listener, and a client that says what it is told to.
//!
//! Every message that a server sends in these tests is judged by the schema of its revision.

#[path = "http_server/raw.rs"]
mod raw;
#[path = "http_server/support.rs"]
mod support;

#[path = "http_server/endpoint.rs"]
mod endpoint;
#[path = "http_server/sessions.rs"]
mod sessions;
#[path = "http_server/inside.rs"]
mod inside;
#[path = "http_server/listening.rs"]
mod listening;
#[path = "http_server/resumption.rs"]
mod resumption;
#[path = "http_server/streams.rs"]
mod streams;
