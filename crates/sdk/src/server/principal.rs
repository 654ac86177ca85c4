//! Who is calling, proven.
//!
//! Ownership is by this and never by an id that somebody presents. Over stdio it is whoever started us.

use std::fmt;
use std::sync::Arc;

/// The issuer and the subject of a proven identity.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Principal(Arc<(String, String)>);

impl Principal {
    /// A subject, as its issuer names it.
    pub fn new(issuer: impl Into<String>, subject: impl Into<String>) -> Self {
        Self(Arc::new((issuer.into(), subject.into())))
    }

    /// Whoever runs this process.
    pub fn local() -> Self {
        Self::new("", "local")
    }

    /// Whoever it may be: nothing was proven.
    pub fn anonymous() -> Self {
        Self::new("", "anonymous")
    }

    /// Whether nothing was proven.
    pub fn is_anonymous(&self) -> bool {
        self.0.0.is_empty() && self.0.1 == "anonymous"
    }

    /// Who vouches for the subject; empty for the local user.
    pub fn issuer(&self) -> &str {
        &self.0.0
    }

    /// Who it is.
    pub fn subject(&self) -> &str {
        &self.0.1
    }
}

impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Principal({} {})", self.issuer(), self.subject())
    }
}
