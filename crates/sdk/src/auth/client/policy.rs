//! How an application logs in: everything that it may decide.
//!
//! There is nothing here to switch a check off. PKCE, `state`, issuers and redirect URIs are checked whatever an
//! application says.

use std::fmt;
use std::sync::Arc;

use super::enterprise::{Assertion, Enterprise};
use super::session::Session;
use super::store::{MemoryStore, TokenStore, default_store};
use super::visitor::{Local, Show, Visitor};
use crate::Result;
use crate::auth::Secret;
use crate::auth::jwt::{Algorithm, SigningKey};
use crate::scopes::Scopes;
use crate::transport::http::Credentials;

/// How to log in to servers that want it. Give it to
/// [`Builder::authorization`](crate::client::Builder::authorization).
///
/// ```no_run
/// # async fn example() -> contexture::Result<()> {
/// use contexture::Client;
/// use contexture::auth::Authorization;
///
/// let client = Client::builder().authorization(Authorization::browser()).connect("https://example.com/mcp").await?;
/// # drop(client);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Authorization {
    pub(super) grant: Grant,
    pub(super) client: GivenClient,
    /// Asked for in any case.
    pub(super) scopes: Scopes,
    /// Never asked for more.
    pub(super) at_most: Option<Scopes>,
    pub(super) store: Option<Arc<dyn TokenStore>>,
    pub(super) choose: Option<Choose>,
    pub(super) account: String,
    pub(super) private: bool,
}

/// Picks one of several issuers.
pub(super) type Choose = Arc<dyn Fn(&[String]) -> usize + Send + Sync>;

/// What a token is given for.
#[derive(Clone)]
pub(super) enum Grant {
    /// A person's consent.
    Local { show: Show, port: Option<u16> },
    /// A person's consent, by another way there and back.
    Visitor(Arc<dyn Visitor>),
    /// Only what is stored.
    Stored,
    /// What the client itself may do.
    Client,
    /// What a company's identity provider says about a person.
    Enterprise(Arc<Enterprise>),
    /// What the platform says about this workload.
    Workload(Assertion),
}

/// What an application knows about its registration.
#[derive(Clone, Default)]
pub(super) struct GivenClient {
    pub(super) id: Option<String>,
    pub(super) secret: Option<Secret>,
    pub(super) key: Option<Arc<SigningKey>>,
    /// Where it is registered.
    pub(super) issuer: Option<String>,
    pub(super) metadata_url: Option<String>,
    pub(super) name: Option<String>,
}

impl Authorization {
    fn new(grant: Grant) -> Self {
        Self {
            grant,
            client: GivenClient::default(),
            scopes: Scopes::default(),
            at_most: None,
            store: None,
            choose: None,
            account: String::new(),
            private: false,
        }
    }

    /// A person logs in with the browser of this machine.
    pub fn browser() -> Self {
        Self::new(Grant::Local { show: Local::browser(), port: None })
    }

    /// A person logs in with a browser that this program cannot open: it is told the address to show. The way back
    /// leads to this machine.
    pub fn headless(show: impl Fn(&str) + Send + Sync + 'static) -> Self {
        let show: Show = Arc::new(move |url| {
            show(url);
            Ok(())
        });
        Self::new(Grant::Local { show, port: None })
    }

    /// A person logs in, and this brings them there and back.
    pub fn visitor(visitor: impl Visitor) -> Self {
        Self::new(Grant::Visitor(Arc::new(visitor)))
    }

    /// Nobody can be asked: only what was stored by an earlier login is used and refreshed. Where that does not
    /// suffice, calls fail with [`LoginNeeded`](crate::AuthorizationStep::LoginNeeded).
    pub fn stored() -> Self {
        Self::new(Grant::Stored)
    }

    /// This program acts for itself, with a secret. Name the authorization server that the secret belongs to with
    /// [`issuer`](Self::issuer), unless you trust the server to name it.
    pub fn client_credentials(client_id: impl Into<String>, secret: impl Into<Secret>) -> Self {
        Self::new(Grant::Client).client_id(client_id).client_secret(secret)
    }

    /// This program acts for itself, with a private key (PKCS#8, in PEM).
    pub fn private_key(client_id: impl Into<String>, pem: &str, algorithm: Algorithm) -> Result<Self> {
        let key = SigningKey::from_pkcs8_pem(pem, algorithm)?;
        let mut policy = Self::new(Grant::Client).client_id(client_id);
        policy.client.key = Some(Arc::new(key));
        Ok(policy)
    }

