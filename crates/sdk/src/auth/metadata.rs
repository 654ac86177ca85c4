//! The documents by which servers and clients describe themselves.
//!
//! Types only: members that nobody here needs are passed over, and what a document claims is believed nowhere in
//! this file. How large one may be is decided where it is fetched.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::Secret;

/// Seconds that a token is taken to be good for, where its `expires_in` makes no sense.
const SHORT: u64 = 60;
/// Nothing is believed to be good for longer than a year.
const LONGEST: u64 = 365 * 24 * 60 * 60;
/// So much of a peer's explanation is repeated.
const EXCERPT: usize = 300;

/// A protected resource about itself (RFC 9728).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ResourceMetadata {
    /// The resource's own name: its canonical URI.
    pub resource: String,
    /// Issuers whose tokens it takes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub authorization_servers: Vec<String>,
    /// Scopes that make sense here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scopes_supported: Option<Vec<String>>,
    /// Where in a request a token may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bearer_methods_supported: Option<Vec<String>>,
    /// A name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_name: Option<String>,
    /// A page for developers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_documentation: Option<String>,
}

/// An authorization server about itself (RFC 8414, OpenID Connect Discovery).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ServerMetadata {
    /// Its own name, which must be the one that the document was asked for by.
    pub issuer: String,
    /// Where people say yes or no. Servers for machines have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorization_endpoint: Option<String>,
    /// Where tokens are given out.
    pub token_endpoint: String,
    /// Where clients introduce themselves (RFC 7591).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registration_endpoint: Option<String>,
    /// The keys that tokens are signed with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jwks_uri: Option<String>,
    /// Where resource servers ask about tokens (RFC 7662).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub introspection_endpoint: Option<String>,
    /// Where tokens are given back (RFC 7009).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revocation_endpoint: Option<String>,
    /// Scopes that it knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scopes_supported: Option<Vec<String>>,
    /// What the authorization endpoint can answer with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_types_supported: Option<Vec<String>>,
    /// What tokens are given out for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grant_types_supported: Option<Vec<String>>,
    /// Methods of PKCE (RFC 7636).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code_challenge_methods_supported: Option<Vec<String>>,
    /// How clients prove themselves at the token endpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_endpoint_auth_methods_supported: Option<Vec<String>>,
    /// With which algorithms they may sign.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_endpoint_auth_signing_alg_values_supported: Option<Vec<String>>,
    /// Algorithms of `DPoP` proofs (RFC 9449).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dpop_signing_alg_values_supported: Option<Vec<String>>,
    /// Kinds of authorization grant that are taken in signed form, such as `ID-JAG`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorization_grant_profiles_supported: Option<Vec<String>>,
    /// Whether answers name their issuer (RFC 9207).
    #[serde(default)]
    pub authorization_response_iss_parameter_supported: bool,
    /// Whether a client may be named by the address of its metadata.
    #[serde(default)]
    pub client_id_metadata_document_supported: bool,
}

/// A client about itself: the request of a registration (RFC 7591), or the document that its client id leads to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ClientMetadata {
    /// Only in a document: its own address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// A name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_name: Option<String>,
    /// A page for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_uri: Option<String>,
    /// Where answers may go.
    #[serde(default)]
    pub redirect_uris: Vec<String>,
    /// What tokens it will ask for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grant_types: Option<Vec<String>>,
    /// What it will ask the authorization endpoint for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_types: Option<Vec<String>>,
    /// How it proves itself; `none` if it cannot keep a secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_endpoint_auth_method: Option<String>,
    /// With which algorithm it signs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_endpoint_auth_signing_alg: Option<String>,
    /// `native` or `web`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub application_type: Option<String>,
    /// Scopes that it may ask for, separated by spaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// Its public keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jwks: Option<Value>,
    /// Where its public keys are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jwks_uri: Option<String>,
    /// What software it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub software_id: Option<String>,
    /// Which version of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub software_version: Option<String>,
}

/// What an authorization server made of a registration (RFC 7591, section 3.2.1). All of it is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Registration {
    /// Who the client is, there.
    pub client_id: String,
    /// Its password, if it got one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<Secret>,
    /// Seconds since the epoch; 0 for never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_secret_expires_at: Option<u64>,
    /// How it proves itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_endpoint_auth_method: Option<String>,
    /// Where answers may go.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redirect_uris: Option<Vec<String>>,
    /// For changes to the registration (RFC 7592).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registration_access_token: Option<Secret>,
    /// Where changes are made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registration_client_uri: Option<String>,
    /// Everything else that it said.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

impl Registration {
    /// A client that is known there already.
    pub fn known(client_id: impl Into<String>) -> Self {
        Self {
            client_id: client_id.into(),
            client_secret: None,
            client_secret_expires_at: None,
            token_endpoint_auth_method: None,
            redirect_uris: None,
            registration_access_token: None,
            registration_client_uri: None,
            rest: Map::new(),
        }
    }
}

/// What a token endpoint gives (RFC 6749, section 5.1).
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct TokenAnswer {
    /// The token.
    pub access_token: Secret,
    /// How it is shown: `Bearer`, or it is of no use to us.
    pub token_type: String,
    /// Seconds that it is good for. A year at most, and a minute where the text makes no sense.
    #[serde(default, deserialize_with = "lenient_seconds")]
    pub expires_in: Option<u64>,
    /// For the next one.
    pub refresh_token: Option<Secret>,
    /// What was granted, if that is not what was asked for.
    pub scope: Option<String>,
    /// What was given in an exchange (RFC 8693).
    pub issued_token_type: Option<String>,
}

