//! Contexture: servers, clients and hosts of the Model Context Protocol, in every revision.

#[cfg(feature = "client")]
pub mod client;
mod error;
pub mod policy;
mod schema;
pub mod transport;

#[cfg(feature = "client")]
pub use client::Client;
pub use contexture_core::{engine, json_rpc, model, revision};
pub use error::{Capability, Error, Result};
pub use policy::Policy;
