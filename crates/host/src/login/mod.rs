//! Each person's own login at the servers behind the gateway.
//!
//! A connection to a server uses what is stored for the person whose call it serves, and nobody is ever asked in the
//! middle of it. Where a login is missing the call ends with [`Wanted`], the gateway asks the person to visit a URL,
//! and the call is made again once they are in. Tokens that callers show to the gateway are no part of this: they
//! go nowhere.
//!
//! Two ways there. On this machine ([`Logins::on_this_machine`]) the person is whoever started the gateway; the way back
//! leads to a listener on loopback. At a protected gateway ([`Logins::for_everybody`]) the page `/login/…` of the gateway
//! itself proves who opens it, asks them, and sends them on. Callers that nobody vouches for cannot log in.

mod approvals;
mod asking;
mod door;
mod html;
mod pages;
mod passage;
mod pending;
mod person;
mod vault;

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use contexture::auth::{Authorization, TokenStore};
use contexture::model::Tool;
use contexture::{AuthorizationStep, Error, Principal, Result, Scopes};
use url::Url;

pub use door::Doorkeeper;
pub use pending::Wanted;

use crate::config::{Login, LoginFor, ServerEntry, TransportSpec};
use approvals::{Approval, Approvals};
use pending::{Filed, Standing, Table, Target, Want};
use person::{account, client_id};
use vault::Vault;

/// Whether somebody has a login is remembered for so many people and servers.
const REMEMBERED: usize = 10_000;
/// What the tool is called that stands for a server which nobody sees without a login.
const TOOL: &str = "login";

/// Everybody's logins.
pub struct Logins {
    way: Way,
    table: Mutex<Table>,
    /// One login is begun at a time on this machine: each has a listener, and wants a person's attention.
    beginning: tokio::sync::Mutex<()>,
    /// Tokens of whoever runs the gateway.
    own: Arc<dyn TokenStore>,
    /// Who wants to know of logins.
    told: OnceLock<Box<Told>>,
}

/// Hears who has logged in, and at which URL.
type Told = dyn Fn(&Principal, &str) + Send + Sync;

enum Way {
    /// The person sits here.
    Here,
    /// People come to our pages.
    Web(Box<Web>),
}

/// What logins of many people need.
struct Web {
    door: Doorkeeper,
    vault: Vault,
    approvals: Approvals,
    /// The gateway's MCP endpoint, and its origin.
    reached_at: OnceLock<(String, String)>,
    /// Whether somebody has a login at a server. Only a guess that a login exists may be out of date.
    known: Mutex<HashMap<(String, String), bool>>,
}

impl Logins {
    /// Logins of the one person who started this process, in this store.
    pub fn on_this_machine(store: Arc<dyn TokenStore>) -> Arc<Self> {
        Arc::new(Self::new(Way::Here, store))
    }

    /// Logins of everybody whom a protected gateway serves, kept in this folder. `own` has the logins of whoever runs
    /// the gateway, for servers whose login is shared.
    ///
    /// Say where the gateway is with [`reached_at`](Self::reached_at), and serve [`pages`](Self::pages) there.
    pub fn for_everybody(door: Doorkeeper, folder: &Path, own: Arc<dyn TokenStore>) -> Arc<Self> {
        let web = Web {
            door,
            vault: Vault::at(folder.to_owned()),
            approvals: Approvals::at(folder.join("approvals.json")),
            reached_at: OnceLock::new(),
            known: Mutex::default(),
        };
        Arc::new(Self::new(Way::Web(Box::new(web)), own))
    }

    fn new(way: Way, own: Arc<dyn TokenStore>) -> Self {
        let (table, beginning) = (Mutex::default(), tokio::sync::Mutex::default());
        Self { way, table, beginning, own, told: OnceLock::new() }
    }

