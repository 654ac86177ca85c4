//! What all requests share: the set-up, the key, and the tables.
//!
//! Every table has a limit. What anyone can fill (requests, sessions, registrations) pushes out its own oldest entries;
//! a client that somebody has agreed to is not pushed out by those who only registered.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use contexture::auth::jwt::{KeySet, SigningKey};
use contexture::auth::outbound::{Outbound, Reach};
use contexture::auth::{Scopes, Secret};
use contexture::{Error, Result};
use serde_json::json;
use tokio::sync::Semaphore;
use url::Url;

use crate::browser::{Pending, Session};
use crate::client::Known;
use crate::config::{AuthServer, Lifetimes};
use crate::grants::{Code, Grant, Issued};
use crate::redirect;
use crate::secrets::Secrets;
use crate::table::Table;
use crate::upstream::{Away, Upstream};

/// Documents of clients that are fetched at once.
const FETCHES: usize = 8;
/// Bytes of a resource's URI.
const MOST_RESOURCE: usize = 2048;

/// Everything that requests share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) issuer: String,
    pub(crate) path: String,
    pub(crate) port: u16,
    pub(crate) users: Vec<String>,
    pub(crate) password: Option<Secret>,
    pub(crate) scopes: Option<Scopes>,
    pub(crate) auto_approve: Option<String>,
    /// Where people sign in, if not here.
    pub(crate) upstream: Option<Upstream>,
    pub(crate) lifetimes: Lifetimes,
    pub(crate) secrets: Secrets,
    pub(crate) key: SigningKey,
    /// Our own public key, to recognise our own tokens.
    pub(crate) keys: KeySet,
    pub(crate) outbound: Outbound,
    pub(crate) fetches: Semaphore,
    /// Clients that were set up. The first resource is that of clients that name none.
    pub(crate) clients: Vec<Arc<Known>>,
    resources: Vec<String>,
    tables: Mutex<Tables>,
}

/// Everything that changes.
#[derive(Debug)]
pub(crate) struct Tables {
    /// People's browsers.
    pub(crate) sessions: Table<Session>,
    /// Requests that wait for somebody to sign in or to agree.
    pub(crate) pending: Table<Pending>,
    /// People who have agreed and are signing in upstream, by their state.
    pub(crate) away: Table<Away>,
    pub(crate) codes: Table<Code>,
    pub(crate) grants: Table<Grant>,
    /// Access tokens that are good, by their `jti`.
    pub(crate) issued: Table<Issued>,
    pub(crate) registered: Table<Registered>,
    /// Clients that are known by a document.
    pub(crate) documents: Table<Arc<Known>>,
    /// Assertions that clients have proved themselves with.
    pub(crate) assertions: Table<()>,
}

/// A client that registered itself.
#[derive(Debug)]
pub(crate) struct Registered {
    pub(crate) client: Arc<Known>,
    /// Somebody agreed to what it asked for.
    pub(crate) approved: bool,
}

impl Default for Tables {
    fn default() -> Self {
        Self {
            sessions: Table::new(1_000),
            pending: Table::new(1_000),
            away: Table::new(1_000),
            codes: Table::new(1_000),
            grants: Table::new(10_000),
            issued: Table::new(10_000),
            registered: Table::new(1_000),
            documents: Table::new(100),
            assertions: Table::new(10_000),
        }
    }
}

