//! Signed tokens: JSON Web Tokens (RFC 7519), verified and made.
//!
//! Asymmetric signatures only: there is no `none`, and no algorithm whose key for verifying could also sign. What a
//! token says about the place of its keys (`jku`, `x5u`, `jwk`, `x5c`) is never looked at; keys come from the issuer's
//! [`KeySet`]. Encrypted tokens are not read.
//!
//! ```
//! use contexture::auth::jwt::{Algorithm, Expected, KeySet, SigningKey, check_claims, verify};
//! use serde_json::json;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let key = SigningKey::generate_es256()?;
//! let claims = json!({ "iss": "https://issuer", "aud": "https://here/mcp", "exp": 1_000 });
//! let token = key.sign(&[("typ", "at+jwt")], &claims)?;
//!
//! let keys = KeySet::parse(json!({ "keys": [key.public_jwk()] }).to_string().as_bytes())?;
//! let claims = verify(&token, &keys, &[Algorithm::Es256])?;
//! let expected = Expected { issuer: "https://issuer", audience: "https://here/mcp", now: 990, leeway: 10 };
//! check_claims(&claims, &expected)?;
//! # Ok(())
//! # }
//! ```

mod claims;
mod keys;
mod sign;
mod verify;

use std::fmt;

pub use claims::{Expected, check_claims};
pub use keys::{Key, KeySet};
pub use sign::SigningKey;
pub use verify::{Header, peek, verify};

/// How a token is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Algorithm {
    /// RSA with PKCS #1 padding and SHA-256.
    Rs256,
    /// RSA with PKCS #1 padding and SHA-384.
    Rs384,
    /// RSA with PKCS #1 padding and SHA-512.
    Rs512,
    /// RSA with PSS padding and SHA-256.
    Ps256,
    /// RSA with PSS padding and SHA-384.
    Ps384,
    /// RSA with PSS padding and SHA-512.
    Ps512,
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// ECDSA on P-384 with SHA-384.
    Es384,
    /// Ed25519.
    EdDsa,
}

impl Algorithm {
    /// All there are.
    pub const ALL: [Self; 9] = [
        Self::Rs256,
        Self::Rs384,
        Self::Rs512,
        Self::Ps256,
        Self::Ps384,
        Self::Ps512,
        Self::Es256,
        Self::Es384,
        Self::EdDsa,
    ];

    /// As tokens and metadata write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Rs384 => "RS384",
            Self::Rs512 => "RS512",
            Self::Ps256 => "PS256",
            Self::Ps384 => "PS384",
            Self::Ps512 => "PS512",
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::EdDsa => "EdDSA",
        }
    }

    /// By its name, letter for letter. `Ed25519` is the newer name of `EdDSA` (RFC 9864).
    pub fn by_name(name: &str) -> Option<Self> {
        if name == "Ed25519" {
            return Some(Self::EdDsa);
        }
        Self::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a token proves nothing. None of these repeats anything that the token says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reject {
    /// It is not a signed token.
    Malformed(&'static str),
    /// It is longer than any token needs to be.
    TooLarge,
    /// It is signed in a way that is not allowed, or not signed.
    Algorithm,
    /// It demands that an extension be understood.
    Critical,
    /// It does not say which of several keys has signed it.
    NoKeyId,
    /// The key that it names is not among the issuer's.
    UnknownKey,
    /// The signature is wrong.
    Signature,
    /// Another issuer than expected.
    Issuer,
    /// It is for somebody else.
    Audience,
    /// Its time is over.
    Expired,
    /// Its time has not come.
    NotYetValid,
    /// This claim is missing or makes no sense.
    Claim(&'static str),
}

impl fmt::Display for Reject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(what) => write!(f, "this is not a signed token: {what}"),
            Self::TooLarge => f.write_str("the token is too long"),
            Self::Algorithm => f.write_str("the token is not signed with an allowed algorithm"),
            Self::Critical => f.write_str("the token needs an extension that is not supported"),
            Self::NoKeyId => f.write_str("the token does not say which key has signed it"),
            Self::UnknownKey => {
                f.write_str("the token is signed with a key that the issuer does not publish")
            }
            Self::Signature => f.write_str("the signature of the token is wrong"),
            Self::Issuer => f.write_str("the token is from another issuer"),
            Self::Audience => f.write_str("the token is for another resource"),
            Self::Expired => f.write_str("the token has expired"),
            Self::NotYetValid => f.write_str("the token is not valid yet"),
            Self::Claim(name) => write!(f, "the claim {name} of the token is missing or makes no sense"),
        }
    }
}

impl std::error::Error for Reject {}

#[cfg(test)]
mod tests;
