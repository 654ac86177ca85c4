//! The pages that people see. They say whom one deals with, and that all of this is for development.
//!
//! Nothing that a client says gets onto a page unescaped; there are no scripts, no images and nothing from elsewhere, and a
//! policy that forbids all of that. No page can be framed.

use axum::body::Body;
use axum::http::StatusCode;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::digest;

use crate::NAME;
use crate::browser::{Asked, Session};
use crate::client::{Known, Origin};
use crate::redirect;
use crate::server::Shared;

/// Characters of a client's name that are shown.
const MOST_NAME: usize = 80;

const STYLE: &str = "body{font:1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:3rem auto;padding:0 1rem;color:#1b1b1f;\
background:#fff}header{font-size:.8rem;color:#6b4e00;background:#fff3cd;padding:.4rem .8rem;border-radius:.3rem}\
dt{color:#55555f;font-size:.85rem}dd{margin:0 0 .8rem;font-weight:600;overflow-wrap:anywhere}\
.note{color:#6b4e00}label{display:block;margin:.8rem 0}input{font:inherit;padding:.3rem .5rem}\
button,a.button{font:inherit;padding:.4rem 1.2rem;margin-right:.6rem}\
@media(prefers-color-scheme:dark){body{color:#e6e6ea;background:#1b1b1f}dt{color:#a0a0aa}.note{color:#ffd966}}";

/// Who is there?
pub(crate) fn login(
    shared: &Shared,
    session: &Session,
    request: &str,
    asked: &Asked,
    wrong: Option<&str>,
) -> Response {
    let note = wrong.map(|why| format!("<p class=note role=alert>{}</p>", escape(why))).unwrap_or_default();
    let password = match shared.password {
        Some(_) => "<label>Development password <input name=password type=password required></label>",
        None => "<p>There is no password: this server is for development.</p>",
    };
    let body = format!(
        "<h1>Sign in</h1><p><b>{}</b> asks for access. Who are you?</p>{note}\
         <form method=post action=\"{}/login\">{}\
         <label>Name <input name=name autocomplete=username maxlength=64 required autofocus></label>{password}\
         <button>Sign in</button></form>",
        escape(&title(&asked.client)),
        escape(&shared.path),
        hidden(session, request),
    );
    let status = if wrong.is_some() { StatusCode::FORBIDDEN } else { StatusCode::OK };
    page(shared, status, "Sign in", &body, Some(&asked.redirect_uri))
}

/// Do you agree? Without a user it is asked before they sign in upstream.
pub(crate) fn consent(
    shared: &Shared,
    session: &Session,
    request: &str,
    asked: &Asked,
    user: Option<&str>,
) -> Response {
    let client = &asked.client;
    let scopes = match asked.scopes.is_empty() {
        true => "nothing in particular".to_owned(),
        false => asked
            .scopes
            .iter()
            .map(|scope| format!("<code>{}</code>", escape(scope)))
            .collect::<Vec<_>>()
            .join(", "),
    };
    let (whose, switch) = match user {
        Some(user) => (
            format!("the name of <b>{}</b>.", escape(user)),
            "<button name=decision value=switch>I am somebody else</button>",
        ),
        None => (format!("your name.{}", upstream(shared)), ""),
    };
    let body = format!(
        "<h1>Allow access?</h1><p><b>{}</b> asks for access in {whose}</p>{}<dl>\
         <dt>Client</dt><dd>{}</dd><dt>To</dt><dd>{}</dd><dt>Scopes</dt><dd>{scopes}</dd>\
         <dt>Afterwards you are sent to</dt><dd>{}</dd></dl>{}\
         <form method=post action=\"{}/consent\">{}\
         <button name=decision value=allow>Allow</button><button name=decision value=deny>Deny</button>\
         {switch}</form>",
        escape(&title(client)),
        provenance(client),
        escape(&client.id),
        escape(&asked.resource),
        escape(&redirect::host(&asked.redirect_uri)),
        locality(client, &asked.redirect_uri),
        escape(&shared.path),
        hidden(session, request),
    );
    page(shared, StatusCode::OK, "Allow access?", &body, Some(&asked.redirect_uri))
}

/// Where one signs in after having agreed.
fn upstream(shared: &Shared) -> String {
    let host = shared.upstream.as_ref().map(|upstream| redirect::host(upstream.issuer()));
    host.map(|host| format!(" If you allow that, you sign in at <b>{}</b>.", escape(&host)))
        .unwrap_or_default()
}

/// What is known of where the client comes from.
fn provenance(client: &Known) -> &'static str {
    match client.origin {
        Origin::SetUp => "",
        Origin::Registered => {
            "<p class=note>The client registered itself. Its name is only what it says.</p>"
        }
        Origin::Document => {
            "<p class=note>The client is described by the document at its address. Its name is only what that says.</p>"
        }
    }
}

