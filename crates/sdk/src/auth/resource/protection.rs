//! What is said about a protected server, and checked before it serves.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use tokio::sync::OnceCell;

use super::ResourceServer;
use super::hierarchy::Hierarchy;
use super::introspection::Introspection;
use super::keys::Keys;
use super::remembered::Remembered;
use super::tokens::{Signatures, Tokens, Verified};
use super::verifier::TokenVerifier;
use crate::auth::canonical::{canonical, server_metadata_urls};
use crate::auth::jwt::Algorithm;
use crate::auth::outbound::{Outbound, Reach};
use crate::auth::{Scopes, Secret};

/// Clocks that differ by more are wrong.
const LEEWAY: Duration = Duration::from_secs(60);
/// Nothing that an issuer said is believed for longer than a day.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// Whose tokens a server takes, and what they must allow.
///
/// ```
/// use contexture::auth::{Issuer, Protection, jwt::Algorithm};
///
/// let issuer = Issuer::new("https://issuer.example").algorithms([Algorithm::Es256]);
/// let protection = Protection::new(issuer)
///     .resource("https://mcp.example.com/mcp")
///     .scopes(["files:read"])
///     .scope_includes("admin", ["files:read", "files:write"]);
/// ```
pub struct Protection {
    issuers: Vec<Issuer>,
    resource: Option<String>,
    scopes: Scopes,
    supported: Scopes,
    hierarchy: Hierarchy,
    leeway: Duration,
    verifier: Option<Arc<dyn TokenVerifier>>,
    /// The first thing that was wrong.
    fault: Option<String>,
}

impl Protection {
    /// Takes tokens of this issuer: its URL, or an [`Issuer`].
    pub fn new(issuer: impl Into<Issuer>) -> Self {
        Self {
            issuers: vec![issuer.into()],
            resource: None,
            scopes: Scopes::none(),
            supported: Scopes::none(),
            hierarchy: Hierarchy::default(),
            leeway: Duration::from_secs(30),
            verifier: None,
            fault: None,
        }
    }

    /// Takes tokens of another issuer, too. Whoever has the same name there is somebody else.
    #[must_use]
    pub fn issuer(mut self, issuer: impl Into<Issuer>) -> Self {
        self.issuers.push(issuer.into());
        self
    }

    /// The URL that clients connect to, which is what tokens must be made for. A server that is
    /// [bound](crate::server::HttpServer::bind) to an address of this machine knows it by itself.
    #[must_use]
    pub fn resource(mut self, url: impl Into<String>) -> Self {
        self.resource = Some(url.into());
        self
    }

