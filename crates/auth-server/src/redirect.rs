//! Redirect URIs: which can be registered, and which of them is meant.
//!
//! Only https, or http to this machine, spelled the one way that every parser reads alike; no other scheme, however it is
//! written. A request names a registered URI character by character. The one exception is OAuth 2.1's: the port of
//! a loopback address may differ, since a native program cannot choose it beforehand.

use url::{Host, Url, form_urlencoded};

/// Bytes of one URI.
const MOST_BYTES: usize = 2048;
/// What we add to a redirect URI; there would be two of them.
const OURS: [&str; 6] = ["code", "state", "iss", "error", "error_description", "error_uri"];
/// How a loopback redirect URI begins.
const LOOPBACK: [&str; 3] = ["http://127.0.0.1", "http://[::1]", "http://localhost"];

/// Whether the URI can be redirected to at all; the error says why not.
pub(crate) fn check(uri: &str) -> Result<(), &'static str> {
    if uri.len() > MOST_BYTES {
        return Err("is too long");
    }
    if !is_written_like_a_uri(uri) {
        return Err("has characters that do not belong into a URI");
    }
    if !uri.starts_with("https://") && !uri.starts_with("http://") {
        return Err("is neither https nor on this machine");
    }
    let url = Url::parse(uri).map_err(|_| "is not a URI")?;
    // One spelling only: `127.1`, upper case, `..` and the like are read differently by different parsers.
    if url.as_str() != uri && url.as_str().strip_suffix('/') != Some(uri) {
        return Err("is not in its normal form");
    }
    if url.fragment().is_some() {
        return Err("has a fragment");
    }
    if !url.username().is_empty() || url.password().is_some() || authority(uri).contains('@') {
        return Err("has a user name");
    }
    // What would be legal in a host name but is none, and could mean something where the host is shown or sent.
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte);
    if !authority(uri).bytes().all(plain) {
        return Err("has characters that do not belong into a host name");
    }
    if url.scheme() == "http" && !is_this_machine(&url) {
        return Err("is neither https nor on this machine");
    }
    if url.query_pairs().any(|(name, _)| OURS.contains(&&*name)) {
        return Err("has a parameter that belongs to the response");
    }
    Ok(())
}

/// Whether every character can be in a URI, quotes aside.
pub(crate) fn is_written_like_a_uri(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic() && !br#""'<>\^`{|}"#.contains(&byte))
}

/// Whether a request that names this URI means one of the registered ones.
pub(crate) fn is_registered(registered: &[String], requested: &str) -> bool {
    check(requested).is_ok()
        && registered.iter().any(|known| known == requested || differs_in_port(known, requested))
}

fn differs_in_port(known: &str, requested: &str) -> bool {
    LOOPBACK.iter().any(|start| {
        let rest = |uri: &str| uri.strip_prefix(start).and_then(without_port).map(str::to_owned);
        rest(known).is_some_and(|known| rest(requested) == Some(known))
    })
}

/// What follows the port, or `None` if the host has not ended yet.
fn without_port(rest: &str) -> Option<&str> {
    let rest = match rest.strip_prefix(':') {
        Some(port) => {
            let end = port.find(|char: char| !char.is_ascii_digit()).unwrap_or(port.len());
            port[..end].parse::<u16>().ok()?;
            &port[end..]
        }
        None => rest,
    };
    (rest.is_empty() || rest.starts_with(['/', '?'])).then_some(rest)
}

fn authority(uri: &str) -> &str {
    let rest = uri.split_once("://").map_or("", |(_, rest)| rest);
    &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())]
}

/// Whether the URL leads to this machine and nowhere else.
pub(crate) fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

/// Whether a checked redirect URI leads to a program on this machine.
pub(crate) fn is_local(uri: &str) -> bool {
    Url::parse(uri).is_ok_and(|url| is_this_machine(&url))
}

/// The host and port that a person should look at before they agree.
pub(crate) fn host(uri: &str) -> String {
    authority(uri).to_owned()
}

/// Scheme, host and port, for a content security policy, which cannot name addresses of IPv6.
pub(crate) fn origin(uri: &str) -> String {
    let scheme = uri.split_once("://").map_or("https", |(scheme, _)| scheme);
    match authority(uri) {
        address if address.starts_with('[') => format!("{scheme}:"),
        authority => format!("{scheme}://{authority}"),
    }
}

