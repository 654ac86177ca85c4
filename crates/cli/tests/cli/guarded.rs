//! A server that wants to know who asks, and an authorization server that gives everybody a token: both at one
//! address, with a log of what was asked of them.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use axum::Router;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use contexture::server::Principal;
use contexture::server::http::{Authorizer, Authorizing, Refused};
use contexture::{Args, Server, tool};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

/// Every secret that is given out has this in it.
pub(crate) const SECRET: &str = "hunter2";

/// Both servers; they are gone with this.
pub(crate) struct Guarded {
    pub(crate) origin: String,
    books: Books,
    _runtime: Runtime,
}

/// What the authorization server knows.
#[derive(Clone)]
struct Books(Arc<Inner>);

struct Inner {
    origin: String,
    /// What was asked, in order.
    log: Mutex<Vec<String>>,
    /// Access tokens that are good, and their scopes.
    access: Mutex<HashMap<String, String>>,
    /// Codes and refresh tokens that were not used yet, and their scopes.
    unused: Mutex<HashMap<String, String>>,
    /// A scope that the server wants to see.
    wanted: Mutex<Option<String>>,
    count: AtomicU64,
    /// How long tokens are good for.
    seconds: AtomicU64,
    habits: Habits,
}

/// How the authorization server behaves.
pub(crate) struct Habits {
    /// Whether people say yes.
    pub(crate) says_yes: bool,
    /// Whether clients can introduce themselves.
    pub(crate) registers: bool,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Echo {
    message: String,
}

impl Guarded {
    pub(crate) fn new() -> Self {
        Self::with(Habits { says_yes: true, registers: true })
    }

    pub(crate) fn with(habits: Habits) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port");
        let origin = format!("http://{}", listener.local_addr().expect("an address"));
        let books = Books(Arc::new(Inner {
            origin: origin.clone(),
            log: Mutex::default(),
            access: Mutex::default(),
            unused: Mutex::default(),
            wanted: Mutex::default(),
            count: AtomicU64::new(0),
            seconds: AtomicU64::new(3600),
            habits,
        }));
        let router = router(&books);
        runtime.spawn(async move { axum::serve(listener, router).await });
        Self { origin, books, _runtime: runtime }
    }

    /// The server's URL.
    pub(crate) fn url(&self) -> String {
        format!("{}/mcp", self.origin)
    }

    /// Tokens that are given out from now on are good for so long.
    pub(crate) fn lifetime(&self, seconds: u64) {
        self.books.0.seconds.store(seconds, Ordering::Relaxed);
    }

    /// Takes what was asked of the authorization server so far.
    pub(crate) fn log(&self) -> Vec<String> {
        std::mem::take(&mut *locked(&self.books.0.log))
    }

    /// From now on the server wants to see this scope.
    pub(crate) fn want(&self, scope: &str) {
        *locked(&self.books.0.wanted) = Some(scope.to_owned());
    }

    /// No token is good any more; they can be refreshed.
    pub(crate) fn expire(&self) {
        locked(&self.books.0.access).clear();
    }

    /// No token is good any more, and none can be refreshed.
    pub(crate) fn forget_everybody(&self) {
        self.expire();
        locked(&self.books.0.unused).clear();
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no panic elsewhere")
}

fn router(books: &Books) -> Router {
    let echo = tool("echo").handler(|Args(echo): Args<Echo>| async move { echo.message });
    let server = Server::new("guarded", "1").tool(echo).into_http().expect("a server");
    let mcp = server.authorizer(books.clone());
    Router::new()
        .route_service("/mcp", mcp)
        .route("/.well-known/oauth-protected-resource/mcp", get(resource))
        .route("/.well-known/oauth-authorization-server", get(metadata))
        .route("/register", post(register))
        .route("/authorize", get(authorize))
        .route("/token", post(token))
        .with_state(books.clone())
}

impl Authorizer for Books {
    fn authorize<'a>(&'a self, head: &'a Parts) -> Authorizing<'a> {
        Box::pin(async move {
            let origin = &self.0.origin;
            let metadata = format!("resource_metadata=\"{origin}/.well-known/oauth-protected-resource/mcp\"");
            let shown = head.headers.get("authorization").and_then(|value| value.to_str().ok());
            let token = shown.and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default();
            let Some(scopes) = locked(&self.0.access).get(token).cloned() else {
                return Err(Refused::unauthorized(format!("Bearer {metadata}")));
            };
            match locked(&self.0.wanted).as_ref() {
                Some(scope) if !scopes.split(' ').any(|has| has == scope) => {
                    let error = format!("error=\"insufficient_scope\", scope=\"{scope}\"");
                    Err(Refused::forbidden(Some(format!("Bearer {error}, {metadata}"))))
                }
                _ => Ok(Principal::new(origin, "ada")),
            }
        })
    }
}

impl Books {
    fn note(&self, what: impl Into<String>) {
        locked(&self.0.log).push(what.into());
    }

