//! Secrets that a person gave to be referred to by name, in configurations: sealed like tokens, one file each, in a folder that
//! only its owner can look into. The key is in the operating system's keyring where that works, else beside the files.
//!
//! Whoever knows the name and is the person gets the secret; it is never listed, and never part of an error.

use std::path::PathBuf;

use ring::digest::{SHA256, digest};

use super::file::data_folder;
use super::folder::{Folder, storage};
use super::sealed::{KEY_BYTES, Seal};
use crate::auth::Secret;
use crate::{Error, Result};

/// The key of the other files.
const KEY: &str = "key";
/// How the names of files end.
const ENDING: &str = ".secret";
/// Bytes of a secret, and what sealing adds.
const MOST: usize = 64 * 1024;
const SEAL_BYTES: usize = 256;

/// Keeps secrets under names.
#[derive(Debug, Clone, Default)]
pub struct SecretStore {
    /// The folder that was named; else the person's own.
    folder: Option<PathBuf>,
}

impl SecretStore {
    /// In the person's own folder. Nothing is looked for before it is asked for.
    pub fn open() -> Self {
        Self::default()
    }

    /// In this folder, with the key beside the secrets.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: Some(folder.into()) }
    }

    /// The secret of this name, if there is one.
    pub fn find(&self, name: &str) -> Result<Option<Secret>> {
        for (path, place) in self.places()? {
            let Some(folder) = Folder::existing(&path)? else { continue };
            let file = file(name);
            let Some(bytes) = folder.read(&file, MOST + SEAL_BYTES)? else { continue };
            let plain = Seal::new(&place.key(&folder)?)?.open_bytes(&file, &bytes);
            let secret = plain.and_then(|plain| String::from_utf8(plain).ok());
            let damaged = || {
                storage(&folder.path(&file), "was damaged or sealed with another key: give the secret again")
            };
            return secret.map(|text| Some(Secret::new(text))).ok_or_else(damaged);
        }
        Ok(None)
    }

    /// Keeps a secret, in the place of one of the same name. The keyring may ask the person to unlock it.
    pub fn keep(&self, name: &str, secret: &Secret) -> Result<()> {
        if secret.expose().len() > MOST {
            return Err(Error::TooMuch(format!("a secret of more than {MOST} bytes is not kept")));
        }
        let mut kept = false;
        // The last place always works, unless the disk does not. An older secret elsewhere must not be found any more.
        for (path, place) in self.places()? {
            if kept {
                remove(&path, name)?;
                continue;
            }
            let Some(key) = place.usable(&path)? else {
                remove(&path, name)?;
                continue;
            };
            let folder = Folder::open(&path)?;
            let bytes = Seal::new(&key)?.close_bytes(&file(name), secret.expose().as_bytes().to_vec())?;
            let writing = folder.writing_blocking()?;
            folder.replace(&file(name), &bytes, &writing)?;
            kept = true;
        }
        Ok(())
    }

    /// Forgets a secret, if there is one.
    pub fn forget(&self, name: &str) -> Result<()> {
        self.places()?.iter().try_for_each(|(path, _)| remove(path, name))
    }

    /// Where secrets may be, the safest first.
    fn places(&self) -> Result<Vec<(PathBuf, Place)>> {
        if let Some(folder) = &self.folder {
            return Ok(vec![(folder.clone(), Place::Beside)]);
        }
        let folder = data_folder()?;
        Ok(vec![
            #[cfg(feature = "keyring")]
            (folder.join("secrets-keyring"), Place::Keyring),
            (folder.join("secrets"), Place::Beside),
        ])
    }
}

/// Where the key of a folder is.
#[derive(Debug, Clone, Copy)]
enum Place {
    #[cfg(feature = "keyring")]
    Keyring,
    Beside,
}

impl Place {
    /// The key of secrets that are there.
    fn key(self, folder: &Folder) -> Result<[u8; KEY_BYTES]> {
        match self {
            #[cfg(feature = "keyring")]
            Self::Keyring => super::keyring::key(),
            Self::Beside => {
                let writing = folder.writing_blocking()?;
                if let Some(bytes) = folder.read(KEY, KEY_BYTES)? {
                    let wrong = "is no key: delete it together with its folder and give the secrets again";
                    return bytes.try_into().map_err(|_| storage(&folder.path(KEY), wrong));
                }
                let key = Seal::fresh_key()?;
                folder.replace(KEY, &key, &writing)?;
                Ok(key)
            }
        }
    }

    /// The key, if there can be one.
    fn usable(self, path: &std::path::Path) -> Result<Option<[u8; KEY_BYTES]>> {
        match self {
            #[cfg(feature = "keyring")]
            Self::Keyring => match super::keyring::key() {
                Ok(key) => Ok(Some(key)),
                Err(error) => {
                    tracing::debug!(%error, "secrets are kept in encrypted files");
                    Ok(None)
                }
            },
            Self::Beside => self.key(&Folder::open(path)?).map(Some),
        }
    }
}

fn remove(path: &std::path::Path, name: &str) -> Result<()> {
    let Some(folder) = Folder::existing(path)? else { return Ok(()) };
    let writing = folder.writing_blocking()?;
    folder.remove(&file(name), &writing)
}

/// The name of a secret's file tells nothing about it.
fn file(name: &str) -> String {
    let digest = digest(&SHA256, name.as_bytes());
    let digits: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{digits}{ENDING}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_kept_found_and_forgotten() {
        let folder = std::env::temp_dir().join(format!("contexture-secrets-{}", std::process::id()));
        let store = SecretStore::at(&folder);
        assert!(store.find("a/TOKEN").expect("nothing is no error").is_none());
        store.keep("a/TOKEN", &Secret::new("s3cret")).expect("it can be kept");
        store.keep("a/TOKEN", &Secret::new("n3wer")).expect("it can be replaced");
        assert!(store.find("a/TOKEN").expect("it can be read").expect("it is there").is("n3wer"));
        assert!(store.find("b/TOKEN").expect("it can be read").is_none());
        let files = std::fs::read_dir(&folder).expect("the folder is there").flatten();
        let bytes: Vec<u8> = files.filter_map(|file| std::fs::read(file.path()).ok()).flatten().collect();
        assert!(!bytes.windows(5).any(|window| window == b"n3wer"), "it is sealed");
        store.forget("a/TOKEN").expect("it can be forgotten");
        assert!(store.find("a/TOKEN").expect("it can be read").is_none());
        std::fs::remove_dir_all(&folder).expect("the folder can be removed");
    }
}
