//! The header `Authorization` (RFC 6750, section 2.1).
//!
//! A token anywhere else, be it in the query, a cookie or the body, is not looked for.

use http::HeaderMap;
use http::header::AUTHORIZATION;

/// Longer tokens are not looked at.
const BYTES: usize = 16 * 1024;

/// What a request shows.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Shown<'a> {
    Token(&'a str),
    /// No token: nothing at all, or something that is none.
    Nothing,
    /// A token that is longer than any that is good for something.
    TooLong,
    /// Something that is meant to be a token and cannot be.
    Nonsense(&'static str),
}

pub(super) fn shown(headers: &HeaderMap) -> Shown<'_> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let Some(value) = values.next() else { return Shown::Nothing };
    if values.next().is_some() {
        return Shown::Nonsense("more than one header Authorization");
    }
    let Ok(text) = value.to_str() else {
        return Shown::Nonsense("the header Authorization is not plain text");
    };
    let (scheme, token) = text.split_once(' ').unwrap_or((text, ""));
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Shown::Nothing;
    }
    if !is_token(token) {
        return Shown::Nonsense("Bearer, one space and the token");
    }
    if token.len() > BYTES {
        return Shown::TooLong;
    }
    Shown::Token(token)
}

/// `1*( ALPHA / DIGIT / "-" / "." / "_" / "~" / "+" / "/" ) *"="`
fn is_token(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte);
    !body.is_empty() && body.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn with(values: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(AUTHORIZATION, HeaderValue::from_str(value).expect("a header value"));
        }
        headers
    }

    // covers: AUTH-STATUS-400
    #[test]
    fn one_header_with_one_token() {
        for good in ["Bearer a", "bearer a", "BEARER a"] {
            assert_eq!(shown(&with(&[good])), Shown::Token("a"), "{good}");
        }
        assert_eq!(shown(&with(&["Bearer aB0-._~+/=="])), Shown::Token("aB0-._~+/=="));
        for nothing in [&[][..], &["Basic YTpi"], &["DPoP a"], &["a"], &["Bearers a"], &[""]] {
            assert_eq!(shown(&with(nothing)), Shown::Nothing, "{nothing:?}");
        }
        assert_eq!(shown(&with(&[&format!("Bearer {}", "a".repeat(BYTES + 1))])), Shown::TooLong);
        for nonsense in [
            &["Bearer"][..],
            &["Bearer "],
            &["Bearer  a"],
            &["Bearer a b"],
            &["Bearer a,b"],
            &["Bearer ="],
            &["Bearer \"a\""],
            &["Bearer a", "Bearer a"],
            &["Basic YTpi", "Bearer a"],
        ] {
            assert!(matches!(shown(&with(nonsense)), Shown::Nonsense(_)), "{nonsense:?}");
        }
    }
}
