//! Names, turned into addresses that may be reached.
//!
//! The connection is made to the very addresses that were checked here, all of them: a name is never looked up a second
//! time for the same connection, so it cannot mean something else by then.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving as Answering};

use super::{Reach, ranges};

/// A future of a [`Resolver`].
pub type Resolving = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Looks names up. What it answers is checked before anything is connected.
pub trait Resolver: Send + Sync + 'static {
    /// All addresses of a name.
    fn resolve(&self, name: &str) -> Resolving;
}

/// As the operating system does it.
pub(super) struct System;

impl Resolver for System {
    fn resolve(&self, name: &str) -> Resolving {
        let name = name.to_owned();
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// What a name leads to may not be reached.
#[derive(Debug)]
pub(super) struct NotAllowed(pub(super) String);

impl fmt::Display for NotAllowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotAllowed {}

/// A resolver that lets only those addresses through that may be reached.
pub(super) struct Guard {
    pub(super) resolver: Arc<dyn Resolver>,
    pub(super) reach: Reach,
}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Answering {
        let (resolver, reach) = (Arc::clone(&self.resolver), self.reach);
        Box::pin(async move {
            let name = name.as_str();
            let addresses = match is_local_name(name) {
                // These names are nobody's to define (RFC 6761).
                true => vec![IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)],
                false => resolver.resolve(name).await?,
            };
            for address in &addresses {
                reach.allows(*address).map_err(|what| NotAllowed(format!("{name} leads to {what}")))?;
            }
            // The port is the URL's.
            Ok(Box::new(addresses.into_iter().map(|address| SocketAddr::new(address, 0))) as Addrs)
        })
    }
}

impl Reach {
    /// Whether this address may be reached; if not, what it is.
    pub(super) fn allows(self, address: IpAddr) -> Result<(), String> {
        match (ranges::special(address), self) {
            (None, _) => Ok(()),
            (Some(_), Self::Loopback) if ranges::is_loopback(address) => Ok(()),
            (Some(_), Self::Private) if ranges::is_private(address) => Ok(()),
            (Some(what), _) => Err(format!("{address}, {what}")),
        }
    }
}

/// Whether a name means this machine, whatever a resolver says.
pub(super) fn is_local_name(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_networks_are_reached_only_where_somebody_said_so() {
        for text in ["10.0.0.1", "172.20.0.1", "192.168.7.7", "fd00::7"] {
            let address = text.parse().expect("an address");
            assert_eq!(Reach::Private.allows(address), Ok(()), "{text}");
            assert!(
                Reach::Public.allows(address).is_err() && Reach::Loopback.allows(address).is_err(),
                "{text}"
            );
        }
        assert_eq!(Reach::of("https://issuer.example").with_private(true), Reach::Private);
        assert_eq!(Reach::of("https://issuer.example").with_private(false), Reach::Public);
        assert_eq!(Reach::of("http://localhost:9000").with_private(true), Reach::Loopback);
    }
}
