//! A small check of URI syntax (RFC 3986), and of what may be a root.
//!
//! It reads text and never resolves, normalizes or opens anything. That a path stays inside a directory is
//! for whoever opens it to ensure; here the tricks that can be seen in the text are refused.

use std::borrow::Cow;
use std::fmt;

/// Why a text is not a URI, or not one that can be used here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum UriError {
    /// It does not start with a scheme and a colon.
    Scheme,
    /// A character that no URI contains, at this byte.
    Character(usize),
    /// A `%` without two hexadecimal digits, at this byte.
    Escape(usize),
    /// A root must start with `file://`.
    NotAFile,
    /// A root must be on this machine.
    Host,
    /// A root has a path, and neither query nor fragment.
    NotAPath,
    /// The path climbs with `..`, plainly or escaped.
    Climbs,
    /// The path contains an escaped NUL.
    Nul,
}

impl fmt::Display for UriError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scheme => f.write_str("a URI starts with a scheme and a colon"),
            Self::Character(at) => write!(f, "character at byte {at} cannot stand in a URI"),
            Self::Escape(at) => write!(f, "% at byte {at} is not followed by two hexadecimal digits"),
            Self::NotAFile => f.write_str("a root starts with file://"),
            Self::Host => f.write_str("a root has no host, or localhost"),
            Self::NotAPath => f.write_str("a root has an absolute path, and neither query nor fragment"),
            Self::Climbs => f.write_str("the path contains .."),
            Self::Nul => f.write_str("the path contains NUL"),
        }
    }
}

impl std::error::Error for UriError {}

/// Checks that a text is a URI with a scheme.
pub fn check(uri: &str) -> Result<(), UriError> {
    let (scheme, rest) = uri.split_once(':').ok_or(UriError::Scheme)?;
    let is_scheme_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    if !scheme.starts_with(|first: char| first.is_ascii_alphabetic()) || !scheme.bytes().all(is_scheme_byte) {
        return Err(UriError::Scheme);
    }
    let start = scheme.len() + 1;
    let bytes = rest.as_bytes();
    let mut fragments = 0;
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'%' if !escape_at(bytes, at) => return Err(UriError::Escape(start + at)),
            b'#' => fragments += 1,
            b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}' => {
                return Err(UriError::Character(start + at));
            }
            0x21..=0x7e => {}
            _ => return Err(UriError::Character(start + at)),
        }
        if fragments > 1 {
            return Err(UriError::Character(start + at));
        }
    }
    Ok(())
}

/// Checks that a text is a URI that can be a root: a file on this machine, by a path that does not climb.
pub fn check_root(uri: &str) -> Result<(), UriError> {
    let prefix = uri.get(..7).ok_or(UriError::NotAFile)?;
    if !prefix.eq_ignore_ascii_case("file://") {
        return Err(UriError::NotAFile);
    }
    check(uri)?;
    let rest = &uri[7..];
    let (host, path) = rest.split_at(rest.find('/').ok_or(UriError::NotAPath)?);
    if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
        return Err(UriError::Host);
    }
    if path.contains(['?', '#']) {
        return Err(UriError::NotAPath);
    }
    if percent_decode(path).contains(&0) {
        return Err(UriError::Nul);
    }
    if climbs(path) { Err(UriError::Climbs) } else { Ok(()) }
}

/// Whether a path has a segment `..`, whatever way it is escaped and whichever slash is used.
///
/// Escapes of escapes are undone too, as a careless reader further on might; what is still escaped after a
/// few times is not an honest path and counts as climbing.
pub fn climbs(path: &str) -> bool {
    const PASSES: usize = 4;
    let mut bytes = Cow::Borrowed(path.as_bytes());
    for _ in 0..PASSES {
        if bytes.split(|byte| matches!(byte, b'/' | b'\\')).any(|segment| segment == b"..") {
            return true;
        }
        match decode_bytes(&bytes) {
            Some(decoded) => bytes = Cow::Owned(decoded),
            None => return false,
        }
    }
    true
}

/// The bytes of a text with its escapes undone once. A `%` that escapes nothing stays.
pub fn percent_decode(text: &str) -> Cow<'_, [u8]> {
    match decode_bytes(text.as_bytes()) {
        Some(decoded) => Cow::Owned(decoded),
        None => Cow::Borrowed(text.as_bytes()),
    }
}

/// `None` if there is nothing to undo.
fn decode_bytes(bytes: &[u8]) -> Option<Vec<u8>> {
    let first = (0..bytes.len()).find(|at| escape_at(bytes, *at))?;
    let mut decoded = Vec::with_capacity(bytes.len());
    decoded.extend_from_slice(&bytes[..first]);
    let mut at = first;
    while at < bytes.len() {
        if escape_at(bytes, at) {
            decoded.push(hex(bytes[at + 1]) << 4 | hex(bytes[at + 2]));
            at += 3;
        } else {
            decoded.push(bytes[at]);
            at += 1;
        }
    }
    Some(decoded)
}

/// Whether a whole escape starts here.
pub(crate) fn escape_at(bytes: &[u8], at: usize) -> bool {
    bytes[at] == b'%'
        && bytes.get(at + 1..at + 3).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
}

fn hex(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20) - b'a' + 10,
    }
}
