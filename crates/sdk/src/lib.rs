//! Contexture: servers, clients and hosts of the Model Context Protocol, in every revision.

#[cfg(feature = "macros")]
#[doc(hidden)]
pub mod __private;
#[cfg(feature = "client")]
pub mod client;
mod error;
#[cfg(feature = "server")]
mod flat;
pub mod policy;
mod schema;
#[cfg(feature = "server")]
pub mod server;
pub mod testing;
pub mod transport;

#[cfg(feature = "client")]
pub use client::Client;
pub use contexture_core::{engine, json_rpc, model, revision};
pub use error::{Capability, Error, Result};
pub use policy::Policy;
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
