//! HTTP itself: connections, TLS, proxies, redirects. Only this and `auth/outbound` know which library does it.
//!
//! Nothing is ever sent to another origin than the one that the application named, there is no cookie jar, no
//! decompression, and no request is repeated that may have reached a server. (One that found its kept connection
//! closed before a byte of it was written goes over another.)

use std::error::Error as _;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use ::http::header::{CONTENT_TYPE, LOCATION, RETRY_AFTER};
use ::http::{HeaderMap, Method, StatusCode};
#[cfg(feature = "auth")]
use ::http::{HeaderValue, header::ACCEPT};
use bytes::Bytes;
use reqwest::Url;

use super::HttpOptions;
use super::credentials::{Challenged, Credentials, ROUNDS, Request, challenges, is_challenge};
use crate::error::{AuthorizationFailure, AuthorizationStep, HttpRefusal};
use crate::transport::{Failure, PersonTime};
use crate::{Error, Policy, Result};

/// Redirects within the origin that are followed.
const REDIRECTS: usize = 3;
/// So much of the body of a refusal is read.
const REFUSAL_BYTES: usize = 64 * 1024;
/// So much of it is repeated.
const EXCERPT: usize = 300;
/// How long the body of a refusal may take to end, so that its connection can serve again.
const TAIL: Duration = Duration::from_millis(250);
/// Nobody is asked to wait longer.
const LONGEST_RETRY: u64 = 24 * 60 * 60;

/// The address of a server.
#[derive(Clone)]
pub(crate) struct Address(Url);

impl Address {
    /// Only `http` and `https`.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let url =
            Url::parse(text).map_err(|error| Error::Misuse(format!("{text:?} is not a URL: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(Error::Misuse(format!(
                "a server is reached by http or https, not by {}:",
                url.scheme()
            )));
        }
        Ok(Self(url))
    }

    /// Where a reference found at this address leads, if that is the same origin.
    pub(super) fn join(&self, reference: &str) -> Result<Self, String> {
        let url = self.0.join(reference).map_err(|error| error.to_string())?;
        let same = url.origin() == self.0.origin() && url.origin().is_tuple();
        let same_person = (url.username(), url.password()) == (self.0.username(), self.0.password());
        if same && same_person { Ok(Self(url)) } else { Err(display(&url)) }
    }

    /// With everything that may be secret.
    #[cfg(feature = "auth")]
    pub(super) fn exact(&self) -> String {
        self.0.as_str().to_owned()
    }

    fn is_loopback(&self) -> bool {
        is_loopback(&self.0)
    }

    /// Whether others can read along.
    pub(crate) fn is_exposed(&self) -> bool {
        self.0.scheme() == "http" && !self.is_loopback()
    }
}

/// Whether an address is this machine, by what is written there and nobody else's word.
pub(crate) fn is_loopback(url: &Url) -> bool {
    let Some(host) = url.host_str() else { return false };
    match host.trim_matches(['[', ']']).parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => host.strip_suffix('.').unwrap_or(host) == "localhost",
    }
}

/// Without what may be secret.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&display(&self.0))
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn display(url: &Url) -> String {
    let origin = url.origin();
    if origin.is_tuple() {
        format!("{}{}", origin.ascii_serialization(), url.path())
    } else {
        format!("{}:…", url.scheme())
    }
}

/// A client of HTTP, with its pool of connections.
pub(crate) struct Fetch {
    client: reqwest::Client,
    /// What the application adds to every request.
    headers: HeaderMap,
    credentials: Option<Arc<dyn Credentials>>,
    person: PersonTime,
}

impl Fetch {
    pub(crate) fn new(address: &Address, options: &HttpOptions, policy: &Policy) -> Result<Self> {
        choose_cryptography();
        let mut builder = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(policy.connect_time)
            .tcp_nodelay(true)
            // Whether a server that says it did not begin has begun is not ours to believe.
            .retry(reqwest::retry::never())
            .user_agent(concat!("contexture/", env!("CARGO_PKG_VERSION")));
        if address.is_loopback() {
            // What stays on this machine has no business with a proxy.
            builder = builder.no_proxy();
        }
        if address.0.scheme() == "http" && address.is_loopback() {
            // No certificate will be looked at, so none need be loaded.
            builder = builder.tls_certs_only(std::iter::empty());
        }
        if let Some(path) = &options.unix_socket {
            builder = over_socket(builder, path)?;
        }
        let client = builder
            .build()
            .map_err(|error| Error::Misuse(format!("HTTP cannot be set up: {}", reason(&error))))?;
        let credentials = options.proof.credentials(address);
        let person = credentials.as_ref().and_then(|credentials| credentials.person()).unwrap_or_default();
        Ok(Self { client, headers: options.header_map()?, credentials, person })
    }

