//! What a login would meet, step by step, without one: who is asked for what, and where that leads.
//!
//! Nothing is sent but requests for documents, and nobody is registered or logged in.

use super::discovery::Search;
use super::policy::Authorization;
use super::session::Session;
use crate::Result;
use crate::auth::challenge::{Challenge, bearer_of};
use crate::auth::metadata::{ResourceMetadata, ServerMetadata};
use crate::scopes::Scopes;

/// What was found on the way to a login. What comes after a step that failed is missing.
#[derive(Debug)]
#[non_exhaustive]
pub struct Survey {
    /// What the server asks for; `None`, if nothing that a token answers.
    pub asked: Option<Asked>,
    /// What the server says about itself; `None`, if it says nothing anywhere.
    pub resource: Result<Option<ResourceMetadata>>,
    /// Who issues tokens, as it describes itself. If the server names nobody, its own origin is tried, which may say nothing.
    pub issuer: Option<Result<Option<ServerMetadata>>>,
}

/// A challenge that a token answers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Asked {
    /// `Bearer` or `DPoP`, as it was written.
    pub scheme: String,
    /// Where the server says that its metadata is.
    pub resource_metadata: Option<String>,
    /// The scopes that it wants.
    pub scopes: Option<Scopes>,
    /// Why it refused what it was shown.
    pub error: Option<String>,
}

impl Asked {
    fn new(challenge: &Challenge) -> Self {
        Self {
            scheme: challenge.scheme.clone(),
            resource_metadata: challenge.get("resource_metadata").map(str::to_owned),
            scopes: challenge.get("scope").map(|scope| scope.split_ascii_whitespace().collect()),
            error: challenge.get("error").map(str::to_owned),
        }
    }
}

impl Authorization {
    /// Looks at each step on the way to a login at a server that answered with these values of `WWW-Authenticate`.
    pub async fn survey(&self, server_url: &str, challenges: &[String]) -> Survey {
        let inner = Session::new(self.clone(), server_url).0;
        let challenges = Challenge::parse_all(challenges.iter().map(String::as_str));
        let asked = bearer_of(&challenges).map(Asked::new);
        if let Err(error) = inner.fit() {
            return Survey { asked, resource: Err(error), issuer: None };
        }
        let search = Search {
            outbound: &inner.outbound,
            reach: inner.reach,
            server: &inner.server,
            policy: &inner.policy,
            bound: None,
        };
        let named = asked.as_ref().and_then(|asked| asked.resource_metadata.as_deref());
        let resource = search.resource(named).await;
        let issuer = match &resource {
            Ok(document) => Some(search.described(document.as_ref()).await),
            Err(_) => None,
        };
        Survey { asked, resource, issuer }
    }
}
