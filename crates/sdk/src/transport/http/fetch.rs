//! HTTP itself: whose connections, redirects, who asks. Only this, `direct` and `auth/outbound` know which library
//! does it.
//!
//! Nothing is ever sent to another origin than the one that the application named, there is no cookie jar, no
//! decompression, and no request is repeated that may have reached a server. (One that found its kept connection
//! closed before a byte of it was written goes over another.)

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "auth")]
use ::http::header::ACCEPT;
use ::http::header::{HOST, LOCATION, USER_AGENT};
use ::http::{HeaderMap, HeaderValue, Method};
use bytes::Bytes;

use super::HttpOptions;
use super::address::Address;
use super::credentials::{Challenged, Credentials, ROUNDS, Request, challenges, is_challenge};
use super::direct::{Direct, Once};
use super::reply::Reply;
use crate::error::{AuthorizationFailure, AuthorizationStep};
use crate::transport::{Failure, PersonTime};
use crate::{Error, Policy, Result};

/// Redirects within the origin that are followed.
const REDIRECTS: usize = 3;
/// How long the body of a refusal may take to end, so that its connection can serve again.
const TAIL: Duration = Duration::from_millis(250);

/// A client of HTTP, with its connections.
pub(crate) struct Fetch {
    library: Library,
    /// What every request has, unless the protocol says otherwise.
    headers: HeaderMap,
    credentials: Option<Arc<dyn Credentials>>,
    person: PersonTime,
}

/// Who does it.
enum Library {
    /// We do, over plain connections to the server itself.
    Direct(Arc<Direct>),
    /// For everything that takes more: TLS with whatever protocol it agrees on, proxies, secrets in the URL.
    Other(reqwest::Client),
}

impl Fetch {
    pub(crate) fn new(address: &Address, options: &HttpOptions, policy: &Policy) -> Result<Self> {
        let mut headers = options.header_map()?;
        if !headers.contains_key(USER_AGENT) {
            let agent = concat!("contexture/", env!("CARGO_PKG_VERSION"));
            headers.insert(USER_AGENT, HeaderValue::from_static(agent));
        }
        let library = match Direct::new(address, options.unix_socket.as_deref(), policy)? {
            Some(direct) => {
                if !headers.contains_key(HOST) {
                    headers.insert(HOST, direct.host().clone());
                }
                Library::Direct(Arc::new(direct))
            }
            None => Library::Other(other(address, options, policy)?),
        };
        let credentials = options.proof.credentials(address);
        let person = credentials.as_ref().and_then(|credentials| credentials.person()).unwrap_or_default();
        Ok(Self { library, headers, credentials, person })
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
            let reply = self.once(&method, &address, self.all(headers, &shown), body).await?;
            if let Some(next) = redirect(&reply, &method, &address)? {
                (address, redirects) = (next, redirects + 1);
                continue;
            }
            if self.credentials.is_none() || !Box::pin(self.challenged(&method, &reply, shown, round)).await?
            {
                return Ok(reply);
            }
            Box::pin(reply.forget(TAIL)).await;
            round += 1;
        }
        Err(Failure::Misbehaved("the server redirects in circles".into()))
    }

    /// All headers of a request. What proves who asks counts most, then the protocol, then the application.
    fn all(&self, headers: &HeaderMap, shown: &HeaderMap) -> HeaderMap {
        let mut all = headers.clone();
        for (name, value) in self.headers.iter().filter(|(name, _)| !headers.contains_key(*name)) {
            all.append(name, value.clone());
        }
        for (name, value) in shown {
            all.insert(name, value.clone());
        }
        all
    }

    async fn once(
        &self,
        method: &Method,
        address: &Address,
        headers: HeaderMap,
        body: Option<&Bytes>,
    ) -> Result<Reply, Failure> {
        match &self.library {
            Library::Direct(direct) => {
                let mut request = ::http::Request::new(Once::new(body.cloned()));
                *request.method_mut() = method.clone();
                *request.uri_mut() = address.target.clone();
                *request.headers_mut() = headers;
                direct.send(request).await.map(|answer| Reply::Direct(Box::new(answer)))
            }
            Library::Other(client) => {
                let mut request = client.request(method.clone(), (*address.url).clone()).headers(headers);
                if let Some(body) = body {
                    request = request.body(body.clone());
                }
                let sent = Box::pin(request.send()).await;
                sent.map(|response| Reply::Other(Box::new(response))).map_err(lost)
            }
        }
    }

    /// What proves who asks.
    async fn shown(&self, method: &Method, address: &Address) -> Result<HeaderMap, Failure> {
        let Some(credentials) = &self.credentials else { return Ok(HeaderMap::new()) };
        let request = Request { method, url: address.url.as_str() };
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

/// The client for everything that is not plain.
fn other(address: &Address, options: &HttpOptions, policy: &Policy) -> Result<reqwest::Client> {
    choose_cryptography();
    let mut builder = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(policy.connect_time)
        .tcp_nodelay(true)
        // Whether a server that says it did not begin has begun is not ours to believe.
        .retry(reqwest::retry::never());
    if address.is_loopback() {
        // What stays on this machine has no business with a proxy.
        builder = builder.no_proxy();
    }
    if address.url.scheme() == "http" && address.is_loopback() {
        // No certificate will be looked at, so none need be loaded.
        builder = builder.tls_certs_only(std::iter::empty());
    }
    if let Some(path) = &options.unix_socket {
        builder = over_socket(builder, path)?;
    }
    builder.build().map_err(|error| Error::Misuse(format!("HTTP cannot be set up: {}", reason(&error))))
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
fn redirect(reply: &Reply, method: &Method, at: &Address) -> Result<Option<Address>, Failure> {
    let keeps = match reply.status() {
        307 | 308 => true,
        // These turn a POST into something else.
        301..=303 => *method == Method::GET,
        _ => return Ok(None),
    };
    let Some(to) = reply.headers().get(LOCATION) else { return Ok(None) };
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
    causes(error.source())
}

/// What an error and its causes say.
pub(super) fn causes(mut cause: Option<&(dyn std::error::Error + 'static)>) -> String {
    let mut text = String::new();
    while let Some(error) = cause {
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(&error.to_string());
        cause = error.source();
    }
    if text.is_empty() { "no reason given".into() } else { text }
}
