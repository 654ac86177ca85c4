//! An issuer that people sign in at, for tests: it counts what it is asked, approves without a question whoever has its cookie,
//! and says in its tokens what it is told to.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use contexture::auth::jwt::SigningKey;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use url::Url;

/// What the browser has that has been there before.
pub(crate) const COOKIE: &str = "agreed=proxy";

pub(crate) struct Elsewhere {
    pub(crate) issuer: String,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

struct Shared {
    issuer: String,
    asked: AtomicUsize,
    key: SigningKey,
    lies: Mutex<Lies>,
}

/// In what its tokens differ from good ones.
#[derive(Default)]
pub(crate) struct Lies {
    pub(crate) claims: Vec<(&'static str, Value)>,
    pub(crate) kind: Option<&'static str>,
    pub(crate) other_key: bool,
}

impl Elsewhere {
    pub(crate) async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("bound");
        let issuer = format!("http://{}", listener.local_addr().expect("an address"));
        let shared = Arc::new(Shared {
            issuer: issuer.clone(),
            asked: AtomicUsize::new(0),
            key: SigningKey::generate_es256().expect("a key"),
            lies: Mutex::default(),
        });
        let serving = Arc::clone(&shared);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                serving.answer(stream).await;
            }
        });
        Self { issuer, shared, task }
    }

    /// How many requests have come.
    pub(crate) fn asked(&self) -> usize {
        self.shared.asked.load(Ordering::SeqCst)
    }

    pub(crate) fn lie(&self, lies: Lies) {
        *self.shared.lies.lock().expect("whole") = lies;
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Shared {
    async fn answer(&self, stream: TcpStream) {
        let mut stream = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if stream.read_line(&mut head).await.expect("a line") == 0 {
                return;
            }
        }
        self.asked.fetch_add(1, Ordering::SeqCst);
        let head_of = |name: &str| {
            let lines = head.lines().filter_map(|line| line.split_once(": "));
            lines
                .filter(|(known, _)| known.eq_ignore_ascii_case(name))
                .map(|(_, value)| value.to_owned())
                .next()
        };
        let length = head_of("content-length").map_or(0, |length| length.parse().expect("a length"));
        stream.read_exact(&mut vec![0; length]).await.expect("a body");
        let target = head.split(' ').nth(1).expect("a target");
        let url = Url::parse(&self.issuer).and_then(|url| url.join(target)).expect("an address");
        let answer = match url.path() {
            "/.well-known/oauth-authorization-server" => said(&self.metadata()),
            "/jwks" => said(&json!({ "keys": [self.key.public_jwk()] })),
            "/token" => said(&json!({ "access_token": self.token(), "token_type": "Bearer" })),
            "/authorize" if head_of("cookie").as_deref() == Some(COOKIE) => self.approved(&url),
            _ => "HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 0\r\n\r\n".to_owned(),
        };
        stream.write_all(answer.as_bytes()).await.expect("sent");
    }

    fn metadata(&self) -> Value {
        let at = |name: &str| format!("{}/{name}", self.issuer);
        json!({
            "issuer": self.issuer, "authorization_endpoint": at("authorize"), "token_endpoint": at("token"),
            "jwks_uri": at("jwks"), "code_challenge_methods_supported": ["S256"],
        })
    }

    /// Back with a code, and nobody was asked.
    fn approved(&self, url: &Url) -> String {
        let asked =
            |name: &str| url.query_pairs().find(|(known, _)| known == name).expect("there").1.into_owned();
        let mut back = Url::parse(&asked("redirect_uri")).expect("an address");
        back.query_pairs_mut().extend_pairs([("code", "theirs"), ("state", &asked("state"))]);
        format!("HTTP/1.1 302 Found\r\nconnection: close\r\nlocation: {back}\r\ncontent-length: 0\r\n\r\n")
    }

    /// For whoever is told to be meant: the test says what the audience is.
    fn token(&self) -> String {
        let lies = self.lies.lock().expect("whole");
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
        let mut claims =
            json!({ "iss": self.issuer, "sub": "ada", "client_id": "proxy", "exp": now + 60, "iat": now });
        for (name, value) in &lies.claims {
            claims[*name] = value.clone();
        }
        let other = SigningKey::generate_es256().expect("a key");
        let key = if lies.other_key { &other } else { &self.key };
        key.sign(&[("typ", lies.kind.unwrap_or("at+jwt"))], &claims).expect("signed")
    }
}

fn said(value: &Value) -> String {
    let body = value.to_string();
    format!(
        "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}