    /// What every request needs. Clients are told to ask for it.
    #[must_use]
    pub fn scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        let scopes = self.read(scopes);
        self.scopes = self.scopes.union(&scopes);
        self
    }

    /// What clients may as well ask for at once. Many ask for all of it, so name what nearly everybody needs; what a
    /// single tool needs they are told when they call it.
    #[must_use]
    pub fn supported_scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        let scopes = self.read(scopes);
        self.supported = self.supported.union(&scopes);
        self
    }

    /// Whoever was granted this scope has these, too.
    #[must_use]
    pub fn scope_includes<S: Into<String>>(
        mut self,
        scope: impl Into<String>,
        included: impl IntoIterator<Item = S>,
    ) -> Self {
        let (scope, included) = (self.read([scope]), self.read(included));
        for scope in scope.iter() {
            self.hierarchy.add(scope, &included);
        }
        self
    }

    /// By how much clocks may differ: 30 seconds if nothing is said, 60 at most.
    #[must_use]
    pub fn leeway(mut self, leeway: Duration) -> Self {
        if leeway > LEEWAY {
            self.fault("clocks may differ by 60 seconds at most".into());
        }
        self.leeway = leeway;
        self
    }

    /// Verifies tokens in a way of its own. The issuers are still what clients are told.
    #[must_use]
    pub fn verifier(mut self, verifier: impl TokenVerifier) -> Self {
        self.verifier = Some(Arc::new(verifier));
        self
    }

    /// Gives others who have to know whose a token is what verifies tokens here, so that both believe the same.
    ///
    /// # Errors
    /// When an issuer is not put together correctly.
    pub fn share_verifier(mut self) -> crate::Result<(Self, Arc<dyn TokenVerifier>)> {
        let verifier: Arc<dyn TokenVerifier> = match &self.verifier {
            Some(verifier) => Arc::clone(verifier),
            None => Arc::new(tokens(self.issuers.clone(), self.leeway).map_err(crate::Error::Misuse)?),
        };
        self.verifier = Some(Arc::clone(&verifier));
        Ok((self, verifier))
    }

    /// A scope that is dropped would leave something open.
    fn read<S: Into<String>>(&mut self, words: impl IntoIterator<Item = S>) -> Scopes {
        let mut scopes = Scopes::none();
        for word in words {
            let word = word.into();
            scopes.extend([word.as_str()]);
            if !scopes.contains(&word) {
                self.fault(format!("{word:?} is not a scope: one word each, 100 at most"));
            }
        }
        scopes
    }

    fn fault(&mut self, fault: String) {
        self.fault.get_or_insert(fault);
    }

    /// What stands at the door, or what is wrong.
    pub(super) fn build(self) -> Result<ResourceServer, String> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let resource = self.resource.as_deref().map(canonical_resource).transpose()?;
        let advertised = self.scopes.union(&self.supported);
        if advertised.contains("offline_access") {
            return Err(
                "offline_access is between clients and the issuer: a server does not ask for it".into()
            );
        }
        let names = self.issuers.iter().map(|issuer| issuer.url.clone()).collect();
        let verifier: Arc<dyn TokenVerifier> = match self.verifier {
            Some(verifier) => {
                self.issuers.iter().try_for_each(Issuer::check)?;
                verifier
            }
            None => Arc::new(tokens(self.issuers, self.leeway)?),
        };
        Ok(ResourceServer {
            verifier,
            issuers: names,
            resource,
            whereabouts: RwLock::default(),
            scopes: self.scopes,
            advertised,
            hierarchy: self.hierarchy,
        })
    }
}

fn canonical_resource(url: &str) -> Result<String, String> {
    let resource = canonical(url).map_err(|error| format!("{url:?} is not where a server is: {error}"))?;
    if resource.contains('?') {
        return Err(format!("{url:?} has a query, which is not part of where a server is"));
    }
    Ok(resource)
}

fn tokens(issuers: Vec<Issuer>, leeway: Duration) -> Result<Tokens, String> {
    let mut tokens = Tokens { issuers: HashMap::new(), opaque: None, verified: Remembered::default() };
    for issuer in issuers {
        issuer.check()?;
        let url = issuer.url.clone();
        let verified = issuer.verified(leeway);
        if let Verified::ByAsking(introspection) = &verified
            && tokens.opaque.replace(Arc::clone(introspection)).is_some()
        {
            return Err("only one issuer can be asked about tokens that do not say whose they are".into());
        }
        if tokens.issuers.insert(url.clone(), verified).is_some() {
            return Err(format!("the issuer {url} is named twice"));
        }
    }
    Ok(tokens)
}

impl From<&str> for Protection {
    fn from(issuer: &str) -> Self {
        Self::new(issuer)
    }
}

impl From<String> for Protection {
    fn from(issuer: String) -> Self {
        Self::new(issuer)
    }
}

impl From<Issuer> for Protection {
    fn from(issuer: Issuer) -> Self {
        Self::new(issuer)
    }
}

impl fmt::Debug for Protection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Protection")
            .field("issuers", &self.issuers)
            .field("resource", &self.resource)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}

