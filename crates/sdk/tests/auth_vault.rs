//! Where tokens are kept, how the browser comes back from a login, and how it is opened: rows F04, F16 and
//! F20 of the threats.
//!
//! Stores are also used by several processes at once. Such a process is this test binary once more: told to,
//! it plays a part instead of testing.
#![cfg(all(unix, feature = "auth"))]

#[path = "auth_vault/browser.rs"]
mod browser;
#[path = "auth_vault/callback.rs"]
mod callback;
#[path = "auth_vault/damage.rs"]
mod damage;
#[path = "auth_vault/parts.rs"]
mod parts;
#[path = "auth_vault/processes.rs"]
mod processes;
#[path = "auth_vault/stores.rs"]
mod stores;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use contexture::auth::metadata::Registration;
use contexture::auth::{Scopes, Secret, StoreKey, Stored, Tokens};
use contexture::{AuthorizationStep, Error};

/// A folder that is gone with this.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("contexture-vault-{}-{count}", std::process::id()));
        std::fs::create_dir(&path).expect("a new folder");
        Self(path)
    }

    fn path(&self) -> &Path {
        &self.0
    }

    /// Where the tests' stores are.
    fn tokens(&self) -> PathBuf {
        self.0.join("tokens")
    }

    /// The files of a store that end so.
    fn files(&self, ending: &str) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.tokens()).expect("a folder");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        paths.filter(|path| path.to_string_lossy().ends_with(ending)).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn key(resource: &str) -> StoreKey {
    StoreKey::new("https://issuer.example", resource, "")
}

/// An entry with this access token.
fn stored(access: &str) -> Stored {
    let mut registration = Registration::known("the-client");
    registration.client_secret = Some(Secret::new("a-client-secret"));
    registration.rest.insert("client_name".into(), "Contexture".into());
    Stored { server: "https://mcp.example/mcp".into(), registration, tokens: Some(tokens(access)) }
}

fn tokens(access: &str) -> Tokens {
    Tokens {
        access: Secret::new(access),
        refresh: Some(Secret::new("a-refresh-token")),
        expires_at: Some(1_900_000_000),
        scopes: Scopes::parse("files:read files:write"),
        requested: Scopes::parse("files:read files:write offline_access"),
        dpop_key: Some(Secret::new("a-private-key")),
    }
}

/// The access token of an entry.
fn access(stored: Option<Stored>) -> Option<String> {
    Some(stored?.tokens?.access.expose().to_owned())
}

/// Whether the store is to blame.
fn is_fault(error: &Error) -> bool {
    matches!(error, Error::Authorization(failure) if failure.step == AuthorizationStep::Storage)
}
