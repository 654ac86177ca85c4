//! Contexture: servers, clients and hosts of the Model Context Protocol, in every revision.

#[cfg(feature = "client")]
pub mod client;
mod error;
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
