//! Where a protected server is: what tokens must be meant for, and where its metadata is.
//!
//! What was said with [`Protection::resource`](super::Protection::resource) counts. Where nothing was said, a server
//! that listens on this machine alone knows by itself, and answers to all names that this machine has for itself, as
//! the guard of the HTTP server does. Elsewhere nothing is guessed: a header is no proof of where we are.

use std::net::SocketAddr;

use http::HeaderMap;
use http::header::HOST;

use crate::auth::canonical::{canonical, resource_metadata_paths, resource_metadata_urls};
use crate::server::http::Location;
use crate::{Error, Result};

/// The names of a server.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Whereabouts {
    /// `https://host`, the first where nothing else is known.
    origins: Vec<String>,
    /// The path of the resource; empty for a whole origin.
    path: String,
    /// The path of the endpoint, which may be below the resource.
    endpoint: String,
    /// The path of the streams of HTTP+SSE, a resource of their own.
    stream: Option<String>,
    audience: Vec<String>,
}

impl Whereabouts {
    /// What is known; nothing as long as nobody said.
    ///
    /// # Errors
    /// When nobody said, and it is needed now.
    pub(super) fn find(said: Option<&str>, location: &Location) -> Result<Option<Self>> {
        match (said, &location.origin) {
            (Some(said), _) => {
                let (origin, path) = split(said);
                Ok(Some(Self::new(vec![origin], path, location)))
            }
            (None, None) => Ok(None),
            (None, Some(origin)) => {
                let bound = origin.strip_prefix("http://").and_then(|text| text.parse().ok());
                let loopback = bound.filter(|address: &SocketAddr| address.ip().is_loopback());
                let Some(address) = loopback else {
                    return Err(Error::Misuse(format!(
                        "clients do not reach this server at {origin}: say where they do with \
                         Protection::resource(\"https://…{}\")",
                        location.endpoint
                    )));
                };
                let names = ["localhost", "127.0.0.1", "[::1]"];
                let others = names.map(|name| format!("http://{name}:{}", address.port()));
                let others = others.into_iter().filter(|other| other != origin);
                let all = [origin.clone()].into_iter().chain(others);
                let origins = all.filter_map(|origin| canonical(&origin).ok()).collect();
                Ok(Some(Self::new(origins, location.endpoint.clone(), location)))
            }
        }
    }

    fn new(origins: Vec<String>, path: String, location: &Location) -> Self {
        // Whoever says something else than we see has put something in between, which may know no other path of ours.
        let stream = location.stream.clone().filter(|_| path == location.endpoint);
        let paths = [Some(&path), stream.as_ref()];
        let named = |origin: &String| paths.map(|path| path.map(|path| format!("{origin}{path}")));
        let audience = origins.iter().flat_map(named).flatten().collect();
        Self { audience, origins, path, endpoint: location.endpoint.clone(), stream }
    }

    /// The URIs that a token may be meant for.
    pub(super) fn audience(&self) -> &[String] {
        &self.audience
    }

    /// The origin that a client has reached us by.
    fn origin(&self, headers: &HeaderMap) -> &str {
        let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        let is_named = |origin: &&String| {
            origin.split_once("://").is_some_and(|(_, authority)| authority.eq_ignore_ascii_case(host))
        };
        self.origins.iter().find(is_named).or(self.origins.first()).map_or("", String::as_str)
    }

    /// The resource whose metadata is at this path.
    pub(super) fn documented(&self, path: &str, headers: &HeaderMap) -> Option<String> {
        let mut known = resource_metadata_paths(&self.path);
        known.extend(resource_metadata_paths(&self.endpoint));
        let resource = if known.iter().any(|known| known == path) {
            &self.path
        } else {
            let is_there =
                |stream: &&String| resource_metadata_paths(stream).first().is_some_and(|at| at == path);
            self.stream.as_ref().filter(is_there)?
        };
        Some(format!("{}{resource}", self.origin(headers)))
    }

