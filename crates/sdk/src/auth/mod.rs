//! Authorization: who may use a server over HTTP, and how a client comes by the right.
//!
//! HTTP itself knows traits only; everything of OAuth is in here. The parts that both sides share:
//!
//! - [`Scopes`]: what a token allows.
//! - [`Secret`]: text that never shows itself.
//! - [`metadata`]: the documents by which servers describe themselves.
//! - [`jwt`]: signed tokens, verified and made; asymmetric algorithms only.
//! - [`outbound`]: the only way out to addresses that somebody else has named.
//!
//! A client logs in with an [`Authorization`]; see [`client`].
//! A server is protected with [`HttpServer::protect`](crate::server::HttpServer::protect) and a [`Protection`].

pub(crate) mod canonical;
pub(crate) mod challenge;
pub mod client;
pub mod jwt;
pub mod metadata;
pub mod outbound;
#[cfg(feature = "http-server")]
mod resource;
mod secret;

pub use crate::scopes::Scopes;
#[cfg(feature = "keyring")]
pub use client::KeyringStore;
pub use client::{
    Account, Asked, Authorization, Browser, Callback, CallbackParams, Enterprise, FileStore, MemoryStore,
    SecretStore, StoreKey, Stored, Survey, TokenStore, Tokens, Visit, Visiting, Visitor, default_store,
};
#[cfg(feature = "http-server")]
pub use resource::{Issuer, Protection, TokenVerifier, Unverified, Verifying};
pub use secret::Secret;
