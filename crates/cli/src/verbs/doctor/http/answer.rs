//! What answers at an address: an MCP server, one that is locked, an older one, or something else altogether.

use reqwest::StatusCode;
use reqwest::Url;
use reqwest::header::WWW_AUTHENTICATE;

use super::super::report::Report;
use super::super::step::{CONFIGURATION, MISBEHAVES, Step};
use super::probe::{Probe, Seen};
use crate::terminal::text::cut;

/// Where servers usually are.
const PATHS: &[&str] = &["/mcp", "/sse", "/mcp/", "/api/mcp", "/"];
/// So much of a body is shown.
const EXCERPT: usize = 120;

/// What answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Streamable HTTP.
    Streamable,
    /// HTTP+SSE, as in 2024-11-05.
    Older,
    /// Something that wants to know who asks.
    Locked,
}

/// What the first answer says.
pub(super) async fn judge(report: &mut Report, probe: &Probe, seen: &Seen) -> Option<Kind> {
    report.begin(Step::Answer);
    let status = seen.status.as_u16();
    if status == 401 {
        report.passed(Step::Answer, "HTTP status 401: it wants to know who asks");
        return Some(Kind::Locked);
    }
    if let Some(message) = seen.message() {
        return messages(report, seen, &message);
    }
    if matches!(status, 400 | 404 | 405 | 406) && is_older(probe, &probe.url).await {
        let words = "HTTP+SSE, the transport of 2024-11-05: it works, and newer clients may give it up";
        report.passed(Step::Answer, words);
        return Some(Kind::Older);
    }
    let (words, next, exit) = stranger(seen);
    let next = match elsewhere(probe, status).await {
        Some(url) => format!("an MCP server answers at {url}: use that address"),
        None => next,
    };
    report.fail::<()>(Step::Answer, words, next);
    if let Some(exit) = exit {
        report.ends_with(exit);
    }
    excerpt(report, seen);
    None
}

/// The protocol is spoken here; whether as it should be is another question.
fn messages(report: &mut Report, seen: &Seen, message: &serde_json::Value) -> Option<Kind> {
    let kind = seen.kind();
    let status = seen.status.as_u16();
    if !matches!(kind.as_str(), "application/json" | "text/event-stream") {
        let words = format!("it answers with a message whose Content-Type is {kind:?}");
        let next = "its author has to say application/json, or text/event-stream: clients refuse the rest";
        report.fail::<()>(Step::Answer, words, next);
        report.ends_with(MISBEHAVES);
        return None;
    }
    if status == 403 {
        let words =
            format!("it refuses: {}", message["error"]["message"].as_str().unwrap_or("HTTP status 403"));
        return report.fail(Step::Answer, words, forbidden());
    }
    let how = if seen.is_stream() { "a stream" } else { "JSON" };
    match message.get("error") {
        None if seen.status.is_success() => {
            report.passed(Step::Answer, format!("Streamable HTTP, with {how}"))
        }
        None => {
            let words = format!("it answers with a result and HTTP status {status}");
            report.fail::<()>(Step::Answer, words, "its author has to answer with status 200");
            report.ends_with(MISBEHAVES);
            return None;
        }
        Some(error) => {
            let words = error["message"].as_str().unwrap_or_default();
            report.passed(
                Step::Answer,
                format!("Streamable HTTP; initialize is refused: {}", cut(words, EXCERPT)),
            );
        }
    }
    Some(Kind::Streamable)
}

fn forbidden() -> &'static str {
    "a server refuses names (Host) and pages (Origin) that it was not told of: its operator has to allow this name; or what you are logged in as may not do this"
}

/// What is no MCP server: what it is, and what to do.
fn stranger(seen: &Seen) -> (String, String, Option<u8>) {
    let status = seen.status.as_u16();
    let kind = seen.kind();
    let is_page = kind == "text/html" || seen.text().trim_start().starts_with("<!");
    let (words, next, exit) = match status {
        403 => (format!("HTTP status {status}"), forbidden(), None),
        404 => ("nothing is at this path (HTTP status 404)".to_owned(), "is the path right? Servers are often at /mcp or /sse", Some(CONFIGURATION)),
        405 => ("this path takes no POST (HTTP status 405)".to_owned(), "is the path right? Servers are often at /mcp or /sse", Some(CONFIGURATION)),
        406 => (
            "HTTP status 406: it does not want to answer with application/json or text/event-stream, which were offered".to_owned(),
            "its operator has to see what changes the header Accept on the way",
            Some(MISBEHAVES),
        ),
        415 => (
            "HTTP status 415: it does not take application/json".to_owned(),
            "is the path right? Or something on the way changes the header Content-Type",
            Some(MISBEHAVES),
        ),
        429 => ("HTTP status 429: too many requests".to_owned(), "wait, or ask its operator for more", None),
        502..=504 => (
            format!("a gateway answers with HTTP status {status}: the server behind it does not"),
            "the gateway is well and the server is not: its operator has to start it, or to correct where the gateway sends us",
            None,
        ),
        500..=599 => (format!("it fails with HTTP status {status}"), "its operator finds out more in its log", Some(MISBEHAVES)),
        200..=299 if is_page => {
            ("a page for people answers".to_owned(), "this is a website, not the address of the server: look for that in its documentation", Some(CONFIGURATION))
        }
        200..=299 if seen.body.is_empty() => (
            format!("HTTP status {status} without an answer to initialize"),
            "is the path right? A server answers initialize with JSON or a stream",
            Some(MISBEHAVES),
        ),
        200..=299 => (
            format!("what answers ({kind}) is no message of the protocol"),
            "is the path right? A server answers initialize with JSON-RPC",
            Some(MISBEHAVES),
        ),
        _ => (format!("HTTP status {status}"), "is the path right, and is anything else needed to be let in?", None),
    };
    (words, next.to_owned(), exit)
}

fn excerpt(report: &mut Report, seen: &Seen) {
    let text = seen.text();
    let title = text.split_once("<title>").and_then(|(_, after)| after.split_once("</title>"));
    let shown = match title {
        Some((title, _)) => format!("the page is called {:?}", cut(title.trim(), EXCERPT)),
        None if text.trim().is_empty() => return,
        None => format!("it says: {}", cut(text.trim(), EXCERPT)),
    };
    report.details([shown]);
}

/// Whether the older transport is spoken there: a stream whose first event names an address.
async fn is_older(probe: &Probe, url: &Url) -> bool {
    match probe.stream(url, None).await {
        Ok((seen, _)) => {
            seen.status.is_success() && seen.is_stream() && seen.text().contains("event: endpoint")
        }
        Err(_) => false,
    }
}

/// Where in this origin a server answers, if not here.
async fn elsewhere(probe: &Probe, status: u16) -> Option<Url> {
    if !matches!(status, 200..=299 | 404 | 405) {
        return None;
    }
    for path in PATHS.iter().filter(|path| **path != probe.url.path()) {
        let Ok(url) = probe.url.join(path) else { continue };
        let Ok(seen) = probe.initialize(&url, probe.quick()).await else { continue };
        let is_locked =
            seen.status == StatusCode::UNAUTHORIZED && seen.headers.contains_key(WWW_AUTHENTICATE);
        if is_locked || seen.message().is_some_and(|message| message.get("result").is_some()) {
            return Some(url);
        }
        let may_be_older = *path == "/sse" || seen.status == StatusCode::METHOD_NOT_ALLOWED;
        if may_be_older && is_older(probe, &url).await {
            return Some(url);
        }
    }
    None
}
