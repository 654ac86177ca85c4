//! What is wrong with the encryption of an address, told apart: whose certificate, for whom, for how long.

use std::error::Error as _;
use std::time::Duration;

use reqwest::Url;
use rustls::{CertificateError, Error};

use super::super::report::Report;
use super::super::step::Step;
use super::certificate::is_self_signed;

/// TLS needs to know who does its arithmetic, once in a process.
pub(super) fn choose_cryptography() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Somebody else may be faster, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
}

/// Whether an address is this machine, by what is written there.
pub(super) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// What helps where there is no TLS at all.
const NO_TLS: &str = "does this port speak TLS? Write http:// if it is on this machine and does not, or name the port of https";

/// It works, or there is none.
pub(super) fn passed(report: &mut Report, url: &Url) {
    if url.scheme() == "https" {
        report.passed(Step::Tls, "a certificate that this machine trusts, for this name, and of today");
    } else if is_loopback(url) {
        report.passed(Step::Tls, "not encrypted, which is fine on this machine");
    } else {
        let next = "use https: others can read and change what is said";
        report.warn(Step::Tls, "not encrypted", next);
    }
}

/// A request that got no answer.
pub(super) async fn lost<T>(
    report: &mut Report,
    url: &Url,
    error: &reqwest::Error,
    patience: Duration,
) -> Option<T> {
    if let Some(error) = cause(error) {
        let signed = match error {
            Error::InvalidCertificate(_) => signed_itself(url, patience).await,
            _ => None,
        };
        let (seen, next) = explain(error, signed);
        return report.fail(Step::Tls, seen, next);
    }
    let words = causes(error);
    // The port is open: what fails on the way to a connection is the handshake.
    if url.scheme() == "https" && error.is_connect() {
        let seen = format!("the handshake of TLS does not come about: {words}");
        return report.fail(Step::Tls, seen, NO_TLS);
    }
    passed(report, url);
    let next = "does this port speak HTTP, and plain or encrypted as the URL says?";
    report.fail(Step::Answer, format!("the connection ends without an answer: {words}"), next)
}

/// Whether the certificate there signed itself, if it can be seen.
async fn signed_itself(url: &Url, patience: Duration) -> Option<bool> {
    let host = url.host_str()?.trim_matches(['[', ']']);
    let mut found = tokio::net::lookup_host((host, url.port_or_known_default()?)).await.ok()?;
    is_self_signed(host, found.next()?, patience).await
}

/// The words of all causes. The address is not among them: it may hold a secret.
fn causes(error: &reqwest::Error) -> String {
    let mut words = Vec::new();
    let mut next = error.source();
    while let Some(error) = next {
        words.push(error.to_string());
        next = error.source();
    }
    if words.is_empty() { "no reason given".to_owned() } else { words.join(": ") }
}

/// What TLS itself says, wherever it is among the causes.
fn cause(error: &reqwest::Error) -> Option<&Error> {
    let mut next = error.source();
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<Error>() {
            return Some(found);
        }
        // What an error of I/O is made of is not among its causes.
        let inner = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        if let Some(found) = inner.and_then(|inner| inner.downcast_ref::<Error>()) {
            return Some(found);
        }
        next = match inner {
            Some(inner) => Some(inner as &(dyn std::error::Error + 'static)),
            None => error.source(),
        };
    }
    None
}

/// `signed` says whether the certificate signed itself, where that is known.
fn explain(error: &Error, signed: Option<bool>) -> (String, &'static str) {
    let Error::InvalidCertificate(wrong) = error else {
        return match error {
            Error::InvalidMessage(_) => ("there is no TLS on this port".to_owned(), NO_TLS),
            other => (
                format!("TLS fails: {other}"),
                "its operator has to mend its TLS; it needs version 1.2 or 1.3",
            ),
        };
    };
    match wrong {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => (
            "its certificate has expired".to_owned(),
            "its operator has to renew it; is this machine's clock right?",
        ),
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            ("its certificate is not valid yet".to_owned(), "is this machine's clock right?")
        }
        CertificateError::NotValidForName => ("its certificate is for another name".to_owned(), OTHER_NAME),
        CertificateError::NotValidForNameContext { presented, .. } => {
            (format!("its certificate is for another name: {}", presented.join(", ")), OTHER_NAME)
        }
        CertificateError::Revoked => {
            ("its certificate was revoked".to_owned(), "its operator has to get another")
        }
        _ if signed == Some(true) => ("its certificate is self-signed".to_owned(), UNKNOWN),
        CertificateError::UnknownIssuer => {
            let words = match signed {
                Some(_) => "its certificate is of an authority that this machine does not know",
                None => "its certificate is self-signed, or of an authority that this machine does not know",
            };
            (words.to_owned(), UNKNOWN)
        }
        other => (
            format!("its certificate is not accepted: {other}"),
            "its operator has to get another certificate",
        ),
    }
}

const OTHER_NAME: &str =
    "use a name that the certificate is for; or its operator has to get one for this name";
const UNKNOWN: &str = "add the certificate, or its authority's, to those that this machine trusts (SSL_CERT_FILE names a file of them)";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_are_told_apart() {
        let unknown = CertificateError::UnknownIssuer;
        for (wrong, signed, words) in [
            (CertificateError::Expired, Some(true), "has expired"),
            (CertificateError::NotValidYet, None, "not valid yet"),
            (CertificateError::NotValidForName, Some(true), "another name"),
            (CertificateError::Revoked, None, "revoked"),
            (CertificateError::BadEncoding, Some(true), "is self-signed"),
            (unknown.clone(), Some(true), "is self-signed"),
            (unknown.clone(), Some(false), "of an authority"),
            (unknown, None, "is self-signed, or of an authority"),
        ] {
            let (seen, _) = explain(&Error::InvalidCertificate(wrong), signed);
            assert!(seen.contains(words), "{seen}");
        }
    }
}
