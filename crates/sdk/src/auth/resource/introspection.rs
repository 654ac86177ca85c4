//! Tokens that only their issuer understands: it is asked about them (RFC 7662).
//!
//! Answers are kept for a short while, by a digest of the whole token. What the issuer does not plainly call active and
//! meant for us is not good; an issuer that does not answer leaves it open, and nobody is let in.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use tokio::sync::{OnceCell, Semaphore};
use tokio::time::Instant;

use super::remembered::{Fingerprint, Remembered};
use super::tokens::now;
use super::verifier::{Unverified, invalid};
use super::{claims, discovery};
use crate::Principal;
use crate::auth::Secret;
use crate::auth::jwt::{self, Expected};
use crate::auth::outbound::{Answer, Outbound};

/// Questions at once; more are not asked.
const AT_ONCE: usize = 64;
/// Bytes of an answer: it is kept, and handlers are given it.
const BYTES: usize = 64 * 1024;

/// An issuer that is asked about its tokens.
pub(super) struct Introspection {
    pub(super) issuer: String,
    pub(super) client: String,
    pub(super) secret: Secret,
    pub(super) outbound: Outbound,
    pub(super) leeway: Duration,
    /// How long an answer is good for.
    pub(super) kept: Duration,
    pub(super) endpoint: OnceCell<String>,
    pub(super) room: Semaphore,
    /// Whose token it is; nobody's if it is not good.
    pub(super) answers: Remembered<Option<Principal>>,
}

impl Introspection {
    pub(super) fn room() -> Semaphore {
        Semaphore::new(AT_ONCE)
    }

    pub(super) async fn verify(&self, token: &str, audience: &[String]) -> Result<Principal, Unverified> {
        let fingerprint = Fingerprint::of(token);
        if let Some(answer) = self.answers.get(&fingerprint) {
            return answer.ok_or_else(|| invalid("its issuer said so a moment ago"));
        }
        let _place = self.room.try_acquire().map_err(|_| unavailable("too many tokens are asked about"))?;
        let said = self.ask(token).await?;
        let expires = said.get("exp").and_then(Value::as_u64).map(|at| at.saturating_sub(now()));
        let checked = self.check(said, audience);
        let kept = expires.map_or(self.kept, |seconds| self.kept.min(Duration::from_secs(seconds)));
        let (found, until) = (checked.as_ref().ok().cloned(), Instant::now() + kept);
        self.answers.keep(fingerprint, found, until);
        checked
    }

    async fn ask(&self, token: &str) -> Result<Map<String, Value>, Unverified> {
        let endpoint = self.endpoint.get_or_try_init(|| self.find()).await.map_err(unavailable)?;
        let form = [("token", token), ("token_type_hint", "access_token")];
        let credentials = self.credentials();
        let answer = self.outbound.post_form(endpoint, &form, &[("authorization", &credentials)]).await;
        let answer = answer.map_err(unavailable)?;
        read(&answer)
    }

    async fn find(&self) -> Result<String, String> {
        let metadata = discovery::metadata(&self.outbound, &self.issuer).await?;
        let endpoint = metadata.introspection_endpoint;
        endpoint.ok_or_else(|| format!("{} cannot be asked about tokens", self.issuer))
    }

    fn credentials(&self) -> String {
        let pair = format!("{}:{}", form_encoded(&self.client), form_encoded(self.secret.expose()));
        format!("Basic {}", STANDARD.encode(pair))
    }

    /// Whether what the issuer says is that the token is good here and now.
    fn check(&self, mut said: Map<String, Value>, audience: &[String]) -> Result<Principal, Unverified> {
        if said.get("active") != Some(&Value::Bool(true)) {
            return Err(invalid("its issuer does not call it active"));
        }
        let is_bearer = |kind: &Value| kind.as_str().is_some_and(|kind| kind.eq_ignore_ascii_case("bearer"));
        if said.get("token_type").is_some_and(|kind| !is_bearer(kind)) {
            return Err(invalid("it is not a bearer token"));
        }
        // The issuer need not repeat its own name, nor when the token ends: it has just said that it is active.
        said.entry("iss").or_insert_with(|| self.issuer.as_str().into());
        let mut checked = said.clone();
        checked.entry("exp").or_insert_with(|| (now() + 1).into());
        let good = audience.iter().any(|audience| {
            let (issuer, now, leeway) = (self.issuer.as_str(), now(), self.leeway.as_secs());
            jwt::check_claims(&checked, &Expected { issuer, audience, now, leeway }).is_ok()
        });
        if !good {
            return Err(invalid("it is from somebody else, for somebody else, or not valid now"));
        }
        claims::principal(&self.issuer, said)
    }
}

fn unavailable(why: impl ToString) -> Unverified {
    Unverified::Unavailable(why.to_string())
}

fn read(answer: &Answer) -> Result<Map<String, Value>, Unverified> {
    if answer.status != 200 {
        return Err(unavailable(format!("the issuer answered with status {}", answer.status)));
    }
    if answer.body.len() > BYTES {
        return Err(unavailable("the issuer's answer is too long"));
    }
    answer.json().map_err(unavailable)
}

/// As RFC 6749, section 2.3.1, wants both halves of the credentials.
fn form_encoded(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'*' | b'-' | b'.' | b'_' => char::from(byte).to_string(),
        b' ' => "+".to_owned(),
        other => format!("%{other:02X}"),
    };
    text.bytes().map(encode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_encoded() {
        assert_eq!(form_encoded("a-b_c.d*E9"), "a-b_c.d*E9");
        assert_eq!(form_encoded("a b:c/d%é"), "a+b%3Ac%2Fd%25%C3%A9");
    }
}
