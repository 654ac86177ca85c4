//! What HTTP clients of this crate have in common: the cryptography of TLS, and what is this machine.

use url::{Host, Url};

/// One provider for the whole process, whoever comes first.
pub fn choose_cryptography() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Somebody else may have been quicker.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
}

/// Whether an address is this machine, by what is written there. What stays here has no business with a proxy.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
        None => false,
    }
}
