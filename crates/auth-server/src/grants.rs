//! What people agreed to, and what was given out for it: codes, refresh tokens, access tokens.
//!
//! A code is good for one attempt, whatever comes of it. A code that comes again after it was redeemed, and a refresh
//! token that comes again after it was replaced, were stolen by one of the two who have them: the whole grant ends.
//! Codes and tokens are kept as fingerprints.

use contexture::auth::Scopes;
use serde_json::{Value, json};

use crate::answer::Refusal;
use crate::browser::Asked;
use crate::client::Known;
use crate::secrets::{Fingerprint, challenge_of, now};
use crate::server::{Shared, Tables, ends};

/// A code, by its fingerprint.
#[derive(Debug)]
pub(crate) enum Code {
    /// Given out.
    Open(Box<Agreed>),
    /// Presented. If it was redeemed, this is the grant.
    Spent(Option<String>),
}

/// What somebody agreed to.
#[derive(Debug)]
pub(crate) struct Agreed {
    asked: Asked,
    user: String,
}

/// What a client holds in somebody's name, for as long as it can be refreshed.
#[derive(Debug, Clone)]
pub(crate) struct Grant {
    client: String,
    subject: String,
    scopes: Scopes,
    resource: String,
    /// The one refresh token that is good.
    refresh: Option<Fingerprint>,
}

/// An access token that was given out.
#[derive(Debug, Clone)]
pub(crate) struct Issued {
    pub(crate) client: String,
    /// What it belongs to; a machine's belongs to nothing.
    pub(crate) grant: Option<String>,
}

/// What an access token is going to say.
struct Content<'a> {
    client: &'a str,
    subject: &'a str,
    scopes: &'a Scopes,
    resource: &'a str,
    grant: Option<&'a str>,
}

impl Tables {
    /// Whether an access token was given out by us and is still good. The signature was checked before.
    pub(crate) fn is_good(&self, token: &str, now: u64) -> Option<&Issued> {
        let issued = self.issued.get(token, now)?;
        let stands = issued.grant.as_ref().is_none_or(|grant| self.grants.get(grant, now).is_some());
        stands.then_some(issued)
    }

    /// Ends a grant, and with it every token that belongs to it.
    pub(crate) fn end_grant(&mut self, grant: &str, now: u64) {
        self.grants.take(grant, now);
        self.issued.retain(|issued| issued.grant.as_deref() != Some(grant));
    }
}

impl Shared {
    /// A code for what was agreed to; `None` if there is no randomness.
    pub(crate) fn issue_code(&self, asked: &Asked, user: &str) -> Option<String> {
        let code = self.secrets.random()?;
        let now = now();
        let agreed = Agreed { asked: asked.clone(), user: user.to_owned() };
        let mut tables = self.tables();
        if let Some(registered) = tables.registered.get_mut(&asked.client.id, now) {
            registered.approved = true;
        }
        let until = ends(now, self.lifetimes.code);
        tables.codes.insert(self.secrets.filed(&code), Code::Open(Box::new(agreed)), until, now);
        Some(code)
    }

    /// Tokens for a code.
    pub(crate) fn redeem(&self, client: &Known, redemption: &Redemption<'_>) -> Result<Value, Refusal> {
        let bad = || Refusal::grant("the code is not good: for this client, or any more");
        let name = self.secrets.random().ok_or_else(Refusal::busy)?;
        let now = now();
        let filed = self.secrets.filed(redemption.code);
        let mut tables = self.tables();
        let agreed = match tables.codes.take(&filed, now).ok_or_else(bad)? {
            Code::Open(agreed) => agreed,
            Code::Spent(grant) => {
                if let Some(grant) = &grant {
                    tracing::warn!(client = client.id, "a code came twice: what was given for it ends");
                    tables.end_grant(grant, now);
                }
                // It stays spent, for as long as it would have been remembered.
                tables.codes.insert(filed, Code::Spent(None), ends(now, self.lifetimes.refresh), now);
                return Err(bad());
            }
        };
        let until = ends(now, self.lifetimes.refresh.max(self.lifetimes.access));
        let checked = redemption.check(self, client, &agreed.asked);
        let spent = Code::Spent(checked.is_ok().then(|| name.clone()));
        tables.codes.insert(filed, spent, until, now);
        checked?;
        let Agreed { asked, user } = *agreed;
        let (client, subject) = (client.id.clone(), user);
        let grant = Grant { client, subject, scopes: asked.scopes, resource: asked.resource, refresh: None };
        tables.grants.insert(name.clone(), grant, until, now);
        drop(tables);
        self.tokens(&name, None, asked.client.grants.refresh)
    }