    /// Where the time of people is counted.
    pub(crate) fn person(&self) -> &PersonTime {
        &self.person
    }

    /// Sends one request, and follows redirects within the origin. Any status is an answer, unless there are
    /// credentials that know how to go on: a request that was refused for the lack of them was not done.
    pub(super) async fn send(
        &self,
        method: Method,
        address: &Address,
        headers: &HeaderMap,
        body: Option<&Bytes>,
    ) -> Result<Reply, Failure> {
        let mut address = address.clone();
        let (mut redirects, mut round) = (0, 0);
        while redirects <= REDIRECTS {
            let shown = self.shown(&method, &address).await?;
            let mut all = self.headers.clone();
            for (name, value) in headers.iter().chain(&shown) {
                all.insert(name, value.clone());
            }
            let mut request = self.client.request(method.clone(), address.0.clone()).headers(all);
            if let Some(body) = body {
                request = request.body(body.clone());
            }
            let reply = Reply(request.send().await.map_err(lost)?);
            if let Some(next) = redirect(&reply.0, &method, &address)? {
                (address, redirects) = (next, redirects + 1);
                continue;
            }
            if !self.challenged(&method, &reply, shown, round).await? {
                return Ok(reply);
            }
            reply.forget(TAIL).await;
            round += 1;
        }
        Err(Failure::Misbehaved("the server redirects in circles".into()))
    }

    /// What proves who asks.
    async fn shown(&self, method: &Method, address: &Address) -> Result<HeaderMap, Failure> {
        let Some(credentials) = &self.credentials else { return Ok(HeaderMap::new()) };
        let request = Request { method, url: address.0.as_str() };
        credentials.show(&request).await.map_err(unauthorized)
    }

    /// Whether the request is to be sent again, with something else to show.
    async fn challenged(
        &self,
        method: &Method,
        reply: &Reply,
        shown: HeaderMap,
        round: usize,
    ) -> Result<bool, Failure> {
        let Some(credentials) = &self.credentials else { return Ok(false) };
        let status = reply.status();
        if round >= ROUNDS || !is_challenge(status, reply.headers()) {
            return Ok(false);
        }
        let (method, headers) = (method.clone(), reply.headers().clone());
        let challenged = Challenged { method, status, headers, shown, round };
        credentials.refused(&challenged).await.map_err(unauthorized)
    }
}

/// The challenges of a server that wants to know who asks. `None` if it does not.
#[cfg(feature = "auth")]
pub(crate) async fn challenges_at(url: &str) -> Result<Option<Vec<String>>> {
    let (address, policy) = (Address::parse(url)?, Policy::default());
    let fetch = Fetch::new(&address, &HttpOptions::default(), &policy)?;
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    let asked = fetch.send(Method::GET, &address, &headers, None);
    let reply = fetch.person.timeout(policy.patience.idle, asked).await;
    let reply = reply.ok_or(Error::Timeout(policy.patience.idle))??;
    Ok((reply.status() == 401).then(|| challenges(reply.headers()).map(str::to_owned).collect()))
}

/// Credentials that cannot be had.
fn unauthorized(error: Error) -> Failure {
    Failure::Unauthorized(match error {
        Error::Authorization(failure) => failure,
        other => Box::new(AuthorizationFailure::new(AuthorizationStep::Token, other.to_string())),
    })
}

/// TLS needs to know who does its arithmetic, once in a process.
pub(crate) fn choose_cryptography() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Somebody else may be faster, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
}

#[cfg(unix)]
fn over_socket(builder: reqwest::ClientBuilder, path: &std::path::Path) -> Result<reqwest::ClientBuilder> {
    Ok(builder.unix_socket(path.to_owned()).no_proxy())
}

#[cfg(not(unix))]
fn over_socket(_: reqwest::ClientBuilder, _: &std::path::Path) -> Result<reqwest::ClientBuilder> {
    Err(Error::Misuse("there are no Unix sockets here".into()))
}

