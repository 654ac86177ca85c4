//! Tokens of many people, each in a folder and under a key of their own.
//!
//! Looking for one person's tokens never opens another's. What is shared is who *we* are to an authorization server: one
//! registration for everybody, so that the thousandth person does not register the gateway for the thousandth time.

use std::path::PathBuf;
use std::sync::Arc;

use contexture::auth::client::store::{Locked, Storing};
use contexture::auth::{FileStore, StoreKey, Stored, TokenStore};

use super::person::filed;

/// Where tokens are.
pub(super) struct Vault {
    people: PathBuf,
    registrations: Arc<dyn TokenStore>,
}

impl Vault {
    /// In this folder, which is made when there is something to keep.
    pub(super) fn at(folder: PathBuf) -> Self {
        let registrations = Arc::new(FileStore::at(folder.join("registrations")));
        Self { people: folder.join("people"), registrations }
    }

    /// One person's part of it.
    pub(super) fn of(&self, account: &str) -> Drawer {
        let own = FileStore::at(self.people.join(filed(account)));
        Drawer { own: Arc::new(own), registrations: Arc::clone(&self.registrations) }
    }
}

/// One person's tokens, and the registration that all have in common.
#[derive(Clone)]
pub(super) struct Drawer {
    pub(super) own: Arc<dyn TokenStore>,
    pub(super) registrations: Arc<dyn TokenStore>,
}

/// Where the common registration is kept.
fn common(key: &StoreKey) -> StoreKey {
    StoreKey::new(&key.issuer, &key.resource, "")
}

impl TokenStore for Drawer {
    fn load<'a>(&'a self, key: &'a StoreKey) -> Storing<'a, Option<Stored>> {
        Box::pin(async move {
            if let Some(stored) = self.own.load(key).await? {
                return Ok(Some(stored));
            }
            let registered = self.registrations.load(&common(key)).await?;
            Ok(registered.map(|stored| Stored { tokens: None, ..stored }))
        })
    }

    fn save<'a>(&'a self, key: &'a StoreKey, stored: &'a Stored) -> Storing<'a, ()> {
        Box::pin(async move {
            self.own.save(key, stored).await?;
            let known = self.registrations.load(&common(key)).await?;
            let client_id = &stored.registration.client_id;
            if known.is_some_and(|known| known.registration.client_id == *client_id) {
                return Ok(());
            }
            self.registrations.save(&common(key), &Stored { tokens: None, ..stored.clone() }).await
        })
    }

    fn remove<'a>(&'a self, key: &'a StoreKey) -> Storing<'a, ()> {
        Box::pin(async move {
            self.own.remove(key).await?;
            // Removed is also what an authorization server has forgotten: nobody is to try with that again.
            self.registrations.remove(&common(key)).await
        })
    }

    fn list(&self) -> Storing<'_, Vec<StoreKey>> {
        self.own.list()
    }

    fn lock<'a>(&'a self, key: &'a StoreKey) -> Storing<'a, Locked> {
        self.own.lock(key)
    }
}