/// Numbers, and what some servers write instead of numbers.
fn lenient_seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let seconds = match Value::deserialize(deserializer)? {
        Value::Null => return Ok(None),
        // The cast saturates, and what is not a number becomes 0.
        Value::Number(number) => number.as_u64().or_else(|| number.as_f64().map(|float| float as u64)),
        Value::String(text) if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some(text.parse().unwrap_or(u64::MAX))
        }
        _ => None,
    };
    Ok(Some(match seconds {
        None | Some(0) => SHORT,
        Some(seconds) => seconds.min(LONGEST),
    }))
}

/// Why a token endpoint gives nothing (RFC 6749, section 5.2).
///
/// Both texts are a stranger's. `Display` shows as much of them as is safe on a terminal.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct TokenRefusal {
    /// One word.
    pub error: String,
    /// A sentence for developers.
    pub error_description: Option<String>,
}

impl fmt::Display for TokenRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&harmless(&self.error))?;
        match &self.error_description {
            Some(text) if !text.trim().is_empty() => write!(f, " ({})", harmless(text)),
            _ => Ok(()),
        }
    }
}

/// One short line of a stranger's text, without anything that a terminal would obey.
pub(crate) fn harmless(text: &str) -> String {
    let is_plain = |char: &char| !char.is_control() && !is_invisible(*char);
    let shown: String = text.trim().chars().map(|char| if is_plain(&char) { char } else { ' ' }).collect();
    match shown.char_indices().nth(EXCERPT) {
        Some((end, _)) => format!("{}…", &shown[..end]),
        None => shown,
    }
}

/// Characters that change the order or the look of others.
fn is_invisible(char: char) -> bool {
    matches!(char, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn seconds_are_read_leniently() {
        for (written, expected) in [
            (json!(3600), Some(3600)),
            (json!("3600"), Some(3600)),
            (json!(3600.9), Some(3600)),
            (json!(null), None),
            (json!(-1), Some(SHORT)),
            (json!(0), Some(SHORT)),
            (json!("soon"), Some(SHORT)),
            (json!("-1"), Some(SHORT)),
            (json!(""), Some(SHORT)),
            (json!([1]), Some(SHORT)),
            (json!(true), Some(SHORT)),
            (json!(1_000_000_000_000_000_000_u64), Some(LONGEST)),
            (json!(1e300), Some(LONGEST)),
            (json!("99999999999999999999999999"), Some(LONGEST)),
        ] {
            let text = json!({ "access_token": "a", "token_type": "Bearer", "expires_in": written });
            let answer: TokenAnswer = serde_json::from_value(text).expect("an answer");
            assert_eq!(answer.expires_in, expected, "{written}");
        }
        let none = json!({ "access_token": "a", "token_type": "Bearer" });
        assert_eq!(serde_json::from_value::<TokenAnswer>(none).expect("an answer").expires_in, None);
    }

    #[test]
    fn an_answer_without_a_token_is_none() {
        for text in [
            json!({ "token_type": "Bearer" }),
            json!({ "access_token": null, "token_type": "Bearer" }),
            json!({ "access_token": 1, "token_type": "Bearer" }),
            json!({ "access_token": "a" }),
            json!([]),
        ] {
            assert!(serde_json::from_value::<TokenAnswer>(text.clone()).is_err(), "{text}");
        }
    }

    #[test]
    fn secrets_of_documents_are_not_shown() {
        let text = json!({
            "client_id": "c", "client_secret": "hunter2", "registration_access_token": "hunter2", "client_name": "n"
        });
        let registration: Registration = serde_json::from_value(text.clone()).expect("a registration");
        assert!(!format!("{registration:?}").contains("hunter2"));
        assert_eq!(registration.rest["client_name"], "n");
        assert_eq!(serde_json::to_value(&registration).expect("JSON"), text, "all of it is kept");
    }

    #[test]
    fn documents_may_say_more_than_we_know() {
        let text = json!({
            "issuer": "https://h", "authorization_endpoint": "https://h/a", "token_endpoint": "https://h/t",
            "claims_supported": ["sub"], "authorization_response_iss_parameter_supported": true
        });
        let metadata: ServerMetadata = serde_json::from_value(text).expect("metadata");
        assert!(metadata.authorization_response_iss_parameter_supported);
        assert!(!metadata.client_id_metadata_document_supported);
        let twice = r#"{"issuer":"https://a","issuer":"https://b","token_endpoint":"https://h/t"}"#;
        assert!(serde_json::from_str::<ServerMetadata>(twice).is_err(), "which of the two is meant?");
    }

    #[test]
    fn a_refusal_is_shown_without_its_tricks() {
        let refusal = TokenRefusal {
            error: "invalid_grant\u{1b}[2J".into(),
            error_description: Some(format!("no\n\u{202e}{}", "x".repeat(1000))),
        };
        let shown = refusal.to_string();
        assert!(shown.starts_with("invalid_grant [2J (no  xxx"), "{shown}");
        assert!(shown.chars().count() < 2 * EXCERPT, "{shown}");
    }
}
