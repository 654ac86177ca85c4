//! Keys that sign: of clients that prove themselves with one, and of issuers.
//!
//! A private key comes from PKCS #8 and goes nowhere but into signatures; `Debug` shows its id.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::rsa;
use ring::signature::{self, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RsaEncoding, RsaKeyPair};
use serde_json::{Map, Value, json};

use super::Algorithm;
use crate::auth::Secret;
use crate::{Error, Result};

/// A private key, and the algorithm that it is used with.
pub struct SigningKey {
    pair: Pair,
    algorithm: Algorithm,
    id: String,
    pkcs8: Vec<u8>,
}

enum Pair {
    Rsa(Box<RsaKeyPair>),
    Ec(EcdsaKeyPair),
    Ed(Ed25519KeyPair),
}

impl SigningKey {
    /// A fresh key on P-256.
    pub fn generate_es256() -> Result<Self> {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&signature::ECDSA_P256_SHA256_FIXED_SIGNING, &random)
            .map_err(|_| Error::Misuse("the system gives no random numbers".into()))?;
        Self::from_pkcs8(document.as_ref(), Algorithm::Es256)
    }

    /// A key from a PEM file: `-----BEGIN PRIVATE KEY-----`, without a password.
    pub fn from_pkcs8_pem(pem: &str, algorithm: Algorithm) -> Result<Self> {
        Self::from_pkcs8(&unwrap_pem(pem)?, algorithm)
    }

    /// A key in PKCS #8.
    pub fn from_pkcs8(pkcs8: &[u8], algorithm: Algorithm) -> Result<Self> {
        let rejected = |reason| {
            Error::Misuse(format!(
                "the private key cannot be used for {algorithm} ({reason}): give one of that kind"
            ))
        };
        let random = SystemRandom::new();
        let curve = match algorithm {
            Algorithm::Es256 => Some(&signature::ECDSA_P256_SHA256_FIXED_SIGNING),
            Algorithm::Es384 => Some(&signature::ECDSA_P384_SHA384_FIXED_SIGNING),
            _ => None,
        };
        let pair = match (curve, algorithm) {
            (Some(curve), _) => Pair::Ec(EcdsaKeyPair::from_pkcs8(curve, pkcs8, &random).map_err(rejected)?),
            // Other tools leave the public half out.
            (None, Algorithm::EdDsa) => {
                Pair::Ed(Ed25519KeyPair::from_pkcs8_maybe_unchecked(pkcs8).map_err(rejected)?)
            }
            (None, _) => Pair::Rsa(Box::new(RsaKeyPair::from_pkcs8(pkcs8).map_err(rejected)?)),
        };
        let id = thumbprint(&members(&pair, algorithm));
        Ok(Self { pair, algorithm, id, pkcs8: pkcs8.to_vec() })
    }

    /// A token with these claims. `header` adds members to `alg` and `kid`, such as `typ`.
    pub fn sign(&self, header: &[(&str, &str)], claims: &Value) -> Result<String> {
        let members: Map<_, _> =
            header.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        let mut header = Value::Object(members);
        header["kid"] = json!(self.id);
        self.sign_with(&header, claims)
    }

    /// A token with this header and no other: proofs of `DPoP` carry their key and no id. `alg` is set here.
    pub(crate) fn sign_with(&self, header: &Value, claims: &Value) -> Result<String> {
        let mut header = header.clone();
        header["alg"] = json!(self.algorithm.name());
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(&header), part(claims));
        let signature = URL_SAFE_NO_PAD.encode(self.signature(signed.as_bytes())?);
        Ok(format!("{signed}.{signature}"))
    }

    /// The bare signature of a message.
    pub(super) fn signature(&self, message: &[u8]) -> Result<Vec<u8>> {
        let failed = |_| Error::Misuse("the private key cannot sign".into());
        let random = SystemRandom::new();
        match &self.pair {
            Pair::Ec(pair) => Ok(pair.sign(&random, message).map_err(failed)?.as_ref().to_vec()),
            Pair::Ed(pair) => Ok(pair.sign(message).as_ref().to_vec()),
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(padding(self.algorithm), &random, message, &mut signature).map_err(failed)?;
                Ok(signature)
            }
        }
    }

    /// The name of the key: the thumbprint of its public half (RFC 7638).
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What it signs with.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The public half, as a member of a key set.
    pub fn public_jwk(&self) -> Value {
        let members = members(&self.pair, self.algorithm);
        let mut jwk: Map<_, _> =
            members.into_iter().map(|(name, value)| (name.to_owned(), json!(value))).collect();
        jwk.insert("kid".into(), json!(self.id));
        jwk.insert("alg".into(), json!(self.algorithm.name()));
        jwk.insert("use".into(), json!("sig"));
        Value::Object(jwk)
    }

    /// The private key as a PEM file, to be kept where only its owner can read it.
    pub fn to_pkcs8_pem(&self) -> Secret {
        let text = STANDARD.encode(&self.pkcs8);
        let mut pem = String::from("-----BEGIN PRIVATE KEY-----\n");
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let (line, more) = rest.split_at(rest.len().min(64));
            pem.push_str(line);
            pem.push('\n');
            rest = more;
        }
        pem.push_str("-----END PRIVATE KEY-----\n");
        Secret::new(pem)
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({} {})", self.algorithm, self.id)
    }
}