    /// New tokens for a refresh token, which is good for this once.
    pub(crate) fn refresh(&self, client: &Known, renewal: &Renewal<'_>) -> Result<Value, Refusal> {
        let bad = || Refusal::grant("the refresh token is not good: for this client, or any more");
        let (name, _) = renewal.token.split_once('.').ok_or_else(bad)?;
        let now = now();
        let mut tables = self.tables();
        let grant =
            tables.grants.get_mut(name, now).filter(|grant| grant.client == client.id).ok_or_else(bad)?;
        // Whoever knows the name of a grant had a token of it: one that is not the newest has been used before.
        if !grant.refresh.as_ref().is_some_and(|newest| self.secrets.matches(newest, renewal.token)) {
            tracing::warn!(client = client.id, "a refresh token came twice: the grant ends");
            tables.end_grant(name, now);
            return Err(bad());
        }
        let scopes = renewal.scopes.map(Scopes::parse);
        if scopes.as_ref().is_some_and(|scopes| !grant.scopes.covers(scopes)) {
            return Err(Refusal::new("invalid_scope", "more than was agreed to"));
        }
        if renewal.resource.is_some_and(|resource| *resource != grant.resource) {
            return Err(Refusal::new("invalid_target", "another resource than was agreed to"));
        }
        // Spent before anything is given for it: of two that come at once, one is late.
        grant.refresh = None;
        drop(tables);
        self.tokens(name, scopes, true)
    }

    /// The answer of the token endpoint for a grant.
    fn tokens(&self, name: &str, narrowed: Option<Scopes>, refreshable: bool) -> Result<Value, Refusal> {
        let secret = self.secrets.random().ok_or_else(Refusal::busy)?;
        let refresh = refreshable.then(|| format!("{name}.{secret}"));
        let now = now();
        let grant = {
            let mut tables = self.tables();
            let ended = || Refusal::grant("the grant has ended");
            let grant = tables.grants.get_mut(name, now).ok_or_else(ended)?;
            grant.refresh = refresh.as_ref().map(|token| self.secrets.fingerprint(token));
            grant.clone()
        };
        let scopes = narrowed.unwrap_or(grant.scopes);
        let mut answer = self.access_token(&Content {
            client: &grant.client,
            subject: &grant.subject,
            scopes: &scopes,
            resource: &grant.resource,
            grant: Some(name),
        })?;
        if let Some(refresh) = refresh {
            answer["refresh_token"] = refresh.into();
        }
        Ok(answer)
    }

    /// A token for a client itself.
    pub(crate) fn machine_token(
        &self,
        client: &Known,
        scopes: &Scopes,
        resource: &str,
    ) -> Result<Value, Refusal> {
        // No person can have such a name.
        let subject = format!("client:{}", client.id);
        self.access_token(&Content { client: &client.id, subject: &subject, scopes, resource, grant: None })
    }

    /// An access token in the form of RFC 9068, and the answer around it.
    fn access_token(&self, content: &Content<'_>) -> Result<Value, Refusal> {
        let id = self.secrets.random().ok_or_else(Refusal::busy)?;
        let now = now();
        let until = ends(now, self.lifetimes.access);
        let scope = content.scopes.to_string();
        let mut claims = json!({
            "iss": self.issuer, "sub": content.subject, "aud": content.resource, "client_id": content.client,
            "iat": now, "exp": until, "jti": id,
        });
        if !content.scopes.is_empty() {
            claims["scope"] = json!(scope);
        }
        let token = self.key.sign(&[("typ", "at+jwt")], &claims).map_err(|_| Refusal::busy())?;
        let issued = Issued { client: content.client.to_owned(), grant: content.grant.map(str::to_owned) };
        self.tables().issued.insert(id, issued, until, now);
        Ok(json!({
            "access_token": token, "token_type": "Bearer", "expires_in": self.lifetimes.access.as_secs(), "scope": scope,
        }))
    }

    /// The grant that a refresh token of this client is of, whether or not the token is the newest.
    pub(crate) fn grant_of(&self, client: &str, token: &str) -> Option<String> {
        let (name, _) = token.split_once('.')?;
        let tables = self.tables();
        tables.grants.get(name, now()).filter(|grant| grant.client == client).map(|_| name.to_owned())
    }
}

/// A code as it is presented.
pub(crate) struct Redemption<'a> {
    pub(crate) code: &'a str,
    pub(crate) verifier: &'a str,
    /// OAuth 2.1 no longer sends it; those who do must send the same.
    pub(crate) redirect_uri: Option<&'a str>,
    pub(crate) resource: Option<&'a String>,
}

impl Redemption<'_> {
    fn check(&self, shared: &Shared, client: &Known, asked: &Asked) -> Result<(), Refusal> {
        if asked.client.id != client.id {
            return Err(Refusal::grant("the code is not good: for this client, or any more"));
        }
        if self.redirect_uri.is_some_and(|uri| uri != asked.redirect_uri) {
            return Err(Refusal::grant("the redirect_uri is not that of the authorization request"));
        }
        let expected = shared.secrets.fingerprint(&asked.challenge);
        if !is_verifier(self.verifier) || !shared.secrets.matches(&expected, &challenge_of(self.verifier)) {
            return Err(Refusal::grant("the code_verifier does not fit the code_challenge"));
        }
        if self.resource.is_some_and(|resource| *resource != asked.resource) {
            return Err(Refusal::new("invalid_target", "another resource than was agreed to"));
        }
        Ok(())
    }
}

/// A refresh token as it is presented.
pub(crate) struct Renewal<'a> {
    pub(crate) token: &'a str,
    pub(crate) scopes: Option<&'a str>,
    pub(crate) resource: Option<&'a String>,
}

/// RFC 7636: 43 to 128 unreserved characters.
fn is_verifier(text: &str) -> bool {
    let unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    (43..=128).contains(&text.len()) && text.bytes().all(unreserved)
}
