//! What a verified token claims, held against what is expected.
//!
//! A claim that cannot be read is as bad as one that is wrong: nothing counts as absent because of its type.

use serde_json::{Map, Value};

use super::Reject;
use crate::auth::canonical::canonical;

/// Clocks that differ by more are wrong.
const LEEWAY: u64 = 60;
/// Integers that every parser of JSON reads alike end here.
const EXACT: u64 = 1 << 53;

/// What a token must say to be good here and now.
#[derive(Clone, Copy, Debug)]
pub struct Expected<'a> {
    /// The issuer, character for character.
    pub issuer: &'a str,
    /// Who we are: our canonical URI.
    pub audience: &'a str,
    /// Seconds since the epoch.
    pub now: u64,
    /// Seconds by which clocks may differ; more than 60 count as 60.
    pub leeway: u64,
}

/// Whether a token with these claims is from the right issuer, for us, and valid now.
pub fn check_claims(claims: &Map<String, Value>, expected: &Expected<'_>) -> Result<(), Reject> {
    let leeway = expected.leeway.min(LEEWAY);
    match claims.get("iss") {
        Some(Value::String(issuer)) if issuer == expected.issuer => {}
        Some(Value::String(_)) => return Err(Reject::Issuer),
        _ => return Err(Reject::Claim("iss")),
    }
    if !is_meant(claims.get("aud"), expected.audience)? {
        return Err(Reject::Audience);
    }
    let expires = time(claims, "exp")?.ok_or(Reject::Claim("exp"))?;
    if expected.now >= expires.saturating_add(leeway) {
        return Err(Reject::Expired);
    }
    for begin in ["nbf", "iat"] {
        if time(claims, begin)?.is_some_and(|begin| begin > expected.now.saturating_add(leeway)) {
            return Err(Reject::NotYetValid);
        }
    }
    Ok(())
}

/// Whether we are the audience, or one of several.
fn is_meant(audience: Option<&Value>, us: &str) -> Result<bool, Reject> {
    match audience {
        Some(Value::String(name)) => Ok(is_same(name, us)),
        Some(Value::Array(names)) => {
            let names: Option<Vec<_>> = names.iter().map(Value::as_str).collect();
            Ok(names.ok_or(Reject::Claim("aud"))?.into_iter().any(|name| is_same(name, us)))
        }
        _ => Err(Reject::Claim("aud")),
    }
}

/// Two spellings of one URI are one audience; anything else is compared as it stands.
fn is_same(name: &str, us: &str) -> bool {
    name == us || matches!((canonical(name), canonical(us)), (Ok(name), Ok(us)) if name == us)
}

