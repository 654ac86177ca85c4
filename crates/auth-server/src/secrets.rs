//! Random names, fingerprints, and comparisons that take the same time whatever is compared.
//!
//! Secrets that are given out are kept as fingerprints only: what is in memory cannot be presented.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::{digest, hmac};
use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

/// Where randomness and comparisons come from.
pub(crate) struct Secrets {
    random: SystemRandom,
    key: hmac::Key,
}

/// What is kept of a secret. It is of no use to anybody else, nor after a restart.
#[derive(Clone)]
pub(crate) struct Fingerprint(hmac::Tag);

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets")
    }
}

impl Secrets {
    /// `None` if the system has no randomness to give.
    pub(crate) fn new() -> Option<Self> {
        let random = SystemRandom::new();
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &random).ok()?;
        Some(Self { random, key })
    }

    /// 256 random bits as text that fits anywhere; `None` if the system has none.
    pub(crate) fn random(&self) -> Option<String> {
        let mut bytes = [0; 32];
        self.random.fill(&mut bytes).ok()?;
        Some(URL_SAFE_NO_PAD.encode(bytes))
    }

    pub(crate) fn fingerprint(&self, secret: &str) -> Fingerprint {
        Fingerprint(hmac::sign(&self.key, secret.as_bytes()))
    }

    /// Whether this is the secret that the fingerprint is of.
    pub(crate) fn matches(&self, fingerprint: &Fingerprint, presented: &str) -> bool {
        hmac::verify(&self.key, presented.as_bytes(), fingerprint.0.as_ref()).is_ok()
    }

    /// The name under which something is filed that was given out as a secret.
    pub(crate) fn filed(&self, secret: &str) -> String {
        URL_SAFE_NO_PAD.encode(hmac::sign(&self.key, secret.as_bytes()))
    }
}

/// The S256 challenge of a PKCE verifier.
pub(crate) fn challenge_of(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, verifier.as_bytes()))
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_fits_its_secret_only() {
        let secrets = Secrets::new().expect("randomness");
        let fingerprint = secrets.fingerprint("right");
        assert!(secrets.matches(&fingerprint, "right"));
        assert!(!secrets.matches(&fingerprint, "wrong"));
        assert!(!secrets.matches(&fingerprint, ""));
        assert_eq!(format!("{fingerprint:?}"), "***");
        assert_ne!(secrets.random(), secrets.random());
    }

    #[test]
    fn the_challenge_is_that_of_rfc_7636() {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert_eq!(challenge_of(verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }
}
