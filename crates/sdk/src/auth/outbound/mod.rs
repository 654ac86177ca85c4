//! The only way out to addresses that somebody else has named: metadata, keys, registrations, tokens.
//!
//! Whoever names an address makes us connect to it, so every address is checked before the first packet leaves: only
//! `https`, only the public Internet, or this machine too if the one who names it is on this machine, or private networks
//! too if somebody has said so beforehand. Redirects of a GET
//! are followed three times at most and checked again; a POST is sent once and to nobody else. Answers are small, soon
//! there, and not compressed. There are no cookies and no proxies.

mod answer;
mod ranges;
mod resolve;

use std::error::Error as _;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ::http::header::{ACCEPT, CONTENT_TYPE, LOCATION};
use ::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use reqwest::Url;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use answer::{Answer, Unfetched};
pub use resolve::{Resolver, Resolving};

use crate::Result;
use crate::transport::http::{choose_cryptography, reason};
use resolve::{Guard, NotAllowed, System, is_local_name};

/// Redirects that a GET follows.
const REDIRECTS: usize = 3;
/// Bytes of an address.
const URL_BYTES: usize = 4096;
/// How long everything may take, from the lookup of the name to the last byte.
const TIME: Duration = Duration::from_secs(30);
/// How long connecting may take.
const CONNECT_TIME: Duration = Duration::from_secs(10);

/// Which addresses may be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reach {
    /// Only public ones.
    Public,
    /// This machine as well, without TLS if need be. Not its private networks.
    Loopback,
    /// Private networks as well, because whoever set this up said so. Not this machine, nor what is on the same link.
    Private,
}

impl Reach {
    /// As far as somebody at this address may send us: to this machine only from this machine.
    pub fn of(url: &str) -> Self {
        if Url::parse(url).is_ok_and(|url| is_here(&url)) { Self::Loopback } else { Self::Public }
    }

    /// The same, where private networks may be reached as well: not from this machine, which needs no network.
    pub fn with_private(self, private: bool) -> Self {
        if private && self == Self::Public { Self::Private } else { self }
    }
}

/// Whether an address names this machine, without asking anybody.
fn is_here(url: &Url) -> bool {
    match url.domain() {
        Some(name) => is_local_name(name),
        None => literal(url).is_some_and(ranges::is_loopback),
    }
}

/// The address of a host that is written as one. The parser has brought all spellings of IPv4 into one form.
fn literal(url: &Url) -> Option<IpAddr> {
    url.host_str()?.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// Fetches documents from addresses that others have named.
#[derive(Clone)]
pub struct Outbound {
    reach: Reach,
    time: Duration,
    resolver: Arc<dyn Resolver>,
    ways: Arc<Ways>,
}

/// Clients of HTTP, made when they are first needed.
#[derive(Default)]
struct Ways {
    /// For this machine: no certificate will be looked at, so none need be loaded.
    plain: OnceLock<Result<reqwest::Client, String>>,
    secured: OnceLock<Result<reqwest::Client, String>>,
}

impl fmt::Debug for Outbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbound").field("reach", &self.reach).finish_non_exhaustive()
    }
}

impl Outbound {
    /// Reaches so far and no further.
    pub fn new(reach: Reach) -> Self {
        Self { reach, time: TIME, resolver: Arc::new(System), ways: Arc::default() }
    }

    /// Looks names up in another way. The addresses are checked all the same.
    pub fn resolver(mut self, resolver: impl Resolver) -> Self {
        self.resolver = Arc::new(resolver);
        self.ways = Arc::default();
        self
    }

    /// Waits no longer than this for a whole answer; 30 seconds if nothing is said.
    pub fn within(mut self, time: Duration) -> Self {
        self.time = time;
        self
    }

    /// How far it reaches.
    pub fn reach(&self) -> Reach {
        self.reach
    }

    /// The document at an address, which must be JSON.
    pub async fn get_json<T: DeserializeOwned>(
        &self,
        url: &str,
        headers: &[(&str, &str)],
    ) -> Result<T, Unfetched> {
        self.get(url, headers).await?.json()
    }

    /// What is at an address, if its status is 200. The headers go to the first origin only.
    pub async fn get(&self, url: &str, headers: &[(&str, &str)]) -> Result<Answer, Unfetched> {
        self.timed(self.follow(url, headers)).await
    }

    /// Sends a form, once. Any status that is no redirect is an answer.
    pub async fn post_form(
        &self,
        url: &str,
        form: &[(&str, &str)],
        headers: &[(&str, &str)],
    ) -> Result<Answer, Unfetched> {
        self.timed(self.post(url, "application/x-www-form-urlencoded", encode(form), headers)).await
    }

    /// Sends JSON, once. Any status that is no redirect is an answer.
    pub async fn post_json(
        &self,
        url: &str,
        body: &Value,
        headers: &[(&str, &str)],
    ) -> Result<Answer, Unfetched> {
        self.timed(self.post(url, "application/json", body.to_string(), headers)).await
    }

    async fn timed(
        &self,
        work: impl Future<Output = Result<Answer, Unfetched>>,
    ) -> Result<Answer, Unfetched> {
        match tokio::time::timeout(self.time, work).await {
            Ok(answer) => answer,
            Err(_) => Err(Unfetched::Unreachable(format!("no whole answer within {:?}", self.time))),
        }
    }

