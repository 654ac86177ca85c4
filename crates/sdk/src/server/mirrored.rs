//! What an HTTP request says about its body in headers must be what the body says.
//!
//! Names and annotated arguments are compared here; the revision and the method on admission. Over a pipe
//! there are no headers, and nothing to compare.

use crate::model::ErrorObject;
use contexture_core::http::mirror::Annotation;

/// The headers of the request that an exchange began with.
#[cfg(feature = "http-server")]
pub(crate) type Head = std::sync::Arc<http::HeaderMap>;
/// Without HTTP there are none.
#[cfg(not(feature = "http-server"))]
pub(crate) type Head = std::convert::Infallible;

/// A header that must be there at most once, as text.
#[cfg(feature = "http-server")]
pub(super) fn single<'a>(
    head: &'a http::HeaderMap,
    name: &http::HeaderName,
) -> Result<Option<&'a str>, ErrorObject> {
    let Some(value) = head.get(name) else { return Ok(None) };
    if is_repeated(head, name) {
        return Err(ErrorObject::header_mismatch(format!("the header {name} is there twice")));
    }
    let text = value.to_str().map_err(|_| {
        ErrorObject::header_mismatch(format!("the header {name} has characters that need encoding"))
    })?;
    Ok(Some(text))
}

/// Whether a header is there more than once. Mostly none is, which is seen at once.
#[cfg(feature = "http-server")]
pub(super) fn is_repeated(head: &http::HeaderMap, name: &http::HeaderName) -> bool {
    head.len() != head.keys_len() && head.get_all(name).iter().nth(1).is_some()
}

/// The headers that are looked at, made once: a name in a text would be read anew for every request.
#[cfg(feature = "http-server")]
pub(super) mod name {
    use contexture_core::http::header;
    use http::HeaderName;

    pub(in crate::server) const PROTOCOL_VERSION: HeaderName =
        HeaderName::from_static(header::PROTOCOL_VERSION);
    pub(in crate::server) const METHOD: HeaderName = HeaderName::from_static(header::METHOD);
    pub(in crate::server) const NAME: HeaderName = HeaderName::from_static(header::NAME);
    pub(in crate::server) const SESSION_ID: HeaderName = HeaderName::from_static(header::SESSION_ID);
    pub(in crate::server) const LAST_EVENT_ID: HeaderName = HeaderName::from_static(header::LAST_EVENT_ID);
}

#[cfg(feature = "http-server")]
fn name_said(head: &Head) -> Result<Option<&str>, ErrorObject> {
    single(head, &name::NAME)
}

#[cfg(not(feature = "http-server"))]
fn name_said(head: &Head) -> Result<Option<&str>, ErrorObject> {
    match *head {}
}

/// What a header with this name says; a name that is none says nothing.
#[cfg(feature = "http-server")]
fn argument_said<'a>(head: &'a Head, name: &str) -> Result<Option<&'a str>, ErrorObject> {
    match http::HeaderName::from_bytes(name.as_bytes()) {
        Ok(name) => single(head, &name),
        Err(_) => Ok(None),
    }
}

#[cfg(not(feature = "http-server"))]
fn argument_said<'a>(head: &'a Head, _name: &str) -> Result<Option<&'a str>, ErrorObject> {
    match *head {}
}

/// Checks `Mcp-Name`.
pub(super) fn check_name(head: &Head, name: &str) -> Result<(), ErrorObject> {
    use contexture_core::http::mirror;
    let said =
        name_said(head)?.ok_or_else(|| ErrorObject::header_mismatch("the header Mcp-Name is missing"))?;
    if mirror::decode(said).is_some_and(|said| said == name) {
        return Ok(());
    }
    Err(ErrorObject::header_mismatch("the header Mcp-Name and the body do not say the same"))
}

/// Checks `Mcp-Param-*` of a tool's annotated arguments.
pub(super) fn check_arguments(
    head: &Head,
    annotations: &[Annotation],
    arguments: Option<&str>,
) -> Result<(), ErrorObject> {
    for annotation in annotations {
        let said = argument_said(head, &annotation.header_name())?;
        annotation.check(said, arguments).map_err(|fault| ErrorObject::header_mismatch(fault.to_string()))?;
    }
    Ok(())
}