    /// The URL at which clients, and people's browsers, reach the gateway's MCP endpoint. It is said once.
    ///
    /// # Errors
    /// When people's secrets would travel there without encryption, or it is no such URL.
    pub fn reached_at(&self, endpoint: &str) -> Result<()> {
        let Way::Web(web) = &self.way else { return Ok(()) };
        let url = Url::parse(endpoint)
            .map_err(|error| Error::Misuse(format!("{endpoint:?} is no address of a gateway: {error}")))?;
        let loopback = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
        if url.scheme() != "https" && !(url.scheme() == "http" && loopback) {
            return Err(Error::Misuse(format!("people cannot log in at {endpoint}: it must be https")));
        }
        let origin = url.origin().ascii_serialization();
        let _ = web.reached_at.set((endpoint.to_owned(), origin));
        Ok(())
    }

    /// Who is told when somebody has logged in somewhere, or agreed that another client uses that: however long it took, and
    /// before whoever waits for it goes on. It is said once.
    pub(crate) fn tell(&self, told: impl Fn(&Principal, &str) + Send + Sync + 'static) {
        let _ = self.told.set(Box::new(told));
    }

    /// The client that somebody uses, where it matters which it is.
    pub(crate) fn client_of(&self, principal: &Principal) -> String {
        match &self.way {
            Way::Web(_) => client_id(principal),
            Way::Here => String::new(),
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        // Each change is one call; whoever panicked left it whole.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What pages need, and our origin.
    fn web(&self) -> Option<(&Web, &str)> {
        match &self.way {
            Way::Web(web) => Some((web, web.reached_at.get()?.1.as_str())),
            Way::Here => None,
        }
    }

    /// What a new connection to this server shows in this person's name. It asks nobody: where a login is missing, the
    /// connection fails, and [`wanted`] knows that.
    pub fn authorization_for(&self, entry: &ServerEntry, principal: &Principal) -> Option<Authorization> {
        let (_, login, shared) = login_of(entry)?;
        let stored = said(Authorization::stored(), login, &Scopes::none());
        match &self.way {
            _ if shared => Some(stored.store(Arc::clone(&self.own))),
            Way::Here if *principal == Principal::local() => Some(stored.store(Arc::clone(&self.own))),
            Way::Web(web) if is_somebody(principal) => {
                let account = account(principal);
                Some(stored.store(web.vault.of(&account)).account(account))
            }
            Way::Here | Way::Web(_) => {
                tracing::debug!(server = entry.name, "nobody vouches for the caller: no login is used");
                None
            }
        }
    }

    /// Whether this person has a login of their own at this server, so that what it offers may be theirs alone.
    pub async fn has_login(&self, entry: &ServerEntry, principal: &Principal) -> bool {
        let Way::Web(web) = &self.way else { return false };
        let Some((url, _, false)) = login_of(entry) else { return false };
        if !is_somebody(principal) {
            return false;
        }
        let key = (account(principal), url.to_owned());
        if let Some(known) = web.known().get(&key) {
            return *known;
        }
        let Some(authorization) = self.authorization_for(entry, principal) else { return false };
        let found = match authorization.status(url).await {
            Ok(found) => found.is_some(),
            Err(error) => {
                tracing::warn!(%error, "it cannot be found out whether somebody is logged in");
                return true;
            }
        };
        let mut known = web.known();
        if known.len() >= REMEMBERED {
            known.clear();
        }
        // A login that ended meanwhile has said so here.
        *known.entry(key).or_insert(found)
    }

    /// Whether the client that calls may use the person's login at this server. To be asked before each call, because
    /// connections are shared by all clients of a person.
    ///
    /// # Errors
    /// What is wanted first, for [`needed`](Self::needed).
    pub async fn permits(&self, entry: &ServerEntry, principal: &Principal) -> Result<(), Wanted> {
        let Way::Web(web) = &self.way else { return Ok(()) };
        if !self.has_login(entry, principal).await {
            return Ok(());
        }
        let server = login_of(entry).map_or_else(String::new, |(url, ..)| url.to_owned());
        let approval = Approval { person: account(principal), client: client_id(principal), server };
        if web.approvals.has(&approval) { Ok(()) } else { Err(Wanted(Want::Consent)) }
    }

    /// A login ended, or failed; says which server it was for. Whoever waits for it is told.
    fn finish(&self, name: &Filed, standing: Standing) -> Option<String> {
        let mut table = self.table();
        let may_go_on = matches!((&self.way, &standing), (Way::Web(_), Standing::Failed(_)));
        if may_go_on {
            let pending = table.get(name)?;
            tracing::info!(server = pending.target.name, ?standing, "a login failed");
            pending.page.away = None;
            pending.standing.send_replace(standing);
            return Some(pending.target.name.clone());
        }
        let pending = table.end(name, &standing)?;
        drop(table);
        tracing::info!(server = pending.target.name, ?standing, "a login ended");
        if let (Way::Web(web), Standing::In) = (&self.way, &standing) {
            web.known().insert((account(&pending.person), pending.target.url.clone()), true);
        }
        if let (Some(told), Standing::In) = (self.told.get(), &standing) {
            told(&pending.person, &pending.target.url);
        }
        if let Some(session) = &pending.session {
            session.url_visited(&pending.id);
        }
        pending.standing.send_replace(standing);
        Some(pending.target.name)
    }
}

impl Web {
    fn known(&self) -> MutexGuard<'_, HashMap<(String, String), bool>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn endpoint(&self) -> String {
        self.reached_at.get().map(|(endpoint, _)| endpoint.clone()).unwrap_or_default()
    }
}

impl std::fmt::Debug for Logins {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let way = match &self.way {
            Way::Here => "on this machine",
            Way::Web(_) => "for everybody",
        };
        f.debug_tuple("Logins").field(&way).finish()
    }
}

