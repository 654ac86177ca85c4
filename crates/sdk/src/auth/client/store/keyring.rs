//! Tokens in files whose key the operating system's keyring holds: the keychain of macOS, the Secret Service
//! of Linux desktops (reached with libsecret's own program `secret-tool`).
//!
//! Only the key is there, not the tokens: keyrings list nothing, bound what they hold to a few kilobytes and
//! have no locks across processes, all of which files have. The key travels through pipes, never as an
//! argument.

use std::path::PathBuf;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use super::file::{FileStore, aside, data_folder};
use super::folder::Folder;
use super::sealed::{KEY_BYTES, Seal};
use super::{Locked, StoreKey, Stored, Storing, TokenStore, fault};
use crate::{Error, Result};

/// What the entry in the keyring is called.
const SERVICE: &str = "contexture";
const ACCOUNT: &str = "key of the token store";

/// Keeps tokens under a key that the operating system guards.
#[derive(Debug, Clone)]
pub struct KeyringStore(FileStore);

impl KeyringStore {
    /// Finds the key in the keyring, or makes one. Fails where there is no keyring, or where it stays locked.
    ///
    /// The keyring may ask the person to unlock it, and the thread waits for that.
    pub fn open() -> Result<Self> {
        Ok(Self(FileStore::sealed(folder()?, Some(key()?))))
    }
}

/// The key in the keyring, which is made if there is none.
pub(super) fn key() -> Result<[u8; KEY_BYTES]> {
    if !system::is_there() {
        return Err(no_keyring("there is none"));
    }
    // Two processes that begin at once must agree on one key.
    let _writing = Folder::open(&folder()?)?.writing_blocking()?;
    if let Some(key) = system::find()?.as_deref().and_then(decode) {
        return Ok(key);
    }
    system::keep(&STANDARD_NO_PAD.encode(Seal::fresh_key()?))?;
    // Read back: a keyring may forget at once.
    system::find()?.as_deref().and_then(decode).ok_or_else(|| no_keyring("it keeps nothing"))
}

fn folder() -> Result<PathBuf> {
    Ok(data_folder()?.join("tokens-keyring"))
}

/// The keyring's store where that works, else the file's: found out when there is something to keep or to
/// find, so that nobody is asked to unlock anything for a server that wants to know nothing.
#[derive(Default)]
pub(super) struct Either {
    chosen: tokio::sync::OnceCell<Arc<dyn TokenStore>>,
}

impl Either {
    async fn chosen(&self) -> Result<&Arc<dyn TokenStore>> {
        self.chosen.get_or_try_init(|| aside(choose)).await
    }

    /// Whether nothing was ever kept.
    fn is_fresh(&self) -> Result<bool> {
        let folders = [folder()?, data_folder()?.join("tokens")];
        Ok(self.chosen.get().is_none() && !folders.iter().any(|path| path.exists()))
    }
}

fn choose() -> Result<Arc<dyn TokenStore>> {
    match KeyringStore::open() {
        Ok(store) => Ok(Arc::new(store)),
        Err(error) => {
            tracing::debug!(%error, "tokens are kept in encrypted files");
            Ok(Arc::new(FileStore::open()?))
        }
    }
}

impl TokenStore for Either {
    fn load<'a>(&'a self, key: &'a StoreKey) -> Storing<'a, Option<Stored>> {
        Box::pin(
            async move { if self.is_fresh()? { Ok(None) } else { self.chosen().await?.load(key).await } },
        )
    }

    fn save<'a>(&'a self, key: &'a StoreKey, stored: &'a Stored) -> Storing<'a, ()> {
        Box::pin(async move { self.chosen().await?.save(key, stored).await })
    }

    fn remove<'a>(&'a self, key: &'a StoreKey) -> Storing<'a, ()> {
        Box::pin(
            async move { if self.is_fresh()? { Ok(()) } else { self.chosen().await?.remove(key).await } },
        )
    }

    fn list(&self) -> Storing<'_, Vec<StoreKey>> {
        Box::pin(
            async move { if self.is_fresh()? { Ok(Vec::new()) } else { self.chosen().await?.list().await } },
        )
    }

    fn lock<'a>(&'a self, key: &'a StoreKey) -> Storing<'a, Locked> {
        Box::pin(async move { self.chosen().await?.lock(key).await })
    }
}

