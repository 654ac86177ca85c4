//! Queries and forms: bounded, and no parameter twice.
//!
//! A parameter that is there twice is two opinions on one question, so asking for it fails. Only `resource` may be
//! repeated (RFC 8707). A parameter without a value counts as one that is not there (OAuth 2.1, 3.1).

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, Request};
use url::form_urlencoded;

/// Bytes of a query or a form.
const MOST_BYTES: usize = 16 * 1024;
/// Parameters of a query or a form.
const MOST_PARAMETERS: usize = 64;

/// How long a body may take.
const BODY_TIME: Duration = Duration::from_secs(30);

/// What was sent, in its order.
#[derive(Debug, Default)]
pub(crate) struct Form(Vec<(String, String)>);

/// The parameter of this name is there twice.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Repeated(pub(crate) &'static str);

impl Form {
    /// `None` if it is too large.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.len() > MOST_BYTES {
            return None;
        }
        let pairs = form_urlencoded::parse(text.as_bytes()).take(MOST_PARAMETERS + 1);
        let pairs: Vec<_> = pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect();
        (pairs.len() <= MOST_PARAMETERS).then_some(Self(pairs))
    }

    /// The body of a request that says it is a form. The error says what is wrong with it.
    pub(crate) async fn read(request: Request<Body>) -> Result<(HeaderMap, Self), &'static str> {
        let (head, body) = request.into_parts();
        if !is_form(&head.headers) {
            return Err("the body must be application/x-www-form-urlencoded");
        }
        let bytes = whole(body, MOST_BYTES).await.ok_or("the form is too large, or came too slowly")?;
        let text = std::str::from_utf8(&bytes).map_err(|_| "the form is not UTF-8")?;
        let form = Self::parse(text).ok_or("the form is too large")?;
        Ok((head.headers, form))
    }

    /// The value, if there is one.
    pub(crate) fn get(&self, name: &'static str) -> Result<Option<&str>, Repeated> {
        let mut values = self.0.iter().filter(|(known, _)| known == name);
        match (values.next(), values.next()) {
            (_, Some(_)) => Err(Repeated(name)),
            (value, None) => Ok(value.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())),
        }
    }

    /// Whether it is there at all.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| known == name)
    }

    /// All values of a parameter that may be repeated.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0
            .iter()
            .filter(move |(known, value)| known == name && !value.is_empty())
            .map(|(_, value)| value.as_str())
    }
}

/// A body, if it is not too large and does not take too long.
pub(crate) async fn whole(body: Body, most: usize) -> Option<Bytes> {
    tokio::time::timeout(BODY_TIME, axum::body::to_bytes(body, most)).await.ok()?.ok()
}

fn is_form(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/x-www-form-urlencoded")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_there_once_or_not_at_all() {
        let form = Form::parse("a=1&b=2&b=3&c=&d=x+y%21").expect("small");
        assert_eq!(form.get("a"), Ok(Some("1")));
        assert_eq!(form.get("b"), Err(Repeated("b")));
        assert_eq!(form.get("c"), Ok(None));
        assert_eq!(form.get("d"), Ok(Some("x y!")));
        assert_eq!(form.get("e"), Ok(None));
        assert_eq!(form.all("b").collect::<Vec<_>>(), ["2", "3"]);
    }

    #[test]
    fn size_and_number_are_bounded() {
        assert!(Form::parse(&"a".repeat(MOST_BYTES + 1)).is_none());
        assert!(Form::parse(&"a=1&".repeat(MOST_PARAMETERS)).is_some());
        assert!(Form::parse(&"a=1&".repeat(MOST_PARAMETERS + 1)).is_none());
    }
}
