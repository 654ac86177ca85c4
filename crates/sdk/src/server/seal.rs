//! The seal on `requestState`: what a handler has done so far, kept by the client between two rounds.
//!
//! Authenticated encryption, bound to who asks, what for, and until when. A state that was changed, is
//! too old, or belongs to another call does not open; it is never opened in part.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use contexture_core::json_rpc::{Members, write_string};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::{Error, Result};

/// What is kept between rounds.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Kept {
    /// Seconds since the epoch.
    expires: u64,
    /// Results of `once`.
    pub(crate) memo: BTreeMap<String, Value>,
    /// Answers of earlier rounds.
    pub(crate) answers: BTreeMap<String, Value>,
}

impl Kept {
    /// How long this is once it is sealed, at most.
    pub(crate) fn sealed_bytes(&self) -> usize {
        /// For the nonce, the tag, and the time until when.
        const BESIDE: usize = NONCE_LEN + 16 + 20;
        let plain = serde_json::to_vec(self).map_or(usize::MAX / 2, |data| data.len());
        plain.saturating_add(BESIDE).div_ceil(3).saturating_mul(4)
    }
}

/// The key that this server seals with.
pub(crate) struct Seal {
    key: LessSafeKey,
    random: SystemRandom,
    age: Duration,
}

impl std::fmt::Debug for Seal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seal")
    }
}

impl Seal {
    /// With this key, or a fresh one that no other process knows.
    pub(crate) fn new(key: Option<[u8; 32]>, age: Duration) -> Result<Self> {
        let random = SystemRandom::new();
        let key = match key {
            Some(key) => key,
            None => {
                let mut key = [0; 32];
                random.fill(&mut key).map_err(|_| no_randomness())?;
                key
            }
        };
        let key = UnboundKey::new(&AES_256_GCM, &key).map_err(|_| no_randomness())?;
        Ok(Self { key: LessSafeKey::new(key), random, age })
    }

    /// Seals, for this binding alone.
    pub(crate) fn close(&self, mut kept: Kept, binding: &[u8]) -> Result<String> {
        kept.expires = now().saturating_add(self.age.as_secs());
        let mut data = serde_json::to_vec(&kept).map_err(|error| Error::Misuse(error.to_string()))?;
        let mut nonce = [0; NONCE_LEN];
        self.random.fill(&mut nonce).map_err(|_| no_randomness())?;
        self.key
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(binding), &mut data)
            .map_err(|_| Error::Misuse("the state of this call is too large to seal".into()))?;
        let mut sealed = nonce.to_vec();
        sealed.append(&mut data);
        Ok(URL_SAFE_NO_PAD.encode(sealed))
    }

    /// Opens what was sealed for the same binding and has not expired.
    pub(crate) fn open(&self, text: &str, binding: &[u8]) -> Option<Kept> {
        let mut sealed = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (nonce, data) = sealed.split_at_mut_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let plain = self.key.open_in_place(nonce, Aad::from(binding), data).ok()?;
        let kept: Kept = serde_json::from_slice(plain).ok()?;
        (kept.expires > now()).then_some(kept)
    }
}

/// One spelling for equal parameters, so that a client may write them differently when it tries again. Members with these
/// names are left out at the top. Numbers are their text: two that we could not tell apart are still two.
pub(crate) fn canonical(text: &str, left_out: &[&str], out: &mut Vec<u8>) {
    let text = text.trim_ascii();
    match text.as_bytes().first() {
        Some(b'{') => {
            let mut members: Vec<_> =
                Members::of(text).filter(|member| !left_out.contains(&&*member.name)).collect();
            members.sort_by(|one, other| one.name.cmp(&other.name));
            out.push(b'{');
            for member in members {
                write_string(&member.name, out);
                out.push(b':');
                canonical(member.value, &[], out);
                out.push(b',');
            }
            out.push(b'}');
        }
        Some(b'[') => match serde_json::from_str::<Vec<&RawValue>>(text) {
            Ok(items) => {
                out.push(b'[');
                for item in items {
                    canonical(item.get(), &[], out);
                    out.push(b',');
                }
                out.push(b']');
            }
            Err(_) => out.extend_from_slice(text.as_bytes()),
        },
        Some(b'"') => match serde_json::from_str::<String>(text) {
            Ok(string) => write_string(&string, out),
            Err(_) => out.extend_from_slice(text.as_bytes()),
        },
        _ => out.extend_from_slice(text.as_bytes()),
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// An id that nobody has used and nobody can guess.
pub(crate) fn fresh_id() -> Result<String> {
    let mut id = [0; 16];
    SystemRandom::new().fill(&mut id).map_err(|_| no_randomness())?;
    Ok(URL_SAFE_NO_PAD.encode(id))
}

fn no_randomness() -> Error {
    Error::Misuse("the operating system gives no random numbers".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(seal: &Seal) -> String {
        let mut kept = Kept::default();
        kept.memo.insert("order".into(), Value::from(7));
        seal.close(kept, b"alice tools/call").expect("seals")
    }

    #[test]
    fn opens_for_the_same_binding_only() {
        let seal = Seal::new(None, Duration::from_secs(60)).expect("a key");
        let text = sealed(&seal);
        assert_eq!(seal.open(&text, b"alice tools/call").expect("opens").memo["order"], 7);
        assert!(seal.open(&text, b"bob tools/call").is_none());
        assert!(
            Seal::new(None, Duration::from_secs(60))
                .expect("a key")
                .open(&text, b"alice tools/call")
                .is_none()
        );
    }

    #[test]
    fn damage_and_age_are_noticed() {
        let seal = Seal::new(Some([7; 32]), Duration::from_secs(60)).expect("a key");
        let text = sealed(&seal);
        for at in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            let damaged = String::from_utf8(bytes).expect("ascii");
            assert!(damaged == text || seal.open(&damaged, b"alice tools/call").is_none(), "byte {at}");
            assert!(seal.open(&text[..at], b"alice tools/call").is_none());
        }
        let old = Seal::new(Some([7; 32]), Duration::ZERO).expect("a key");
        assert!(old.open(&sealed(&old), b"alice tools/call").is_none());
    }

    #[test]
    fn spelling_does_not_matter() {
        let mut spellings =
            [r#"{"b":[1,{"d":2,"c":3}],"a":"x"}"#, r#"{ "a": "x", "b": [1, {"c":3,"d":2}] }"#]
                .map(|text| {
                    let mut out = Vec::new();
                    canonical(text, &[], &mut out);
                    out
                })
                .into_iter();
        assert_eq!(spellings.next(), spellings.next());
    }

    #[test]
    fn numbers_are_not_rounded() {
        let spelt = |text: &str| {
            let mut out = Vec::new();
            canonical(text, &["requestState"], &mut out);
            out
        };
        let all = [
            r#"{"n":1e400}"#,
            r#"{"n":1e401}"#,
            r#"{"n":100000000000000000001}"#,
            r#"{"n":100000000000000000002}"#,
            r#"{"n":"1e400"}"#,
            r#"{"n":[1e400]}"#,
        ];
        let different: std::collections::BTreeSet<_> = all.iter().map(|text| spelt(text)).collect();
        assert_eq!(different.len(), all.len());
        assert_eq!(spelt(r#"{"n":1e400,"requestState":"a"}"#), spelt(r#"{"requestState":"b","n":1e400}"#));
    }
}
