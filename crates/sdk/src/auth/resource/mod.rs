//! Protecting a server: it serves whoever shows a token that was issued for it.
//!
//! ```no_run
//! # use contexture::Server;
//! # async fn serve(server: Server) -> contexture::Result<()> {
//! server.into_http()?.protect("https://issuer.example").serve("127.0.0.1:8000").await
//! # }
//! ```
//!
//! [`Protection`] has more to say: where clients reach the server, which scopes are needed, whose tokens are taken
//! and how they are verified. Every request is verified by itself, in every revision, on both transports; handlers
//! learn who calls ([`Principal`](crate::Principal)) and never see the token.
//!
//! Nothing is issued here, no token is kept, sent on or logged, and where something cannot be decided the answer is no.

mod bearer;
mod claims;
mod discovery;
mod hierarchy;
mod introspection;
mod keys;
mod protection;
mod remembered;
mod tokens;
mod verifier;
mod whereabouts;

use std::sync::{Arc, PoisonError, RwLock};

use http::HeaderMap;
use http::request::Parts;

use self::bearer::Shown;
use self::hierarchy::Hierarchy;
use self::whereabouts::Whereabouts;
use super::Scopes;
use super::challenge::Challenge;
use crate::Result;
use crate::server::http::{Authorizer, Authorizing, Document, Location, Refused};
use crate::server::{HttpServer, Principal};

pub use protection::{Issuer, Protection};
pub use verifier::{TokenVerifier, Unverified, Verifying};

/// Bytes of a list of scopes in a challenge; a longer one names only what is needed.
const CHALLENGED: usize = 4 * 1024;
/// Seconds after which to ask again what could not be decided.
const AGAIN: u64 = 5;

impl HttpServer {
    /// Serves only requests with a token that this issuer made for this server: a URL, or a [`Protection`].
    ///
    /// A protection that is not put together correctly is reported by [`bind`](Self::bind); until then nobody is let
    /// in. In a router, mount the service at `/.well-known/oauth-protected-resource` and at that path followed by the
    /// one of the MCP endpoint as well, and say where it is with [`Protection::resource`].
    #[must_use]
    pub fn protect(self, protection: impl Into<Protection>) -> Self {
        match protection.into().build() {
            Ok(server) => self.authorizer(server),
            Err(fault) => self.closed(fault),
        }
    }
}

/// What stands at the door of a protected server.
struct ResourceServer {
    verifier: Arc<dyn TokenVerifier>,
    issuers: Vec<String>,
    /// What was said about where the server is.
    resource: Option<String>,
    /// Where it is; none as long as nobody said.
    whereabouts: RwLock<Option<Arc<Whereabouts>>>,
    /// Needed for everything.
    scopes: Scopes,
    /// Named in the metadata.
    advertised: Scopes,
    hierarchy: Hierarchy,
}

impl ResourceServer {
    fn whereabouts(&self) -> Option<Arc<Whereabouts>> {
        self.whereabouts.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Lets somebody in who has what is needed for everything.
    fn admit(
        &self,
        principal: Principal,
        path: &str,
        headers: &HeaderMap,
    ) -> std::result::Result<Principal, Refused> {
        let Some(granted) = principal.scopes() else { return Ok(principal) };
        let all = self.hierarchy.expand(granted);
        let enough = all.as_ref().unwrap_or(granted).covers(&self.scopes);
        let principal = match all {
            Some(all) => principal.granting(all),
            None => principal,
        };
        if enough {
            Ok(principal)
        } else {
            Err(self.insufficient(path, headers, &principal, &Scopes::none()))
        }
    }

    /// What to do to be let in, at least.
    fn challenge(&self, here: &Whereabouts, path: &str, headers: &HeaderMap) -> Challenge {
        let challenge = Challenge::bearer(&here.metadata_url(path, headers));
        if self.scopes.is_empty() { challenge } else { challenge.with("scope", self.scopes.to_string()) }
    }

    /// All that is needed at once, and what was granted already: whoever asks for exactly this loses nothing.
    fn wanted(&self, granted: &Scopes, needed: &Scopes) -> String {
        let needed = self.scopes.union(needed);
        let all = self.hierarchy.shorten(&granted.union(&needed)).to_string();
        if all.len() > CHALLENGED { self.hierarchy.shorten(&needed).to_string() } else { all }
    }
}

impl Authorizer for ResourceServer {
    fn authorize<'a>(&'a self, head: &'a Parts) -> Authorizing<'a> {
        Box::pin(async move {
            let Some(here) = self.whereabouts() else {
                tracing::error!("Protection::resource must say where this server is: nobody is let in");
                return Err(Refused::unavailable(AGAIN));
            };
            let (path, headers) = (head.uri.path(), &head.headers);
            let refuse = |error: &str, description: &str| {
                let challenge = self.challenge(&here, path, headers);
                challenge.with("error", error).with("error_description", description).to_string()
            };
            let invalid = || {
                let description = "the token is not valid here, or not any more";
                Refused::unauthorized(refuse("invalid_token", description))
            };
            let token = match bearer::shown(headers) {
                Shown::Token(token) => token,
                Shown::TooLong => return Err(invalid()),
                Shown::Nothing => {
                    return Err(Refused::unauthorized(self.challenge(&here, path, headers).to_string()));
                }
                Shown::Nonsense(why) => return Err(Refused::malformed(refuse("invalid_request", why))),
            };
            match self.verifier.verify(token, here.audience()).await {
                Ok(principal) => self.admit(principal, path, headers),
                Err(Unverified::Invalid(why)) => {
                    tracing::debug!(why, "a token was refused");
                    Err(invalid())
                }
                Err(Unverified::Unavailable(why)) => {
                    tracing::warn!(why, "tokens cannot be verified");
                    Err(Refused::unavailable(AGAIN))
                }
            }
        })
    }

    fn document(&self, path: &str, headers: &HeaderMap) -> Option<Document> {
        let resource = self.whereabouts()?.documented(path, headers)?;
        let mut document = serde_json::json!({
            "resource": resource,
            "authorization_servers": self.issuers,
            "bearer_methods_supported": ["header"],
        });
        if !self.advertised.is_empty() {
            document["scopes_supported"] = self.advertised.iter().collect();
        }
        Some(Document::json(document.to_string()))
    }

    fn reached_at(&self, location: &Location) -> Result<()> {
        let here = Whereabouts::find(self.resource.as_deref(), location)?;
        *self.whereabouts.write().unwrap_or_else(PoisonError::into_inner) = here.map(Arc::new);
        Ok(())
    }

    fn insufficient(
        &self,
        path: &str,
        headers: &HeaderMap,
        principal: &Principal,
        needed: &Scopes,
    ) -> Refused {
        let Some(here) = self.whereabouts() else { return Refused::forbidden(None) };
        let none = Scopes::none();
        let wanted = self.wanted(principal.scopes().unwrap_or(&none), needed);
        let challenge = Challenge::bearer(&here.metadata_url(path, headers))
            .with("error", "insufficient_scope")
            .with("scope", wanted)
            .with("error_description", "the token was not granted all that is needed");
        Refused::forbidden(Some(challenge.to_string()))
    }
}
