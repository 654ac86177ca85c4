//! Entries as files hold them: authenticated encryption with AES-256-GCM, bound to the entry's name.
//!
//! An entry that was changed, cut, moved to another name or sealed with another key does not open; it is
//! never opened in part.

use std::fmt;

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};

use super::{StoreKey, Stored};
use crate::{Error, Result};

/// Bytes of a key.
pub(super) const KEY_BYTES: usize = 32;
/// Bytes of an entry: several times what the largest tokens in use need.
pub(super) const ENTRY_BYTES: usize = 512 * 1024;
/// The first bytes of every file: what it is, and in which form.
const MAGIC: &[u8] = b"contexture tokens 1\n";

/// What is inside.
#[derive(Deserialize)]
pub(super) struct Entry {
    pub(super) key: StoreKey,
    pub(super) stored: Stored,
}

/// The same before it is sealed.
#[derive(Serialize)]
struct EntryRef<'a> {
    key: &'a StoreKey,
    stored: &'a Stored,
}

/// Seals and opens entries.
pub(super) struct Seal(LessSafeKey);

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seal")
    }
}

impl Seal {
    pub(super) fn new(key: &[u8; KEY_BYTES]) -> Result<Self> {
        let key = UnboundKey::new(&AES_256_GCM, key).map_err(|_| no_randomness())?;
        Ok(Self(LessSafeKey::new(key)))
    }

    /// A key that nobody else knows.
    pub(super) fn fresh_key() -> Result<[u8; KEY_BYTES]> {
        random()
    }

    pub(super) fn close(&self, key: &StoreKey, stored: &Stored) -> Result<Vec<u8>> {
        let data = serde_json::to_vec(&EntryRef { key, stored })
            .map_err(|error| Error::Misuse(format!("what is to be stored is not JSON: {error}")))?;
        if data.len() > ENTRY_BYTES {
            let issuer = &key.issuer;
            return Err(Error::TooMuch(format!(
                "the answers of {issuer} are more than {ENTRY_BYTES} bytes, which nobody stores"
            )));
        }
        self.close_bytes(&name(key), data)
    }

    /// Bytes for a file of this name.
    pub(super) fn close_bytes(&self, name: &str, mut data: Vec<u8>) -> Result<Vec<u8>> {
        let nonce: [u8; NONCE_LEN] = random()?;
        let binding = binding(name);
        self.0
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(&binding), &mut data)
            .map_err(|_| Error::Misuse("the entry cannot be sealed".into()))?;
        Ok([MAGIC, &nonce, &data].concat())
    }

    /// What was sealed for a file of this name, with this key.
    pub(super) fn open(&self, name: &str, bytes: &[u8]) -> Option<Entry> {
        let entry: Entry = serde_json::from_slice(&self.open_bytes(name, bytes)?).ok()?;
        (self::name(&entry.key) == name).then_some(entry)
    }

    /// The bytes that were sealed for a file of this name, with this key.
    pub(super) fn open_bytes(&self, name: &str, bytes: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = bytes.strip_prefix(MAGIC)?.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut sealed = sealed.to_vec();
        Some(self.0.open_in_place(nonce, Aad::from(binding(name)), &mut sealed).ok()?.to_vec())
    }
}

/// The name of an entry's file: it tells nothing about whom the person has accounts with.
pub(super) fn name(key: &StoreKey) -> String {
    let parts = [&key.issuer, &key.resource, &key.account];
    // With their lengths, so that no two keys are spelled the same.
    let text: String = parts.iter().map(|part| format!("{}:{part}", part.len())).collect();
    let digest = digest(&SHA256, text.as_bytes());
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn binding(name: &str) -> Vec<u8> {
    [MAGIC, name.as_bytes()].concat()
}

fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).map_err(|_| no_randomness())?;
    Ok(bytes)
}

fn no_randomness() -> Error {
    Error::Misuse("the operating system gives no random numbers".into())
}
