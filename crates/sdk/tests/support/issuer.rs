//! An issuer of tokens on this machine that does what a test wants: metadata, keys, introspection, and misbehaviour.
//!
//! It signs with real keys and knows nothing of logins. Every request that reaches it is counted.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Response, Uri};
use contexture::auth::jwt::SigningKey;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;

/// How the issuer answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mood {
    Well,
    /// Status 500.
    Broken,
    /// A page for people.
    Html,
    /// 16 MiB.
    Huge,
    /// Not before it is in another mood.
    Slow,
}

/// An issuer that listens.
#[derive(Clone)]
pub(crate) struct Issuer {
    pub(crate) url: String,
    shared: Arc<Shared>,
}

struct Shared {
    inner: Mutex<Inner>,
    mood: watch::Sender<Mood>,
}

struct Inner {
    url: String,
    key: Arc<SigningKey>,
    /// What is published, besides the keys that it has signed with.
    keys: Vec<Value>,
    metadata: Value,
    cache_control: &'static str,
    asked: HashMap<String, usize>,
    /// What introspection answers, by token.
    answers: HashMap<String, Value>,
    /// The headers of the last introspection.
    credentials: Option<String>,
}

impl Issuer {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let key = Arc::new(SigningKey::generate_es256().expect("a key"));
        let metadata = json!({
            "issuer": url,
            "authorization_endpoint": format!("{url}/authorize"),
            "token_endpoint": format!("{url}/token"),
            "jwks_uri": format!("{url}/jwks"),
            "introspection_endpoint": format!("{url}/introspect"),
        });
        let inner = Inner {
            url: url.clone(),
            keys: vec![key.public_jwk()],
            key,
            metadata,
            cache_control: "max-age=600",
            asked: HashMap::new(),
            answers: HashMap::new(),
            credentials: None,
        };
        let shared = Arc::new(Shared { inner: Mutex::new(inner), mood: watch::Sender::new(Mood::Well) });
        let router = Router::new().fallback(answer).with_state(Arc::clone(&shared));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, shared }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.shared.lock()
    }

    /// Answers like this from now on.
    pub(crate) fn is(&self, mood: Mood) {
        self.shared.mood.send_replace(mood);
    }

    /// How often a path was asked for.
    pub(crate) fn asked(&self, path: &str) -> usize {
        self.lock().asked.get(path).copied().unwrap_or_default()
    }

    /// Signs with a new key from now on. The old one is published no more.
    pub(crate) fn rotate(&self) {
        let key = Arc::new(SigningKey::generate_es256().expect("a key"));
        let mut inner = self.lock();
        inner.keys = vec![key.public_jwk()];
        inner.key = key;
    }

    /// Publishes these keys beside its own.
    pub(crate) fn publish(&self, keys: impl IntoIterator<Item = Value>) {
        self.lock().keys.extend(keys);
    }

    /// Changes what it says about itself.
    pub(crate) fn says(&self, name: &str, value: Value) {
        self.lock().metadata[name] = value;
    }

    pub(crate) fn key(&self) -> Arc<SigningKey> {
        Arc::clone(&self.lock().key)
    }

    /// The claims of a good token.
    pub(crate) fn claims(&self, subject: &str, audience: &str, scope: &str) -> Value {
        let now = now();
        json!({
            "iss": self.url, "sub": subject, "aud": audience, "scope": scope,
            "iat": now, "nbf": now, "exp": now + 300, "client_id": "test",
        })
    }

    pub(crate) fn sign(&self, claims: &Value) -> String {
        self.key().sign(&[("typ", "at+jwt")], claims).expect("a token")
    }

    /// A good token.
    pub(crate) fn token(&self, subject: &str, audience: &str, scope: &str) -> String {
        self.sign(&self.claims(subject, audience, scope))
    }

    /// Introspection of this token says this.
    pub(crate) fn answers(&self, token: &str, answer: Value) {
        self.lock().answers.insert(token.to_owned(), answer);
    }

    /// What the last introspection came with.
    pub(crate) fn credentials(&self) -> Option<String> {
        self.lock().credentials.clone()
    }
}

/// Seconds since the epoch.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after the epoch").as_secs()
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn answer(
    State(shared): State<Arc<Shared>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    *shared.lock().asked.entry(uri.path().to_owned()).or_default() += 1;
    let mut moods = shared.mood.subscribe();
    let mood = *moods.wait_for(|mood| *mood != Mood::Slow).await.expect("the issuer is there");
    match mood {
        Mood::Broken => return reply(500, "text/plain", "", "broken".into()),
        Mood::Html => return reply(200, "text/html", "", "<html>{\"keys\":[]}</html>".into()),
        Mood::Huge => return reply(200, "application/json", "", " ".repeat(16 * 1024 * 1024)),
        Mood::Well | Mood::Slow => {}
    }
    let mut inner = shared.lock();
    let (status, document) = match uri.path() {
        "/.well-known/oauth-authorization-server" => (200, inner.metadata.clone()),
        "/jwks" => (200, json!({ "keys": inner.keys })),
        "/introspect" => {
            let credentials = headers.get("authorization").and_then(|value| value.to_str().ok());
            inner.credentials = credentials.map(str::to_owned);
            let form = String::from_utf8_lossy(&body).into_owned();
            let token = form.split('&').find_map(|pair| pair.strip_prefix("token=")).unwrap_or_default();
            (200, inner.answers.get(token).cloned().unwrap_or_else(|| json!({ "active": false })))
        }
        _ => (404, json!({ "looked for": uri.path(), "at": inner.url })),
    };
    reply(status, "application/json", inner.cache_control, document.to_string())
}

fn reply(status: u16, kind: &str, cache_control: &str, body: String) -> Response<Body> {
    let response = Response::builder().status(status).header("content-type", kind);
    response.header("cache-control", cache_control).body(Body::from(body)).expect("a response")
}
