//! Servers over HTTP, through their public door: a real listener, and a client that says what it is told to.
//!
//! Every message that a server sends in these tests is judged by the schema of its revision.

#[path = "support/provider.rs"]
mod elsewhere;
#[path = "http_server/inside.rs"]
mod inside;
#[path = "http_server/raw.rs"]
mod raw;
#[path = "http_server/support.rs"]
mod support;

#[path = "http_server/batches.rs"]
mod batches;
#[path = "http_server/bodies.rs"]
mod bodies;
#[path = "http_server/bounds.rs"]
mod bounds;
#[path = "http_server/changes.rs"]
mod changes;
#[path = "http_server/endpoint.rs"]
mod endpoint;
#[path = "http_server/faults.rs"]
mod faults;
#[path = "http_server/features.rs"]
mod features;
#[path = "http_server/guard.rs"]
mod guard;
#[path = "http_server/life.rs"]
mod life;
#[path = "http_server/listening.rs"]
mod listening;
#[path = "http_server/modern.rs"]
mod modern;
#[path = "http_server/owners.rs"]
mod owners;
#[path = "http_server/pair.rs"]
mod pair;
#[path = "http_server/provider.rs"]
mod provider;
#[path = "http_server/resumption.rs"]
mod resumption;
#[path = "http_server/reviewed.rs"]
mod reviewed;
#[path = "http_server/routes.rs"]
mod routes;
#[path = "http_server/sessions.rs"]
mod sessions;
#[path = "http_server/stateless.rs"]
mod stateless;
#[path = "http_server/streams.rs"]
mod streams;
