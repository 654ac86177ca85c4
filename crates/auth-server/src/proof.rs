//! How clients prove that they are the ones: not at all, with a secret, or with a signature.
//!
//! In one way only, and in the way that they are known for. An assertion is for us, short-lived, and good once.

use std::sync::Arc;

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use contexture::auth::jwt::{Algorithm, Expected, KeySet, check_claims, verify};
use serde_json::Value;
use url::form_urlencoded;

use crate::answer::Refusal;
use crate::client::{Known, Proof, Way};
use crate::form::Form;
use crate::secrets::now;
use crate::server::Shared;

/// What assertions may be signed with.
pub(crate) const ALGORITHMS: [Algorithm; 5] =
    [Algorithm::Es256, Algorithm::Es384, Algorithm::EdDsa, Algorithm::Rs256, Algorithm::Ps256];

const ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/// Seconds for which an assertion may be good.
const MOST_LIFE: u64 = 10 * 60;
/// Seconds by which clocks may differ.
const LEEWAY: u64 = 30;

/// What a request brings to prove whose it is.
enum Shown {
    Nothing { id: String },
    Secret { id: String, secret: String, way: Way },
    Assertion { id: String, assertion: String },
}

impl Shown {
    fn read(headers: &HeaderMap, form: &Form) -> Result<Self, Refusal> {
        let id = form.get("client_id")?.map(str::to_owned);
        let basic = basic(headers)?;
        let secret = form.get("client_secret")?;
        let assertion = form.get("client_assertion")?;
        let ways =
            usize::from(basic.is_some()) + usize::from(secret.is_some()) + usize::from(assertion.is_some());
        if ways > 1 {
            return Err(Refusal::malformed("a client proves itself in one way only"));
        }
        let nameless = || Refusal::client("the request names no client", false);
        if let Some((named, secret)) = basic {
            return match id.is_none_or(|id| id == named) {
                true => Ok(Self::Secret { id: named, secret, way: Way::Basic }),
                false => Err(Refusal::malformed("client_id is another in the header")),
            };
        }
        if let Some(assertion) = assertion {
            if form.get("client_assertion_type")? != Some(ASSERTION) {
                return Err(Refusal::malformed("only assertions of the type jwt-bearer are understood"));
            }
            let named =
                subject(assertion).ok_or_else(|| Refusal::client("the assertion cannot be read", false))?;
            return match id.is_none_or(|id| id == named) {
                true => Ok(Self::Assertion { id: named, assertion: assertion.to_owned() }),
                false => Err(Refusal::malformed("client_id is another in the assertion")),
            };
        }
        let id = id.ok_or_else(nameless)?;
        Ok(match secret {
            Some(secret) => Self::Secret { id, secret: secret.to_owned(), way: Way::Post },
            None => Self::Nothing { id },
        })
    }

    fn id(&self) -> &str {
        match self {
            Self::Nothing { id } | Self::Secret { id, .. } | Self::Assertion { id, .. } => id,
        }
    }
}

impl Shared {
    /// The client that makes this request.
    pub(crate) async fn authenticate(&self, headers: &HeaderMap, form: &Form) -> Result<Arc<Known>, Refusal> {
        let shown = Shown::read(headers, form)?;
        let in_header = matches!(shown, Shown::Secret { way: Way::Basic, .. });
        let refused = |why: &str| Refusal::client(why, in_header);
        let client = self.find_client(shown.id()).await.map_err(|why| refused(&why))?;
        match (&client.proof, &shown) {
            (Proof::Nothing, Shown::Nothing { .. }) => {}
            (Proof::Secret { fingerprint, way: registered }, Shown::Secret { secret, way, .. })
                if registered.is_none_or(|registered| registered == *way)
                    && self.secrets.matches(fingerprint, secret) => {}
            (Proof::Keys(keys), Shown::Assertion { assertion, .. }) => {
                self.check_assertion(&client.id, keys, assertion).map_err(|why| refused(&why))?;
            }
            _ => return Err(refused("the client did not prove itself in the way that it is known for")),
        }
        Ok(client)
    }

    /// RFC 7523: by the client, about the client, for us, for a short time, and for once.
    fn check_assertion(&self, id: &str, keys: &KeySet, assertion: &str) -> Result<(), String> {
        let claims =
            verify(assertion, keys, &ALGORITHMS).map_err(|reject| format!("the assertion: {reject}"))?;
        let now = now();
        let token_endpoint = self.endpoint("token");
        // The issuer is what clients should name; older ones name the endpoint.
        let checks = [self.issuer.as_str(), &token_endpoint]
            .map(|audience| check_claims(&claims, &Expected { issuer: id, audience, now, leeway: LEEWAY }));
        if let [Err(reject), Err(_)] = checks {
            return Err(format!("the assertion: {reject}"));
        }
        if claims.get("sub").and_then(Value::as_str) != Some(id) {
            return Err("the assertion is about somebody else".to_owned());
        }
        let until = claims.get("exp").and_then(Value::as_u64).unwrap_or_default();
        if until > now + MOST_LIFE {
            return Err("the assertion is good for too long: ten minutes at most".to_owned());
        }
        let used = claims.get("jti").and_then(Value::as_str).filter(|jti| !jti.is_empty());
        let used = used.ok_or("the assertion has no jti")?;
        let filed = self.secrets.filed(&format!("{id}\n{used}"));
        let mut tables = self.tables();
        if tables.assertions.get(&filed, now).is_some() {
            return Err("the assertion was used before".to_owned());
        }
        // None is forgotten before its time, or it could be used again.
        match tables.assertions.insert_unless(filed, (), until + LEEWAY + 1, now, |()| true) {
            true => Ok(()),
            false => Err("there is no room for more assertions at the moment".to_owned()),
        }
    }
}

/// Id and secret of the `Authorization` header, each encoded like a form.
fn basic(headers: &HeaderMap) -> Result<Option<(String, String)>, Refusal> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let value = match (values.next(), values.next()) {
        (None, _) => return Ok(None),
        (Some(value), None) => value.to_str().unwrap_or_default(),
        _ => return Err(Refusal::malformed("there are two Authorization headers")),
    };
    let bad = || Refusal::client("the Authorization header is not one of the scheme Basic", true);
    let (scheme, rest) = value.split_once(' ').ok_or_else(bad)?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return Err(bad());
    }
    let text = STANDARD.decode(rest.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let text = text.ok_or_else(bad)?;
    let (id, secret) = text.split_once(':').ok_or_else(bad)?;
    Ok(Some((decoded(id), decoded(secret))))
}

/// One value that is encoded like those of forms.
fn decoded(text: &str) -> String {
    // Nothing in it separates, also where a client has left these as they are.
    let text = text.replace('&', "%26").replace('=', "%3D");
    let pair = form_urlencoded::parse(text.as_bytes()).next();
    pair.map(|(name, _)| name.into_owned()).unwrap_or_default()
}

/// Whom an assertion is about: not proven, only to know whose keys to prove it with.
fn subject(assertion: &str) -> Option<String> {
    let payload = URL_SAFE_NO_PAD.decode(assertion.split('.').nth(1)?).ok()?;
    let claims: Value = serde_json::from_slice(&payload).ok()?;
    claims.get("sub")?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_secrets_are_decoded_once() {
        assert_eq!(decoded("a%3Ab+c"), "a:b c");
        assert_eq!(decoded("a%2525"), "a%25");
        assert_eq!(decoded("a=b&c"), "a=b&c");
        assert_eq!(decoded(""), "");
    }
}