fn decode(text: &str) -> Option<[u8; KEY_BYTES]> {
    STANDARD_NO_PAD.decode(text.trim()).ok()?.try_into().ok()
}

fn no_keyring(why: &str) -> Error {
    fault(format!("the keyring cannot be used ({why}): unlock it, or keep them in a FileStore"))
}

impl TokenStore for KeyringStore {
    fn load<'a>(&'a self, key: &'a StoreKey) -> Storing<'a, Option<Stored>> {
        self.0.load(key)
    }

    fn save<'a>(&'a self, key: &'a StoreKey, stored: &'a Stored) -> Storing<'a, ()> {
        self.0.save(key, stored)
    }

    fn remove<'a>(&'a self, key: &'a StoreKey) -> Storing<'a, ()> {
        self.0.remove(key)
    }

    fn list(&self) -> Storing<'_, Vec<StoreKey>> {
        self.0.list()
    }

    fn lock<'a>(&'a self, key: &'a StoreKey) -> Storing<'a, Locked> {
        self.0.lock(key)
    }
}

#[cfg(target_os = "macos")]
mod system {
    //! The keychain.

    use security_framework::passwords::{get_generic_password, set_generic_password};

    use super::{ACCOUNT, SERVICE, no_keyring};
    use crate::Result;

    /// What the keychain says where there is no such entry.
    const NOT_FOUND: i32 = -25300;

    pub(super) fn is_there() -> bool {
        true
    }

    pub(super) fn find() -> Result<Option<String>> {
        match get_generic_password(SERVICE, ACCOUNT) {
            Ok(secret) => Ok(String::from_utf8(secret).ok()),
            Err(error) if error.code() == NOT_FOUND => Ok(None),
            Err(error) => Err(no_keyring(&error.to_string())),
        }
    }

    pub(super) fn keep(secret: &str) -> Result<()> {
        set_generic_password(SERVICE, ACCOUNT, secret.as_bytes())
            .map_err(|error| no_keyring(&error.to_string()))
    }
}

#[cfg(all(unix, not(target_os = "macos")))]
mod system {
    //! The Secret Service.

    use std::io::Write as _;
    use std::path::Path;
    use std::process::{Command, Stdio};

    use super::{ACCOUNT, SERVICE, no_keyring};
    use crate::Result;

    fn secret_tool(verb: &[&str]) -> Command {
        let mut command = Command::new("secret-tool");
        command.args(verb).args(["service", SERVICE, "account", ACCOUNT]);
        command.stderr(Stdio::null());
        command
    }

    /// Without a bus for this person's session there is nobody to ask.
    pub(super) fn is_there() -> bool {
        let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let at_home = || named("XDG_RUNTIME_DIR").is_some_and(|path| Path::new(&path).join("bus").exists());
        named("DBUS_SESSION_BUS_ADDRESS").is_some() || at_home()
    }

    /// Without an answer the program says nothing and fails, as it does without a keyring: only storing
    /// tells the two apart.
    pub(super) fn find() -> Result<Option<String>> {
        let found = secret_tool(&["lookup"]).stdin(Stdio::null()).output();
        let found = found.map_err(|error| no_keyring(&format!("secret-tool: {error}")))?;
        Ok(found.status.success().then(|| String::from_utf8(found.stdout).ok()).flatten())
    }

    pub(super) fn keep(secret: &str) -> Result<()> {
        let wrong = |error: std::io::Error| no_keyring(&format!("secret-tool: {error}"));
        let mut child = secret_tool(&["store", "--label=Contexture: key of the token store"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .map_err(wrong)?;
        if let Some(mut stdin) = child.stdin.take() {
            // Whether it was read is told by how the program ends.
            let _ = stdin.write_all(secret.as_bytes());
        }
        match child.wait().map_err(wrong)? {
            status if status.success() => Ok(()),
            _ => Err(no_keyring("there is none, or it is locked")),
        }
    }
}

#[cfg(not(unix))]
mod system {
    //! No keyring that could be reached without `unsafe`.

    use super::no_keyring;
    use crate::Result;

    pub(super) fn is_there() -> bool {
        false
    }

    pub(super) fn find() -> Result<Option<String>> {
        Err(no_keyring("this platform's is not supported"))
    }

    pub(super) fn keep(_: &str) -> Result<()> {
        Err(no_keyring("this platform's is not supported"))
    }
}
