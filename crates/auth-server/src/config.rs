//! How the server is set up. Nothing here listens yet; every mistake is said when it is bound.

use std::time::Duration;

use contexture::Result;
use contexture::auth::{Scopes, Secret};

use crate::bound::Bound;
use crate::client::Client;
use crate::upstream::Upstream;

/// An OAuth 2.1 authorization server for development.
///
/// Without more it lets anyone sign in under any name, knows every scope, issues tokens for every resource, and
/// learns of clients by registration or by their metadata documents.
#[derive(Debug, Clone)]
#[must_use = "it does nothing until it is bound and served"]
pub struct AuthServer {
    pub(crate) users: Vec<String>,
    pub(crate) password: Option<Secret>,
    pub(crate) clients: Vec<Client>,
    pub(crate) scopes: Option<Scopes>,
    pub(crate) resources: Vec<String>,
    pub(crate) path: String,
    pub(crate) lifetimes: Lifetimes,
    pub(crate) auto_approve: Option<String>,
    pub(crate) upstream: Option<Upstream>,
}

/// How long things are good for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lifetimes {
    pub(crate) access: Duration,
    pub(crate) refresh: Duration,
    pub(crate) code: Duration,
}

impl Default for AuthServer {
    fn default() -> Self {
        let minute = Duration::from_secs(60);
        Self {
            users: Vec::new(),
            password: None,
            clients: Vec::new(),
            scopes: None,
            resources: Vec::new(),
            path: String::new(),
            lifetimes: Lifetimes { access: 5 * minute, refresh: 24 * 60 * minute, code: minute },
            auto_approve: None,
            upstream: None,
        }
    }
}

impl AuthServer {
    /// A server with everything at its default.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets this person sign in; can be repeated. Once there is one, nobody else can.
    pub fn user(mut self, name: impl Into<String>) -> Self {
        self.users.push(name.into());
        self
    }

    /// The development password, which everyone must know who signs in. One for all: it keeps out other people
    /// on this machine, it does not tell one person from another.
    pub fn password(self, password: impl Into<Secret>) -> Self {
        Self { password: Some(password.into()), ..self }
    }

    /// Adds a client that need not register; can be repeated.
    pub fn client(mut self, client: Client) -> Self {
        self.clients.push(client);
        self
    }

    /// The scopes that there are; others are refused with `invalid_scope`. Any, if nothing is said.
    pub fn scopes(self, scopes: impl Into<Scopes>) -> Self {
        Self { scopes: Some(scopes.into()), ..self }
    }

    /// A resource that tokens are issued for; can be repeated. Others are refused with `invalid_target`, and clients
    /// that name none get tokens for the first. Any https or loopback URI, if nothing is said.
    pub fn resource(mut self, uri: impl Into<String>) -> Self {
        self.resources.push(uri.into());
        self
    }

    /// Gives the issuer a path, as servers with tenants have it: `/tenant`.
    pub fn path(self, path: impl Into<String>) -> Self {
        Self { path: path.into(), ..self }
    }

    /// How long access tokens are good for: five minutes, if nothing is said.
    pub fn access_lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetimes.access = lifetime;
        self
    }

    /// How long a person's grant can be refreshed: a day, if nothing is said.
    pub fn refresh_lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetimes.refresh = lifetime;
        self
    }

    /// How long a code is good for: a minute, if nothing is said.
    pub fn code_lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetimes.code = lifetime;
        self
    }

    /// **For tests only**: agrees to every request in this person's name, with no page shown, as long as it leads to a program
    /// on this machine or to a client that was set up. Every page and the log say so.
    pub fn auto_approve(self, name: impl Into<String>) -> Self {
        Self { auto_approve: Some(name.into()), ..self }
    }

    /// Has people sign in at another issuer instead of here. They are asked on our own page first, for every client and every
    /// time; then they are sent there, and their subject there is their name here.
    pub fn upstream(self, upstream: Upstream) -> Self {
        Self { upstream: Some(upstream), ..self }
    }

    /// Listens on a loopback address, such as `127.0.0.1:0` for any port that is free.
    ///
    /// # Errors
    /// If the address is not on loopback or not free, or something in the set-up cannot work; the error says what.
    pub async fn bind(self, address: &str) -> Result<Bound> {
        Bound::bind(self, address).await
    }
}
