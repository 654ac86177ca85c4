//! A protected server and authorization servers, on this machine. Every request is recorded; what is answered, a test
//! may change at any time.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use contexture::server::HttpServer;
use contexture::{Server, tool};
use reqwest::Url;
use ring::digest::{SHA256, digest};
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tower_service::Service as _;

/// Everything that is there.
#[derive(Clone)]
pub(crate) struct World {
    /// The origin of the server.
    pub(crate) mcp: String,
    /// The origin of its authorization server.
    pub(crate) issuer: String,
    inner: Arc<Mutex<Inner>>,
}

struct Inner {
    script: Script,
    seen: Vec<Seen>,
    /// Tokens that are good, and their scopes.
    tokens: HashMap<String, String>,
    /// Refresh tokens that are good, and their scopes.
    refreshes: HashMap<String, String>,
    codes: HashMap<String, Map<String, Value>>,
    count: usize,
}

/// What is done.
#[derive(Default)]
pub(crate) struct Script {
    /// What is at an address.
    pub(crate) documents: HashMap<String, Value>,
    /// What goes with a 401.
    pub(crate) challenge: String,
    /// Scopes that a method needs.
    pub(crate) needs: HashMap<&'static str, String>,
    /// This is answered to every request, whatever it shows.
    pub(crate) always: Option<(u16, String)>,
    /// Changes of what comes back from a login.
    pub(crate) back: Vec<(&'static str, Option<String>)>,
    /// The next answers of token endpoints.
    pub(crate) answers: VecDeque<(u16, Value)>,
    /// Members of good answers of token endpoints.
    pub(crate) granted: Map<String, Value>,
    /// Members of answers to registrations.
    pub(crate) registered: Map<String, Value>,
    /// The status of answers to registrations.
    pub(crate) register_status: Option<u16>,
    /// Whether refresh tokens are given out.
    pub(crate) refreshes: bool,
    /// Where redirects lead.
    pub(crate) location: Option<String>,
    /// Token endpoints wait for this before they answer.
    pub(crate) hold: Option<Arc<Notify>>,
}

/// One request.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) origin: String,
    pub(crate) verb: String,
    pub(crate) path: String,
    pub(crate) query: HashMap<String, String>,
    pub(crate) headers: HashMap<String, String>,
    /// The body, if it is a form.
    pub(crate) form: HashMap<String, String>,
    /// The body, if it is JSON.
    pub(crate) body: Value,
    /// All of it.
    pub(crate) text: String,
}

/// Adds two numbers.
#[tool]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

impl World {
    pub(crate) async fn start() -> Self {
        let inner = Inner {
            script: Script { refreshes: true, ..Script::default() },
            seen: Vec::new(),
            tokens: HashMap::new(),
            refreshes: HashMap::new(),
            codes: HashMap::new(),
            count: 0,
        };
        let mut world =
            Self { mcp: String::new(), issuer: String::new(), inner: Arc::new(Mutex::new(inner)) };
        let server = Server::new("protected", "1.0.0").tool(add).into_http().expect("a server");
        world.mcp = world.listen(Some(server)).await;
        world.issuer = world.listen(None).await;
        let (mcp, issuer) = (world.mcp.clone(), world.issuer.clone());
        world.change(|script| {
            let prm = format!("{mcp}/.well-known/oauth-protected-resource/mcp");
            script.challenge = format!("Bearer resource_metadata=\"{prm}\"");
            script
                .documents
                .insert(prm, json!({ "resource": format!("{mcp}/mcp"), "authorization_servers": [issuer] }));
        });
        world.describe(&issuer);
        world
    }

    /// Another authorization server, which describes itself.
    pub(crate) async fn another_issuer(&self) -> String {
        let issuer = self.listen(None).await;
        self.describe(&issuer);
        issuer
    }

    fn describe(&self, issuer: &str) {
        let url = format!("{issuer}/.well-known/oauth-authorization-server");
        self.change(|script| script.documents.insert(url, metadata(issuer)));
    }

