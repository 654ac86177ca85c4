//! Where the browser comes back to after a login: one request, on this machine alone.
//!
//! The listener answers at one path, to its own address only (so that no page of another host can reach it
//! under a name of its own), and shows fixed pages: nothing that a request says is ever repeated in one. It
//! takes the first request that carries the login's own `state` and closes; others get a page that says no.
//! It decides nothing about what it was given: that is for the flow.

use std::fmt;
use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use reqwest::Url;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::page::Page;
use crate::auth::Secret;
use crate::{Error, Result};

/// How long a person may take.
const LOGIN_TIME: Duration = Duration::from_secs(5 * 60);
/// How long a connection may take to send its request, and to take the answer.
const REQUEST_TIME: Duration = Duration::from_secs(10);
/// How long a browser may take to hang up after it has its page.
const LINGER: Duration = Duration::from_secs(1);
/// Bytes of a request's head.
const HEAD_BYTES: usize = 16 * 1024;
/// Connections at a time. Browsers open some that they do not use.
const CONNECTIONS: usize = 32;
/// Where the browser comes back to.
const PATH: &str = "/callback";

/// Waits on this machine for the browser to come back from a login.
pub struct Callback {
    listener: TcpListener,
    /// Host and port as requests must name them.
    authority: String,
    redirect_uri: String,
    patience: Duration,
}

impl Callback {
    /// Listens on `127.0.0.1`, at this port or at any that is free.
    pub async fn bind(port: Option<u16>) -> Result<Self> {
        let wrong = |error: io::Error| match (port, error.kind()) {
            (Some(port), io::ErrorKind::AddrInUse) => Error::Misuse(format!(
                "port {port} is wanted for the way back from the login and is in use: end the program that \
                 uses it, or choose another that is registered"
            )),
            _ => Error::Transport(io::Error::new(
                error.kind(),
                format!("nothing can listen on 127.0.0.1 for the way back from the login: {error}"),
            )),
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port.unwrap_or(0))).await.map_err(wrong)?;
        let authority = listener.local_addr().map_err(wrong)?.to_string();
        let redirect_uri = format!("http://{authority}{PATH}");
        Ok(Self { listener, authority, redirect_uri, patience: LOGIN_TIME })
    }

    /// Listens where an earlier login came back to, if that was on this machine and is free: then nothing has to
    /// be registered anew. With `only`, at that port and no other.
    pub async fn bind_again(only: Option<u16>, registered: Option<&str>) -> Result<Self> {
        let before = registered.and_then(port_of).filter(|_| only.is_none());
        if let Some(port) = before
            && let Ok(callback) = Self::bind(Some(port)).await
        {
            return Ok(callback);
        }
        Self::bind(only).await
    }

    /// The redirect URI that leads here.
    pub fn redirect_uri(&self) -> &str {
        &self.redirect_uri
    }

    /// How long the person may take; 5 minutes if nothing else is said.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// What the browser brings back for the login that was begun with this `state`. Nobody can come back a
    /// second time.
    pub async fn wait(self, state: &str) -> Result<CallbackParams> {
        let patience = self.patience;
        match tokio::time::timeout(patience, self.first(state)).await {
            Ok(found) => found,
            Err(_) => Err(Error::Timeout(patience)),
        }
    }

    async fn first(self, state: &str) -> Result<CallbackParams> {
        let mut open = FuturesUnordered::new();
        loop {
            tokio::select! {
                Some(found) = open.next(), if !open.is_empty() => {
                    if let Some(params) = found {
                        return Ok(params);
                    }
                }
                accepted = self.listener.accept(), if open.len() < CONNECTIONS => match accepted {
                    Ok((stream, _)) => open.push(self.serve(stream, state)),
                    // Too many open files, or a connection that is gone already: the next may do better.
                    Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
                },
            }
        }
    }

    /// Answers one request. What it brought is given out only after the browser has its page.
    async fn serve(&self, mut stream: TcpStream, state: &str) -> Option<CallbackParams> {
        let head = tokio::time::timeout(REQUEST_TIME, read_head(&mut stream)).await.ok()?.ok()?;
        let (page, params) = match head.ok_or(Page::Unreadable).and_then(|head| self.judge(&head, state)) {
            Ok(params) => (if params.code.is_some() { Page::Done } else { Page::Refused }, Some(params)),
            Err(page) => (page, None),
        };
        // A browser that does not wait for its page has brought what it had to bring.
        let _ = tokio::time::timeout(REQUEST_TIME, answer(&mut stream, page)).await;
        params
    }

    /// What a request brings, or the page that says why it is not taken.
    fn judge(&self, head: &str, state: &str) -> Result<CallbackParams, Page> {
        let mut lines = head.split("\r\n");
        let mut words = lines.next().unwrap_or_default().split(' ');
        let (Some(method), Some(target), Some("HTTP/1.1" | "HTTP/1.0"), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(Page::Unreadable);
        };
        let hosts: Vec<&str> = lines
            .filter_map(|line| line.split_once(':'))
            .filter(|(name, _)| name.eq_ignore_ascii_case("host"))
            .map(|(_, value)| value.trim())
            .collect();
        if hosts != [self.authority.as_str()] {
            return Err(Page::WrongHost);
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        if path != PATH {
            return Err(Page::WrongPath);
        }
        if method != "GET" {
            return Err(Page::WrongMethod);
        }
        let params = CallbackParams::parse(query).map_err(|_| Page::Unreadable)?;
        // Anything that a browser shows may send it here; only the login itself knows this.
        if params.state.as_deref() != Some(state) {
            return Err(Page::WrongState);
        }
        Ok(params)
    }
}

