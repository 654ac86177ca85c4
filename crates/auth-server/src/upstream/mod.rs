//! People who sign in elsewhere: at another issuer, of which this server is one client for all of its own.
//!
//! The other issuer knows that one client and asks people about no other; whoever has agreed to it once may not be asked
//! again. So it is our page that asks, for each client and each time, before anybody is sent on.
//! What the other issuer gives out says who somebody is and is then dropped: no client of ours gets it.

mod issuer;
mod journey;

use contexture::auth::Secret;
use contexture::auth::outbound::{Outbound, Reach};
use contexture::{Error, Result};

use crate::config::AuthServer;
use crate::redirect;

pub(crate) use journey::{Away, callback, depart};

/// Another issuer, at which people sign in, and what this server is known as there.
///
/// Its redirect URI there is the issuer of this server and `/upstream/callback`. The other issuer must do PKCE with S256, take
/// the secret in a header (`client_secret_basic`), and give out access tokens in the form of RFC 9068 for the resource that
/// they are asked for, which is the issuer of this server: their subject is who signed in.
#[derive(Debug, Clone)]
pub struct Upstream {
    issuer: String,
    client_id: String,
    secret: Secret,
    outbound: Outbound,
}

impl Upstream {
    /// The issuer as it calls itself, character by character, and the client that this server is there.
    pub fn new(issuer: impl Into<String>, client_id: impl Into<String>, secret: impl Into<Secret>) -> Self {
        let issuer = issuer.into();
        // An issuer elsewhere has no business sending us to this machine.
        let outbound = Outbound::new(Reach::of(&issuer));
        Self { issuer, client_id: client_id.into(), secret: secret.into(), outbound }
    }

    /// What it is called.
    pub(crate) fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Refuses what would go past the consent page, or never be asked for.
    pub(crate) fn check(&self, config: &AuthServer) -> Result<()> {
        let fault = |what: String| Err(Error::Misuse(what));
        if let Err(why) = redirect::check(&self.issuer) {
            return fault(format!("the upstream {} {why}", self.issuer));
        }
        if config.auto_approve.is_some() {
            return fault(
                "with an upstream a person has to agree to every client: leave auto_approve out".to_owned(),
            );
        }
        if config.password.is_some() {
            return fault("people sign in at the upstream, so nobody is asked for the password".to_owned());
        }
        Ok(())
    }
}
