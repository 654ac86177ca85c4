//! Clients: as they are set up in code, and as the server knows them.
//!
//! Where a client comes from decides how far it is trusted. One that was set up here is; one that registered itself, or
//! that describes itself in a document, is only what it says it is.

use contexture::auth::jwt::KeySet;
use contexture::auth::{Scopes, Secret};
use contexture::{Error, Result};
use serde_json::Value;

use crate::redirect;
use crate::secrets::{Fingerprint, Secrets};

/// A client that the authorization server for development knows from the start.
///
/// Others register themselves, or are known by a metadata document.
#[derive(Debug, Clone)]
pub struct Client {
    id: String,
    name: Option<String>,
    redirects: Vec<String>,
    credential: Credential,
    machine: bool,
    scopes: Option<Scopes>,
}

#[derive(Debug, Clone)]
enum Credential {
    Nothing,
    Secret(Secret),
    Keys(Value),
}

impl Client {
    fn new(id: impl Into<String>, credential: Credential) -> Self {
        Self { id: id.into(), name: None, redirects: Vec::new(), credential, machine: false, scopes: None }
    }

    /// A client that can keep no secret: a program on somebody's machine, a page.
    pub fn public(id: impl Into<String>) -> Self {
        Self::new(id, Credential::Nothing)
    }

    /// A client that proves itself with a secret, in a header (`client_secret_basic`) or in the form
    /// (`client_secret_post`).
    pub fn confidential(id: impl Into<String>, secret: impl Into<Secret>) -> Self {
        Self::new(id, Credential::Secret(secret.into()))
    }

    /// A client that proves itself with a signature (`private_key_jwt`) by one of these keys, a JSON Web Key Set.
    pub fn with_keys(id: impl Into<String>, keys: Value) -> Self {
        Self::new(id, Credential::Keys(keys))
    }

    /// What the consent page calls it; its id, if nothing is said.
    pub fn name(self, name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..self }
    }

    /// Where it may be sent back to; can be repeated. The port of a loopback address may differ.
    pub fn redirect(mut self, uri: impl Into<String>) -> Self {
        self.redirects.push(uri.into());
        self
    }

    /// Lets it have tokens for itself, with nobody signed in (`client_credentials`). It needs a secret or keys.
    pub fn machine(self) -> Self {
        Self { machine: true, ..self }
    }

    /// The most that it can be granted; everything that the server knows, if nothing is said.
    pub fn scopes(self, scopes: impl Into<Scopes>) -> Self {
        Self { scopes: Some(scopes.into()), ..self }
    }

    /// As the server keeps it.
    pub(crate) fn known(&self, secrets: &Secrets) -> Result<Known> {
        let fault = |what: String| Error::Misuse(format!("client {}: {what}", self.id));
        for uri in &self.redirects {
            redirect::check(uri).map_err(|why| fault(format!("the redirect URI {uri} {why}")))?;
        }
        let proof = match &self.credential {
            Credential::Nothing if self.machine => {
                return Err(fault("a machine needs a secret or keys".to_owned()));
            }
            Credential::Nothing => Proof::Nothing,
            Credential::Secret(secret) => {
                Proof::Secret { fingerprint: secrets.fingerprint(secret.expose()), way: None }
            }
            Credential::Keys(keys) => {
                let keys = KeySet::parse(keys.to_string().as_bytes());
                Proof::Keys(keys.map_err(|why| fault(format!("its keys cannot be used: {why}")))?)
            }
        };
        Ok(Known {
            id: self.id.clone(),
            name: self.name.clone(),
            redirects: self.redirects.clone(),
            proof,
            grants: Grants { code: !self.redirects.is_empty(), refresh: true, machine: self.machine },
            scopes: self.scopes.clone(),
            origin: Origin::SetUp,
        })
    }
}

/// A client as the server knows it.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub(crate) id: String,
    /// As it calls itself: never shown without being cleaned and escaped.
    pub(crate) name: Option<String>,
    pub(crate) redirects: Vec<String>,
    pub(crate) proof: Proof,
    pub(crate) grants: Grants,
    pub(crate) scopes: Option<Scopes>,
    pub(crate) origin: Origin,
}

/// How a client proves that it is the one.
#[derive(Debug, Clone)]
pub(crate) enum Proof {
    /// Not at all: PKCE is what protects its codes.
    Nothing,
    /// With a secret; in one way only, if it registered for that.
    Secret { fingerprint: Fingerprint, way: Option<Way> },
    /// With a signature.
    Keys(KeySet),
}

/// Where a client puts its secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Basic,
    Post,
}

/// What a client may ask the token endpoint for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grants {
    pub(crate) code: bool,
    pub(crate) refresh: bool,
    pub(crate) machine: bool,
}

/// Where a client comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    SetUp,
    Registered,
    Document,
}

impl Known {
    /// Whether a browser may be sent to this URI of the client without anybody having agreed to it: a program on
    /// this machine, or a client that somebody set up.
    pub(crate) fn trusts(&self, redirect_uri: &str) -> bool {
        self.origin == Origin::SetUp || redirect::is_local(redirect_uri)
    }

    /// Whether it proves itself at all.
    pub(crate) fn is_confidential(&self) -> bool {
        !matches!(self.proof, Proof::Nothing)
    }
}
