//! The other issuer: where it is asked, and whom its tokens are about.
//!
//! Nothing that it says counts unless it is about itself, and no claim unless it is signed by its keys, for us, and good now.
//! Every address in its documents is reached through the guard; a browser is sent only where that could go.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use contexture::auth::jwt::{Algorithm, Expected, KeySet, check_claims, peek, verify};
use contexture::auth::metadata::{ServerMetadata, TokenAnswer, TokenRefusal};
use contexture::auth::outbound::Reach;
use serde_json::{Map, Value};
use url::{Url, form_urlencoded};

use super::Upstream;
use crate::redirect;
use crate::secrets::now;
use crate::server::check_user;

/// Seconds by which clocks may differ.
const LEEWAY: u64 = 30;

/// Where the issuer is asked.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) authorization_endpoint: String,
    token_endpoint: String,
    keys: String,
    /// It promises to say who it is in every response (RFC 9207).
    pub(super) says_iss: bool,
}

impl Upstream {
    /// Where the issuer says that it is asked. The errors here and below are for the log.
    pub(super) async fn find(&self) -> Result<Found, String> {
        let mut why = "it cannot be an issuer".to_owned();
        for url in documents(&self.issuer) {
            match self.outbound.get_json::<ServerMetadata>(&url, &[]).await {
                Ok(metadata) if metadata.issuer == self.issuer => return self.usable(metadata),
                Ok(_) => why = format!("{url} is about another issuer"),
                Err(error) => why = format!("{url}: {error}"),
            }
        }
        Err(why)
    }

    fn usable(&self, metadata: ServerMetadata) -> Result<Found, String> {
        let methods = metadata.code_challenge_methods_supported.unwrap_or_default();
        if !methods.iter().any(|method| method == "S256") {
            return Err("it does not say that it does PKCE with S256".to_owned());
        }
        let endpoint = metadata.authorization_endpoint.ok_or("it has no authorization endpoint")?;
        redirect::check(&endpoint).map_err(|why| format!("its authorization endpoint {why}"))?;
        if Reach::of(&endpoint) == Reach::Loopback && self.outbound.reach() != Reach::Loopback {
            return Err("its authorization endpoint is on this machine".to_owned());
        }
        Ok(Found {
            authorization_endpoint: endpoint,
            token_endpoint: metadata.token_endpoint,
            keys: metadata.jwks_uri.ok_or("it publishes no keys")?,
            says_iss: metadata.authorization_response_iss_parameter_supported,
        })
    }

    /// Who signed in, by a code. What is given for the code ends here.
    pub(super) async fn subject(&self, found: &Found, redeemed: &Redeemed<'_>) -> Result<String, String> {
        let form = [
            ("grant_type", "authorization_code"),
            ("code", redeemed.code),
            ("redirect_uri", redeemed.redirect_uri),
            ("code_verifier", redeemed.verifier),
            ("resource", redeemed.audience),
        ];
        let header = [("authorization", self.basic())];
        let header = header.each_ref().map(|(name, value)| (*name, value.as_str()));
        let answer = self.outbound.post_form(&found.token_endpoint, &form, &header).await;
        let answer = answer.map_err(|error| format!("its token endpoint: {error}"))?;
        if answer.status != 200 {
            let refusal = answer.json::<TokenRefusal>();
            let why = refusal.map_or_else(|_| answer.status.to_string(), |refusal| refusal.to_string());
            return Err(format!("its token endpoint refuses the code: {why}"));
        }
        let tokens: TokenAnswer = answer.json().map_err(|error| format!("its token endpoint: {error}"))?;
        let keys = self.outbound.get(&found.keys, &[]).await.map_err(|error| format!("its keys: {error}"))?;
        let keys = KeySet::parse(&keys.body).map_err(|why| format!("its keys: {why}"))?;
        self.person(tokens.access_token.expose(), &keys, redeemed.audience)
    }

    /// The person that a token is about, if the issuer made it for us.
    fn person(&self, token: &str, keys: &KeySet, audience: &str) -> Result<String, String> {
        let claims = self.claims(token, keys, audience).map_err(|why| format!("its token: {why}"))?;
        let text = |name: &str| claims.get(name).and_then(Value::as_str);
        if text("client_id") != Some(&self.client_id) {
            return Err("its token was given to another client".to_owned());
        }
        let person = text("sub").ok_or("its token is about nobody")?;
        check_user(person).map_err(|why| format!("the name in its token {why}"))?;
        Ok(person.to_owned())
    }

    fn claims(&self, token: &str, keys: &KeySet, audience: &str) -> Result<Map<String, Value>, String> {
        // Signed for another purpose, it would say something else.
        if !peek(token).map_err(|reject| reject.to_string())?.is("at+jwt") {
            return Err("it is no access token of RFC 9068".to_owned());
        }
        let claims = verify(token, keys, &Algorithm::ALL).map_err(|reject| reject.to_string())?;
        let expected = Expected { issuer: &self.issuer, audience, now: now(), leeway: LEEWAY };
        check_claims(&claims, &expected).map_err(|reject| reject.to_string())?;
        Ok(claims)
    }

    /// Our id and secret there, each encoded like a form.
    fn basic(&self) -> String {
        let encoded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        let pair = format!("{}:{}", encoded(&self.client_id), encoded(self.secret.expose()));
        format!("Basic {}", STANDARD.encode(pair))
    }
}

/// A code that came back, and what it was asked for with.
pub(super) struct Redeemed<'a> {
    pub(super) code: &'a str,
    pub(super) verifier: &'a str,
    pub(super) redirect_uri: &'a str,
    pub(super) audience: &'a str,
}

/// Where an issuer describes itself: as RFC 8414 has it, and as OpenID has it.
fn documents(issuer: &str) -> Vec<String> {
    let Ok(url) = Url::parse(issuer) else { return Vec::new() };
    let (origin, path) = (url.origin().ascii_serialization(), url.path().trim_end_matches('/'));
    vec![
        format!("{origin}/.well-known/oauth-authorization-server{path}"),
        format!("{origin}{path}/.well-known/openid-configuration"),
    ]
}