    async fn listen(&self, server: Option<HttpServer>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let origin = format!("http://{}", listener.local_addr().expect("an address"));
        let (world, own) = (self.clone(), origin.clone());
        let serve = move |request: Request| {
            let (world, origin, server) = (world.clone(), own.clone(), server.clone());
            async move { world.serve(origin, server, request).await }
        };
        let router = Router::new().fallback(serve);
        tokio::spawn(async move { axum::serve(listener, router).await });
        origin
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("a lock")
    }

    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Script) -> T) -> T {
        change(&mut self.inner().script)
    }

    /// Changes the metadata of the authorization server.
    pub(crate) fn metadata(&self, change: impl FnOnce(&mut Map<String, Value>)) {
        let url = format!("{}/.well-known/oauth-authorization-server", self.issuer);
        self.document(&url, change);
    }

    /// Changes the metadata of the server.
    pub(crate) fn resource(&self, change: impl FnOnce(&mut Map<String, Value>)) {
        let url = format!("{}/.well-known/oauth-protected-resource/mcp", self.mcp);
        self.document(&url, change);
    }

    fn document(&self, url: &str, change: impl FnOnce(&mut Map<String, Value>)) {
        self.change(|script| {
            change(script.documents.get_mut(url).and_then(Value::as_object_mut).expect("it is there"))
        });
    }

    /// Everything that came so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.inner().seen.clone()
    }

    /// What came to a path of an authorization server.
    pub(crate) fn at(&self, path: &str) -> Vec<Seen> {
        self.seen().into_iter().filter(|seen| seen.path == path && seen.origin != self.mcp).collect()
    }

    /// What came to the server.
    pub(crate) fn at_server(&self) -> Vec<Seen> {
        self.seen().into_iter().filter(|seen| seen.path == "/mcp").collect()
    }

    /// Token requests with this grant.
    pub(crate) fn grants(&self, grant: &str) -> Vec<Seen> {
        self.at("/token")
            .into_iter()
            .filter(|seen| seen.form.get("grant_type").is_some_and(|it| it == grant))
            .collect()
    }

    /// From here on no token is good that was issued before.
    pub(crate) fn expire(&self) {
        self.inner().tokens.clear();
    }

    /// This token is good from here on.
    pub(crate) fn accept(&self, token: &str) {
        self.inner().tokens.insert(token.to_owned(), String::new());
    }

    /// This refresh token is good from here on, once.
    pub(crate) fn accept_refresh(&self, token: &str) {
        self.inner().refreshes.insert(token.to_owned(), String::new());
    }

    async fn serve(&self, origin: String, server: Option<HttpServer>, request: Request) -> Response {
        let (head, body) = request.into_parts();
        let body = to_bytes(body, 1 << 20).await.expect("a body");
        let seen = Seen::new(&origin, &head, &body);
        self.inner().seen.push(seen.clone());
        if matches!(seen.path.as_str(), "/mcp" | "/sse" | "/messages")
            && let Some(mut server) = server
        {
            if let Some(refusal) = self.refuse(&seen) {
                return refusal;
            }
            let Ok(response) = server.call(Request::from_parts(head, Body::from(body))).await;
            return response.map(Body::new);
        }
        let url = format!("{origin}{}", seen.path);
        if let Some(document) = self.inner().script.documents.get(&url) {
            return answer(200, document);
        }
        match seen.path.as_str() {
            "/authorize" => self.authorize(&seen),
            "/token" => {
                let hold = self.change(|script| script.hold.clone());
                if let Some(hold) = hold {
                    hold.notified().await;
                }
                self.token(&seen)
            }
            "/register" => self.register(&seen),
            _ => answer(404, &json!({})),
        }
    }

    /// The answer to a request that shows too little.
    fn refuse(&self, seen: &Seen) -> Option<Response> {
        let inner = self.inner();
        if let Some((status, challenge)) = &inner.script.always {
            let mut refusal = challenged(*status, challenge);
            if let Some(location) = &inner.script.location {
                refusal.headers_mut().insert("location", location.parse().expect("a header"));
            }
            return Some(refusal);
        }
        let shown = seen.headers.get("authorization").and_then(|shown| shown.strip_prefix("Bearer "));
        let Some(scopes) = shown.and_then(|token| inner.tokens.get(token)) else {
            return Some(challenged(401, &inner.script.challenge));
        };
        let method = seen.body["method"].as_str().unwrap_or_default();
        let needed = inner.script.needs.get(method)?;
        if needed.split(' ').all(|scope| scopes.split(' ').any(|granted| granted == scope)) {
            return None;
        }
        let prm = format!("{}/.well-known/oauth-protected-resource/mcp", seen.origin);
        let challenge =
            format!("Bearer error=\"insufficient_scope\", scope=\"{needed}\", resource_metadata=\"{prm}\"");
        Some(challenged(403, &challenge))
    }

    /// Nobody is asked, and everything is granted.
    fn authorize(&self, seen: &Seen) -> Response {
        let mut inner = self.inner();
        inner.count += 1;
        let code = format!("code-{}", inner.count);
        let asked = seen.query.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        inner.codes.insert(code.clone(), asked);
        let mut back = vec![
            ("code", Some(code)),
            ("state", seen.query.get("state").cloned()),
            ("iss", Some(seen.origin.clone())),
        ];
        for (name, value) in &inner.script.back {
            back.retain(|(known, _)| known != name);
            back.push((name, value.clone()));
        }
        let mut url = Url::parse(&seen.query["redirect_uri"]).expect("a redirect URI");
        for (name, value) in back {
            if let Some(value) = value {
                url.query_pairs_mut().append_pair(name, &value);
            }
        }
        let response = Response::builder().status(302).header("location", url.as_str());
        response.body(Body::empty()).expect("a response")
    }

    fn token(&self, seen: &Seen) -> Response {
        let mut inner = self.inner();
        if let Some((status, body)) = inner.script.answers.pop_front() {
            let mut response = answer(status, &body);
            if let Some(location) = &inner.script.location {
                response.headers_mut().insert("location", location.parse().expect("a header"));
            }
            return response;
        }
        let form = |name: &str| seen.form.get(name).cloned().unwrap_or_default();
        let scopes = match form("grant_type").as_str() {
            "authorization_code" => match inner.codes.remove(&form("code")) {
                Some(asked) => {
                    let challenge = URL_SAFE_NO_PAD.encode(digest(&SHA256, form("code_verifier").as_bytes()));
                    assert_eq!(asked["code_challenge"], challenge, "the verifier fits the challenge");
                    assert_eq!(asked["resource"], form("resource"), "one resource");
                    asked.get("scope").and_then(Value::as_str).unwrap_or_default().to_owned()
                }
                None => return answer(400, &json!({ "error": "invalid_grant" })),
            },
            "refresh_token" => match inner.refreshes.remove(&form("refresh_token")) {
                Some(scopes) => scopes,
                None => return answer(400, &json!({ "error": "invalid_grant" })),
            },
            _ => form("scope"),
        };
        inner.count += 1;
        let token = format!("token-{}", inner.count);
        let mut good = json!({ "access_token": token, "token_type": "Bearer", "expires_in": 3600 });
        if inner.script.refreshes {
            let refresh = format!("refresh-{}", inner.count);
            inner.refreshes.insert(refresh.clone(), scopes.clone());
            good["refresh_token"] = json!(refresh);
        }
        for (name, value) in &inner.script.granted {
            good[name] = value.clone();
        }
        let granted = good["scope"].as_str().map_or(scopes, str::to_owned);
        inner.tokens.insert(token, granted);
        answer(200, &good)
    }

    fn register(&self, seen: &Seen) -> Response {
        let inner = self.inner();
        let port = seen.origin.rsplit(':').next().unwrap_or_default();
        let mut answered = seen.body.clone();
        answered["client_id"] = json!(format!("client-at-{port}"));
        for (name, value) in &inner.script.registered {
            answered[name] = value.clone();
        }
        answer(inner.script.register_status.unwrap_or(201), &answered)
    }
}

