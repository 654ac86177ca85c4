//! Clients of servers that are reached by URL: a server played by hand on a socket, a whole client on the other end.
//!
//! Every message that a client sends in these tests is judged by the schema of its revision.
#![cfg(feature = "http-client")]

#[path = "http_client/support.rs"]
mod support;

#[path = "http_client/answers.rs"]
mod answers;
#[path = "http_client/connections.rs"]
mod connections;
#[path = "http_client/forward.rs"]
mod forward;
#[path = "http_client/handshake.rs"]
mod handshake;
#[path = "http_client/headers.rs"]
mod headers;
#[path = "http_client/redirects.rs"]
mod redirects;
#[path = "http_client/sessions.rs"]
mod sessions;
#[path = "http_client/sse_pair.rs"]
mod sse_pair;
#[path = "http_client/stories.rs"]
mod stories;
#[path = "http_client/streams.rs"]
mod streams;
#[path = "http_client/withdrawal.rs"]
mod withdrawal;
