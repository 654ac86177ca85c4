//! The public keys of an issuer: a JSON Web Key Set (RFC 7517).
//!
//! Keys that cannot be used safely are left out, not repaired: symmetric ones, weak ones, those for encryption, and those
//! whose private half was published with them. Key ids are names to compare, never places to look.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey};
use serde::Deserialize;
use serde_json::Value;

use super::Algorithm;

/// Bytes of a set.
const BYTES: usize = 1024 * 1024;
/// Keys of a set.
const MOST: usize = 100;
/// Bits of an RSA modulus, from and to.
const RSA_BITS: std::ops::RangeInclusive<usize> = 2048..=8192;

/// Keys of one issuer.
#[derive(Clone, Debug, Default)]
pub struct KeySet {
    keys: Vec<Key>,
}

/// One public key.
#[derive(Clone, Debug)]
pub struct Key {
    id: Option<String>,
    /// The only algorithm that it is for, if it says so.
    algorithm: Option<Algorithm>,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Rsa { modulus: Vec<u8>, exponent: Vec<u8> },
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

/// A key as it is published. What is not a string where one is expected makes the key useless.
#[derive(Deserialize)]
struct Published {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    key_ops: Option<Vec<String>>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
    d: Option<Value>,
}

impl KeySet {
    /// Reads a set of at most 1 MiB and 100 keys. Keys that are of no use are left out.
    pub fn parse(json: &[u8]) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Document {
            keys: Vec<Value>,
        }
        if json.len() > BYTES {
            return Err(format!("the key set is larger than {BYTES} bytes"));
        }
        let document: Document =
            serde_json::from_slice(json).map_err(|error| format!("this is not a key set: {error}"))?;
        if document.keys.len() > MOST {
            return Err(format!("the key set has more than {MOST} keys"));
        }
        Ok(Self { keys: document.keys.into_iter().filter_map(Key::read).collect() })
    }

    /// Keys that may have signed a token which names this key id and this algorithm.
    ///
    /// A token without a key id may have been signed with the only key there is for its algorithm. If there are several,
    /// none of them is tried.
    pub fn candidates(&self, id: Option<&str>, algorithm: Algorithm) -> impl Iterator<Item = &Key> {
        let fitting = move |key: &&Key| key.fits(algorithm) && (id.is_none() || key.id.as_deref() == id);
        let ambiguous = id.is_none() && self.keys.iter().filter(fitting).count() > 1;
        self.keys.iter().filter(fitting).take(if ambiguous { 0 } else { MOST })
    }

    /// Whether a key has this id.
    pub fn has(&self, id: &str) -> bool {
        self.keys.iter().any(|key| key.id.as_deref() == Some(id))
    }

    /// How many keys can be used.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether no key can be used.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
}

impl Key {
    fn read(value: Value) -> Option<Self> {
        let published: Published = serde_json::from_value(value).ok()?;
        let for_signatures = published.purpose.as_deref().is_none_or(|purpose| purpose == "sig")
            && published.key_ops.as_ref().is_none_or(|ops| ops.iter().any(|op| op == "verify"));
        if !for_signatures || published.d.is_some() {
            return None;
        }
        let kind = Kind::read(&published)?;
        let algorithm = match &published.alg {
            Some(name) => Some(Algorithm::by_name(name)?),
            None => None,
        };
        Some(Self { id: published.kid, algorithm, kind })
    }

    /// Whether it can have made signatures of this algorithm.
    fn fits(&self, algorithm: Algorithm) -> bool {
        use Algorithm::{EdDsa, Es256, Es384, Ps256, Ps384, Ps512, Rs256, Rs384, Rs512};
        let of_kind = matches!(
            (&self.kind, algorithm),
            (Kind::Rsa { .. }, Rs256 | Rs384 | Rs512 | Ps256 | Ps384 | Ps512)
                | (Kind::P256(_), Es256)
                | (Kind::P384(_), Es384)
                | (Kind::Ed25519(_), EdDsa)
        );
        of_kind && self.algorithm.is_none_or(|only| only == algorithm)
    }