    /// Where the metadata is of what was asked for at this path.
    pub(super) fn metadata_url(&self, path: &str, headers: &HeaderMap) -> String {
        // A router may have cut off how the path begins.
        let is_endpoint = self.endpoint.ends_with(path);
        let resource = self.stream.as_ref().filter(|_| !is_endpoint).unwrap_or(&self.path);
        let resource = format!("{}{resource}", self.origin(headers));
        resource_metadata_urls(&resource).into_iter().next().unwrap_or(resource)
    }
}

/// Origin and path of a canonical URI.
fn split(resource: &str) -> (String, String) {
    let authority = resource.find("://").map_or(0, |at| at + 3);
    let path = resource[authority..].find('/').map_or(resource.len(), |at| authority + at);
    (resource[..path].to_owned(), resource[path..].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn location(origin: Option<&str>) -> Location {
        Location { origin: origin.map(str::to_owned), endpoint: "/mcp".into(), stream: Some("/sse".into()) }
    }

    fn host(name: &str) -> HeaderMap {
        [(HOST, name.parse().expect("a header value"))].into_iter().collect()
    }

    #[test]
    fn what_was_said_counts() {
        let said = Some("https://example.com/mcp");
        let here =
            Whereabouts::find(said, &location(Some("http://0.0.0.0:80"))).expect("known").expect("known");
        assert_eq!(here.audience(), ["https://example.com/mcp", "https://example.com/sse"]);
        let elsewhere = host("evil.example");
        let root = "/.well-known/oauth-protected-resource";
        for (path, resource) in [
            (root.to_owned(), Some("https://example.com/mcp")),
            (format!("{root}/mcp"), Some("https://example.com/mcp")),
            (format!("{root}/sse"), Some("https://example.com/sse")),
            (format!("{root}/messages"), None),
            (format!("{root}/mcp/"), None),
            (format!("{root}/"), None),
            ("/.well-known/oauth-authorization-server".to_owned(), None),
        ] {
            assert_eq!(here.documented(&path, &elsewhere).as_deref(), resource, "{path}");
        }
        assert_eq!(here.metadata_url("/mcp", &elsewhere), format!("https://example.com{root}/mcp"));
        assert_eq!(here.metadata_url("/messages", &elsewhere), format!("https://example.com{root}/sse"));
    }

    #[test]
    fn a_whole_origin_can_be_a_resource() {
        let here =
            Whereabouts::find(Some("https://example.com"), &location(None)).expect("known").expect("known");
        assert_eq!(here.audience(), ["https://example.com"]);
        for path in ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"] {
            assert_eq!(
                here.documented(path, &HeaderMap::new()).as_deref(),
                Some("https://example.com"),
                "{path}"
            );
        }
    }

    #[test]
    fn this_machine_has_several_names() {
        let here =
            Whereabouts::find(None, &location(Some("http://127.0.0.1:8000"))).expect("known").expect("known");
        let path = "/.well-known/oauth-protected-resource/mcp";
        for (name, origin) in [
            ("localhost:8000", "http://localhost:8000"),
            ("127.0.0.1:8000", "http://127.0.0.1:8000"),
            ("[::1]:8000", "http://[::1]:8000"),
            ("evil.example:8000", "http://127.0.0.1:8000"),
            ("localhost:9000", "http://127.0.0.1:8000"),
        ] {
            let resource = here.documented(path, &host(name));
            assert_eq!(resource, Some(format!("{origin}/mcp")), "{name}");
        }
        assert!(here.audience().contains(&"http://localhost:8000/mcp".to_owned()));
    }

    #[test]
    fn nothing_is_guessed() {
        assert_eq!(Whereabouts::find(None, &location(None)).expect("no fault yet"), None);
        let open = Whereabouts::find(None, &location(Some("http://0.0.0.0:8000")));
        assert!(open.expect_err("unknown").to_string().contains("Protection::resource"));
    }
}
