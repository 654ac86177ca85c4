//! A server to talk to, a client that says exactly what it is told to, and a browser that keeps its cookie.

use std::net::SocketAddr;

use contexture_auth_server::{AuthServer, Client};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use url::{Url, form_urlencoded};

pub(crate) const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
pub(crate) const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
/// Where the client of these tests listens, as it registered but for the port.
pub(crate) const CALLBACK: &str = "http://127.0.0.1:5000/callback";
pub(crate) const RESOURCE: &str = "http://127.0.0.1:8000/mcp";

/// A server with a public client `app`, and one that proves itself, `vault`.
pub(crate) fn server() -> AuthServer {
    let app = Client::public("app").name("The app").redirect("http://127.0.0.1/callback");
    let vault = Client::confidential("vault", "the secret").redirect("http://127.0.0.1/callback");
    AuthServer::new().client(app).client(vault)
}

/// The same, and nobody is asked anything.
pub(crate) fn approving() -> AuthServer {
    server().auto_approve("ada")
}

/// A server that is served, until this is dropped.
pub(crate) struct Stage {
    pub(crate) issuer: String,
    pub(crate) address: SocketAddr,
    task: JoinHandle<()>,
}

impl Stage {
    pub(crate) async fn new(server: AuthServer) -> Self {
        let bound = server.bind("127.0.0.1:0").await.expect("bound");
        let (issuer, address) = (bound.issuer(), bound.address());
        let task = tokio::spawn(async move { bound.serve().await.expect("served") });
        Self { issuer, address, task }
    }

    pub(crate) async fn get(&self, target: &str) -> Reply {
        send(self.address, "GET", target, &[], "").await
    }

    pub(crate) async fn post(&self, path: &str, form: &[(&str, &str)]) -> Reply {
        self.post_with(path, form, &[]).await
    }

    pub(crate) async fn post_with(
        &self,
        path: &str,
        form: &[(&str, &str)],
        headers: &[(&str, &str)],
    ) -> Reply {
        let kind = ("content-type", "application/x-www-form-urlencoded");
        send(self.address, "POST", path, &[&[kind], headers].concat(), &encoded(form)).await
    }

    pub(crate) async fn register(&self, metadata: &Value) -> Reply {
        let headers = [("content-type", "application/json")];
        send(self.address, "POST", "/register", &headers, &metadata.to_string()).await
    }

    /// A code for the client, where nobody is asked.
    pub(crate) async fn code(&self, asking: &Asking) -> String {
        let reply = self.get(&asking.target()).await;
        reply.parameter("code").unwrap_or_else(|| panic!("no code: {reply:?}"))
    }

    /// The tokens of `app` for a code.
    pub(crate) async fn redeem(&self, code: &str) -> Reply {
        self.post("/token", &redemption(code)).await
    }

    pub(crate) async fn refresh(&self, token: &str) -> Reply {
        self.post(
            "/token",
            &[("grant_type", "refresh_token"), ("client_id", "app"), ("refresh_token", token)],
        )
        .await
    }