    /// Whether it has signed this message with this algorithm.
    pub fn verifies(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        if !self.fits(algorithm) {
            return false;
        }
        let verified = match &self.kind {
            Kind::Rsa { modulus, exponent } => {
                let key = RsaPublicKeyComponents { n: modulus, e: exponent };
                let Some(parameters) = rsa_parameters(algorithm) else { return false };
                key.verify(parameters, message, signature)
            }
            Kind::P256(point) => {
                UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_FIXED, point).verify(message, signature)
            }
            Kind::P384(point) => {
                UnparsedPublicKey::new(&signature::ECDSA_P384_SHA384_FIXED, point).verify(message, signature)
            }
            Kind::Ed25519(key) => UnparsedPublicKey::new(&signature::ED25519, key).verify(message, signature),
        };
        verified.is_ok()
    }
}

fn rsa_parameters(algorithm: Algorithm) -> Option<&'static signature::RsaParameters> {
    Some(match algorithm {
        Algorithm::Rs256 => &signature::RSA_PKCS1_2048_8192_SHA256,
        Algorithm::Rs384 => &signature::RSA_PKCS1_2048_8192_SHA384,
        Algorithm::Rs512 => &signature::RSA_PKCS1_2048_8192_SHA512,
        Algorithm::Ps256 => &signature::RSA_PSS_2048_8192_SHA256,
        Algorithm::Ps384 => &signature::RSA_PSS_2048_8192_SHA384,
        Algorithm::Ps512 => &signature::RSA_PSS_2048_8192_SHA512,
        _ => return None,
    })
}

impl Kind {
    fn read(published: &Published) -> Option<Self> {
        match (published.kty.as_str(), published.crv.as_deref()) {
            ("RSA", None) => {
                let modulus = positive(published.n.as_deref()?)?;
                let exponent = positive(published.e.as_deref()?)?;
                let bits = modulus.len() * 8 - modulus.first()?.leading_zeros() as usize;
                (RSA_BITS.contains(&bits) && exponent.len() <= 8).then_some(Self::Rsa { modulus, exponent })
            }
            ("EC", Some("P-256")) => point(published, 32).map(Self::P256),
            ("EC", Some("P-384")) => point(published, 48).map(Self::P384),
            ("OKP", Some("Ed25519")) => {
                let key = URL_SAFE_NO_PAD.decode(published.x.as_deref()?).ok()?;
                (key.len() == 32).then_some(Self::Ed25519(key))
            }
            _ => None,
        }
    }
}

/// A number greater than zero, without the zeros that some put in front of it.
fn positive(text: &str) -> Option<Vec<u8>> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    (zeros < bytes.len()).then(|| bytes[zeros..].to_vec())
}

