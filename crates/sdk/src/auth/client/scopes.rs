//! Which scopes are asked for: no more than a request needs, and never what was asked for in vain.

use super::discovery::Found;
use super::failed;
use super::session::Inner;
use super::store::Tokens;
use crate::auth::challenge::Challenge;
use crate::error::AuthorizationStep;
use crate::scopes::Scopes;
use crate::{Error, Result};

/// How often the scopes of one request are widened.
const STEP_UPS: usize = 3;
/// The scope that asks for a refresh token.
const OFFLINE: &str = "offline_access";

impl Inner {
    /// What to ask for at first: what the server wants for this request, else what it says it usually needs.
    pub(super) fn first_scopes(&self, challenge: Option<&Challenge>, found: &Found) -> Result<Scopes> {
        let named = named(challenge);
        self.allowed(&named)?;
        let usual = if named.is_empty() { found.scopes.clone().unwrap_or_default() } else { named };
        let mut scopes = usual.union(&self.policy.scopes);
        if let Some(most) = &self.policy.at_most {
            scopes = scopes.iter().filter(|scope| most.contains(scope)).collect();
        }
        let known = found.metadata.scopes_supported.as_deref().unwrap_or_default();
        let lasting = known.iter().any(|scope| scope == OFFLINE) && found.has_grant("refresh_token");
        // Alone it would keep the authorization server from granting what it grants to those who do not ask.
        if lasting && self.asks_person() && !scopes.is_empty() {
            scopes = scopes.union(&[OFFLINE].into_iter().collect());
        }
        Ok(scopes)
    }

    fn allowed(&self, needed: &Scopes) -> Result<()> {
        match &self.policy.at_most {
            Some(most) if !most.covers(needed) => Err(insufficient(format!(
                "the server wants {}, which this application does not ask for (Authorization::at_most)",
                most.missing(needed)
            ))),
            _ => Ok(()),
        }
    }

    /// What to ask for, if a token is not good for a request: what it was asked for with, and what is needed.
    pub(super) fn more_scopes(
        &self,
        challenge: Option<&Challenge>,
        tokens: &Tokens,
        round: usize,
    ) -> Result<Scopes> {
        let needed = named(challenge);
        if needed.is_empty() {
            return Err(insufficient("the server does not say which are needed: ask its operator"));
        }
        if tokens.requested.covers(&needed) {
            return Err(insufficient(format!(
                "the server wants {needed}, which was asked for before: whoever gives consent has to grant it"
            )));
        }
        if round >= STEP_UPS {
            let what = format!("the server wants ever more, {needed} now: its operator has to look");
            return Err(insufficient(what));
        }
        let wanted = tokens.requested.union(&tokens.scopes).union(&needed);
        if !wanted.covers(&needed) {
            return Err(insufficient("the server wants more scopes than anybody can grant"));
        }
        self.allowed(&needed)?;
        Ok(wanted)
    }
}

/// What the server wants for this request, as far as it says so.
fn named(challenge: Option<&Challenge>) -> Scopes {
    challenge.and_then(|challenge| challenge.get("scope")).map(Scopes::parse).unwrap_or_default()
}

fn insufficient(message: impl Into<String>) -> Error {
    failed(AuthorizationStep::Scopes, message)
}
