//! People's browsers: who is signed in, and what they are being asked.
//!
//! A request that waits for an answer belongs to the browser that made it. Another browser cannot answer it, and a page
//! of another site cannot answer it in this one: the answer carries a token that only our own pages have.

use std::sync::Arc;

use axum::http::HeaderMap;
use axum::http::header::{COOKIE, HOST, ORIGIN};

use crate::client::Known;
use crate::form::Form;
use crate::secrets::now;
use crate::server::Shared;
use contexture::auth::Scopes;

/// How long somebody stays signed in.
const SESSION: u64 = 8 * 60 * 60;
/// How long somebody may think about it.
pub(crate) const PENDING: u64 = 10 * 60;
/// Wrong passwords until one has to begin again.
const ATTEMPTS: u32 = 10;

/// A browser.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    /// What its requests belong to; stays when the cookie changes.
    pub(crate) id: String,
    /// What the forms of our pages carry.
    pub(crate) token: String,
    pub(crate) user: Option<String>,
}

/// What a client asks for, checked.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) client: Arc<Known>,
    pub(crate) redirect_uri: String,
    pub(crate) state: Option<String>,
    pub(crate) scopes: Scopes,
    pub(crate) resource: String,
    pub(crate) challenge: String,
}

/// A request that waits for somebody.
#[derive(Debug)]
pub(crate) struct Pending {
    session: String,
    pub(crate) asked: Asked,
    wrong: u32,
}

/// A form that came from one of our pages, in the browser that it was made for.
pub(crate) struct Returned {
    pub(crate) session: Session,
    pub(crate) request: String,
    pub(crate) asked: Asked,
}

impl Shared {
    fn cookie_name(&self) -> String {
        // Cookies know no ports, and there may be several of us on one machine.
        format!("contexture-auth-{}", self.port)
    }

    fn cookie<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        let name = self.cookie_name();
        let all = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs = all.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// The browser that this request comes from, if it is known.
    pub(crate) fn session(&self, headers: &HeaderMap) -> Option<Session> {
        let filed = self.secrets.filed(self.cookie(headers)?);
        self.tables().sessions.get(&filed, now()).cloned()
    }

    /// Knows a browser from now on, as that of this person. The second value is the `Set-Cookie` header. What was
    /// known of it before is given up with its cookie, so that nobody can have planted that.
    pub(crate) fn open_session(
        &self,
        before: Option<Session>,
        headers: &HeaderMap,
        user: Option<String>,
    ) -> Option<(Session, String)> {
        let cookie = self.secrets.random()?;
        let id = match before {
            Some(session) => session.id,
            None => self.secrets.random()?,
        };
        let session = Session { id, token: self.secrets.random()?, user };
        let now = now();
        let old = self.cookie(headers).map(|cookie| self.secrets.filed(cookie));
        let mut tables = self.tables();
        if let Some(old) = old {
            tables.sessions.take(&old, now);
        }
        tables.sessions.insert(self.secrets.filed(&cookie), session.clone(), now + SESSION, now);
        let path = if self.path.is_empty() { "/" } else { &self.path };
        let name = self.cookie_name();
        Some((session, format!("{name}={cookie}; HttpOnly; SameSite=Lax; Max-Age={SESSION}; Path={path}")))
    }

    /// Has a request wait; the value is its name.
    pub(crate) fn wait(&self, session: &Session, asked: Asked) -> Option<String> {
        let name = self.secrets.random()?;
        let now = now();
        let pending = Pending { session: session.id.clone(), asked, wrong: 0 };
        self.tables().pending.insert(name.clone(), pending, now + PENDING, now);
        Some(name)
    }

    /// The form of one of our pages; `None` if it is from elsewhere, too old, or already answered.
    pub(crate) fn returned(&self, headers: &HeaderMap, form: &Form) -> Option<Returned> {
        if !is_our_page(headers) {
            return None;
        }
        let session = self.session(headers)?;
        let token = form.get("token").ok()??;
        if !self.secrets.matches(&self.secrets.fingerprint(&session.token), token) {
            return None;
        }
        let request = form.get("request").ok()??.to_owned();
        let tables = self.tables();
        let pending = tables.pending.get(&request, now()).filter(|pending| pending.session == session.id)?;
        let asked = pending.asked.clone();
        Some(Returned { session, request, asked })
    }

    /// Takes a request out of waiting. Only one answer gets it.
    pub(crate) fn settle(&self, request: &str) -> Option<Asked> {
        self.tables().pending.take(request, now()).map(|pending| pending.asked)
    }

    /// Counts a wrong password; `false` once there were too many.
    pub(crate) fn may_try_again(&self, request: &str) -> bool {
        let now = now();
        let mut tables = self.tables();
        let Some(pending) = tables.pending.get_mut(request, now) else { return false };
        pending.wrong += 1;
        if pending.wrong < ATTEMPTS {
            return true;
        }
        tables.pending.take(request, now);
        false
    }
}

/// Browsers say which page a form was on. The host was checked before.
fn is_our_page(headers: &HeaderMap) -> bool {
    let mut origins = headers.get_all(ORIGIN).iter();
    match (origins.next(), origins.next()) {
        (None, _) => true,
        (Some(origin), None) => headers.get(HOST).is_some_and(|host| {
            origin.as_bytes().strip_prefix(b"http://").is_some_and(|origin| origin == host.as_bytes())
        }),
        _ => false,
    }
}
