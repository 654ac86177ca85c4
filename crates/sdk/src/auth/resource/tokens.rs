//! Tokens that their issuer has signed, and tokens that it has to be asked about.
//!
//! Each issuer is trusted for its own tokens only, with its own keys and its own algorithms. A signed token names
//! its issuer, which is believed only once that issuer's key has verified it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::claims;
use super::introspection::Introspection;
use super::keys::Keys;
use super::remembered::{Fingerprint, Remembered};
use super::verifier::{TokenVerifier, Unverified, Verifying, invalid};
use crate::Principal;
use crate::auth::jwt::{self, Algorithm, Expected, Reject};

/// A verified token is not verified again for so long.
const REMEMBERED: Duration = Duration::from_secs(5 * 60);

/// The tokens of all issuers.
pub(super) struct Tokens {
    pub(super) issuers: HashMap<String, Verified>,
    /// Who is asked about tokens that do not say whose they are.
    pub(super) opaque: Option<Arc<Introspection>>,
    pub(super) verified: Remembered<Good>,
}

/// Whose token it was, for as long as the keys are those that verified it.
#[derive(Clone)]
pub(super) struct Good {
    principal: Principal,
    keys: Arc<Keys>,
    number: u64,
}

/// How the tokens of one issuer are verified.
pub(super) enum Verified {
    BySignature(Signatures),
    ByAsking(Arc<Introspection>),
}

impl TokenVerifier for Tokens {
    fn verify<'a>(&'a self, token: &'a str, audience: &'a [String]) -> Verifying<'a> {
        Box::pin(async move {
            let fingerprint = Fingerprint::of(token);
            let good = self.verified.get(&fingerprint).filter(|good| good.keys.are_still(good.number));
            if let Some(good) = good {
                return Ok(good.principal);
            }
            match (issuer_of(token), &self.opaque) {
                (Some(issuer), _) => match self.issuers.get(&issuer) {
                    Some(Verified::BySignature(signatures)) => {
                        let (good, until) = signatures.verify(token, audience).await?;
                        let principal = good.principal.clone();
                        self.verified.keep(fingerprint, good, until);
                        Ok(principal)
                    }
                    Some(Verified::ByAsking(introspection)) => introspection.verify(token, audience).await,
                    None => Err(invalid("it is from an issuer that is not trusted here")),
                },
                (None, Some(introspection)) => introspection.verify(token, audience).await,
                (None, None) => Err(invalid("it is not a signed token")),
            }
        })
    }
}

/// Who a signed token says has issued it, which proves nothing yet.
fn issuer_of(token: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Said {
        iss: String,
    }

    jwt::peek(token).ok()?;
    let payload = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    serde_json::from_slice::<Said>(&payload).ok().map(|said| said.iss)
}

/// Tokens of one issuer that it has signed.
pub(super) struct Signatures {
    pub(super) issuer: String,
    pub(super) algorithms: Vec<Algorithm>,
    pub(super) leeway: Duration,
    pub(super) keys: Arc<Keys>,
}

impl Signatures {
    /// Whose token it is, and until when that need not be found out again.
    async fn verify(&self, token: &str, audience: &[String]) -> Result<(Good, Instant), Unverified> {
        let header = jwt::peek(token).map_err(invalid)?;
        let is_access_token = header.kind.is_none() || header.is("JWT") || header.is("at+jwt");
        if !is_access_token || !self.algorithms.contains(&header.algorithm) {
            return Err(invalid("it is of another kind than the access tokens of its issuer"));
        }
        let known = self.keys.fitting(&header).await?;
        let claims = jwt::verify(token, &known.keys, &self.algorithms).map_err(invalid)?;
        let expires = self.check(&claims, audience).map_err(invalid)?;
        let principal = claims::principal(&self.issuer, claims)?;
        let until = Instant::now() + expires.min(REMEMBERED);
        Ok((Good { principal, keys: Arc::clone(&self.keys), number: known.number }, until))
    }

    /// Whether the claims are good here and now, and for how long they will be.
    fn check(&self, claims: &Map<String, Value>, audience: &[String]) -> Result<Duration, Reject> {
        let now = now();
        let (issuer, leeway) = (self.issuer.as_str(), self.leeway.as_secs());
        let mut checked = Err(Reject::Audience);
        for audience in audience {
            checked = jwt::check_claims(claims, &Expected { issuer, audience, now, leeway });
            if checked != Err(Reject::Audience) {
                break;
            }
        }
        checked?;
        let expires = claims.get("exp").and_then(Value::as_u64).unwrap_or_default();
        Ok(Duration::from_secs(expires.saturating_sub(now)))
    }
}

/// Seconds since the epoch.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
