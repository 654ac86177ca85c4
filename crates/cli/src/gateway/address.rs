//! Addresses that are listened on, and those that others know us by.

use std::net::SocketAddr;

use crate::exit::Failure;

/// The names of this machine for itself.
pub(super) const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Refuses addresses that other machines can reach.
pub(super) async fn must_be_this_machine(address: &str) -> Result<(), Failure> {
    if is_this_machine(address).await? {
        return Ok(());
    }
    let refusal =
        format!("{address} can be reached from other machines, and nobody would have to say who they are");
    Err(Failure::usage(refusal).hint(Some(
        "--protect ISSUER asks for tokens; --allow-anonymous lets everybody in; 127.0.0.1 is this machine only".to_owned(),
    )))
}

/// Whether no other machine can reach this address.
pub(super) async fn is_this_machine(address: &str) -> Result<bool, Failure> {
    let found = tokio::net::lookup_host(address).await.map_err(|error| {
        let hint = "--listen takes a host and a port, such as 127.0.0.1:8000".to_owned();
        Failure::usage(format!("cannot listen on {address}: {error}")).hint(Some(hint))
    })?;
    let found: Vec<SocketAddr> = found.collect();
    Ok(found.iter().all(|address| address.ip().is_loopback()))
}

/// Host and port of a URL.
pub(super) fn authority(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    rest.split(['/', '?', '#']).next().filter(|authority| !authority.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn this_machine_is_no_other() {
        for address in ["127.0.0.1:0", "[::1]:0", "127.8.8.8:1"] {
            assert!(must_be_this_machine(address).await.is_ok(), "{address}");
        }
        for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:80", "nonsense"] {
            assert!(must_be_this_machine(address).await.is_err(), "{address}");
        }
    }

    #[test]
    fn the_authority_is_what_stands_before_the_path() {
        assert_eq!(authority("https://mcp.example.com:8443/mcp"), Some("mcp.example.com:8443"));
        assert_eq!(authority("https:///mcp"), None);
    }
}