/// Where to go on, if this is a redirect that may be followed.
fn redirect(response: &reqwest::Response, method: &Method, at: &Address) -> Result<Option<Address>, Failure> {
    let keeps = match response.status() {
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => true,
        // These turn a POST into something else.
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND | StatusCode::SEE_OTHER => *method == Method::GET,
        _ => return Ok(None),
    };
    let Some(to) = response.headers().get(LOCATION) else { return Ok(None) };
    let to = String::from_utf8_lossy(to.as_bytes()).into_owned();
    match at.join(&to) {
        Ok(next) if keeps => Ok(Some(next)),
        Ok(next) => Err(Failure::Redirected(next.to_string())),
        Err(elsewhere) => Err(Failure::Redirected(elsewhere)),
    }
}

/// A request that got no answer at all.
fn lost(error: reqwest::Error) -> Failure {
    if error.is_connect() || error.is_builder() {
        return Failure::Unreachable(format!("the server cannot be reached: {}", reason(&error)));
    }
    Failure::Interrupted(reason(&error))
}

/// What the innermost causes say, without the address, which may hold secrets.
pub(crate) fn reason(error: &reqwest::Error) -> String {
    let mut text = String::new();
    let mut cause = error.source();
    while let Some(error) = cause {
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(&error.to_string());
        cause = error.source();
    }
    if text.is_empty() { "no reason given".into() } else { text }
}

/// The answer to one request, whose body is still to be read.
pub(super) struct Reply(reqwest::Response);

impl Reply {
    pub(super) fn status(&self) -> u16 {
        self.0.status().as_u16()
    }

    pub(super) fn headers(&self) -> &HeaderMap {
        self.0.headers()
    }

    /// What the body is, without parameters.
    pub(super) fn media_type(&self) -> String {
        let value =
            self.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
    }

    /// The next piece of the body.
    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, Failure> {
        self.0.chunk().await.map_err(|error| Failure::Interrupted(reason(&error)))
    }

    /// Nobody wants to know the body; if it ends soon, its connection can serve again.
    pub(super) async fn forget(mut self, within: Duration) {
        let rest = async { while matches!(self.chunk().await, Ok(Some(_))) {} };
        let _ = tokio::time::timeout(within, rest).await;
    }

    /// The whole body, within a limit.
    pub(super) async fn whole(&mut self, limit: usize) -> Result<Bytes, Failure> {
        let too_much = || Failure::TooMuch(format!("the server sends more than {limit} bytes at once"));
        if self.0.content_length().is_some_and(|length| length > limit as u64) {
            return Err(too_much());
        }
        let Some(first) = self.chunk().await? else { return Ok(Bytes::new()) };
        let Some(second) = self.chunk().await? else {
            return if first.len() > limit { Err(too_much()) } else { Ok(first) };
        };
        let mut body = [first, second].concat();
        while body.len() <= limit {
            let Some(chunk) = self.chunk().await? else { return Ok(body.into()) };
            body.extend_from_slice(&chunk);
        }
        Err(too_much())
    }

    /// A status that is no success, with what is worth knowing about it.
    pub(super) async fn refusal(mut self) -> Box<HttpRefusal> {
        let mut refusal = HttpRefusal::new(self.status());
        refusal.retry_after = self.retry_after();
        refusal.challenges = challenges(self.headers()).map(str::to_owned).collect();
        let mut body = Vec::new();
        while let Ok(Some(chunk)) = self.chunk().await {
            body.extend_from_slice(&chunk);
            if body.len() > REFUSAL_BYTES {
                body.truncate(REFUSAL_BYTES);
                break;
            }
        }
        refusal.error = super::outbound::error_in(&body);
        refusal.message = match &refusal.error {
            Some(error) => excerpt(&error.message),
            // A page for people is of no use here.
            None if self.media_type() == "text/html" => String::new(),
            None => excerpt(&String::from_utf8_lossy(&body)),
        };
        Box::new(refusal)
    }

    /// Only in seconds: dates would need a calendar, and agree on the time.
    fn retry_after(&self) -> Option<Duration> {
        let value = self.headers().get(RETRY_AFTER)?.to_str().ok()?.trim();
        let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
        let seconds = digits.then(|| value.parse::<u64>().unwrap_or(u64::MAX))?;
        Some(Duration::from_secs(seconds.min(LONGEST_RETRY)))
    }
}

/// One line of text for people.
fn excerpt(text: &str) -> String {
    text.trim().chars().take(EXCERPT).map(|char| if char.is_control() { ' ' } else { char }).collect()
}
