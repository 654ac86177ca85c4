//! Many MCP servers behind one endpoint.
//!
//! A host runs clients for many servers, keeps these apart from one another, decides what is allowed, asks people, and
//! brings everything together in one catalog. With a server face it is a gateway: clients and servers of any era, in any
//! pairing. It forwards what it does not need to understand as the bytes that came, never a client's token, and
//! decides on exactly what it forwards.

pub mod catalog;
pub mod config;
pub mod consent;
pub mod gateway;
mod host;
pub mod login;
pub mod names;
pub mod operations;
pub mod sampling;
mod tls;
pub mod upstream;

pub use host::{Host, Services};
pub use tls::choose_cryptography;
