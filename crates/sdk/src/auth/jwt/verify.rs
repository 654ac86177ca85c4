//! The signature of a token, and nothing but the signature.
//!
//! Which algorithm is allowed is decided before a key is chosen, and the key must be for that algorithm: a token never
//! chooses how it is verified.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};

use super::{Algorithm, KeySet, Reject};

/// Bytes of a token.
const BYTES: usize = 16 * 1024;
/// Bytes of a key id.
const ID_BYTES: usize = 1024;
/// Keys with one id that are tried.
const TRIES: usize = 4;

/// What a token says about how it is signed. Nothing of it is proven.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Header {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// The key.
    pub key_id: Option<String>,
    /// What kind of token it is.
    pub kind: Option<String>,
}

impl Header {
    /// Whether it is of this kind: `at+jwt`, for example, in any case and with or without `application/`.
    pub fn is(&self, kind: &str) -> bool {
        let Some(own) = self.kind.as_deref() else { return false };
        let short = |text: &str| {
            let text = text.to_ascii_lowercase();
            text.strip_prefix("application/").unwrap_or(&text).to_owned()
        };
        short(own) == short(kind)
    }
}

/// A header as it is written. A member that comes twice is an error, as everywhere in a derived reader.
#[derive(Deserialize)]
struct Written {
    alg: String,
    kid: Option<String>,
    typ: Option<String>,
    cty: Option<String>,
    crit: Option<IgnoredAny>,
    b64: Option<IgnoredAny>,
    enc: Option<IgnoredAny>,
    zip: Option<IgnoredAny>,
}

/// Reads how a token is signed, without believing it.
pub fn peek(token: &str) -> Result<Header, Reject> {
    let (header, _, _) = parts(token)?;
    read_header(header)
}

fn read_header(part: &str) -> Result<Header, Reject> {
    let written: Written = serde_json::from_slice(&decode(part)?)
        .map_err(|_| Reject::Malformed("its header is not what it should be"))?;
    if written.crit.is_some() || written.b64.is_some() {
        return Err(Reject::Critical);
    }
    if written.enc.is_some() || written.zip.is_some() {
        return Err(Reject::Malformed("it is encrypted or compressed"));
    }
    if written.cty.is_some_and(|content| content.eq_ignore_ascii_case("JWT")) {
        return Err(Reject::Malformed("it has another token in it"));
    }
    if written.kid.as_ref().is_some_and(|id| id.len() > ID_BYTES) {
        return Err(Reject::Malformed("its key id is too long"));
    }
    let algorithm = Algorithm::by_name(&written.alg).ok_or(Reject::Algorithm)?;
    Ok(Header { algorithm, key_id: written.kid, kind: written.typ })
}

/// The claims of a token that one of these keys has signed with one of these algorithms.
///
/// What they claim, and whether it still holds, is for [`check_claims`](super::check_claims).
pub fn verify(token: &str, keys: &KeySet, allowed: &[Algorithm]) -> Result<Map<String, Value>, Reject> {
    let (header_part, payload, signature_part) = parts(token)?;
    let header = read_header(header_part)?;
    if !allowed.contains(&header.algorithm) {
        return Err(Reject::Algorithm);
    }
    let signature = decode(signature_part)?;
    let signed = &token.as_bytes()[..header_part.len() + 1 + payload.len()];
    let mut candidates = keys.candidates(header.key_id.as_deref(), header.algorithm).take(TRIES).peekable();
    if candidates.peek().is_none() {
        return Err(if header.key_id.is_some() { Reject::UnknownKey } else { Reject::NoKeyId });
    }
    if !candidates.any(|key| key.verifies(header.algorithm, signed, &signature)) {
        return Err(Reject::Signature);
    }
    let claims: Claims = serde_json::from_slice(&decode(payload)?)
        .map_err(|_| Reject::Malformed("its claims are not an object, or one comes twice"))?;
    Ok(claims.0)
}

