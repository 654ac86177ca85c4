//! What is decided about an HTTP request before any of its body is read.
//!
//! Where it goes, whom it takes us for (Host), which page sends it (Origin), and whether it is of a kind that
//! is served at all. Hosts and origins are compared as what they mean, whole, never by how they begin or end;
//! an empty list permits nobody. Headers that proxies add are not looked at.

use http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HOST, ORIGIN};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Response, StatusCode};

use super::body::Body;
use super::reply;
use super::site::{Authority, Site};
use crate::server::mirrored::{is_repeated, single};

/// Which hosts and origins are served.
#[derive(Debug, Clone, Default)]
pub(super) struct Guard {
    /// Without any given, the names of this machine for itself.
    hosts: Option<Vec<Authority>>,
    origins: Option<Vec<Site>>,
    /// The port that is listened on, where it is known.
    port: Option<u16>,
    /// What a Host header usually says.
    usual: Vec<String>,
}

const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

type Checked<T> = Result<T, Box<Response<Body>>>;

impl Guard {
    pub(super) fn add_host(&mut self, host: &str) -> bool {
        let parsed = Authority::parse(host);
        self.hosts.get_or_insert_default().extend(parsed.clone());
        self.usual.clear();
        parsed.is_some()
    }

    pub(super) fn add_origin(&mut self, origin: &str) -> bool {
        let parsed = Site::parse(origin);
        self.origins.get_or_insert_default().extend(parsed.clone());
        parsed.is_some()
    }

    pub(super) fn listens_on(&mut self, port: u16) {
        self.port = Some(port);
        if self.hosts.is_none() {
            self.usual = LOOPBACK.iter().map(|host| format!("{host}:{port}")).collect();
        }
    }

    /// Refuses whoever took another name for us.
    pub(super) fn check_host(&self, head: &Parts) -> Checked<()> {
        self.host(head).map(drop)
    }

    /// Refuses whoever took another name for us, or comes from a page that may not.
    pub(super) fn check(&self, head: &Parts) -> Checked<()> {
        if head.uri.authority().is_none() && self.is_usual(&head.headers) {
            return Ok(());
        }
        let host = self.host(head)?;
        match single(&head.headers, &ORIGIN) {
            Ok(None) => Ok(()),
            Ok(Some(origin)) if self.permits_origin(origin, &host) => Ok(()),
            _ => refuse(StatusCode::FORBIDDEN, "requests from this origin are not served"),
        }
    }

    /// Most requests come from no page and name us in the usual way, which can be seen without taking the
    /// name apart.
    fn is_usual(&self, headers: &HeaderMap) -> bool {
        let named = headers.get(HOST).is_some_and(|host| self.usual.iter().any(|usual| host == usual));
        named && !is_repeated(headers, &HOST) && !headers.contains_key(ORIGIN)
    }

    /// The origin that an answer may be shown to, if it was configured by name.
    pub(super) fn shared_with<'a>(&self, headers: &'a HeaderMap) -> Option<&'a HeaderValue> {
        let origins = self.origins.as_ref()?;
        let origin = headers.get(ORIGIN)?;
        let site = Site::parse(origin.to_str().ok()?)?;
        origins.contains(&site).then_some(origin)
    }

    fn host(&self, head: &Parts) -> Checked<Authority> {
        let bad = || Box::new(reply::refused(StatusCode::BAD_REQUEST, "a request names one host"));
        let header = single(&head.headers, &HOST).map_err(|_| bad())?;
        let target = head.uri.authority().map(http::uri::Authority::as_str);
        // Where both are there, the target is what is meant and the header what others look at.
        let mut named = [target, header].into_iter().flatten();
        let host = named.next().and_then(Authority::parse).ok_or_else(bad)?;
        let same = named.all(|other| Authority::parse(other).as_ref() == Some(&host));
        if same && self.permits_host(&host) {
            return Ok(host);
        }
        refuse(
            StatusCode::FORBIDDEN,
            "this host and port are not served; others are permitted by HttpServer::host, or contexture run --host",
        )
    }

    fn permits_host(&self, host: &Authority) -> bool {
        match &self.hosts {
            Some(hosts) => hosts.iter().any(|known| known.covers(host)),
            None => {
                let port = self.port.is_none_or(|port| host.port_or(80) == port);
                LOOPBACK.contains(&host.name()) && port
            }
        }
    }

    fn permits_origin(&self, origin: &str, host: &Authority) -> bool {
        let Some(site) = Site::parse(origin) else { return false };
        match &self.origins {
            Some(origins) => origins.contains(&site),
            // A page that this very address served, on this machine, is no stranger.
            None => LOOPBACK.contains(&host.name()) && site.is_plain_http_at(host),
        }
    }
}

fn refuse<T>(status: StatusCode, why: &str) -> Checked<T> {
    Err(Box::new(reply::refused(status, why)))
}

/// Refuses bodies that are not plain JSON, or longer than the limit, before they are read.
pub(super) fn check_body(headers: &HeaderMap, limit: usize) -> Checked<()> {
    let unsupported = |why| refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, why);
    match single(headers, &CONTENT_TYPE) {
        Ok(Some(kind)) if is_json(kind) => {}
        _ => return unsupported("a body is application/json"),
    }
    match single(headers, &CONTENT_ENCODING) {
        Ok(None) => {}
        Ok(Some(encoding)) if encoding.eq_ignore_ascii_case("identity") => {}
        _ => return unsupported("a body is not compressed"),
    }
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > limit as u64) {
        return Err(Box::new(too_large(limit)));
    }
    Ok(())
}

pub(super) fn too_large(limit: usize) -> Response<Body> {
    reply::refused(StatusCode::PAYLOAD_TOO_LARGE, &format!("a body is limited to {limit} bytes"))
}

fn is_json(kind: &str) -> bool {
    if kind == "application/json" {
        return true;
    }
    let mut parts = kind.split(';').map(str::trim);
    let essence = parts.next().is_some_and(|essence| essence.eq_ignore_ascii_case("application/json"));
    essence
        && parts.all(|parameter| {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            name.eq_ignore_ascii_case("charset") && value.trim_matches('"').eq_ignore_ascii_case("utf-8")
        })
}

const BOTH: &str = "application/json, text/event-stream";

/// Refuses clients that could not read the answer, whichever form it takes.
pub(super) fn check_accept(headers: &HeaderMap, wanted: &[&str]) -> Checked<()> {
    if headers.get(ACCEPT).is_some_and(|accept| accept == BOTH) {
        return Ok(());
    }
    let takes = |wanted: &&str| {
        let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
        values.flat_map(|value| value.split(',')).any(|range| covers(range, wanted))
    };
    if wanted.iter().all(takes) {
        return Ok(());
    }
    let why = format!("a client accepts {}", wanted.join(" and "));
    refuse(StatusCode::NOT_ACCEPTABLE, &why)
}

fn covers(range: &str, wanted: &str) -> bool {
    let mut parts = range.split(';').map(str::trim);
    let (kind, _) = wanted.split_once('/').unwrap_or((wanted, ""));
    let matches = parts.next().is_some_and(|range| {
        range == "*/*"
            || range.eq_ignore_ascii_case(wanted)
            || range.strip_suffix("/*").is_some_and(|range| range.eq_ignore_ascii_case(kind))
    });
    let refused = |parameter: &str| {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        name.trim().eq_ignore_ascii_case("q") && value.trim().parse::<f32>().is_ok_and(|q| q <= 0.0)
    };
    matches && !parts.any(refused)
}