/// What makes a public key the key that it is, by name.
fn members(pair: &Pair, algorithm: Algorithm) -> Vec<(&'static str, String)> {
    let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    match pair {
        Pair::Rsa(pair) => {
            let public: rsa::PublicKeyComponents<Vec<u8>> = pair.public().into();
            vec![("e", text(&public.e)), ("kty", "RSA".into()), ("n", text(&public.n))]
        }
        Pair::Ec(pair) => {
            let curve = if algorithm == Algorithm::Es384 { "P-384" } else { "P-256" };
            // The first byte says that both coordinates follow.
            let point = pair.public_key().as_ref().get(1..).unwrap_or_default();
            let (x, y) = point.split_at(point.len() / 2);
            vec![("crv", curve.into()), ("kty", "EC".into()), ("x", text(x)), ("y", text(y))]
        }
        Pair::Ed(pair) => {
            let x = text(pair.public_key().as_ref());
            vec![("crv", "Ed25519".into()), ("kty", "OKP".into()), ("x", x)]
        }
    }
}

/// RFC 7638: the required members only, in order, without spaces. None of the values needs escaping.
fn thumbprint(members: &[(&str, String)]) -> String {
    let members: Vec<_> = members.iter().map(|(name, value)| format!("\"{name}\":\"{value}\"")).collect();
    let text = format!("{{{}}}", members.join(","));
    URL_SAFE_NO_PAD.encode(digest(&SHA256, text.as_bytes()))
}

fn padding(algorithm: Algorithm) -> &'static dyn RsaEncoding {
    match algorithm {
        Algorithm::Rs384 => &signature::RSA_PKCS1_SHA384,
        Algorithm::Rs512 => &signature::RSA_PKCS1_SHA512,
        Algorithm::Ps256 => &signature::RSA_PSS_SHA256,
        Algorithm::Ps384 => &signature::RSA_PSS_SHA384,
        Algorithm::Ps512 => &signature::RSA_PSS_SHA512,
        _ => &signature::RSA_PKCS1_SHA256,
    }
}

/// What stands between the lines of a PEM file.
fn unwrap_pem(pem: &str) -> Result<Vec<u8>> {
    const ADVICE: &str = "make one with `openssl pkcs8 -topk8 -nocrypt`";
    let misuse = |what: &str| Error::Misuse(format!("{what}: {ADVICE}"));
    let (_, rest) = pem
        .split_once("-----BEGIN PRIVATE KEY-----")
        .ok_or_else(|| misuse("the private key is not a PEM file with BEGIN PRIVATE KEY"))?;
    let (body, _) = rest
        .split_once("-----END PRIVATE KEY-----")
        .ok_or_else(|| misuse("the private key has no line with END PRIVATE KEY"))?;
    let text: String = body.split_ascii_whitespace().collect();
    STANDARD.decode(text).map_err(|_| misuse("the private key is not in base64"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::jwt::tests as fixture;

    #[test]
    fn a_key_is_named_by_its_thumbprint() {
        // The example of RFC 7638, section 3.1.
        let modulus = "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw";
        let members = [("e", "AQAB".to_owned()), ("kty", "RSA".to_owned()), ("n", modulus.to_owned())];
        assert_eq!(thumbprint(&members), "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs");
    }

    #[test]
    fn a_key_survives_its_file() {
        for algorithm in Algorithm::ALL {
            let key = fixture::key(algorithm);
            let again = SigningKey::from_pkcs8_pem(key.to_pkcs8_pem().expose(), algorithm).expect("the key");
            assert_eq!(key.public_jwk(), again.public_jwk(), "{algorithm}");
        }
    }

    #[test]
    fn a_key_does_not_show_itself() {
        let key = fixture::rsa(Algorithm::Ps256);
        assert_eq!(format!("{key:?}"), format!("SigningKey(PS256 {})", key.id()));
        assert!(key.public_jwk().get("d").is_none());
    }

    #[test]
    fn a_wrong_key_is_refused_with_advice() {
        for pem in [
            "",
            "hunter2",
            "-----BEGIN EC PRIVATE KEY-----\nhunter2\n-----END EC PRIVATE KEY-----",
            "-----BEGIN PRIVATE KEY-----\nhunter2",
            "-----BEGIN PRIVATE KEY-----\nhunter2!\n-----END PRIVATE KEY-----",
            "-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----",
            fixture::RSA,
        ] {
            let error = SigningKey::from_pkcs8_pem(pem, Algorithm::Es256).expect_err("not a key").to_string();
            assert!(error.contains("openssl") || error.contains("give one of that kind"), "{error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