/// Somebody whose tokens are taken.
///
/// Its metadata says where its keys are (RFC 8414, `OpenID` Connect Discovery). The keys are fetched when the first token
/// comes.
#[derive(Debug, Clone)]
pub struct Issuer {
    url: String,
    algorithms: Vec<Algorithm>,
    key_interval: Duration,
    key_age: Duration,
    introspection: Option<(String, Secret)>,
    answer_age: Duration,
    private: bool,
}

impl Issuer {
    /// The issuer with this URL, which tokens repeat character for character.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            algorithms: Algorithm::ALL.to_vec(),
            key_interval: Duration::from_secs(10),
            key_age: Duration::from_secs(60 * 60),
            introspection: None,
            answer_age: Duration::from_secs(30),
            private: false,
        }
    }

    /// Takes tokens that are signed in one of these ways only.
    #[must_use]
    pub fn algorithms(mut self, algorithms: impl IntoIterator<Item = Algorithm>) -> Self {
        self.algorithms = algorithms.into_iter().collect();
        self
    }

    /// Fetches keys at most this often, whatever tokens name: every 10 seconds if nothing is said. A new key of the
    /// issuer may be refused for as long.
    #[must_use]
    pub fn key_interval(mut self, interval: Duration) -> Self {
        self.key_interval = interval;
        self
    }

    /// Trusts keys for so long if they cannot be fetched again: an hour if nothing is said. They are fetched earlier if
    /// the issuer says so.
    #[must_use]
    pub fn key_age(mut self, age: Duration) -> Self {
        self.key_age = age;
        self
    }

    /// Asks the issuer about every token (RFC 7662), as this client of it, instead of verifying signatures: for tokens
    /// that cannot be read, or that may be revoked.
    #[must_use]
    pub fn introspection(mut self, client_id: impl Into<String>, secret: impl Into<Secret>) -> Self {
        self.introspection = Some((client_id.into(), secret.into()));
        self
    }

    /// Believes what it said about a token for so long: 30 seconds if nothing is said. A token that is revoked is good
    /// for as long.
    #[must_use]
    pub fn answer_age(mut self, age: Duration) -> Self {
        self.answer_age = age;
        self
    }

    /// It is in a private network, such as a company's: it, and the addresses that its metadata names, may be private ones.
    #[must_use]
    pub fn private_network(mut self) -> Self {
        self.private = true;
        self
    }

    fn check(&self) -> Result<(), String> {
        let url = &self.url;
        if server_metadata_urls(url).is_empty() {
            return Err(format!("{url:?} is not an issuer: https:// and a host, without a query"));
        }
        if !url.starts_with("https://") && Reach::of(url) != Reach::Loopback {
            return Err(format!("{url:?} is not an issuer: https only, except on this machine"));
        }
        if self.algorithms.is_empty() {
            return Err(format!("no algorithm is left for the tokens of {url}"));
        }
        if self.key_interval.max(self.key_age).max(self.answer_age) > LONGEST {
            return Err(format!("nothing that {url} said is believed for longer than a day"));
        }
        Ok(())
    }

    fn verified(self, leeway: Duration) -> Verified {
        let outbound = Outbound::new(Reach::of(&self.url).with_private(self.private));
        match self.introspection {
            Some((client, secret)) => Verified::ByAsking(Arc::new(Introspection {
                issuer: self.url,
                client,
                secret,
                outbound,
                leeway,
                kept: self.answer_age,
                endpoint: OnceCell::new(),
                room: Introspection::room(),
                answers: Remembered::default(),
            })),
            None => Verified::BySignature(Signatures {
                keys: Keys::new(&self.url, outbound, self.key_interval, self.key_age),
                issuer: self.url,
                algorithms: self.algorithms,
                leeway,
            }),
        }
    }
}

impl From<&str> for Issuer {
    fn from(url: &str) -> Self {
        Self::new(url)
    }
}

impl From<String> for Issuer {
    fn from(url: String) -> Self {
        Self::new(url)
    }
}