impl fmt::Debug for Callback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Callback").field("redirect_uri", &self.redirect_uri).finish_non_exhaustive()
    }
}

/// The port of a redirect URI that leads to a listener like this.
fn port_of(redirect_uri: &str) -> Option<u16> {
    redirect_uri.strip_prefix("http://127.0.0.1:")?.strip_suffix(PATH)?.parse().ok()
}

/// `None` if it is longer than any head of ours, or no text.
async fn read_head(stream: &mut TcpStream) -> io::Result<Option<String>> {
    let mut head = Vec::new();
    loop {
        let from = head.len().saturating_sub(3);
        if stream.read_buf(&mut head).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if let Some(end) = head[from..].windows(4).position(|four| four == b"\r\n\r\n") {
            head.truncate(from + end);
            return Ok(if head.len() <= HEAD_BYTES { String::from_utf8(head).ok() } else { None });
        }
        if head.len() > HEAD_BYTES {
            return Ok(None);
        }
    }
}

async fn answer(stream: &mut TcpStream, page: Page) -> io::Result<()> {
    stream.write_all(page.response().as_bytes()).await?;
    stream.shutdown().await?;
    // A connection that is closed with something unread loses its answer.
    let mut rest = [0; 1024];
    let ended = async { while matches!(stream.read(&mut rest).await, Ok(read) if read > 0) {} };
    let _ = tokio::time::timeout(LINGER, ended).await;
    Ok(())
}

/// What an authorization server sends back with the browser. Nothing of it is checked yet.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct CallbackParams {
    /// Good for one token request.
    pub code: Option<Secret>,
    /// What the login was begun with.
    pub state: Option<String>,
    /// Who sent it.
    pub iss: Option<String>,
    /// Why there is no code.
    pub error: Option<String>,
    /// The same in words of the authorization server, or of whoever pretends to be it.
    pub error_description: Option<String>,
}

impl CallbackParams {
    /// From the whole URL that a browser was sent to, or its query alone. Whatever is there twice is there
    /// for somebody who reads the other one, and is refused.
    pub fn parse(url_or_query: &str) -> Result<Self> {
        let wrong = |what: &str| Error::Invalid(format!("the way back from the login {what}"));
        let query = match Url::parse(url_or_query) {
            Ok(url) => url.query().unwrap_or_default().to_owned(),
            Err(_) => url_or_query.trim_start_matches('?').to_owned(),
        };
        let mut url = Url::parse("http://127.0.0.1/").map_err(|error| wrong(&error.to_string()))?;
        url.set_query(Some(&query));
        let mut params = Self::default();
        let mut code = None;
        for (name, value) in url.query_pairs() {
            let place = match &*name {
                "code" => &mut code,
                "state" => &mut params.state,
                "iss" => &mut params.iss,
                "error" => &mut params.error,
                "error_description" => &mut params.error_description,
                _ => continue,
            };
            if place.replace(value.into_owned()).is_some() {
                return Err(wrong(&format!("names {name} twice")));
            }
        }
        if code.is_some() == params.error.is_some() {
            return Err(wrong("has neither a code nor an error, or both"));
        }
        params.code = code.map(Secret::new);
        Ok(params)
    }
}
