//! Names under which clients see what servers offer: `server__tool`, and `server+uri`.
//!
//! A name depends on the server's name in the configuration and on its own name there, and on nothing else: it does not
//! change because another server joined or left, and nothing is numbered. Names are never taken apart again to find out
//! whose they are; the [catalog](crate::catalog) knows.
//!
//! # No two things get one name
//!
//! 1. A [`slug`] is of `[A-Za-z0-9_-]`, has no `__` and does not end with `_`. So the first `__` of a name stands directly behind
//!    the slug: names with different slugs differ.
//! 2. A server's name that can be a slug is its own slug, unless it ends as a tagged one does (`-` and six
//!    hexadecimal digits). All other names are changed *and* tagged with a digest of the name. So an untouched slug is never
//!    a tagged one, two untouched ones differ as the names do, and two tagged ones are the same only where the digests of two
//!    names agree in 24 bits.
//! 3. The same holds behind the `__`, with `_` and eight digits: 32 bits, and only among the tools of one server.
//!
//! What is left to chance, or can be searched for by whoever names servers or tools, is seen by the catalog: the
//! first of the two stays, and there is an alert.

use std::borrow::Cow;

use ring::digest::{Context, SHA256};

/// The longest name of a tool or prompt: with the `mcp__contexture__` that some hosts put before it, it has the 64
/// characters that models take.
pub const NAME_CHARS: usize = 47;
/// The longest slug: at least 25 characters are left for the tool.
pub const SLUG_CHARS: usize = 20;
/// Digits that tag a slug.
const SLUG_TAG: usize = 6;
/// Digits that tag a name.
const NAME_TAG: usize = 8;
/// What stands between server and tool.
const BETWEEN: &str = "__";
/// The scheme of MCP Apps, which hosts insist on.
const APP: &str = "ui://";

/// What a server's name contributes to the names of its tools.
pub fn slug(server: &str) -> String {
    if is_slug(server) && !is_tagged(server, b'-', SLUG_TAG) {
        return server.to_owned();
    }
    let kept = legal(server, '-', |byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    let mut kept = kept.trim_matches(['_', '-']).to_owned();
    while kept.contains(BETWEEN) {
        kept = kept.replace(BETWEEN, "_");
    }
    kept.truncate(SLUG_CHARS - SLUG_TAG - 1);
    let kept = kept.trim_end_matches(['_', '-']);
    let kept = if kept.is_empty() { "server" } else { kept };
    format!("{kept}-{}", tag(&[server], SLUG_TAG))
}

/// The name of a tool (or prompt) in the catalog. Without a prefix it is the server's own, whatever that is.
pub fn tool_name(server: &str, tool: &str, prefix: bool) -> String {
    if prefix { prefixed(&slug(server), server, tool) } else { tool.to_owned() }
}

/// What a tool or prompt of a server may be called there, if this is a name that clients see. For advice only: a server may
/// well call a tool so itself.
pub fn without_prefix<'a>(server: &str, shown: &'a str) -> Option<&'a str> {
    behind(&slug(server), shown)
}

/// [`without_prefix`], for a server whose slug is known.
pub(crate) fn behind<'a>(slug: &str, shown: &'a str) -> Option<&'a str> {
    shown.strip_prefix(slug)?.strip_prefix(BETWEEN).filter(|own| !own.is_empty())
}

/// [`tool_name`], for a server whose slug is known.
pub(crate) fn prefixed(slug: &str, server: &str, tool: &str) -> String {
    let room = NAME_CHARS.saturating_sub(slug.len() + BETWEEN.len());
    if tool.len() <= room && is_legal(tool) && !is_tagged(tool, b'_', NAME_TAG) {
        return [slug, BETWEEN, tool].concat();
    }
    let mut kept = legal(tool, '_', is_legal_byte);
    kept.truncate(room.saturating_sub(NAME_TAG + 1));
    format!("{slug}{BETWEEN}{kept}_{}", tag(&[server, tool], NAME_TAG))
}

/// Whether a tool's name is one that the specification wants: 1 to 128 of `[A-Za-z0-9_.-]`.
pub(crate) fn is_legal(name: &str) -> bool {
    (1..=128).contains(&name.len()) && name.bytes().all(is_legal_byte)
}

