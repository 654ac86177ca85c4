//! From what an issuer says about a token to who is calling and what they may do.
//!
//! The claims come from a signature that was verified, or from the issuer itself; whether the token is good is decided
//! before.

use serde_json::{Map, Value};

use super::verifier::{Unverified, invalid};
use crate::{Principal, Scopes};

/// Bytes of a subject: every table of owners has it.
const SUBJECT: usize = 1024;

/// Whoever the claims are about.
pub(super) fn principal(issuer: &str, claims: Map<String, Value>) -> Result<Principal, Unverified> {
    // A token that is bound to a key is worth nothing without proof of that key, which nobody asked for.
    if claims.contains_key("cnf") {
        return Err(invalid("it is bound to a key and was shown as if it were not"));
    }
    let subject = match claims.get("sub") {
        Some(Value::String(subject)) if !subject.is_empty() && subject.len() <= SUBJECT => subject.clone(),
        _ => return Err(invalid("it does not say whose it is (sub)")),
    };
    let scopes = scopes(&claims)?;
    Ok(Principal::new(issuer, subject).granting(scopes).with_claims(claims))
}

/// `scope` as RFC 9068 has it, or `scp` as some have it instead; one text, or a list.
fn scopes(claims: &Map<String, Value>) -> Result<Scopes, Unverified> {
    match claims.get("scope").or_else(|| claims.get("scp")) {
        None | Some(Value::Null) => Ok(Scopes::none()),
        Some(Value::String(text)) => Ok(Scopes::parse(text)),
        Some(Value::Array(words)) => {
            let words: Option<Vec<_>> = words.iter().map(Value::as_str).collect();
            let words = words.ok_or_else(|| invalid("its scopes are not words"))?;
            Ok(words.into_iter().collect())
        }
        Some(_) => Err(invalid("its scopes are not words")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(claims: &Value) -> Option<Principal> {
        principal("https://issuer.example", claims.as_object().expect("an object").clone()).ok()
    }

    #[test]
    fn claims_are_read_in_all_their_forms() {
        for (claims, scopes) in [
            (json!({ "sub": "ada" }), ""),
            (json!({ "sub": "ada", "scope": "b a" }), "a b"),
            (json!({ "sub": "ada", "scope": ["a", "b"] }), "a b"),
            (json!({ "sub": "ada", "scp": ["a"] }), "a"),
            (json!({ "sub": "ada", "scp": "a b" }), "a b"),
            (json!({ "sub": "ada", "scope": "a", "scp": "b" }), "a"),
        ] {
            let principal = read(&claims).unwrap_or_else(|| panic!("{claims}"));
            assert_eq!(principal.subject(), "ada");
            assert_eq!(principal.scopes().map(ToString::to_string).as_deref(), Some(scopes), "{claims}");
        }
    }

    #[test]
    fn claims_that_make_no_sense_are_nobodys() {
        for claims in [
            json!({}),
            json!({ "sub": "" }),
            json!({ "sub": 5 }),
            json!({ "sub": "x".repeat(SUBJECT + 1) }),
            json!({ "sub": "ada", "scope": 5 }),
            json!({ "sub": "ada", "scope": ["a", 5] }),
            json!({ "sub": "ada", "cnf": { "jkt": "x" } }),
        ] {
            assert_eq!(read(&claims), None, "{claims}");
        }
    }
}
