//! Where a server is, as the application named it or as the server did within its own origin.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use ::http::Uri;
use reqwest::Url;

use crate::{Error, Result};

/// The address of a server.
#[derive(Clone)]
pub(crate) struct Address {
    pub(super) url: Arc<Url>,
    /// Path and query, as a request names them.
    pub(super) target: Uri,
}

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
        Self::new(url).map_err(Error::Misuse)
    }

    fn new(url: Url) -> Result<Self, String> {
        let target = match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        };
        let target = Uri::try_from(target).map_err(|error| format!("{}: {error}", display(&url)))?;
        Ok(Self { url: Arc::new(url), target })
    }

    /// Where a reference found at this address leads, if that is the same origin.
    pub(super) fn join(&self, reference: &str) -> Result<Self, String> {
        let url = self.url.join(reference).map_err(|error| error.to_string())?;
        let same = url.origin() == self.url.origin() && url.origin().is_tuple();
        let same_person = (url.username(), url.password()) == (self.url.username(), self.url.password());
        if same && same_person { Self::new(url) } else { Err(display(&url)) }
    }

    /// With everything that may be secret.
    #[cfg(feature = "auth")]
    pub(super) fn exact(&self) -> String {
        self.url.as_str().to_owned()
    }

    pub(super) fn is_loopback(&self) -> bool {
        is_loopback(&self.url)
    }

    /// Whether others can read along.
    pub(crate) fn is_exposed(&self) -> bool {
        self.url.scheme() == "http" && !self.is_loopback()
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
        f.write_str(&display(&self.url))
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