/// The slug that a name begins with, if it begins with one.
pub(crate) fn slug_of(name: &str) -> Option<&str> {
    name.split_once(BETWEEN).map(|(slug, _)| slug)
}

/// A URI of a server as clients see it: `files+file:///tmp/x`; `ui://files+card` for the pages of MCP Apps, whose scheme
/// must stay. Templates are treated alike.
pub fn outward_uri(uri: &str, slug: &str) -> String {
    under(uri, &scheme(slug))
}

/// [`outward_uri`], for a server whose scheme is known.
pub(crate) fn under(uri: &str, scheme: &str) -> String {
    let (app, rest) = split_app(uri);
    [app, scheme, "+", rest].concat()
}

/// The server's own URI, if this is one of the server with this slug.
pub fn inward_uri<'a>(uri: &'a str, slug: &str) -> Option<Cow<'a, str>> {
    let (found, own) = taken_apart(uri)?;
    (found == scheme(slug)).then_some(own)
}

/// The scheme (in lower case) that a URI of the catalog is under, and the server's own URI.
pub(crate) fn taken_apart(uri: &str) -> Option<(String, Cow<'_, str>)> {
    let (app, rest) = split_app(uri);
    let (scheme, own) = rest.split_once('+')?;
    // A scheme of ours is never longer: a slug, two marks and a tag.
    if scheme.is_empty() || scheme.len() > SLUG_CHARS + SLUG_TAG + 3 {
        return None;
    }
    let own = if app.is_empty() { Cow::Borrowed(own) } else { Cow::Owned([app, own].concat()) };
    Some((scheme.to_ascii_lowercase(), own))
}

/// What URIs of the server with this slug begin with.
///
/// Schemes are compared without case, start with a letter and have no `_`. So a slug that loses something on the way gets two
/// dots and a tag, which no other has: a slug has no `__`.
pub(crate) fn scheme(slug: &str) -> String {
    let plain = slug.to_ascii_lowercase().replace('_', ".");
    let lettered = plain.starts_with(|first: char| first.is_ascii_alphabetic());
    if lettered && !slug.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return plain;
    }
    let letter = if lettered { "" } else { "x" };
    format!("{letter}{plain}..{}", tag(&[slug], SLUG_TAG))
}

/// The scheme of MCP Apps, as it is written there, and the rest.
fn split_app(uri: &str) -> (&str, &str) {
    match uri.split_at_checked(APP.len()) {
        Some((app, rest)) if app.eq_ignore_ascii_case(APP) => (app, rest),
        _ => ("", uri),
    }
}

fn is_slug(name: &str) -> bool {
    (1..=SLUG_CHARS).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
        && name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && !name.ends_with('_')
        && !name.contains(BETWEEN)
}

fn is_legal_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_.-".contains(&byte)
}

/// Whether a name ends with the mark and so many hexadecimal digits.
fn is_tagged(name: &str, mark: u8, digits: usize) -> bool {
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let Some((front, end)) =
        name.len().checked_sub(digits).and_then(|at| name.as_bytes().split_at_checked(at))
    else {
        return false;
    };
    front.last() == Some(&mark) && end.iter().all(is_digit)
}

/// The beginning of a name, runs of what is not legal replaced by one character. Never longer than a name can be.
fn legal(name: &str, instead: char, is_legal: impl Fn(u8) -> bool) -> String {
    let mut kept = String::new();
    for character in name.chars().take(4 * NAME_CHARS) {
        match u8::try_from(character) {
            Ok(byte) if is_legal(byte) => kept.push(character),
            _ if kept.ends_with(instead) => {}
            _ => kept.push(instead),
        }
    }
    kept.truncate(NAME_CHARS);
    kept
}

/// The first hexadecimal digits of a digest of these texts, which no other texts share.
fn tag(texts: &[&str], digits: usize) -> String {
    let mut context = Context::new(&SHA256);
    for text in texts {
        context.update(&(text.len() as u64).to_be_bytes());
        context.update(text.as_bytes());
    }
    let mut tag = hex(context.finish().as_ref());
    tag.truncate(digits);
    tag
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from(b"0123456789abcdef"[usize::from(nibble & 15)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect()
}
