//! Addresses on this machine at which anything may answer.

use std::io::{BufRead as _, BufReader, Read as _, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A request, as far as anybody here looks at it.
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The id of the message, as it is written.
    pub(crate) fn id(&self) -> String {
        let message: serde_json::Value = serde_json::from_str(&self.body).unwrap_or_default();
        message["id"].to_string()
    }

    pub(crate) fn asks(&self, method: &str) -> bool {
        self.body.contains(&format!("\"{method}\""))
    }

    fn read(stream: &mut impl std::io::Read) -> Option<Self> {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let mut words = line.split_whitespace().map(str::to_owned);
        let (method, path) = (words.next()?, words.next()?);
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let length = headers.iter().find(|(name, _)| name == "content-length");
        let length = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        Some(Self { method, path, headers, body: String::from_utf8(body).ok()? })
    }
}

/// What a site does with a request.
pub(crate) enum Answer {
    /// Status, headers and a body, with its length.
    Whole(u16, Vec<(&'static str, String)>, String),
    /// Nothing for as long as the site is there.
    Hold,
}

impl Answer {
    pub(crate) fn status(status: u16) -> Self {
        Self::Whole(status, Vec::new(), String::new())
    }

    pub(crate) fn of(status: u16, kind: &str, body: &str) -> Self {
        Self::Whole(status, vec![("Content-Type", kind.to_owned())], body.to_owned())
    }

    pub(crate) fn with(self, name: &'static str, value: &str) -> Self {
        match self {
            Self::Whole(status, mut headers, body) => {
                headers.push((name, value.to_owned()));
                Self::Whole(status, headers, body)
            }
            other => other,
        }
    }

    fn head(status: u16, headers: &[(&'static str, String)]) -> String {
        let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        format!("HTTP/1.1 {status} As It Is\r\nConnection: close\r\n{headers}")
    }
}

type Handler = Arc<dyn Fn(&Request) -> Answer + Send + Sync>;

/// Something that listens. Its threads end with the test program.
pub(crate) struct Site {
    port: u16,
    /// Connections that are kept open.
    _held: Arc<Mutex<Vec<TcpStream>>>,
}

impl Site {
    pub(crate) fn new(handler: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        let handler: Handler = Arc::new(handler);
        Self::raw(move |stream, held| {
            let Some(request) = Request::read(&mut &stream) else { return };
            match handler(&request) {
                Answer::Whole(status, headers, body) => {
                    let head = Answer::head(status, &headers);
                    let _ = write!(&stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len());
                }
                Answer::Hold => held.lock().expect("nobody panicked").push(stream),
            }
        })
    }

    /// Whoever connects is given to this.
    pub(crate) fn raw(take: impl Fn(TcpStream, &Mutex<Vec<TcpStream>>) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let held = Arc::new(Mutex::new(Vec::new()));
        let (take, kept) = (Arc::new(take), Arc::clone(&held));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (take, kept) = (Arc::clone(&take), Arc::clone(&kept));
                std::thread::spawn(move || take(stream, &kept));
            }
        });
        Self { port, _held: held }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }
}

/// A server of the legacy era that keeps no sessions and offers nothing: well, but for what a test makes of it.
pub(crate) fn well(request: &Request) -> Answer {
    let answer = |result: &str| {
        let body = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{result}}}", request.id());
        Answer::of(200, "application/json", &body)
    };
    let refused = || {
        let error = "{\"code\":-32601,\"message\":\"Method not found\"}";
        let body = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"error\":{error}}}", request.id());
        Answer::of(200, "application/json", &body)
    };
    match request.method.as_str() {
        "POST" if request.header("origin").is_some() => Answer::status(403),
        "POST" if request.asks("initialize") => answer(
            r#"{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"site","version":"1"}}"#,
        ),
        "POST" if request.asks("ping") => answer("{}"),
        "POST" if request.asks("notifications/initialized") => Answer::status(202),
        "POST" => refused(),
        _ => Answer::status(405),
    }
}