/// A point of a curve, uncompressed.
fn point(published: &Published, length: usize) -> Option<Vec<u8>> {
    let x = URL_SAFE_NO_PAD.decode(published.x.as_deref()?).ok()?;
    let y = URL_SAFE_NO_PAD.decode(published.y.as_deref()?).ok()?;
    (x.len() == length && y.len() == length).then(|| [&[4], x.as_slice(), &y].concat())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::auth::jwt::tests as fixture;

    fn set(keys: &[Value]) -> KeySet {
        KeySet::parse(json!({ "keys": keys }).to_string().as_bytes()).expect("a set")
    }

    // E13
    #[test]
    fn a_set_is_bounded() {
        let key = json!({ "kty": "OKP", "crv": "Ed25519", "x": URL_SAFE_NO_PAD.encode([1; 32]) });
        let most = vec![key.clone(); MOST];
        assert_eq!(set(&most).len(), MOST);
        let more = json!({ "keys": vec![key; 10_000] }).to_string();
        assert!(KeySet::parse(more.as_bytes()).is_err());
        let large = format!(r#"{{"keys":[],"x":"{}"}}"#, "x".repeat(BYTES));
        assert!(KeySet::parse(large.as_bytes()).is_err());
        for bad in ["", "[]", "{}", r#"{"keys":{}}"#, "<html>", r#"{"keys":[],"keys":[]}"#] {
            assert!(KeySet::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }

    // E13
    #[test]
    fn weak_and_useless_keys_are_left_out() {
        let number = |bytes: usize| URL_SAFE_NO_PAD.encode(vec![0xff; bytes]);
        let point = || URL_SAFE_NO_PAD.encode([1; 32]);
        let padded = URL_SAFE_NO_PAD.encode([vec![0; 192], vec![0xff; 64]].concat());
        for key in [
            json!({ "kty": "RSA", "n": number(64), "e": "AQAB" }),
            json!({ "kty": "RSA", "n": number(128), "e": "AQAB" }),
            json!({ "kty": "RSA", "n": number(255), "e": "AQAB" }),
            json!({ "kty": "RSA", "n": padded, "e": "AQAB" }),
            json!({ "kty": "RSA", "n": number(2048), "e": "AQAB" }),
            json!({ "kty": "RSA", "n": number(256), "e": number(9) }),
            json!({ "kty": "RSA", "n": number(256), "e": "" }),
            json!({ "kty": "RSA", "n": number(256), "e": "AQAB", "use": "enc" }),
            json!({ "kty": "RSA", "n": number(256), "e": "AQAB", "alg": "RSA-OAEP" }),
            json!({ "kty": "RSA", "n": number(256), "e": "AQAB", "alg": "HS256" }),
            json!({ "kty": "RSA", "n": number(256), "e": "AQAB", "key_ops": ["encrypt"] }),
            json!({ "kty": "RSA", "n": number(256), "e": "AQAB", "d": number(256) }),
            json!({ "kty": "RSA", "n": "!", "e": "AQAB" }),
            json!({ "kty": "oct", "k": number(32), "alg": "HS256" }),
            json!({ "kty": "EC", "crv": "P-256", "x": point() }),
            json!({ "kty": "EC", "crv": "P-384", "x": point(), "y": point() }),
            json!({ "kty": "EC", "crv": "secp256k1", "x": point(), "y": point() }),
            json!({ "kty": "OKP", "crv": "X25519", "x": point() }),
            json!({ "kty": "OKP", "crv": "Ed25519", "x": "AAAA" }),
            json!({ "kty": "RSA", "kid": 7, "n": number(256), "e": "AQAB" }),
            json!(null),
            json!("key"),
        ] {
            assert!(set(std::slice::from_ref(&key)).is_empty(), "{key}");
        }
        assert_eq!(set(&[json!({ "kty": "RSA", "n": number(256), "e": "AQAB", "use": "sig" })]).len(), 1);
    }

    // E04, E09
    #[test]
    fn a_key_is_found_by_its_id_and_algorithm() {
        let (first, second) = (fixture::es256(), fixture::es256());
        let keys =
            set(&[first.public_jwk(), second.public_jwk(), fixture::rsa(Algorithm::Rs256).public_jwk()]);
        let count = |id, algorithm| keys.candidates(id, algorithm).count();
        assert_eq!(count(Some(first.id()), Algorithm::Es256), 1);
        assert_eq!(count(Some(first.id()), Algorithm::Rs256), 0);
        assert_eq!(count(Some(first.id()), Algorithm::Es384), 0);
        assert_eq!(count(Some("../../etc/x"), Algorithm::Es256), 0);
        assert_eq!(count(Some(""), Algorithm::Es256), 0);
        assert_eq!(count(None, Algorithm::Es256), 0, "which of the two?");
        assert_eq!(count(None, Algorithm::Rs256), 1);
        assert!(keys.has(first.id()) && !keys.has("other"));
    }

    #[test]
    fn a_key_for_one_algorithm_is_for_no_other() {
        let mut jwk = fixture::rsa(Algorithm::Rs256).public_jwk();
        jwk.as_object_mut().expect("an object").remove("alg");
        assert_eq!(set(std::slice::from_ref(&jwk)).candidates(None, Algorithm::Ps512).count(), 1);
        jwk["alg"] = json!("RS256");
        assert_eq!(set(&[jwk]).candidates(None, Algorithm::Ps512).count(), 0);
    }
}