    /// A company's identity provider decides. Name the client that the servers' authorization server knows with
    /// [`client_id`](Self::client_id) and [`client_secret`](Self::client_secret).
    pub fn enterprise(enterprise: Enterprise) -> Self {
        Self::new(Grant::Enterprise(Arc::new(enterprise)))
    }

    /// The platform that this program runs on vouches for it: `assertion` is asked for a signed statement for an
    /// authorization server, which is named by its issuer.
    pub fn workload<F>(
        client_id: impl Into<String>,
        assertion: impl Fn(String) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Secret>> + Send + 'static,
    {
        let assertion: Assertion = Arc::new(move |issuer| Box::pin(assertion(issuer)));
        Self::new(Grant::Workload(assertion)).client_id(client_id)
    }

    /// The client id that the authorization server knows. Without it the client introduces itself.
    #[must_use]
    pub fn client_id(mut self, id: impl Into<String>) -> Self {
        self.client.id = Some(id.into());
        self
    }

    /// The secret that belongs to the client id.
    #[must_use]
    pub fn client_secret(mut self, secret: impl Into<Secret>) -> Self {
        self.client.secret = Some(secret.into());
        self
    }

    /// The one authorization server that knows the client id: it is shown to no other. Without this it is bound to
    /// the first that the server names.
    #[must_use]
    pub fn issuer(mut self, issuer: impl Into<String>) -> Self {
        self.client.issuer = Some(issuer.into());
        self
    }

    /// Where the client describes itself: an https URL with a path, which is its client id for authorization servers
    /// that take it.
    #[must_use]
    pub fn client_metadata_url(mut self, url: impl Into<String>) -> Self {
        self.client.metadata_url = Some(url.into());
        self
    }

    /// The name that people see when they are asked for consent.
    #[must_use]
    pub fn client_name(mut self, name: impl Into<String>) -> Self {
        self.client.name = Some(name.into());
        self
    }

    /// The one port that the way back may lead to, because it is registered.
    #[must_use]
    pub fn redirect_port(mut self, wanted: u16) -> Self {
        if let Grant::Local { port, .. } = &mut self.grant {
            *port = Some(wanted);
        }
        self
    }

    /// Asks for these scopes, too.
    #[must_use]
    pub fn scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes = scopes.into_iter().collect();
        self
    }

    /// Never asks for more than these scopes, whatever a server wants.
    #[must_use]
    pub fn at_most<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.at_most = Some(scopes.into_iter().collect());
        self
    }

    /// Where tokens are kept. If nothing is said: people's in the [safest place](super::store::default_store) that
    /// there is, others in memory.
    #[must_use]
    pub fn store(mut self, store: impl TokenStore) -> Self {
        self.store = Some(Arc::new(store));
        self
    }

    /// Chooses, if a server takes tokens of several issuers; the first, if nothing is said.
    #[must_use]
    pub fn choose_issuer(mut self, choose: impl Fn(&[String]) -> usize + Send + Sync + 'static) -> Self {
        self.choose = Some(Arc::new(choose));
        self
    }

    /// Lets servers send us to issuers in private networks, such as a company's. Otherwise only those on the public Internet
    /// are reached, or on this machine from this machine.
    #[must_use]
    pub fn private_network(mut self) -> Self {
        self.private = true;
        self
    }

    /// Which of the person's accounts: tokens of each are kept apart.
    #[must_use]
    pub fn account(mut self, account: impl Into<String>) -> Self {
        self.account = account.into();
        self
    }

    /// For one server.
    pub(crate) fn credentials(&self, server_url: &str) -> Arc<dyn Credentials> {
        Arc::new(Session::new(self.clone(), server_url))
    }

    /// Where tokens are kept.
    pub(super) fn tokens(&self) -> Arc<dyn TokenStore> {
        if let Some(store) = &self.store {
            return Arc::clone(store);
        }
        match self.grant {
            Grant::Client | Grant::Enterprise(_) | Grant::Workload(_) => Arc::new(MemoryStore::new()),
            Grant::Local { .. } | Grant::Visitor(_) | Grant::Stored => {
                default_store().unwrap_or_else(|error| {
                    tracing::warn!(%error, "tokens cannot be kept, and are forgotten with this process");
                    Arc::new(MemoryStore::new())
                })
            }
        }
    }
}

impl fmt::Debug for Authorization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let grant = match self.grant {
            Grant::Local { .. } | Grant::Visitor(_) => "a person",
            Grant::Stored => "what is stored",
            Grant::Client => "the client itself",
            Grant::Enterprise(_) => "an enterprise",
            Grant::Workload(_) => "a workload",
        };
        f.debug_struct("Authorization")
            .field("grant", &grant)
            .field("client_id", &self.client.id)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}
