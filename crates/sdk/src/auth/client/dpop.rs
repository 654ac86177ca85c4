//! Proof of possession (RFC 9449): a token that is of no use without a key of this client.
//!
//! Used where a server asks for it by name and its issuer verifies the only kind of key made here. Each proof is for
//! one request and is never used again; the key goes with its token into the store.

use std::sync::{Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::HeaderMap;
use reqwest::Url;
use ring::digest::{SHA256, digest};
use serde_json::{Map, Value, json};

use super::{now, unguessable};
use crate::auth::Secret;
use crate::auth::jwt::{Algorithm, SigningKey};
use crate::auth::metadata::{ServerMetadata, TokenRefusal};
use crate::auth::outbound::Answer;
use crate::{Error, Result};

const NONCE: &str = "dpop-nonce";
/// Bytes of a nonce that is repeated.
const NONCE_BYTES: usize = 1024;

/// A key, and the nonces that its proofs have to carry.
pub(super) struct Dpop {
    key: SigningKey,
    /// As it is stored.
    pub(super) kept: Secret,
    nonces: Mutex<Nonces>,
}

#[derive(Default)]
struct Nonces {
    issuer: Option<String>,
    server: Option<String>,
}

impl Dpop {
    /// Whether the authorization server can bind a token to a key of ours.
    pub(super) fn is_possible(metadata: &ServerMetadata) -> bool {
        let algorithms = metadata.dpop_signing_alg_values_supported.as_ref();
        algorithms.is_some_and(|names| names.iter().any(|name| name == Algorithm::Es256.name()))
    }

    /// With a fresh key.
    pub(super) fn new() -> Result<Self> {
        let key = SigningKey::generate_es256()?;
        Ok(Self { kept: key.to_pkcs8_pem(), key, nonces: Mutex::default() })
    }

    /// With the key that a stored token belongs to.
    pub(super) fn load(kept: &Secret) -> Result<Self> {
        let key = SigningKey::from_pkcs8_pem(kept.expose(), Algorithm::Es256)?;
        Ok(Self { key, kept: kept.clone(), nonces: Mutex::default() })
    }

    fn nonces(&self) -> MutexGuard<'_, Nonces> {
        self.nonces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For one request to the token endpoint.
    pub(super) fn for_issuer(&self, endpoint: &str) -> Result<String> {
        let nonce = self.nonces().issuer.clone();
        self.proof("POST", endpoint, None, nonce)
    }

    /// For one request to the server.
    pub(super) fn for_server(&self, method: &str, url: &str, token: &Secret) -> Result<String> {
        let nonce = self.nonces().server.clone();
        self.proof(method, url, Some(token), nonce)
    }

    fn proof(
        &self,
        method: &str,
        url: &str,
        token: Option<&Secret>,
        nonce: Option<String>,
    ) -> Result<String> {
        let mut address = Url::parse(url).map_err(|error| Error::Misuse(error.to_string()))?;
        address.set_query(None);
        address.set_fragment(None);
        let mut claims =
            json!({ "jti": unguessable()?, "htm": method, "htu": address.as_str(), "iat": now() });
        if let Some(token) = token {
            claims["ath"] = json!(URL_SAFE_NO_PAD.encode(digest(&SHA256, token.expose().as_bytes())));
        }
        if let Some(nonce) = nonce {
            claims["nonce"] = json!(nonce);
        }
        self.key.sign_with(&json!({ "typ": "dpop+jwt", "jwk": self.public_key() }), &claims)
    }

    /// Only what makes the key.
    fn public_key(&self) -> Value {
        let jwk = self.key.public_jwk();
        let members = ["kty", "crv", "x", "y"].into_iter().map(|name| (name.to_owned(), jwk[name].clone()));
        Value::Object(members.collect::<Map<_, _>>())
    }

    /// Whether the token endpoint only wants a nonce, which the next proof carries.
    pub(super) fn wants_nonce(&self, answer: &Answer) -> bool {
        let refusal = answer.json::<TokenRefusal>();
        let wants = answer.status == 400 && refusal.is_ok_and(|refusal| refusal.error == "use_dpop_nonce");
        wants && remember(&mut self.nonces().issuer, answer.header(NONCE))
    }

    /// Whether the server wants a nonce that it was not shown. The next proof carries it.
    pub(super) fn learn_nonce(&self, headers: &HeaderMap) -> bool {
        remember(&mut self.nonces().server, headers.get(NONCE).and_then(|nonce| nonce.to_str().ok()))
    }
}

/// Whether there is a new one.
fn remember(known: &mut Option<String>, nonce: Option<&str>) -> bool {
    match nonce.filter(|nonce| !nonce.is_empty() && nonce.len() <= NONCE_BYTES) {
        Some(nonce) if known.as_deref() != Some(nonce) => {
            *known = Some(nonce.to_owned());
            true
        }
        _ => false,
    }
}