/// A point in time, which is a whole number.
fn time(claims: &Map<String, Value>, name: &'static str) -> Result<Option<u64>, Reject> {
    match claims.get(name) {
        None => Ok(None),
        Some(value) => match value.as_u64() {
            Some(seconds) if seconds <= EXACT => Ok(Some(seconds)),
            _ => Err(Reject::Claim(name)),
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ISSUER: &str = "https://issuer.example";
    const US: &str = "https://mcp.example.com/mcp";
    const NOW: u64 = 1_000_000;

    /// A good token, with one claim changed or, if it is null, left out.
    fn checked(name: &str, value: &Value) -> Result<(), Reject> {
        let mut claims = json!({ "iss": ISSUER, "aud": US, "exp": NOW + 300, "nbf": NOW, "iat": NOW });
        let claims = claims.as_object_mut().expect("an object");
        match value {
            Value::Null => claims.remove(name),
            value => claims.insert(name.into(), value.clone()),
        };
        check_claims(claims, &Expected { issuer: ISSUER, audience: US, now: NOW, leeway: 30 })
    }

    // E05
    // covers: AUTH-TOKEN-AUDIENCE
    #[test]
    fn a_token_for_somebody_else_is_refused() {
        for aud in [
            json!("https://other.example/mcp"),
            json!("https://mcp.example.com"),
            json!("https://mcp.example.com/"),
            json!("https://mcp.example.com/mcp/"),
            json!("https://mcp.example.com/mcp2"),
            json!("https://mcp.example.com/MCP"),
            json!("https://mcp.example.com/other"),
            json!("https://mcp.example.com.evil/mcp"),
            json!("https://mcp.example.co/mcp"),
            json!("https://evil.mcp.example.com/mcp"),
            json!("https://mcp.example.com:8443/mcp"),
            json!("http://mcp.example.com/mcp"),
            json!("https://mcp.example.com/mcp?x"),
            json!("https://mcp.example.com/mcp#x"),
            json!("https://mcp.example.com@evil/mcp"),
            json!(""),
            json!("*"),
            json!([]),
            json!(["https://other.example", "https://another.example"]),
        ] {
            assert_eq!(checked("aud", &aud), Err(Reject::Audience), "{aud}");
        }
        for aud in [json!(null), json!(1), json!({}), json!(true), json!([US, 1]), json!([[US]])] {
            assert_eq!(checked("aud", &aud), Err(Reject::Claim("aud")), "{aud}");
        }
    }

    // covers: AUTH-URI-CASE
    #[test]
    fn a_token_for_us_is_good_in_every_spelling() {
        for aud in [
            json!(US),
            json!([US]),
            json!(["https://other.example", US]),
            json!("HTTPS://MCP.Example.COM/mcp"),
            json!("https://mcp.example.com:443/mcp"),
        ] {
            assert_eq!(checked("aud", &aud), Ok(()), "{aud}");
        }
        let claims = json!({ "iss": ISSUER, "aud": "api://default", "exp": NOW + 1 });
        let claims = claims.as_object().expect("an object");
        let expected = Expected { issuer: ISSUER, audience: "api://default", now: NOW, leeway: 0 };
        assert_eq!(check_claims(claims, &expected), Ok(()), "not every audience is an address");
    }

    // E06
    // covers: AUTH-TOKEN-VALIDATE
    #[test]
    fn the_issuer_is_compared_character_for_character() {
        for iss in
            ["https://issuer.example/", "https://Issuer.example", "https://issuer.example:443", "", "x"]
        {
            assert_eq!(checked("iss", &json!(iss)), Err(Reject::Issuer), "{iss}");
        }
        for iss in [json!(null), json!([ISSUER]), json!(1)] {
            assert_eq!(checked("iss", &iss), Err(Reject::Claim("iss")), "{iss}");
        }
    }

    // E07
    // covers: AUTH-TOKEN-VALIDATE
    #[test]
    fn a_token_ends() {
        for exp in [NOW - 30, NOW - 31, 0] {
            assert_eq!(checked("exp", &json!(exp)), Err(Reject::Expired), "{exp}");
        }
        assert_eq!(checked("exp", &json!(NOW - 29)), Ok(()), "within the leeway");
        for exp in [
            json!(null),
            json!((NOW + 300).to_string()),
            json!(1_000_300.5),
            json!(1_000_300.0),
            json!(-1),
            json!((1_u64 << 53) + 1),
            json!(u64::MAX),
            json!(1e300),
            json!([NOW + 300]),
            json!({}),
            json!(true),
        ] {
            assert_eq!(checked("exp", &exp), Err(Reject::Claim("exp")), "{exp}");
        }
    }

    // E08
    // covers: AUTH-TOKEN-VALIDATE
    #[test]
    fn a_token_begins() {
        for name in ["nbf", "iat"] {
            assert_eq!(checked(name, &json!(NOW + 30)), Ok(()), "within the leeway");
            assert_eq!(checked(name, &json!(null)), Ok(()), "{name} may be left out");
            assert_eq!(checked(name, &json!(NOW + 31)), Err(Reject::NotYetValid));
            for value in [json!(NOW.to_string()), json!(-1), json!(0.5), json!([]), json!(u64::MAX)] {
                assert_eq!(checked(name, &value), Err(Reject::Claim(name)), "{name} {value}");
            }
        }
    }

    #[test]
    fn no_leeway_is_longer_than_a_minute() {
        let claims = json!({ "iss": ISSUER, "aud": US, "exp": NOW - 60 });
        let claims = claims.as_object().expect("an object");
        let expected = Expected { issuer: ISSUER, audience: US, now: NOW, leeway: u64::MAX };
        assert_eq!(check_claims(claims, &expected), Err(Reject::Expired));
        let expected = Expected { now: NOW - 1, ..expected };
        assert_eq!(check_claims(claims, &expected), Ok(()));
    }
}