/// The three parts of a signed token.
fn parts(token: &str) -> Result<(&str, &str, &str), Reject> {
    if token.len() > BYTES {
        return Err(Reject::TooLarge);
    }
    let mut parts = token.split('.');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(header), Some(payload), Some(signature), None) => Ok((header, payload, signature)),
        (_, _, _, Some(_)) => Err(Reject::Malformed("it is encrypted, or has too many parts")),
        _ => Err(Reject::Malformed("it has not three parts")),
    }
}

fn decode(part: &str) -> Result<Vec<u8>, Reject> {
    URL_SAFE_NO_PAD.decode(part).map_err(|_| Reject::Malformed("it is not in base64url"))
}

/// An object without repeated members: whoever reads another of two would read another token.
struct Claims(Map<String, Value>);

impl<'de> Deserialize<'de> for Claims {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = Claims;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Claims, A::Error> {
                let mut claims = Map::new();
                while let Some((name, value)) = members.next_entry::<String, Value>()? {
                    if claims.insert(name, value).is_some() {
                        return Err(A::Error::custom("a member comes twice"));
                    }
                }
                Ok(Claims(claims))
            }
        }

        deserializer.deserialize_map(Members)
    }
}

#[cfg(test)]
mod tests {
    use ring::hmac;
    use serde_json::json;

    use super::super::SigningKey;
    use super::*;
    use crate::auth::jwt::tests as fixture;

    fn set(keys: &[&SigningKey]) -> KeySet {
        let keys: Vec<_> = keys.iter().map(|key| key.public_jwk()).collect();
        KeySet::parse(json!({ "keys": keys }).to_string().as_bytes()).expect("a set")
    }

    fn part(value: &Value) -> String {
        URL_SAFE_NO_PAD.encode(value.to_string())
    }

    /// A token with any header, signed by a key all the same.
    fn forged(key: &SigningKey, header: &Value, claims: &Value) -> String {
        let signed = format!("{}.{}", part(header), part(claims));
        let signature = URL_SAFE_NO_PAD.encode(key.signature(signed.as_bytes()).expect("a signature"));
        format!("{signed}.{signature}")
    }

    #[test]
    fn every_algorithm_verifies_its_own_signatures_only() {
        let claims = json!({ "sub": "ada" });
        for algorithm in Algorithm::ALL {
            let key = fixture::key(algorithm);
            let token = key.sign(&[("typ", "at+jwt")], &claims).expect("a token");
            let keys = set(&[&key]);
            let verified =
                verify(&token, &keys, &[algorithm]).unwrap_or_else(|error| panic!("{algorithm}: {error}"));
            assert_eq!(Value::Object(verified), claims);
            let header = peek(&token).expect("a header");
            assert_eq!((header.algorithm, header.key_id.as_deref()), (algorithm, Some(key.id())));
            assert!(header.is("AT+JWT") && header.is("application/at+jwt") && !header.is("JWT"));
            let others: Vec<_> = Algorithm::ALL.into_iter().filter(|other| *other != algorithm).collect();
            assert_eq!(verify(&token, &keys, &others), Err(Reject::Algorithm), "E04 {algorithm}");
        }
    }

    // E02
    // covers: AUTH-TOKEN-VALIDATE
    #[test]
    fn an_unsigned_token_is_refused() {
        let key = fixture::es256();
        let keys = set(&[&key]);
        let claims = part(&json!({ "sub": "ada" }));
        for name in ["none", "None", "nOnE", "NONE", "", " none", "es256", "ES256 "] {
            let header = part(&json!({ "alg": name, "kid": key.id() }));
            for signature in ["", "AAAA"] {
                let token = format!("{header}.{claims}.{signature}");
                assert_eq!(verify(&token, &keys, &Algorithm::ALL), Err(Reject::Algorithm), "{name:?}");
            }
        }
        let header = part(&json!({ "alg": "ES256", "kid": key.id() }));
        for signature in [String::new(), URL_SAFE_NO_PAD.encode([0; 64]), URL_SAFE_NO_PAD.encode([0; 63])] {
            let token = format!("{header}.{claims}.{signature}");
            assert_eq!(verify(&token, &keys, &Algorithm::ALL), Err(Reject::Signature), "{signature:?}");
        }
    }