    fn fresh(&self, what: &str) -> String {
        format!("{what}-{SECRET}-{}", self.0.count.fetch_add(1, Ordering::Relaxed))
    }

    /// A code or refresh token, good once.
    fn fresh_once(&self, what: &str, scopes: &str) -> String {
        let secret = self.fresh(what);
        locked(&self.0.unused).insert(secret.clone(), scopes.to_owned());
        secret
    }
}

fn json(status: u16, value: Value) -> Response {
    let status = StatusCode::from_u16(status).expect("a status");
    (status, [("content-type", "application/json")], value.to_string()).into_response()
}

async fn resource(State(books): State<Books>) -> Response {
    let origin = &books.0.origin;
    json(
        200,
        json!({ "resource": format!("{origin}/mcp"), "authorization_servers": [origin], "scopes_supported": ["use"] }),
    )
}

async fn metadata(State(books): State<Books>) -> Response {
    let origin = &books.0.origin;
    let registration = books.0.habits.registers.then(|| format!("{origin}/register"));
    json(
        200,
        json!({
            "issuer": origin,
            "authorization_endpoint": format!("{origin}/authorize"),
            "token_endpoint": format!("{origin}/token"),
            "registration_endpoint": registration,
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"],
            "authorization_response_iss_parameter_supported": true,
        }),
    )
}

async fn register(State(books): State<Books>, body: String) -> Response {
    books.note("register");
    let mut client: Value = serde_json::from_str(&body).expect("a registration");
    client["client_id"] = "the-client".into();
    json(201, client)
}

async fn authorize(State(books): State<Books>, RawQuery(query): RawQuery) -> Response {
    let query = pairs(&query.unwrap_or_default());
    books.note(format!("authorize {} for {}", query["client_id"], query["scope"]));
    let answer = match books.0.habits.says_yes {
        true => format!("code={}", books.fresh_once("code", &query["scope"])),
        false => "error=access_denied&error_description=Ada%20said%20%1b%5b31mno".to_owned(),
    };
    let location =
        format!("{}?{answer}&state={}&iss={}", query["redirect_uri"], query["state"], books.0.origin);
    (StatusCode::FOUND, [("location", location)]).into_response()
}

async fn token(State(books): State<Books>, body: String) -> Response {
    let form = pairs(&body);
    let grant = &form["grant_type"];
    books.note(format!("token {grant}"));
    let presented = if grant == "refresh_token" { &form["refresh_token"] } else { &form["code"] };
    let Some(scopes) = locked(&books.0.unused).remove(presented) else {
        return json(400, json!({ "error": "invalid_grant" }));
    };
    let access = books.fresh("access");
    locked(&books.0.access).insert(access.clone(), scopes.clone());
    json(
        200,
        json!({
            "access_token": access,
            "token_type": "Bearer",
            "expires_in": books.0.seconds.load(Ordering::Relaxed),
            "refresh_token": books.fresh_once("refresh", &scopes),
            "scope": scopes,
        }),
    )
}

/// The fields of a form or a query.
fn pairs(text: &str) -> HashMap<String, String> {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (decoded(name), decoded(value))).collect()
}

fn decoded(text: &str) -> String {
    let mut parts = text.split('%');
    let mut out = parts.next().unwrap_or_default().replace('+', " ").into_bytes();
    for part in parts {
        let (hex, rest) = part.split_at(2);
        out.push(u8::from_str_radix(hex, 16).expect("two digits"));
        out.extend(rest.replace('+', " ").into_bytes());
    }
    String::from_utf8(out).expect("text")
}

/// What a browser does with an address: one request, and where it leads.
pub(crate) fn visit(url: &str) -> (String, Option<String>) {
    let rest = url.strip_prefix("http://").unwrap_or_else(|| panic!("not on this machine: {url}"));
    let (authority, target) = rest.split_at(rest.find('/').expect("a path"));
    let mut stream = TcpStream::connect(authority).expect("it listens");
    let request = format!("GET {target} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("text");
    let location = answer.lines().find_map(|line| line.strip_prefix("location: ")).map(str::to_owned);
    (answer, location)
}