impl Shared {
    /// Puts the set-up to work; the error says what in it cannot be.
    pub(crate) fn new(config: &AuthServer, address: SocketAddr) -> Result<Self> {
        check_path(&config.path)?;
        for uri in &config.resources {
            check_resource(uri).map_err(|why| Error::Misuse(format!("the resource {uri} {why}")))?;
        }
        for name in config.users.iter().chain(&config.auto_approve) {
            check_user(name).map_err(|why| Error::Misuse(format!("the user {name:?} {why}")))?;
        }
        if let Some(upstream) = &config.upstream {
            upstream.check(config)?;
        }
        let no_randomness = || Error::Misuse("the system has no randomness to give".to_owned());
        let secrets = Secrets::new().ok_or_else(no_randomness)?;
        let clients: Result<Vec<Arc<Known>>> =
            config.clients.iter().map(|client| client.known(&secrets).map(Arc::new)).collect();
        let key = SigningKey::generate_es256()?;
        let set = json!({ "keys": [key.public_jwk()] }).to_string();
        let keys = KeySet::parse(set.as_bytes()).map_err(|why| Error::Misuse(why.to_string()))?;
        Ok(Self {
            issuer: crate::bound::issuer(config, address),
            path: config.path.clone(),
            port: address.port(),
            users: config.users.clone(),
            password: config.password.clone(),
            scopes: config.scopes.clone(),
            auto_approve: config.auto_approve.clone(),
            upstream: config.upstream.clone(),
            lifetimes: config.lifetimes,
            secrets,
            key,
            keys,
            outbound: Outbound::new(Reach::Loopback),
            fetches: Semaphore::new(FETCHES),
            clients: clients?,
            resources: config.resources.clone(),
            tables: Mutex::default(),
        })
    }

    /// The tables, for a moment. Whoever panicked with them in hand left them whole: each change is one call.
    pub(crate) fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The address of one of our own endpoints.
    pub(crate) fn endpoint(&self, name: &str) -> String {
        format!("{}/{name}", self.issuer)
    }

    /// The resource that is meant by what a client names; `None` if tokens are not issued for it.
    pub(crate) fn resource(&self, named: Option<&str>) -> Option<String> {
        let Some(named) = named else {
            return Some(self.resources.first().unwrap_or(&self.issuer).clone());
        };
        if self.resources.is_empty() {
            return check_resource(named).is_ok().then(|| named.to_owned());
        }
        let meant = Url::parse(named).ok()?;
        let known = self.resources.iter().find(|known| Url::parse(known).is_ok_and(|known| known == meant));
        known.cloned()
    }

    /// The scopes that a client can be granted of those it asks for; the error is for the client.
    pub(crate) fn scopes_for(&self, client: &Known, asked: Option<&str>) -> Result<Scopes, String> {
        let asked = asked.unwrap_or_default();
        let scopes = Scopes::parse(asked);
        if asked.split(' ').any(|word| !word.is_empty() && !scopes.contains(word)) {
            return Err("a scope has characters that scopes cannot have, or there are too many".to_owned());
        }
        for known in [&self.scopes, &client.scopes].into_iter().flatten() {
            let unknown = known.missing(&scopes);
            if !unknown.is_empty() {
                return Err(format!("not available here: {unknown}"));
            }
        }
        Ok(scopes)
    }
}

/// The time at which something ends that begins now.
pub(crate) fn ends(now: u64, lifetime: Duration) -> u64 {
    now.saturating_add(lifetime.as_secs())
}

fn check_path(path: &str) -> Result<()> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_/".contains(&byte);
    let whole = path.starts_with('/') && !path.ends_with('/') && !path.contains("//");
    match path.is_empty() || whole && path.bytes().all(plain) {
        true => Ok(()),
        false => Err(Error::Misuse(format!("{path:?} is no path for an issuer: write it like /tenant"))),
    }
}

/// Absolute, without a fragment (RFC 8707), https or on this machine.
fn check_resource(uri: &str) -> Result<(), &'static str> {
    if uri.len() > MOST_RESOURCE || !redirect::is_written_like_a_uri(uri) {
        return Err("is too long, or has characters that do not belong into a URI");
    }
    let url = Url::parse(uri).map_err(|_| "is not an absolute URI")?;
    if uri.contains('#') {
        return Err("has a fragment");
    }
    match url.scheme() {
        "https" => Ok(()),
        "http" if redirect::is_this_machine(&url) => Ok(()),
        _ => Err("is neither https nor on this machine"),
    }
}

/// A name that fits into a token and on a page. Names of machines begin with `client:`.
pub(crate) fn check_user(name: &str) -> Result<(), &'static str> {
    if name.is_empty() || name.chars().count() > 64 || name.trim() != name {
        return Err("must have 1 to 64 characters, and no space around them");
    }
    if name.chars().any(char::is_control) || name.starts_with("client:") {
        return Err("has control characters, or begins like that of a machine");
    }
    Ok(())
}