    // E03
    // covers: AUTH-TOKEN-VALIDATE
    #[test]
    fn a_public_key_is_not_a_password() {
        let key = fixture::rsa(Algorithm::Rs256);
        let keys = set(&[&key]);
        let jwk = key.public_jwk();
        let modulus = URL_SAFE_NO_PAD.decode(jwk["n"].as_str().expect("a modulus")).expect("bytes");
        for (name, algorithm) in
            [("HS256", hmac::HMAC_SHA256), ("HS384", hmac::HMAC_SHA384), ("HS512", hmac::HMAC_SHA512)]
        {
            let signed = format!("{}.{}", part(&json!({ "alg": name, "kid": key.id() })), part(&json!({})));
            for secret in [jwk.to_string().as_bytes(), &modulus, key.id().as_bytes()] {
                let tag = hmac::sign(&hmac::Key::new(algorithm, secret), signed.as_bytes());
                let token = format!("{signed}.{}", URL_SAFE_NO_PAD.encode(tag));
                assert_eq!(verify(&token, &keys, &Algorithm::ALL), Err(Reject::Algorithm), "{name}");
            }
        }
    }

    // E04
    #[test]
    fn the_key_decides_what_can_be_verified_with_it() {
        let (rsa, ec) = (fixture::rsa(Algorithm::Rs256), fixture::es256());
        let keys = set(&[&rsa, &ec]);
        let token = forged(&ec, &json!({ "alg": "RS256", "kid": ec.id() }), &json!({}));
        assert_eq!(verify(&token, &keys, &Algorithm::ALL), Err(Reject::UnknownKey));
        let token = forged(&ec, &json!({ "alg": "RS256", "kid": rsa.id() }), &json!({}));
        assert_eq!(verify(&token, &keys, &Algorithm::ALL), Err(Reject::Signature));
    }

    // E06: issuer A's token with issuer B's key id.
    #[test]
    fn a_key_id_proves_nothing() {
        let (theirs, ours) = (fixture::es256(), fixture::es256());
        let token = forged(&theirs, &json!({ "alg": "ES256", "kid": ours.id() }), &json!({}));
        assert_eq!(verify(&token, &set(&[&ours]), &Algorithm::ALL), Err(Reject::Signature));
    }

    // E09
    #[test]
    fn a_key_id_is_only_a_name() {
        let (key, other) = (fixture::es256(), fixture::es256());
        let keys = set(&[&key, &other]);
        for id in ["../../etc/passwd", "' OR 1=1 --", "https://evil/jwks", "\u{0}", ""] {
            let token = forged(&key, &json!({ "alg": "ES256", "kid": id }), &json!({}));
            assert_eq!(verify(&token, &keys, &Algorithm::ALL), Err(Reject::UnknownKey), "{id:?}");
        }
        let missing = forged(&key, &json!({ "alg": "ES256" }), &json!({}));
        assert_eq!(verify(&missing, &keys, &Algorithm::ALL), Err(Reject::NoKeyId));
        assert!(verify(&missing, &set(&[&key]), &Algorithm::ALL).is_ok(), "there is only one");
        for (id, reject) in [
            (json!("x".repeat(2 * ID_BYTES)), "its key id is too long"),
            (json!(7), "its header is not what it should be"),
            (json!([key.id()]), "its header is not what it should be"),
        ] {
            let token = forged(&key, &json!({ "alg": "ES256", "kid": id }), &json!({}));
            assert_eq!(verify(&token, &keys, &Algorithm::ALL), Err(Reject::Malformed(reject)));
        }
        let token = forged(&key, &json!({ "alg": "ES256", "kid": "x".repeat(1024 * 1024) }), &json!({}));
        assert_eq!(verify(&token, &keys, &Algorithm::ALL), Err(Reject::TooLarge));
    }

