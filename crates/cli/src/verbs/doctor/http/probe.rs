//! Requests by hand: one POST, one answer, and every fact about it.
//!
//! Bodies are read up to a bound, and streams up to the first answer in them. No redirect is followed but one within the origin.

use std::time::{Duration, Instant};

use contexture::revision::Revision;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Client, Method, StatusCode, Url};
use serde_json::{Value, json};

use super::super::report::Report;
use super::super::step::Step;
use super::tls;

/// So much of a body is read.
const BODY: usize = 256 * 1024;
/// Redirects within the origin that are followed.
const REDIRECTS: usize = 3;
/// How long a single question that is not the first may take at most.
const QUICK: Duration = Duration::from_secs(5);

pub(super) const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// A server at an address, as HTTP sees it.
pub(super) struct Probe {
    http: Client,
    pub(super) url: Url,
    headers: HeaderMap,
    pub(super) patience: Duration,
}

/// An answer.
pub(super) struct Seen {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

impl Seen {
    pub(super) fn header(&self, name: impl reqwest::header::AsHeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The type of its content, without parameters, in lower case.
    pub(super) fn kind(&self) -> String {
        let kind = self.header(CONTENT_TYPE).unwrap_or_default();
        kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
    }

    pub(super) fn is_stream(&self) -> bool {
        self.kind() == EVENTS
    }

    /// The message of the protocol in it, whatever it says that it is.
    pub(super) fn message(&self) -> Option<Value> {
        let text = String::from_utf8_lossy(&self.body);
        if self.is_stream() {
            return events(&text).into_iter().find(|message| message.get("method").is_none());
        }
        serde_json::from_str::<Value>(&text).ok().filter(|value| value.get("jsonrpc").is_some())
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// The messages in a stream of events.
fn events(text: &str) -> Vec<Value> {
    let text = text.replace("\r\n", "\n");
    let data = |event: &str| {
        let lines = event.lines().filter_map(|line| line.strip_prefix("data:"));
        lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n")
    };
    text.split("\n\n").filter_map(|event| serde_json::from_str(&data(event)).ok()).collect()
}

impl Probe {
    pub(super) fn new(
        report: &mut Report,
        url: Url,
        given: Vec<(String, String)>,
        patience: Duration,
    ) -> Option<Self> {
        let mut headers = HeaderMap::new();
        for (name, value) in given {
            let pair = (name.parse::<HeaderName>(), HeaderValue::from_str(&value));
            let (Ok(name), Ok(mut value)) = pair else {
                return report.fail(
                    Step::Connect,
                    format!("the header {name:?} cannot be sent"),
                    "correct it",
                );
            };
            value.set_sensitive(true);
            headers.append(name, value);
        }
        tls::choose_cryptography();
        let mut builder = Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(patience)
            .user_agent(concat!("contexture/", env!("CARGO_PKG_VERSION")))
            .retry(reqwest::retry::never());
        if tls::is_loopback(&url) {
            builder = builder.no_proxy();
        }
        match builder.build() {
            Ok(http) => Some(Self { http, url, headers, patience }),
            Err(error) => report.fail(
                Step::Connect,
                format!("HTTP cannot be set up: {error}"),
                "see the system's certificates",
            ),
        }
    }

    /// Looks the name up and connects, with nothing but that, so that the failing half can be told.
    pub(super) async fn connect(&self, report: &mut Report) -> Option<()> {
        let host = self.url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let port = self.url.port_or_known_default().unwrap_or_default();
        if !tls::is_loopback(&self.url) && has_proxy() {
            report.passed(Step::Connect, "by way of a proxy (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY)");
            return Some(());
        }
        let found: Vec<_> = match tokio::net::lookup_host((host.as_str(), port)).await {
            Ok(found) => found.collect(),
            Err(error) => {
                let next = "is the name spelled right, and is there a network?";
                return report.fail(Step::Connect, format!("the name {host} is not known: {error}"), next);
            }
        };
        let mut why = "it has no address".to_owned();
        for address in &found {
            match tokio::time::timeout(self.patience, tokio::net::TcpStream::connect(address)).await {
                Ok(Ok(_)) => {
                    report.passed(Step::Connect, address.to_string());
                    return Some(());
                }
                Ok(Err(error)) => why = format!("{address}: {error}"),
                Err(_) => why = format!("{address}: no answer within {} s", self.patience.as_secs_f32()),
            }
        }
        let next = "is the server running, is the port right, and does a firewall let it through?";
        report.fail(Step::Connect, format!("nobody can be reached: {why}"), next)
    }

    /// The first question, `initialize`, at the address or where it is within its origin.
    pub(super) async fn first(mut self, report: &mut Report) -> Option<(Self, Seen)> {
        report.begin(Step::Tls);
        let mut moved = None;
        for _ in 0..=REDIRECTS {
            let seen = match self.initialize(&self.url.clone(), self.patience).await {
                Ok(seen) => seen,
                Err(Lost::Failed(error)) => {
                    return tls::lost(report, &self.url, &error, self.patience).await;
                }
                Err(Lost::Late) => {
                    tls::passed(report, &self.url);
                    let seen = format!("no answer within {} s", self.patience.as_secs_f32());
                    let next = "the address takes connections and says nothing: is this the right port, and is the server busy? --timeout SECONDS waits longer";
                    return report.fail(Step::Answer, seen, next);
                }
            };
            if moved.is_none() {
                tls::passed(report, &self.url);
            }
            match self.redirect(&seen) {
                Redirect::None => {
                    match moved {
                        None => report.passed(Step::Redirect, "none"),
                        Some(to) => report.warn(
                            Step::Redirect,
                            format!("it moved to {to}"),
                            format!("write the new address: {to}"),
                        ),
                    }
                    return Some((self, seen));
                }
                Redirect::Within(to) => {
                    moved = Some(to.to_string());
                    self.url = to;
                }
                Redirect::Elsewhere(to, why) => {
                    let next = format!("write that address, if you trust it: {to}");
                    let seen = format!("HTTP status {}: it sends us to {to}, {why}", seen.status.as_u16());
                    return report.fail(Step::Redirect, seen, next);
                }
            }
        }
        report.fail(Step::Redirect, "it redirects in circles", "its operator has to mend that")
    }

    fn redirect(&self, seen: &Seen) -> Redirect {
        if !seen.status.is_redirection() || seen.status == StatusCode::NOT_MODIFIED {
            return Redirect::None;
        }
        let Some(to) = seen.header(LOCATION).and_then(|to| self.url.join(to).ok()) else {
            return Redirect::None;
        };
        let keeps = matches!(seen.status.as_u16(), 307 | 308);
        match (to.origin() == self.url.origin(), keeps) {
            (true, true) => Redirect::Within(to),
            (true, false) => Redirect::Elsewhere(to, "in a way that would turn a POST into a GET"),
            (false, _) => Redirect::Elsewhere(
                to,
                "which was not followed: what is sent there, credentials too, would go to somebody else",
            ),
        }
    }

    /// Asks for a session in the newest revision that has sessions.
    pub(super) async fn initialize(&self, url: &Url, patience: Duration) -> Result<Seen, Lost> {
        self.send(Method::POST, url, &[], Some(initialize()), patience).await
    }

    /// A message in a session.
    pub(super) async fn post(&self, session: &str, message: Value) -> Result<Seen, Lost> {
        let headers = [(SESSION, session), (VERSION, Revision::NEWEST_LEGACY.as_str())];
        self.send(Method::POST, &self.url, &headers, Some(message), self.quick()).await
    }

    pub(super) async fn delete(&self, session: &str) -> Result<Seen, Lost> {
        let headers = [(SESSION, session), (VERSION, Revision::NEWEST_LEGACY.as_str())];
        self.send(Method::DELETE, &self.url, &headers, None, self.quick()).await
    }

    /// A stream; with it, how long its first byte of a head took. The body is read up to the first event.
    pub(super) async fn stream(&self, url: &Url, session: Option<&str>) -> Result<(Seen, Duration), Lost> {
        let headers: Vec<(&str, &str)> = session
            .iter()
            .flat_map(|session| [(SESSION, *session), (VERSION, Revision::NEWEST_LEGACY.as_str())])
            .collect();
        let begun = Instant::now();
        let seen = self.send(Method::GET, url, &headers, None, self.quick()).await?;
        Ok((seen, begun.elapsed()))
    }

    /// As a page of somebody else's would.
    pub(super) async fn as_page_of(&self, origin: &str) -> Result<Seen, Lost> {
        self.send(Method::POST, &self.url, &[("origin", origin)], Some(initialize()), self.quick()).await
    }

    pub(super) fn quick(&self) -> Duration {
        QUICK.min(self.patience)
    }

    async fn send(
        &self,
        method: Method,
        url: &Url,
        headers: &[(&str, &str)],
        message: Option<Value>,
        patience: Duration,
    ) -> Result<Seen, Lost> {
        let is_stream = method == Method::GET;
        let accepts = if is_stream { EVENTS.to_owned() } else { format!("{JSON}, {EVENTS}") };
        let mut request =
            self.http.request(method, url.clone()).headers(self.headers.clone()).header(ACCEPT, accepts);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(message) = message {
            request = request.header(CONTENT_TYPE, JSON).body(message.to_string());
        }
        let answer = tokio::time::timeout(patience, request.send());
        let mut response = answer.await.map_err(|_| Lost::Late)?.map_err(Lost::Failed)?;
        let mut seen =
            Seen { status: response.status(), headers: response.headers().clone(), body: Vec::new() };
        let read = async {
            while let Ok(Some(chunk)) = response.chunk().await {
                let room = BODY.saturating_sub(seen.body.len());
                seen.body.extend_from_slice(&chunk[..chunk.len().min(room)]);
                let enough = seen.is_stream() && (seen.message().is_some() || is_stream);
                if enough || room == 0 {
                    break;
                }
            }
        };
        // A stream that is open and silent is as it should be: what came so far is what there is.
        let time = if is_stream { patience.min(FIRST_EVENT) } else { patience };
        let _ = tokio::time::timeout(time, read).await;
        Ok(seen)
    }
}

/// How long the first event of a stream is waited for; there need not be one.
const FIRST_EVENT: Duration = Duration::from_millis(500);

/// Why there is no answer.
pub(super) enum Lost {
    Late,
    Failed(reqwest::Error),
}

/// Where an answer sends us.
enum Redirect {
    None,
    Within(Url),
    Elsewhere(Url, &'static str),
}

fn initialize() -> Value {
    let info = json!({ "name": "contexture", "version": env!("CARGO_PKG_VERSION") });
    let version = Revision::NEWEST_LEGACY.as_str();
    let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": info });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params })
}

fn has_proxy() -> bool {
    let names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
    names.iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}