    /// Whether `vault`, which was set up to look at tokens, is told that this one is good.
    pub(crate) async fn is_active(&self, token: &str) -> bool {
        let form = [("token", token), ("client_id", "vault"), ("client_secret", "the secret")];
        let reply = self.post("/introspect", &form).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.json()["active"].as_bool().expect("a boolean")
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The form with which `app` redeems a code.
pub(crate) fn redemption(code: &str) -> [(&str, &str); 5] {
    [
        ("grant_type", "authorization_code"),
        ("client_id", "app"),
        ("code", code),
        ("redirect_uri", CALLBACK),
        ("code_verifier", VERIFIER),
    ]
}

/// A form with one parameter changed, or left out.
pub(crate) fn with<'a>(
    form: &[(&'a str, &'a str)],
    name: &'a str,
    value: Option<&'a str>,
) -> Vec<(&'a str, &'a str)> {
    let others = form.iter().copied().filter(|(known, _)| *known != name);
    others.chain(value.map(|value| (name, value))).collect()
}

/// A request for a code.
#[derive(Clone)]
pub(crate) struct Asking(Vec<(String, String)>);

impl Asking {
    /// One of `app` that is as it should be.
    pub(crate) fn new() -> Self {
        let pairs = [
            ("response_type", "code"),
            ("client_id", "app"),
            ("redirect_uri", CALLBACK),
            ("state", "xyz"),
            ("scope", "notes:read"),
            ("resource", RESOURCE),
            ("code_challenge", CHALLENGE),
            ("code_challenge_method", "S256"),
        ];
        Self(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    pub(crate) fn with(self, name: &str, value: &str) -> Self {
        self.without(name).and(name, value)
    }

    /// Once more, beside what is there.
    pub(crate) fn and(mut self, name: &str, value: &str) -> Self {
        self.0.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.0.retain(|(known, _)| known != name);
        self
    }

    pub(crate) fn target(&self) -> String {
        self.target_at("")
    }

    pub(crate) fn target_at(&self, path: &str) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(&self.0);
        format!("{path}/authorize?{}", query.finish())
    }
}

fn encoded(form: &[(&str, &str)]) -> String {
    let mut text = form_urlencoded::Serializer::new(String::new());
    text.extend_pairs(form);
    text.finish()
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// A member of the JSON that is a text.
    pub(crate) fn text(&self, member: &str) -> String {
        self.json()[member].as_str().unwrap_or_else(|| panic!("no {member}: {self:?}")).to_owned()
    }

    /// Status and OAuth's error.
    pub(crate) fn refusal(&self) -> (u16, String) {
        (self.status, self.text("error"))
    }

    /// A parameter of the address that we are sent to; there must be only one of the name.
    pub(crate) fn parameter(&self, name: &str) -> Option<String> {
        let url = Url::parse(self.header("location")?).expect("an address");
        let mut values =
            url.query_pairs().filter(|(known, _)| known == name).map(|(_, value)| value.into_owned());
        let value = values.next();
        assert_eq!(values.next(), None, "{name} is there twice");
        value
    }

    /// A page, and nothing that leads anywhere by itself.
    pub(crate) fn is_page(&self) -> bool {
        self.header("location").is_none()
            && self.header("refresh").is_none()
            && !self.body.contains("http-equiv")
            && self.header("content-type") == Some("text/html; charset=utf-8")
    }

    /// The value of a hidden field.
    pub(crate) fn field(&self, name: &str) -> String {
        let start = format!("name={name} value=\"");
        let rest = self.body.split_once(&start).unwrap_or_else(|| panic!("no field {name}: {self:?}")).1;
        rest.split_once('"').expect("a value").0.to_owned()
    }
}

/// Says one thing and hears one answer.
pub(crate) async fn send(
    address: SocketAddr,
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Reply {
    let mut text =
        format!("{method} {target} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
    if !headers.iter().any(|(name, _)| *name == "host") {
        text += &format!("host: {address}\r\n");
    }
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    let mut stream = TcpStream::connect(address).await.expect("connected");
    // A server that has heard enough may stop listening.
    let _ = stream.write_all(format!("{text}\r\n{body}").as_bytes()).await;
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes).await;
    let answer = String::from_utf8(bytes).expect("text");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {answer:?}"));
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|code| code.parse().ok());
    let pairs = lines.filter_map(|line| line.split_once(": "));
    let headers = pairs.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect();
    Reply { status: status.expect("a status"), headers, body: body.to_owned() }
}

/// Somebody's browser.
pub(crate) struct Browser<'a> {
    pub(crate) stage: &'a Stage,
    pub(crate) cookie: Option<String>,
    pub(crate) path: &'static str,
}

impl<'a> Browser<'a> {
    pub(crate) fn new(stage: &'a Stage) -> Self {
        Self { stage, cookie: None, path: "" }
    }

    pub(crate) async fn go(
        &mut self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Reply {
        let cookie = self.cookie.clone();
        let mut all = headers.to_vec();
        all.extend(cookie.as_deref().map(|cookie| ("cookie", cookie)));
        let reply = send(self.stage.address, method, target, &all, body).await;
        if let Some(set) = reply.header("set-cookie") {
            self.cookie = set.split(';').next().map(str::to_owned);
        }
        reply
    }

    pub(crate) async fn open(&mut self, asking: &Asking) -> Reply {
        self.go("GET", &asking.target_at(self.path), &[], "").await
    }

    /// Sends a form from one of the server's own pages.
    pub(crate) async fn submit(&mut self, path: &str, form: &[(&str, &str)]) -> Reply {
        let origin = format!("http://{}", self.stage.address);
        self.submit_from(&origin, path, form).await
    }

    pub(crate) async fn submit_from(&mut self, origin: &str, path: &str, form: &[(&str, &str)]) -> Reply {
        let headers = [("content-type", "application/x-www-form-urlencoded"), ("origin", origin)];
        self.go("POST", &format!("{}{path}", self.path), &headers, &encoded(form)).await
    }

    pub(crate) async fn sign_in(&mut self, page: &Reply, name: &str) -> Reply {
        let (request, token) = (page.field("request"), page.field("token"));
        self.submit("/login", &[("request", &request), ("token", &token), ("name", name)]).await
    }

    pub(crate) async fn decide(&mut self, page: &Reply, decision: &str) -> Reply {
        let (request, token) = (page.field("request"), page.field("token"));
        self.submit("/consent", &[("request", &request), ("token", &token), ("decision", decision)]).await
    }

    /// Opens, signs in, and is asked.
    pub(crate) async fn asked(&mut self, asking: &Asking) -> Reply {
        let page = self.open(asking).await;
        let page = self.sign_in(&page, "ada").await;
        assert_eq!(page.status, 200, "{page:?}");
        page
    }
}
