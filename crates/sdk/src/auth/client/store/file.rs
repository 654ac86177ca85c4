//! Tokens in encrypted files: one for each issuer, resource and account, and the key beside them.
//!
//! The encryption keeps tokens out of backups, searches and other people's eyes as far as the key does not
//! travel with them; whoever can run programs as the person can read them. That is what a keyring is for.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use super::folder::{Folder, storage};
use super::sealed::{ENTRY_BYTES, Entry, KEY_BYTES, Seal, name};
use super::{Locked, StoreKey, Stored, Storing, TokenStore, fault};
use crate::Result;

/// The key of the other files.
const KEY: &str = "key";
/// How the names of entries end.
const ENDING: &str = ".tokens";
/// What sealing adds to an entry, generously.
const SEAL_BYTES: usize = 256;

/// Keeps tokens in encrypted files that only their owner can read.
///
/// They are in a folder `contexture` where programs of this person keep their data: `$XDG_DATA_HOME` or
/// `~/.local/share`, `~/Library/Application Support` on macOS, `%LOCALAPPDATA%` on Windows. Clones and other
/// processes with the same folder share what they keep.
///
/// Nothing is made before the first entry is saved or locked.
#[derive(Clone)]
pub struct FileStore {
    inner: Arc<Inner>,
}

struct Inner {
    path: PathBuf,
    /// The key, if it is not kept beside the entries.
    key: Option<[u8; KEY_BYTES]>,
    /// Made or read when it is first needed.
    seal: tokio::sync::OnceCell<Seal>,
}

impl FileStore {
    /// In the person's own folder.
    pub fn open() -> Result<Self> {
        Ok(Self::at(data_folder()?.join("tokens")))
    }

    /// In this folder, which is closed to others if it is open to them.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self::sealed(folder.into(), None)
    }

    pub(super) fn sealed(path: PathBuf, key: Option<[u8; KEY_BYTES]>) -> Self {
        Self { inner: Arc::new(Inner { path, key, seal: tokio::sync::OnceCell::new() }) }
    }
}

impl fmt::Debug for FileStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FileStore").field(&self.inner.path).finish()
    }
}

impl Inner {
    async fn seal(&self, folder: &Folder) -> Result<&Seal> {
        self.seal.get_or_try_init(|| self.find_key(folder)).await
    }

    async fn find_key(&self, folder: &Folder) -> Result<Seal> {
        if let Some(key) = &self.key {
            return Seal::new(key);
        }
        // Two processes that begin at once must agree on one key.
        let writing = folder.writing().await?;
        if let Some(bytes) = folder.read(KEY, KEY_BYTES)? {
            let key = <[u8; KEY_BYTES]>::try_from(bytes.as_slice());
            let wrong = "is no key: delete it together with its folder and log in again";
            return Seal::new(&key.map_err(|_| storage(&folder.path(KEY), wrong))?);
        }
        let key = Seal::fresh_key()?;
        folder.replace(KEY, &key, &writing)?;
        Seal::new(&key)
    }

    /// An entry that cannot be opened is as good as none: whoever could change it could have deleted it, too, and
    /// after the next login it is replaced.
    async fn read(&self, folder: &Folder, name: &str) -> Result<Found> {
        let file = format!("{name}{ENDING}");
        let Some(bytes) = folder.read(&file, ENTRY_BYTES + SEAL_BYTES)? else { return Ok(Found::Nothing) };
        let entry = self.seal(folder).await?.open(name, &bytes);
        Ok(entry.map_or(Found::Damaged, |entry| Found::Whole(Box::new(entry))))
    }
}

/// What is at a name.
enum Found {
    Nothing,
    /// Changed, cut, or sealed with another key.
    Damaged,
    Whole(Box<Entry>),
}

/// Files take their time, above all until they are on the disk.
pub(super) async fn aside<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(fault(format!("the files were not reached: {error}"))),
    }
}

impl TokenStore for FileStore {
    fn load<'a>(&'a self, key: &'a StoreKey) -> Storing<'a, Option<Stored>> {
        Box::pin(async move {
            let Some(folder) = Folder::existing(&self.inner.path)? else { return Ok(None) };
            Ok(match self.inner.read(&folder, &name(key)).await? {
                Found::Whole(entry) => Some(entry.stored),
                Found::Damaged | Found::Nothing => None,
            })
        })
    }

    fn save<'a>(&'a self, key: &'a StoreKey, stored: &'a Stored) -> Storing<'a, ()> {
        Box::pin(async move {
            let folder = Folder::open(&self.inner.path)?;
            let bytes = self.inner.seal(&folder).await?.close(key, stored)?;
            let file = format!("{}{ENDING}", name(key));
            let writing = folder.writing().await?;
            aside(move || folder.replace(&file, &bytes, &writing)).await
        })
    }

    fn remove<'a>(&'a self, key: &'a StoreKey) -> Storing<'a, ()> {
        Box::pin(async move {
            let Some(folder) = Folder::existing(&self.inner.path)? else { return Ok(()) };
            let writing = folder.writing().await?;
            folder.remove(&format!("{}{ENDING}", name(key)), &writing)
        })
    }

    fn list(&self) -> Storing<'_, Vec<StoreKey>> {
        Box::pin(async move {
            let Some(folder) = Folder::existing(&self.inner.path)? else { return Ok(Vec::new()) };
            let mut keys = Vec::new();
            for name in folder.names(ENDING)? {
                let file = folder.path(&format!("{name}{ENDING}"));
                // One that cannot be read must not hide the others.
                match self.inner.read(&folder, &name).await {
                    Ok(Found::Whole(entry)) => keys.push(entry.key),
                    Ok(Found::Nothing) => {}
                    Ok(Found::Damaged) => tracing::warn!(
                        file = %file.display(),
                        "a token was damaged or sealed with another key, and is not used: log in again"
                    ),
                    Err(error) => tracing::warn!(%error, "a token is not used"),
                }
            }
            keys.sort();
            Ok(keys)
        })
    }

    fn lock<'a>(&'a self, key: &'a StoreKey) -> Storing<'a, Locked> {
        Box::pin(async move {
            let folder = Folder::open(&self.inner.path)?;
            Ok(Locked::by(folder.lock(&format!("{}.lock", name(key))).await?))
        })
    }
}

/// Where programs of this person keep their data, and ours therein.
pub(super) fn data_folder() -> Result<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || folder("HOME");
    let found = if cfg!(windows) {
        folder("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        folder("XDG_DATA_HOME").or_else(|| Some(home()?.join("Library/Application Support")))
    } else {
        folder("XDG_DATA_HOME").or_else(|| Some(home()?.join(".local/share")))
    };
    found.map(|path| path.join("contexture")).ok_or_else(|| {
        fault("there is no folder for them: set HOME or XDG_DATA_HOME to an absolute path".into())
    })
}