    // E10
    #[test]
    fn a_token_brings_no_keys() {
        let (ours, evil) = (fixture::es256(), fixture::es256());
        let header = json!({
            "alg": "ES256", "jwk": evil.public_jwk(), "jku": "https://evil/jwks", "x5u": "https://evil/x", "x5c": ["AAAA"]
        });
        let token = forged(&evil, &header, &json!({}));
        assert_eq!(verify(&token, &set(&[&ours]), &Algorithm::ALL), Err(Reject::Signature));
        assert_eq!(verify(&token, &KeySet::default(), &Algorithm::ALL), Err(Reject::NoKeyId));
        let mut header = header;
        header["kid"] = json!(ours.id());
        let token = forged(&ours, &header, &json!({}));
        assert!(verify(&token, &set(&[&ours]), &Algorithm::ALL).is_ok(), "they are passed over");
    }

    // E16
    #[test]
    fn what_is_no_plain_signed_token_is_refused() {
        let key = fixture::es256();
        let keys = set(&[&key]);
        for (more, reject) in [
            (json!({ "crit": ["exp"] }), Reject::Critical),
            (json!({ "crit": [] }), Reject::Critical),
            (json!({ "b64": false }), Reject::Critical),
            (json!({ "enc": "A128GCM" }), Reject::Malformed("it is encrypted or compressed")),
            (json!({ "zip": "DEF" }), Reject::Malformed("it is encrypted or compressed")),
            (json!({ "cty": "jwt" }), Reject::Malformed("it has another token in it")),
            (json!({ "typ": 1 }), Reject::Malformed("its header is not what it should be")),
        ] {
            let mut header = json!({ "alg": "ES256", "kid": key.id() });
            header.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
            assert_eq!(verify(&forged(&key, &header, &json!({})), &keys, &Algorithm::ALL), Err(reject));
        }
        let good = key.sign(&[], &json!({})).expect("a token");
        for bad in [
            String::new(),
            ".".into(),
            "..".into(),
            "a.b".into(),
            format!("{good}.x.y"),
            format!("{good}."),
            format!("{good}="),
            format!("{good} "),
            format!(" {good}"),
            good.replace('.', ".."),
            good.replace('.', "\u{ff0e}"),
            format!("é{good}"),
        ] {
            let reject = verify(&bad, &keys, &Algorithm::ALL).expect_err("not a token");
            assert!(matches!(reject, Reject::Malformed(_)), "{bad:?}: {reject:?}");
        }
    }

    #[test]
    fn claims_are_one_object_in_which_nothing_comes_twice() {
        let key = fixture::es256();
        let keys = set(&[&key]);
        let header = part(&json!({ "alg": "ES256", "kid": key.id() }));
        for claims in
            [r#"{"aud":"a","aud":"b"}"#, r#"{"aud":"a","\u0061ud":"b"}"#, "[]", "null", "\"x\"", "{", ""]
        {
            let signed = format!("{header}.{}", URL_SAFE_NO_PAD.encode(claims));
            let signature = URL_SAFE_NO_PAD.encode(key.signature(signed.as_bytes()).expect("a signature"));
            let reject =
                verify(&format!("{signed}.{signature}"), &keys, &Algorithm::ALL).expect_err("refused");
            assert!(matches!(reject, Reject::Malformed(_)), "{claims}: {reject:?}");
        }
    }

    #[test]
    fn one_changed_character_is_noticed() {
        let key = fixture::es256();
        let keys = set(&[&key]);
        let token = key.sign(&[], &json!({ "sub": "ada" })).expect("a token");
        for at in 0..token.len() {
            let mut bytes = token.clone().into_bytes();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(bytes).expect("text");
            assert!(verify(&changed, &keys, &Algorithm::ALL).is_err(), "{at}: {changed}");
        }
    }
}
