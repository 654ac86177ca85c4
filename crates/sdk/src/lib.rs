//! Contexture: servers, clients and hosts of the Model Context Protocol, in every revision.
//!
//! # A server
//!
//! Put a [`Server`] together from functions with [`#[tool]`](macro@tool), [`#[prompt]`](macro@prompt) and
//! [`#[resource]`](macro@resource), from an `impl` block with [`#[handlers]`](macro@handlers), or with the
//! builders [`tool()`], [`prompt()`] and [`resource()`]; then [serve](Server::serve_stdio) it, or
//! [over HTTP](Server::serve_http).
//!
//! ```no_run
//! use contexture::{Server, tool};
//!
//! /// Adds two numbers.
//! #[tool]
//! async fn add(a: i64, b: i64) -> i64 {
//!     a + b
//! }
//!
//! #[tokio::main]
//! async fn main() -> contexture::Result<()> {
//!     Server::new("demo", "1.0.0").tool(add).serve_stdio().await
//! }
//! ```
//!
//! Handlers get a [`Context`]: progress, log, cancellation, and questions to the person
//! ([`elicit`](Context::elicit)), to the model ([`sample`](Context::sample)) and for the
//! [`roots`](Context::roots). In the newest revision a question ends the call and the handler **runs again**
//! with the answer: see [`Context::once`].
//!
//! # A client
//!
//! [`Client::spawn`] starts a server, [`Client::connect`] reaches one by URL; both find out which revision it
//! speaks. [Responders](client) answer what the server asks.
//!
//! # Tests
//!
//! [`testing::connect`] gives a client of any server in this process; [`testing::stories`] tells one story
//! in every revision.
//!
//! # Features
//!
//! All are additive. On by default: `server`, `client`, `http` (both sides of it; or `http-server` and `http-client`
//! alone), `auth` ([authorization](auth)), `macros`, `validation` (JSON Schemas are checked).
//! One is not: `keyring` (tokens are kept under a key in the keyring of the operating system).
//! Bounds on what a peer may cost are in [`Policy`].

#[cfg(feature = "macros")]
#[doc(hidden)]
pub mod __private;
#[cfg(feature = "auth")]
pub mod auth;
#[cfg(feature = "client")]
pub mod client;
mod error;
#[cfg(feature = "server")]
mod flat;
#[cfg(any(feature = "http-server", feature = "http-client"))]
mod joined;
#[cfg(feature = "server")]
mod memory;
pub mod policy;
mod schema;
mod scopes;
#[cfg(feature = "server")]
pub mod server;
pub mod testing;
pub mod transport;

#[cfg(feature = "client")]
pub use client::Client;
pub use contexture_core::{engine, json_rpc, model, revision, uri, uri_template};
pub use error::{AuthorizationFailure, AuthorizationStep, Capability, Error, HttpRefusal, Result};
pub use policy::Policy;
pub use scopes::Scopes;
#[cfg(feature = "server")]
pub use server::{Args, Context, Json, Principal, Server, State, prompt, resource, tool};

// The functions above and the attributes here have the same names, in different namespaces: one `use` brings
// both.
#[cfg(feature = "macros")]
#[doc = include_str!("docs/handlers.md")]
pub use contexture_macros::handlers;
#[cfg(feature = "macros")]
#[doc = include_str!("docs/prompt.md")]
pub use contexture_macros::prompt;
#[cfg(feature = "macros")]
#[doc = include_str!("docs/resource.md")]
pub use contexture_macros::resource;
#[cfg(feature = "macros")]
#[doc = include_str!("docs/tool.md")]
pub use contexture_macros::tool;

/// The snippets of the README compile.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
