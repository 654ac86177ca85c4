//! Addresses as names: the canonical URI of a server, and where the documents about it are.
//!
//! Text only. Nothing is resolved or fetched here, and whether an address may be reached is not asked.

use std::fmt;

use reqwest::Url;

const RESOURCE: &str = "/.well-known/oauth-protected-resource";
const AUTHORIZATION_SERVER: &str = "/.well-known/oauth-authorization-server";
const OPENID: &str = "/.well-known/openid-configuration";

/// Why a text is not the URI of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotCanonical(&'static str);

impl fmt::Display for NotCanonical {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// The one spelling of a server's URI (RFC 8707, section 2): scheme and host in lower case, no default port, no
/// fragment, and no slash where there is no path.
pub(crate) fn canonical(url: &str) -> Result<String, NotCanonical> {
    let url = read(url)?;
    let bare = url.path() == "/" && url.query().is_none();
    Ok(if bare { url.origin().ascii_serialization() } else { url.into() })
}

/// An address that names a server, and nothing else.
fn read(text: &str) -> Result<Url, NotCanonical> {
    // A parser of URLs passes over white space and turns backslashes, as browsers do; others do not.
    if text.contains(|char: char| char.is_control() || char.is_whitespace() || char == '\\') {
        return Err(NotCanonical("an address has no white space and no backslashes"));
    }
    let url = Url::parse(text).map_err(|_| NotCanonical("an address begins with https:// and a host"))?;
    let slashes = text.get(url.scheme().len()..).is_some_and(|rest| rest.starts_with("://"));
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() || !slashes {
        return Err(NotCanonical("an address begins with https:// and a host"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(NotCanonical("an address has no user name or password in it"));
    }
    if url.fragment().is_some() {
        return Err(NotCanonical("an address has no fragment (#…)"));
    }
    Ok(url)
}

/// Whether a protected resource metadata document that names this `resource` is about the server at this address:
/// they are the same, or the resource is the origin or a folder that the server is in.
pub(crate) fn same_resource(server_url: &str, named: &str) -> bool {
    let (Ok(server), Ok(named)) = (read(server_url), read(named)) else { return false };
    if server.origin() != named.origin() {
        return false;
    }
    if named.query().is_some() {
        return server == named;
    }
    let folder = |path: &str| format!("{}/", path.strip_suffix('/').unwrap_or(path));
    folder(server.path()).starts_with(&folder(named.path()))
}

/// Where the metadata of a protected resource may be, in the order to try (RFC 9728, section 3.1).
pub(crate) fn resource_metadata_urls(server_url: &str) -> Vec<String> {
    let Ok(url) = read(server_url) else { return Vec::new() };
    let origin = url.origin().ascii_serialization();
    let mut urls = Vec::new();
    if url.path() != "/" || url.query().is_some() {
        let path = if url.path() == "/" { "" } else { url.path() };
        let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
        urls.push(format!("{origin}{RESOURCE}{path}{query}"));
    }
    urls.push(format!("{origin}{RESOURCE}"));
    urls
}

/// Where the metadata of an authorization server may be, in the order to try (RFC 8414, OpenID Connect Discovery).
///
/// None for what cannot be an issuer.
pub(crate) fn server_metadata_urls(issuer: &str) -> Vec<String> {
    let Ok(url) = read(issuer) else { return Vec::new() };
    if url.query().is_some() {
        return Vec::new();
    }
    let origin = url.origin().ascii_serialization();
    match url.path().trim_end_matches('/') {
        "" => vec![format!("{origin}{AUTHORIZATION_SERVER}"), format!("{origin}{OPENID}")],
        path => vec![
            format!("{origin}{AUTHORIZATION_SERVER}{path}"),
            format!("{origin}{OPENID}{path}"),
            format!("{origin}{path}{OPENID}"),
        ],
    }
}

/// The paths at which a server serves its own metadata, if clients reach it at `path`: the one that is made of its
/// path, and the root's.
#[cfg(any(test, feature = "http-server"))]
pub(crate) fn resource_metadata_paths(path: &str) -> Vec<String> {
    match path {
        "" | "/" => vec![RESOURCE.into()],
        path => vec![format!("{RESOURCE}{path}"), RESOURCE.into()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // covers: AUTH-RESOURCE-CANONICAL, AUTH-URI-CASE, AUTH-URI-TRAILING-SLASH, AUTH-RESOURCE-SPECIFIC
    #[test]
    fn a_server_has_one_spelling() {
        for (written, expected) in [
            ("https://mcp.example.com", "https://mcp.example.com"),
            ("https://mcp.example.com/", "https://mcp.example.com"),
            ("https://mcp.example.com/mcp", "https://mcp.example.com/mcp"),
            ("HTTPS://MCP.Example.COM/mcp", "https://mcp.example.com/mcp"),
            ("https://mcp.example.com:443/mcp", "https://mcp.example.com/mcp"),
            ("http://mcp.example.com:80", "http://mcp.example.com"),
            ("https://mcp.example.com:8443", "https://mcp.example.com:8443"),
            ("https://mcp.example.com/server/mcp", "https://mcp.example.com/server/mcp"),
            ("https://mcp.example.com/MCP", "https://mcp.example.com/MCP"),
            ("https://mcp.example.com/mcp/", "https://mcp.example.com/mcp/"),
            ("https://mcp.example.com/a/../mcp", "https://mcp.example.com/mcp"),
            ("https://mcp.example.com?tenant=1", "https://mcp.example.com/?tenant=1"),
            ("http://127.1:8000/mcp", "http://127.0.0.1:8000/mcp"),
            ("http://[::1]:8000/mcp", "http://[::1]:8000/mcp"),
        ] {
            assert_eq!(canonical(written).as_deref(), Ok(expected), "{written}");
        }
    }

    // covers: AUTH-URI-VALID
    #[test]
    fn what_names_no_server_is_refused() {
        for written in [
            "",
            "mcp.example.com",
            "//mcp.example.com",
            "https:mcp.example.com",
            "https:/mcp.example.com",
            "https://",
            "https://mcp.example.com#fragment",
            "https://mcp.example.com#",
            "https://user@mcp.example.com",
            "https://:password@mcp.example.com",
            "https://mcp.example.com\\mcp",
            "https://mcp.exa\nmple.com",
            " https://mcp.example.com",
            "ftp://mcp.example.com",
            "file:///etc/passwd",
            "javascript:alert(1)",
            "data:text/plain,x",
        ] {
            assert!(canonical(written).is_err(), "{written}");
        }
    }

    #[test]
    fn a_resource_names_its_server_or_a_folder_that_it_is_in() {
        let server = "https://h.example/team/mcp";
        for (named, same) in [
            ("https://h.example/team/mcp", true),
            ("HTTPS://H.example:443/team/mcp", true),
            ("https://h.example/team/mcp/", true),
            ("https://h.example/team", true),
            ("https://h.example/team/", true),
            ("https://h.example/", true),
            ("https://h.example", true),
            ("https://h.example/tea", false),
            ("https://h.example/team/mcp/more", false),
            ("https://h.example/team/mcp2", false),
            ("https://h.example/team/m", false),
            ("https://h.example/other", false),
            ("https://h.example/team/mcp?x=1", false),
            ("https://h.example/team/x/../mcp2", false),
            ("https://h.example/TEAM", false),
            ("https://h.example:8443/team/mcp", false),
            ("http://h.example/team/mcp", false),
            ("https://h.example.evil/team/mcp", false),
            ("https://evil.h.example/team/mcp", false),
            ("https://h.exampl/team/mcp", false),
            ("https://h.example@evil/team/mcp", false),
            ("https://evil/https://h.example/team/mcp", false),
            ("https://h.example/team/mcp#x", false),
            ("", false),
            ("h.example", false),
        ] {
            assert_eq!(same_resource(server, named), same, "{named}");
        }
        assert!(same_resource("https://h/mcp?x=1", "https://h/mcp?x=1"));
        assert!(same_resource("https://h/mcp?x=1", "https://h/mcp"));
        assert!(!same_resource("https://h/mcp?x=1", "https://h/mcp?x=2"));
    }

    #[test]
    fn metadata_of_a_resource_is_looked_for_at_its_path_and_then_at_the_root() {
        let well_known = "https://h/.well-known/oauth-protected-resource";
        for (server, expected) in [
            ("https://h/a/mcp", vec![format!("{well_known}/a/mcp"), well_known.to_owned()]),
            ("https://h/mcp?x=1", vec![format!("{well_known}/mcp?x=1"), well_known.to_owned()]),
            ("https://H:443/", vec![well_known.to_owned()]),
            ("https://h", vec![well_known.to_owned()]),
            ("not an address", vec![]),
        ] {
            assert_eq!(resource_metadata_urls(server), expected, "{server}");
        }
    }

    #[test]
    fn metadata_of_an_issuer_is_looked_for_in_all_forms() {
        assert_eq!(
            server_metadata_urls("https://h/tenant1"),
            [
                "https://h/.well-known/oauth-authorization-server/tenant1",
                "https://h/.well-known/openid-configuration/tenant1",
                "https://h/tenant1/.well-known/openid-configuration",
            ]
        );
        let root = [
            "https://h/.well-known/oauth-authorization-server",
            "https://h/.well-known/openid-configuration",
        ];
        assert_eq!(server_metadata_urls("https://h"), root);
        assert_eq!(server_metadata_urls("https://h/"), root);
        for issuer in ["h", "https://h?x", "https://h#x", "https://u@h", "javascript:x"] {
            assert!(server_metadata_urls(issuer).is_empty(), "{issuer}");
        }
    }

    #[test]
    fn a_server_answers_at_both_paths() {
        let root = "/.well-known/oauth-protected-resource";
        assert_eq!(resource_metadata_paths("/mcp"), [format!("{root}/mcp"), root.to_owned()]);
        assert_eq!(resource_metadata_paths("/"), [root]);
        assert_eq!(resource_metadata_paths(""), [root]);
    }
}
