//! Hosts and origins, taken apart so that they can be compared whole.
//!
//! Nothing is guessed: user names, paths, zones, trailing dots and anything else that does not belong there
//! make it no host at all.

/// A host and, where it is given, a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Authority {
    host: String,
    port: Option<u16>,
}

/// Scheme, host and port: what a page's origin is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Site {
    scheme: Scheme,
    host: String,
    port: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scheme {
    Http,
    Https,
}

impl Authority {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (address, after) = rest.split_once(']')?;
                address.parse::<std::net::Ipv6Addr>().ok()?;
                (&text[..address.len() + 2], after.strip_prefix(':').or(after.is_empty().then_some("")))
            }
            None => match text.split_once(':') {
                Some((host, port)) if !port.is_empty() => (host, Some(port)),
                Some(_) => return None,
                None => (text, Some("")),
            },
        };
        let port = match port? {
            "" => None,
            digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => Some(digits.parse().ok()?),
            _ => return None,
        };
        if !host.starts_with('[') && !is_name(host) {
            return None;
        }
        Some(Self { host: host.to_ascii_lowercase(), port })
    }

    pub(super) fn name(&self) -> &str {
        &self.host
    }

    pub(super) fn port_or(&self, default: u16) -> u16 {
        self.port.unwrap_or(default)
    }

    /// Whether this entry of a list permits that host. An entry without a port permits all of them.
    pub(super) fn covers(&self, other: &Self) -> bool {
        self.host == other.host && (self.port.is_none() || self.port == other.port)
    }
}

/// Letters, digits, hyphens and single dots between them.
fn is_name(host: &str) -> bool {
    let label = |label: &str| {
        !label.is_empty()
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    host.split('.').all(label)
}

impl Site {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (scheme, authority) = text.split_once("://")?;
        let (scheme, default) = match scheme {
            "http" => (Scheme::Http, 80),
            "https" => (Scheme::Https, 443),
            _ => return None,
        };
        // Browsers write origins in lower case; whatever does not is no browser and no origin.
        if authority.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return None;
        }
        let Authority { host, port } = Authority::parse(authority)?;
        Some(Self { scheme, host, port: port.unwrap_or(default) })
    }

    /// Whether it is what a browser would call the page at this host.
    pub(super) fn is_plain_http_at(&self, host: &Authority) -> bool {
        self.scheme == Scheme::Http && self.host == host.host && self.port == host.port_or(80)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hosts_are_hosts() {
        for good in ["localhost", "localhost:80", "127.0.0.1:65535", "[::1]", "[::1]:8", "a-b.example.com"] {
            assert!(Authority::parse(good).is_some(), "{good}");
        }
        let bad = [
            "",
            ":80",
            "localhost:",
            "localhost.",
            "a..b",
            "user@localhost",
            "localhost/",
            "localhost?x",
            "a b",
            "localhost#",
            "a\\b",
            "localhost:99999",
            "localhost:+1",
            "[::1%25lo]",
            "[::1",
            "[::1]x",
            "::1",
        ];
        for bad in bad {
            assert_eq!(Authority::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn origins_are_equal_only_as_a_whole() {
        let site = Site::parse("http://localhost:8080").expect("an origin");
        assert!(site.is_plain_http_at(&Authority::parse("localhost:8080").expect("a host")));
        let others =
            ["https://localhost:8080", "http://localhost", "http://localhost:8081", "http://127.0.0.1:8080"];
        for other in others {
            assert_ne!(Site::parse(other).as_ref(), Some(&site), "{other}");
        }
        for bad in
            ["null", "http://localhost@evil", "HTTP://localhost", "http://LOCALHOST", "http://a/", "ftp://a"]
        {
            assert_eq!(Site::parse(bad), None, "{bad}");
        }
    }
}