/// Any program on a machine can listen there.
fn locality(client: &Known, redirect_uri: &str) -> &'static str {
    match redirect::is_local(redirect_uri) && client.origin != Origin::SetUp {
        true => {
            "<p class=note>That is a program on this machine, and any could say that it is this client. \
             Agree only if you have just started it yourself.</p>"
        }
        false => "",
    }
}

/// Something is wrong that only the person can be told.
pub(crate) fn problem(shared: &Shared, status: StatusCode, why: &str) -> Response {
    let body = format!("<h1>This does not work</h1><p>{}</p>", escape(why));
    page(shared, status, "This does not work", &body, None)
}

/// Something is wrong that the client should know, but the browser is not sent there by itself.
pub(crate) fn way_back(
    shared: &Shared,
    client: &Known,
    redirect_uri: &str,
    target: &str,
    why: &str,
) -> Response {
    let body = format!(
        "<h1>This does not work</h1><p><b>{}</b> asked for something that is not possible: {}.</p>\
         <p>If you trust <b>{}</b>, you can <a rel=noreferrer href=\"{}\">go back there</a>.</p>",
        escape(&title(client)),
        escape(why),
        escape(&redirect::host(redirect_uri)),
        escape(target),
    );
    page(shared, StatusCode::BAD_REQUEST, "This does not work", &body, None)
}

/// The system has no randomness to give.
pub(crate) fn unable(shared: &Shared) -> Response {
    problem(shared, StatusCode::SERVICE_UNAVAILABLE, "The server cannot do this at the moment.")
}

/// What this is.
pub(crate) fn home(shared: &Shared) -> Response {
    let body = format!(
        "<h1>{NAME}</h1><p>Issuer <code>{}</code>. It forgets everything when it ends.</p>",
        escape(&shared.issuer)
    );
    page(shared, StatusCode::OK, NAME, &body, None)
}

fn hidden(session: &Session, request: &str) -> String {
    let input =
        |name: &str, value: &str| format!("<input type=hidden name={name} value=\"{}\">", escape(value));
    input("request", request) + &input("token", &session.token)
}

/// The client's name, or its id if it has none.
fn title(client: &Known) -> String {
    clean(client.name.as_deref().unwrap_or(&client.id))
}

/// Short, on one line, and read in the direction in which it is written.
fn clean(text: &str) -> String {
    let shown = |char: char| !char.is_control() && !is_direction(char);
    let short: String = text.chars().filter(|char| shown(*char)).take(MOST_NAME).collect();
    if short.trim().is_empty() { "(no name)".to_owned() } else { short }
}

/// Invisible characters that turn text around, split it or hide in it.
fn is_direction(char: char) -> bool {
    matches!(char, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// For text and for attributes in double quotes.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            char => escaped.push(char),
        }
    }
    escaped
}

/// The frame around every page. Browsers also apply `form-action` to where a form's answer redirects to.
fn page(shared: &Shared, status: StatusCode, title: &str, body: &str, goes_to: Option<&str>) -> Response {
    let approving = match shared.auto_approve {
        Some(_) => " <b>It approves requests without asking anybody.</b>",
        None => "",
    };
    let html = format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\
         <title>{} – {NAME}</title><style>{STYLE}</style><header>{NAME}. Never use it for anything else.{approving}</header>\
         <main>{body}</main></html>",
        escape(title)
    );
    let style = STANDARD.encode(digest::digest(&digest::SHA256, STYLE.as_bytes()));
    let mut target = goes_to.map(|uri| format!(" {}", redirect::origin(uri))).unwrap_or_default();
    if let (Some(_), Some(upstream)) = (goes_to, &shared.upstream) {
        // It may send people on to others before they come back, and only it knows to whom.
        target += &format!(" https: {}", redirect::origin(upstream.issuer()));
    }
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{style}'; form-action 'self'{target}; frame-ancestors 'none'; base-uri 'none'"
    );
    let mut response = Response::new(Body::from(html));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // Not `no-referrer`: with that, browsers hide from us which page a form was on.
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    let policy = HeaderValue::from_str(&policy);
    headers.insert(CONTENT_SECURITY_POLICY, policy.unwrap_or(HeaderValue::from_static("default-src 'none'")));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_say_is_text() {
        assert_eq!(escape("<a href=\"x\" b='y'>&"), "&lt;a href=&quot;x&quot; b=&#39;y&#39;&gt;&amp;");
        assert_eq!(clean("Good\u{202e}live\u{200b}\r\n"), "Goodlive");
        assert_eq!(clean(" \u{200b}"), "(no name)");
        assert_eq!(clean(&"x".repeat(1000)).len(), MOST_NAME);
    }
}
