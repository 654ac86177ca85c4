//! Who is calling, proven, and what their proof allows.
//!
//! Ownership is by issuer and subject and never by an id that somebody presents; nor by what a proof allows, which
//! changes from one request of the same person to the next. Over stdio it is whoever started us.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::{Error, Result, Scopes};

/// The issuer and the subject of a proven identity.
///
/// Two are equal if these two are. [`scopes`](Self::scopes) and [`claims`](Self::claims) belong to the request that
/// proved it, and to no other.
#[derive(Clone)]
pub struct Principal {
    who: Arc<(String, String)>,
    /// Nothing where the proof says no more than who it is.
    proof: Option<Arc<Proof>>,
}

#[derive(Clone, Default)]
struct Proof {
    scopes: Option<Scopes>,
    claims: Option<Map<String, Value>>,
}

impl Principal {
    /// A subject, as its issuer names it.
    pub fn new(issuer: impl Into<String>, subject: impl Into<String>) -> Self {
        Self { who: Arc::new((issuer.into(), subject.into())), proof: None }
    }

    /// Whoever runs this process.
    pub fn local() -> Self {
        Self::new("", "local")
    }

    /// Whoever it may be: nothing was proven.
    pub fn anonymous() -> Self {
        Self::new("", "anonymous")
    }

    /// Limits what this request may do to these scopes.
    #[must_use]
    pub fn granting(self, scopes: Scopes) -> Self {
        self.proven(|proof| proof.scopes = Some(scopes))
    }

    /// Keeps what else the issuer says, for handlers.
    #[must_use]
    pub fn with_claims(self, claims: Map<String, Value>) -> Self {
        self.proven(|proof| proof.claims = Some(claims))
    }

    fn proven(mut self, change: impl FnOnce(&mut Proof)) -> Self {
        change(Arc::make_mut(self.proof.get_or_insert_default()));
        self
    }

    /// Whether nothing was proven.
    pub fn is_anonymous(&self) -> bool {
        self.who.0.is_empty() && self.who.1 == "anonymous"
    }

    /// Who vouches for the subject; empty for the local user.
    pub fn issuer(&self) -> &str {
        &self.who.0
    }

    /// Who it is.
    pub fn subject(&self) -> &str {
        &self.who.1
    }

    /// What this request may do; `None` if nothing limits it.
    pub fn scopes(&self) -> Option<&Scopes> {
        self.proof.as_ref()?.scopes.as_ref()
    }

    /// What else the issuer says about this request, as a type of yours; `None` if it says nothing.
    pub fn claims<T: DeserializeOwned>(&self) -> Option<Result<T>> {
        let claims = self.proof.as_ref()?.claims.clone()?;
        let typed = serde_json::from_value(Value::Object(claims));
        Some(typed.map_err(|error| {
            Error::Misuse(format!("the claims are not as this handler wants them: {error}"))
        }))
    }

    /// The identity alone, without scopes and claims: for whatever outlives the request.
    #[must_use]
    pub fn identity(&self) -> Self {
        Self { who: Arc::clone(&self.who), proof: None }
    }
}

impl PartialEq for Principal {
    fn eq(&self, other: &Self) -> bool {
        self.who == other.who
    }
}

impl Eq for Principal {}

impl Hash for Principal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.who.hash(state);
    }
}

/// Claims may be anything, so they are not shown.
impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Principal({} {})", self.issuer(), self.subject())
    }
}
