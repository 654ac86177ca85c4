//! Where registrations and tokens are kept between two runs: in memory, in an encrypted file, or in a file
//! whose key the operating system's keyring holds.
//!
//! Entries belong to an issuer, a resource and an account together, so that nothing that one authorization
//! server gave is ever shown to another. A store never puts a secret into a file name, an argument, the
//! environment, a log or an error.

mod file;
mod folder;
#[cfg(feature = "keyring")]
mod keyring;
mod memory;
mod sealed;
mod secrets;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::auth::Secret;
use crate::auth::metadata::Registration;
use crate::error::{AuthorizationFailure, AuthorizationStep};
use crate::scopes::Scopes;
use crate::{Error, Result};

pub use file::FileStore;
#[cfg(feature = "keyring")]
pub use keyring::KeyringStore;
pub use memory::MemoryStore;
pub use secrets::SecretStore;

/// Whose tokens they are.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StoreKey {
    /// The authorization server, exactly as it names itself.
    pub issuer: String,
    /// The MCP server, as tokens name it.
    pub resource: String,
    /// Which of the person's accounts; empty where there is only one.
    pub account: String,
}

impl StoreKey {
    /// An entry's key.
    pub fn new(issuer: impl Into<String>, resource: impl Into<String>, account: impl Into<String>) -> Self {
        Self { issuer: issuer.into(), resource: resource.into(), account: account.into() }
    }
}

/// What is kept for a [`StoreKey`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Stored {
    /// The MCP server that it was asked for, by its canonical URL: the resource may be all of its host.
    pub server: String,
    /// The authorization server's whole answer to our registration: a client without it would have to
    /// register again each time.
    pub registration: Registration,
    /// What was granted, if something is.
    pub tokens: Option<Tokens>,
}

/// What an authorization server granted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Tokens {
    /// Shown to the MCP server with each request.
    pub access: Secret,
    /// Shown to the authorization server alone, for a new access token.
    pub refresh: Option<Secret>,
    /// When the access token ends, in seconds since 1970, if that is known.
    pub expires_at: Option<u64>,
    /// What it is good for.
    pub scopes: Scopes,
    /// What was asked for, which may have been more.
    pub requested: Scopes,
    /// The private key that the token is bound to, if it is (RFC 9449).
    #[serde(default)]
    pub dpop_key: Option<Secret>,
}

/// A future of a [`TokenStore`].
pub type Storing<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// Keeps registrations and tokens.
pub trait TokenStore: Send + Sync + 'static {
    /// What is kept for this key.
    fn load<'a>(&'a self, key: &'a StoreKey) -> Storing<'a, Option<Stored>>;

    /// Keeps this in the place of what was there. Afterwards it is either all there or, after an error, not
    /// at all.
    fn save<'a>(&'a self, key: &'a StoreKey, stored: &'a Stored) -> Storing<'a, ()>;

    /// Forgets what is kept for this key, if anything.
    fn remove<'a>(&'a self, key: &'a StoreKey) -> Storing<'a, ()>;

    /// Every key that something is kept for.
    fn list(&self) -> Storing<'_, Vec<StoreKey>>;

    /// Waits until nobody else holds this key, in any process that shares the store. Whoever refreshes a
    /// token holds it meanwhile, and loads again after getting it: somebody else may have been faster.
    ///
    /// It orders refreshes and nothing else: saving and loading work with and without it.
    fn lock<'a>(&'a self, key: &'a StoreKey) -> Storing<'a, Locked>;
}

impl<T: TokenStore + ?Sized> TokenStore for Arc<T> {
    fn load<'a>(&'a self, key: &'a StoreKey) -> Storing<'a, Option<Stored>> {
        (**self).load(key)
    }

    fn save<'a>(&'a self, key: &'a StoreKey, stored: &'a Stored) -> Storing<'a, ()> {
        (**self).save(key, stored)
    }

    fn remove<'a>(&'a self, key: &'a StoreKey) -> Storing<'a, ()> {
        (**self).remove(key)
    }

    fn list(&self) -> Storing<'_, Vec<StoreKey>> {
        (**self).list()
    }

    fn lock<'a>(&'a self, key: &'a StoreKey) -> Storing<'a, Locked> {
        (**self).lock(key)
    }
}

/// A [lock](TokenStore::lock) that is held; dropping it lets the next one in.
#[must_use = "a lock that is dropped at once locks nothing"]
pub struct Locked {
    _held: Box<dyn Send + Sync>,
}

impl Locked {
    /// Held for as long as this value lives.
    pub fn by(guard: impl Send + Sync + 'static) -> Self {
        Self { _held: Box::new(guard) }
    }
}

impl fmt::Debug for Locked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Locked")
    }
}

/// The safest store that works here: files under a key in the operating system's keyring (with the feature
/// `keyring`), else under a key that only their owner can read.
pub fn default_store() -> Result<Arc<dyn TokenStore>> {
    #[cfg(feature = "keyring")]
    let store = keyring::Either::default();
    #[cfg(not(feature = "keyring"))]
    let store = FileStore::open()?;
    Ok(Arc::new(store))
}

/// Tokens cannot be kept or read; the text names the file, and says what to do.
fn fault(what: String) -> Error {
    AuthorizationFailure::new(AuthorizationStep::Storage, what).into()
}