/// Whether a failure means that somebody has to log in first.
pub fn wanted(error: &Error) -> Option<Wanted> {
    match error {
        Error::Authorization(failure) if failure.step == AuthorizationStep::LoginNeeded => {
            Some(Wanted(Want::Login(failure.scopes.clone())))
        }
        // Where no login was used at all.
        Error::Http(refusal) if refusal.status == 401 => Some(Wanted(Want::Login(Scopes::none()))),
        _ => None,
    }
}

/// What stands in the catalog for a server that shows nothing before a login: a tool whose call asks for one.
pub fn tool(entry: &ServerEntry) -> Tool {
    let name = person::shown(&entry.name);
    let description = format!(
        "Logs the user in to {name}, whose tools are not available before that. Call it when the user wants \
         something of {name}: they are asked to visit a page."
    );
    let mut schema = serde_json::Map::new();
    schema.insert("type".into(), "object".into());
    schema.insert("additionalProperties".into(), false.into());
    Tool::new(TOOL, schema).title(format!("Log in to {name}")).description(description)
}

/// Where a server is, what is known about logging in to it, and whether all share one login. Nothing if nobody logs in.
fn login_of(entry: &ServerEntry) -> Option<(&str, &Login, bool)> {
    let TransportSpec::Http { url, headers, .. } = &entry.transport else { return None };
    if headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization")) {
        // Whoever configured it has said what is shown.
        return None;
    }
    match &entry.login {
        LoginFor::None => None,
        LoginFor::User(login) => Some((url, login, false)),
        LoginFor::Shared(login) => Some((url, login, true)),
    }
}

/// Whether a login at this URL is one at this server.
pub(crate) fn is_at(entry: &ServerEntry, url: &str) -> bool {
    login_of(entry).is_some_and(|(own, ..)| own == url)
}

fn target(entry: &ServerEntry) -> Option<(Target, bool)> {
    let (url, login, shared) = login_of(entry)?;
    Some((Target { name: entry.name.clone(), url: url.to_owned(), login: login.clone() }, shared))
}

/// Somebody whom an issuer vouches for.
fn is_somebody(principal: &Principal) -> bool {
    !principal.issuer().is_empty()
}

/// Everything that is configured about a login.
fn said(authorization: Authorization, login: &Login, scopes: &Scopes) -> Authorization {
    let scopes: Scopes = login.scopes.iter().map(String::as_str).chain(scopes.iter()).collect();
    let mut authorization =
        authorization.client_name("contexture").scopes(scopes.iter().map(str::to_owned).collect::<Vec<_>>());
    if let Some(id) = &login.client_id {
        authorization = authorization.client_id(id);
    }
    if let Some(secret) = &login.client_secret {
        authorization = authorization.client_secret(secret.clone());
    }
    authorization
}
