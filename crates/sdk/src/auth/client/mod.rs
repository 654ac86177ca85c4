//! Logging in to servers: the OAuth client.
//!
//! An [`Authorization`] says how; the rest is found out when a server asks for a token. Nothing is sent to an
//! authorization server before its documents were checked, nothing that one issuer gave is shown to another, and
//! tokens go to the server that they were issued for and nowhere else.

mod account;
mod authentication;
pub mod browser;
pub mod callback;
mod discovery;
mod dpop;
mod enterprise;
mod flow;
mod grants;
mod held;
mod page;
mod policy;
mod registration;
mod renewal;
mod scopes;
mod session;
pub mod store;
mod survey;
mod visitor;

pub use account::Account;
pub use browser::Browser;
pub use callback::{Callback, CallbackParams};
pub use enterprise::Enterprise;
pub use policy::Authorization;
#[cfg(feature = "keyring")]
pub use store::KeyringStore;
pub use store::{FileStore, MemoryStore, SecretStore, StoreKey, Stored, TokenStore, Tokens, default_store};
pub use survey::{Asked, Survey};
pub use visitor::{Visit, Visiting, Visitor};

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};

use crate::auth::metadata::harmless;
use crate::error::{AuthorizationFailure, AuthorizationStep};
use crate::{Error, Result};

/// A failure of one step, with who is to blame and what to do.
fn failed(step: AuthorizationStep, message: impl Into<String>) -> Error {
    AuthorizationFailure::new(step, message).into()
}

/// An address for people: without its query, which may hold a secret.
fn shown(url: &str) -> String {
    harmless(url.split('?').next().unwrap_or_default())
}

/// Nobody guesses it: 256 bits, fit for an address.
fn unguessable() -> Result<String> {
    let mut bytes = [0; 32];
    let random = SystemRandom::new();
    random.fill(&mut bytes).map_err(|_| Error::Misuse("this system has no randomness".into()))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}