impl Seen {
    fn new(origin: &str, head: &axum::http::request::Parts, body: &Bytes) -> Self {
        let pairs = |text: &str| -> HashMap<String, String> {
            let mut url = Url::parse("http://h/").expect("a URL");
            url.set_query(Some(text));
            url.query_pairs().into_owned().collect()
        };
        let headers = head.headers.iter();
        let text = String::from_utf8_lossy(body).into_owned();
        let body: Value = serde_json::from_str(&text).unwrap_or_default();
        let form = if body.is_null() { pairs(&text) } else { HashMap::new() };
        Self {
            origin: origin.to_owned(),
            verb: head.method.to_string(),
            path: head.uri.path().to_owned(),
            query: pairs(head.uri.query().unwrap_or_default()),
            headers: headers
                .map(|(name, value)| (name.to_string(), value.to_str().unwrap_or("").to_owned()))
                .collect(),
            form,
            text: format!("{} {:?} {text}", head.uri, head.headers),
            body,
        }
    }
}

/// What an authorization server says about itself.
pub(crate) fn metadata(issuer: &str) -> Value {
    json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/authorize"),
        "token_endpoint": format!("{issuer}/token"),
        "registration_endpoint": format!("{issuer}/register"),
        "response_types_supported": ["code"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
        "authorization_response_iss_parameter_supported": true,
    })
}

fn answer(status: u16, body: &Value) -> Response {
    let response = Response::builder().status(status).header("content-type", "application/json");
    response.body(Body::from(body.to_string())).expect("a response")
}

fn challenged(status: u16, challenge: &str) -> Response {
    let response = Response::builder().status(status).header("www-authenticate", challenge);
    response.body(Body::empty()).expect("a response")
}
