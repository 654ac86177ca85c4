//! Contexture: servers, clients and hosts of the Model Context Protocol, in every revision.

mod error;
pub mod policy;
mod schema;
pub mod transport;

pub use contexture_core::{engine, json_rpc, model, revision};
pub use error::{Capability, Error, Result};
pub use policy::Policy;