    async fn follow(&self, url: &str, headers: &[(&str, &str)]) -> Result<Answer, Unfetched> {
        let headers = header_map(headers)?;
        let first = self.check(url)?;
        let mut url = first.clone();
        for _ in 0..=REDIRECTS {
            let mut all = if url.origin() == first.origin() { headers.clone() } else { HeaderMap::new() };
            all.insert(ACCEPT, HeaderValue::from_static("application/json"));
            let response = self.send(Method::GET, &url, all, None).await?;
            match (response.status(), response.headers().get(LOCATION)) {
                (StatusCode::OK, _) => return Answer::read(response).await,
                (status, Some(to)) if is_redirect(status) => {
                    let to = to.to_str().map_err(|_| Unfetched::Redirected)?;
                    let to = url.join(to).map_err(|_| Unfetched::Redirected)?;
                    url = self.check(to.as_str())?;
                }
                (status, _) => return Err(Unfetched::Status(status.as_u16())),
            }
        }
        Err(Unfetched::Redirected)
    }

    async fn post(
        &self,
        url: &str,
        kind: &'static str,
        body: String,
        headers: &[(&str, &str)],
    ) -> Result<Answer, Unfetched> {
        let url = self.check(url)?;
        let mut headers = header_map(headers)?;
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let response = self.send(Method::POST, &url, headers, Some(body)).await?;
        if is_redirect(response.status()) {
            return Err(Unfetched::Redirected);
        }
        Answer::read(response).await
    }

    /// An address that may be reached, as far as that can be seen without looking its name up.
    fn check(&self, text: &str) -> Result<Url, Unfetched> {
        let forbidden = |why: &str| Unfetched::Forbidden(why.into());
        if text.len() > URL_BYTES {
            return Err(forbidden("it is too long"));
        }
        if text.contains(|char: char| char.is_control() || char.is_whitespace() || char == '\\') {
            return Err(forbidden("it has white space or backslashes in it"));
        }
        let url = Url::parse(text).map_err(|_| forbidden("it is not a URL"))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(forbidden("it has a user name or password in it"));
        }
        let here = is_here(&url);
        match (url.scheme(), self.reach) {
            ("https", _) => {}
            ("http", Reach::Loopback) if here => {}
            ("http", _) => return Err(forbidden("it is not https")),
            _ => return Err(forbidden("it is neither https nor http")),
        }
        match (url.domain(), literal(&url)) {
            (Some(_), _) if here && self.reach != Reach::Loopback => {
                Err(forbidden("it is this machine's, and was not named by a server on this machine"))
            }
            (Some(_), _) => Ok(url),
            (None, Some(address)) => match self.reach.allows(address) {
                Ok(()) => Ok(url),
                Err(what) => Err(Unfetched::Forbidden(format!("it is {what}"))),
            },
            (None, None) => Err(forbidden("it has no host")),
        }
    }

    async fn send(
        &self,
        method: Method,
        url: &Url,
        headers: HeaderMap,
        body: Option<String>,
    ) -> Result<reqwest::Response, Unfetched> {
        let mut request = self.client(url)?.request(method, url.clone()).headers(headers);
        if let Some(body) = body {
            request = request.body(body);
        }
        request.send().await.map_err(|error| lost(&error))
    }

    fn client(&self, url: &Url) -> Result<&reqwest::Client, Unfetched> {
        let plain = url.scheme() == "http";
        let way = if plain { &self.ways.plain } else { &self.ways.secured };
        way.get_or_init(|| self.build(plain)).as_ref().map_err(|why| Unfetched::Unreachable(why.clone()))
    }

    fn build(&self, plain: bool) -> Result<reqwest::Client, String> {
        choose_cryptography();
        let guard = Guard { resolver: Arc::clone(&self.resolver), reach: self.reach };
        let mut builder = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            // A proxy would look the name up again, and connect to what it finds.
            .no_proxy()
            .dns_resolver(guard)
            .connect_timeout(CONNECT_TIME)
            .retry(reqwest::retry::never())
            .pool_max_idle_per_host(1)
            .user_agent(concat!("contexture/", env!("CARGO_PKG_VERSION")));
        if plain {
            builder = builder.tls_certs_only(std::iter::empty());
        }
        builder.build().map_err(|error| format!("HTTP cannot be set up: {}", reason(&error)))
    }
}

/// As forms are written: a query without its question mark.
pub(crate) fn encode(form: &[(&str, &str)]) -> String {
    let Ok(mut url) = Url::parse("http://form") else { return String::new() };
    url.query_pairs_mut().extend_pairs(form);
    url.query().unwrap_or_default().to_owned()
}

/// Headers, all of which may be secrets.
fn header_map(headers: &[(&str, &str)]) -> Result<HeaderMap, Unfetched> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let unusable = || Unfetched::Forbidden(format!("the header {name:?} cannot be sent"));
        let name: HeaderName = name.parse().map_err(|_| unusable())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| unusable())?;
        value.set_sensitive(true);
        map.append(name, value);
    }
    Ok(map)
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// A request that got no answer: because its name leads where we do not go, or for another reason.
fn lost(error: &reqwest::Error) -> Unfetched {
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(NotAllowed(why)) = error.downcast_ref() {
            return Unfetched::Forbidden(why.clone());
        }
        cause = error.source();
    }
    Unfetched::Unreachable(reason(error))
}
