//! The pages that people see on their way to a server. They say whom one deals with, in whose name, and for whom.
//!
//! Nothing that others say gets onto a page unescaped; there are no scripts, no images and nothing from elsewhere, and a policy
//! that forbids all of that. No page can be framed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION, REFERRER_POLICY,
    SET_COOKIE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{Response, StatusCode};
use ring::digest::{SHA256, digest};

use super::pending::Pending;
use super::person::shown;

const STYLE: &str = "body{font:1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:3rem auto;padding:0 1rem;color:#1b1b1f;\
background:#fff}dt{color:#55555f;font-size:.85rem}dd{margin:0 0 .8rem;font-weight:600;overflow-wrap:anywhere}\
.note{color:#6b4e00}button{font:inherit;padding:.4rem 1.2rem;margin-right:.6rem}\
@media(prefers-color-scheme:dark){body{color:#e6e6ea;background:#1b1b1f}dt{color:#a0a0aa}.note{color:#ffd966}}";

/// An answer to a browser.
pub(super) type Answer = Response<Bytes>;

/// The link is nobody's.
pub(super) const OVER: &str =
    "This link is over, or never was one. Begin again in the program that you came from.";
/// Somebody came from elsewhere.
pub(super) const STRANGE: &str =
    "This did not come from the page that you were shown. Open the link that you were given again.";
/// The link was opened twice.
pub(super) const ELSEWHERE: &str = "This link is already in use in another browser. If that is not yours, do not go on, and tell whoever runs this gateway.";
/// A wrong person.
pub(super) const SOMEBODY_ELSE: &str = "This link was made for somebody else, so nothing was done. If somebody sent it to you, they may \
     have wanted to get at your account. If you have several accounts, sign in with the right one and open the link again.";

/// May this client use that server in your name?
pub(super) fn consent(pending: &Pending, action: &str, token: &str) -> Answer {
    let says = match (&pending.caller.says, pending.caller.id.as_str()) {
        (Some(says), _) => escape(says),
        (None, "") => "a program that does not say its name".to_owned(),
        (None, id) => escape(&shown(id)),
    };
    let id = match pending.caller.id.as_str() {
        "" => "not known: its token does not say".to_owned(),
        id => escape(&shown(id)),
    };
    let body = format!(
        "<h1>Log in to {name}?</h1><p><b>{says}</b> wants to use <b>{name}</b> in your name, through this gateway.</p>\
         <dl><dt>You</dt><dd>{subject}</dd><dt>Known to</dt><dd>{issuer}</dd>\
         <dt>Client</dt><dd>{id}</dd><dt>Server</dt><dd>{name}</dd><dt>Its address</dt><dd>{url}</dd></dl>\
         <p class=note>What the client is called is only what it says. Agree only if you have just asked it to do \
         something with {name}.</p>\
         <form method=get action=\"{action}\">\
         <button name=agree value=\"{token}\">Allow and log in</button>\
         <button name=deny value=\"{token}\">Deny</button></form>",
        name = escape(&shown(&pending.target.name)),
        subject = escape(&shown(pending.person.subject())),
        issuer = escape(pending.person.issuer()),
        url = escape(&without_query(&pending.target.url)),
        action = escape(action),
        token = escape(token),
    );
    page(StatusCode::OK, "Log in?", &body)
}

/// They are in.
pub(super) fn done(name: &str) -> Answer {
    let text =
        format!("<h1>You are logged in to {}</h1><p>You can close this page.</p>", escape(&shown(name)));
    page(StatusCode::OK, "Logged in", &text)
}

/// They said no.
pub(super) fn denied(name: &str) -> Answer {
    let text = format!("<h1>Nothing was done</h1><p>You are not logged in to {}.</p>", escape(&shown(name)));
    page(StatusCode::OK, "Nothing was done", &text)
}

/// Something is wrong.
pub(super) fn problem(status: StatusCode, why: &str) -> Answer {
    let body = format!("<h1>This does not work</h1><p>{}</p>", escape(why));
    page(status, "This does not work", &body)
}

/// To somewhere else.
pub(super) fn go(target: &str) -> Answer {
    let Ok(location) = HeaderValue::from_str(target) else {
        return problem(
            StatusCode::BAD_GATEWAY,
            "The authorization server has an address that nobody can go to.",
        );
    };
    let mut answer = Response::new(Bytes::new());
    *answer.status_mut() = StatusCode::SEE_OTHER;
    let headers = answer.headers_mut();
    headers.insert(LOCATION, location);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    answer
}

/// The same, and the browser is known from now on.
pub(super) fn with_cookie(mut answer: Answer, cookie: &str) -> Answer {
    if let Ok(cookie) = HeaderValue::from_str(cookie) {
        answer.headers_mut().insert(SET_COOKIE, cookie);
    }
    answer
}

/// A query may hold a secret.
pub(super) fn without_query(url: &str) -> String {
    url.split('?').next().unwrap_or_default().to_owned()
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

/// The frame around every page. Browsers apply `form-action` also to where a form's answer redirects to, which is an
/// authorization server that is not known yet.
fn page(status: StatusCode, title: &str, body: &str) -> Answer {
    let html = format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\
         <title>{} – Contexture gateway</title><style>{STYLE}</style><main>{body}</main></html>",
        escape(title)
    );
    let style = STANDARD.encode(digest(&SHA256, STYLE.as_bytes()));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; frame-ancestors 'none'; \
         form-action 'self' https: http://127.0.0.1:* http://localhost:* http://[::1]:*"
    );
    let mut answer = Response::new(Bytes::from(html));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    let mut set = |name: HeaderName, value| drop(headers.insert(name, HeaderValue::from_static(value)));
    set(CONTENT_TYPE, "text/html; charset=utf-8");
    set(CACHE_CONTROL, "no-store");
    set(X_FRAME_OPTIONS, "DENY");
    set(X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(REFERRER_POLICY, "no-referrer");
    set(HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    set(CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'");
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    answer
}