/// The URI with the parameters of a response.
pub(crate) fn with_parameters(uri: &str, parameters: &[(&str, &str)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(parameters);
    let joint = match uri.split_once('?') {
        None => "?",
        Some((_, "")) => "",
        Some(_) => "&",
    };
    format!("{uri}{joint}{}", query.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_https_and_this_machine_in_one_spelling() {
        let good = [
            "https://app.example/cb",
            "https://app.example",
            "https://app.example:8443/cb?tenant=1",
            "http://127.0.0.1/cb",
            "http://127.0.0.1:3000/cb",
            "http://[::1]:3000/cb",
            "http://localhost:3000/cb",
        ];
        for uri in good {
            assert_eq!(check(uri), Ok(()), "{uri}");
        }
        let bad = [
            "",
            "/cb",
            "app.example/cb",
            "http://app.example/cb",
            "http://10.0.0.1/cb",
            "http://127.0.0.1.evil.example/",
            "http://localhost.evil.example/",
            "http://localhost@evil.example/",
            "https://a@evil.example/",
            "https://:x@evil.example/",
            "https://@evil.example/",
            "javascript:alert(1)",
            "JavaScript:alert(1)",
            " javascript:alert(1)",
            "java\tscript:alert(1)",
            "\u{1}javascript:alert(1)",
            "javascript://app.example/%0aalert(1)",
            "data:text/html,x",
            "vbscript:x",
            "file:///etc/passwd",
            "blob:https://app.example/1",
            "about:blank",
            "com.example.app:/cb",
            "myapp://cb",
            "HTTPS://app.example/cb",
            "https:app.example/cb",
            "https:/app.example/cb",
            "https:///app.example/cb",
            "https:\\\\app.example/cb",
            "https://app.example\\@evil.example/",
            "https://APP.example/cb",
            "https://app.example/a/../cb",
            "https://app.example/%2e%2e/cb",
            "https://app.example:443/cb",
            "http://127.1/cb",
            "http://2130706433/cb",
            "http://0x7f.1/cb",
            "http://[::ffff:127.0.0.1]/cb",
            "http://0.0.0.0/cb",
            "https://app.example/cb#",
            "https://app.example/cb#x",
            "https://app.example/cb x",
            "https://app.example/cb\n",
            "https://app.example/\u{202e}",
            "https://ⓛocalhost/",
            "https://app.example/cb?code=1",
            "https://app.example/?iss=x",
            "https://app.example/cb?st%61te=1",
            "https://app.example/\"onload=",
            "https://app.example/<script>",
            "https://",
            "https://a;script-src.example/cb",
            "https://a,b.example/cb",
            "https://*.example/cb",
            "https://a$b.example/",
        ];
        for uri in bad {
            assert!(check(uri).is_err(), "{uri:?}");
        }
        assert!(check(&format!("https://app.example/{}", "a".repeat(MOST_BYTES))).is_err());
    }

    // covers: AUTH-AS-REDIRECT-EXACT
    #[test]
    fn a_request_names_a_registered_uri_exactly_but_for_a_loopback_port() {
        let registered =
            ["https://app.example/cb", "http://127.0.0.1/cb", "http://[::1]:1/cb", "http://localhost:2/cb"]
                .map(str::to_owned);
        let good = [
            "https://app.example/cb",
            "http://127.0.0.1/cb",
            "http://127.0.0.1:5000/cb",
            "http://[::1]:5000/cb",
            "http://localhost:3/cb",
        ];
        for uri in good {
            assert!(is_registered(&registered, uri), "{uri}");
        }
        let bad = [
            "https://app.example/cb/",
            "https://app.example/cb?x=1",
            "https://app.example/cb/more",
            "https://app.example/c",
            "https://app.example:8443/cb",
            "https://app.example/CB",
            "https://app.example.evil.example/cb",
            "http://app.example/cb",
            "http://127.0.0.1:5000/cb/",
            "http://127.0.0.1:5000/",
            "http://127.0.0.1:5000/cb?x=1",
            "https://127.0.0.1:5000/cb",
            "http://127.0.0.2:5000/cb",
            "http://127.0.0.1:99999/cb",
            "http://127.0.0.1:/cb",
            "http://127.0.0.1:5000@evil.example/cb",
            "http://127.0.0.15000/cb",
            "http://localhost.evil.example:3/cb",
            "http://[::1]:5000/cb#",
            "",
        ];
        for uri in bad {
            assert!(!is_registered(&registered, uri), "{uri}");
        }
    }

    #[test]
    fn parameters_are_added_and_encoded() {
        let parameters = [("code", "a b"), ("state", "&x=\"1\"\r\n")];
        let query = "code=a+b&state=%26x%3D%221%22%0D%0A";
        assert_eq!(with_parameters("https://a.example", &parameters), format!("https://a.example?{query}"));
        assert_eq!(
            with_parameters("https://a.example/?t=1", &parameters),
            format!("https://a.example/?t=1&{query}")
        );
    }
}
