//! An issuer by hand, and a server that takes its tokens.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use contexture::auth::jwt::SigningKey;
use contexture::auth::{Issuer, Protection};
use contexture::server::HttpServer;
use contexture::{Context, Server, prompt, resource, tool};
use serde_json::{Value, json};

use crate::played::{Played, Reply, document, reply};
use crate::raw::{Ask, Got, Served, ask, serve};

/// Seconds since the epoch.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_secs()
}

/// The origin that a request by hand was sent to.
pub(crate) fn origin(request: &str) -> String {
    let host = request.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("host").then(|| value.trim().to_owned())
    });
    format!("http://{}", host.expect("a host"))
}

/// The path of a request by hand.
pub(crate) fn path(request: &str) -> &str {
    request.split(' ').nth(1).unwrap_or_default()
}

/// The metadata of an issuer by hand.
pub(crate) fn metadata(origin: &str) -> Value {
    json!({
        "issuer": origin,
        "authorization_endpoint": format!("{origin}/authorize"),
        "token_endpoint": format!("{origin}/token"),
        "registration_endpoint": format!("{origin}/register"),
        "jwks_uri": format!("{origin}/jwks"),
        "introspection_endpoint": format!("{origin}/introspect"),
        "response_types_supported": ["code"],
        "code_challenge_methods_supported": ["S256"],
    })
}

/// Somebody who makes tokens.
pub(crate) struct Minter {
    pub(crate) server: Played,
    pub(crate) key: Arc<SigningKey>,
}

impl Minter {
    pub(crate) async fn start() -> Self {
        Self::answering(|_| reply("404 Not Found", "", "")).await
    }

    /// With an answer for everything that is not about its metadata and keys.
    pub(crate) async fn answering(more: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Self {
        let key = Arc::new(SigningKey::generate_es256().expect("a key"));
        let jwks = json!({ "keys": [key.public_jwk()] }).to_string();
        let server = Played::start(move |request| match path(request) {
            "/.well-known/oauth-authorization-server" => document(&metadata(&origin(request)).to_string()),
            "/jwks" => document(&jwks),
            _ => more(request),
        })
        .await;
        Self { server, key }
    }

    /// What a good token claims.
    pub(crate) fn claims(&self, audience: &str, subject: &str, scope: &str) -> Value {
        json!({
            "iss": self.server.origin, "aud": audience, "sub": subject, "scope": scope, "client_id": "tests",
            "iat": now(), "exp": now() + 300, "jti": format!("{subject}-{scope}"),
        })
    }

    /// A token with these claims.
    pub(crate) fn sign(&self, claims: &Value) -> String {
        self.key.sign(&[("typ", "at+jwt")], claims).expect("a token")
    }

    /// A good token.
    pub(crate) fn token(&self, place: &Place, subject: &str, scope: &str) -> String {
        self.sign(&self.claims(&place.url(), subject, scope))
    }
}

/// A protected server.
pub(crate) struct Place {
    pub(crate) served: Served,
    /// How often a handler has run.
    runs: Arc<AtomicUsize>,
}

impl Place {
    /// Takes the tokens of one issuer.
    pub(crate) async fn of(minter: &Minter) -> Self {
        Self::protected(minter.server.origin.as_str()).await
    }

    /// Asks the issuer about every token.
    pub(crate) async fn asking(minter: &Minter) -> Self {
        Self::protected(Issuer::new(&minter.server.origin).introspection("resource", "resource-secret")).await
    }

    pub(crate) async fn protected(protection: impl Into<Protection>) -> Self {
        let (server, runs) = offer();
        Self { served: serve(server.protect(protection)).await, runs }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.served.port)
    }

    pub(crate) async fn ask(&self, request: &Ask) -> Got {
        ask(&self.served, request).await
    }

    /// A modern call of `who`.
    pub(crate) async fn who(&self, token: &str) -> Got {
        self.ask(&Ask::modern(1, "who", json!({})).by(token)).await
    }

    pub(crate) fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }
}

/// `who` for everybody; `write`, `writing` and `note://secret` for those with the scope `write`.
pub(crate) fn offer() -> (HttpServer, Arc<AtomicUsize>) {
    let runs = Arc::<AtomicUsize>::default();
    let count = |runs: &Arc<AtomicUsize>| {
        let runs = Arc::clone(runs);
        move || runs.fetch_add(1, Ordering::SeqCst)
    };
    let (first, second, third, fourth) = (count(&runs), count(&runs), count(&runs), count(&runs));
    let server = Server::new("place", "0")
        .tool(tool("who").handler(move |context: Context| {
            first();
            async move {
                // Somebody else's call comes in between.
                tokio::task::yield_now().await;
                context.principal().subject().to_owned()
            }
        }))
        .tool(tool("write").scope("write").handler(move || {
            second();
            async { "written" }
        }))
        .prompt(prompt("writing").scope("write").handler(move || {
            third();
            async { "please write" }
        }))
        .resource(resource("note://secret").scope("write").handler(move || {
            fourth();
            async { "a secret note" }
        }));
    (server.into_http().expect("a server"), runs)
}

/// The text of a tool's result.
pub(crate) fn text(got: &Got) -> String {
    got.json()["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned()
}
