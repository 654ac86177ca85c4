//! A look at the certificate of an address that is not accepted: who signed it. It is never trusted, and nothing is sent there.

use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, Error, SignatureScheme};

/// Sequence, as DER has it, and the tag of a certificate's version.
const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;

/// Whether the certificate at this address signed itself; `None` if it cannot be seen.
pub(super) async fn is_self_signed(host: &str, address: SocketAddr, patience: Duration) -> Option<bool> {
    let name = ServerName::try_from(host.to_owned()).ok()?;
    let seen = tokio::task::spawn_blocking(move || look(name, address, patience));
    seen.await.ok()?.as_deref().and_then(signed_itself)
}

/// Begins a handshake, keeps the certificate and refuses it.
fn look(name: ServerName<'static>, address: SocketAddr, patience: Duration) -> Option<Vec<u8>> {
    let seen = Arc::new(Looker { seen: Mutex::default(), schemes: schemes()? });
    let verifier: Arc<dyn ServerCertVerifier> = Arc::<Looker>::clone(&seen);
    let config =
        ClientConfig::builder().dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth();
    let mut stream = TcpStream::connect_timeout(&address, patience).ok()?;
    stream.set_read_timeout(Some(patience)).ok()?;
    stream.set_write_timeout(Some(patience)).ok()?;
    let mut connection = ClientConnection::new(Arc::new(config), name).ok()?;
    // It ends with our own refusal.
    let _ = connection.complete_io(&mut stream);
    seen.seen.lock().unwrap_or_else(PoisonError::into_inner).take()
}

fn schemes() -> Option<Vec<SignatureScheme>> {
    let provider = CryptoProvider::get_default()?;
    Some(provider.signature_verification_algorithms.supported_schemes())
}

/// Accepts nothing.
#[derive(Debug)]
struct Looker {
    seen: Mutex<Option<Vec<u8>>>,
    schemes: Vec<SignatureScheme>,
}

impl ServerCertVerifier for Looker {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(certificate.to_vec());
        Err(Error::General("only looking".to_owned()))
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("only looking".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("only looking".to_owned()))
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes.clone()
    }
}

/// Whether issuer and subject are the same, byte by byte (RFC 5280, section 4.1).
fn signed_itself(certificate: &[u8]) -> Option<bool> {
    let (_, whole, _) = element(certificate)?;
    let (_, signed, _) = element(whole)?;
    let mut rest = signed;
    if rest.first() == Some(&VERSION) {
        rest = element(rest)?.2;
    }
    // Serial number and algorithm; then who signed, how long it counts, and whom it is about.
    rest = element(element(rest)?.2)?.2;
    let (kind, issuer, rest) = element(rest)?;
    let (_, subject, _) = element(element(rest)?.2)?;
    (kind == SEQUENCE).then_some(issuer == subject)
}

/// The first element of DER: its tag, what is in it, and what follows it.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), rest)
        }
        _ => return None,
    };
    let (inner, after) = rest.split_at_checked(length)?;
    Some((tag, inner, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_certificate_says_nothing() {
        for bytes in
            [&[][..], &[0x30], &[0x30, 0x84, 0xff, 0xff, 0xff, 0xff], &[0x30, 2, 0x30, 0], &[0xff; 9]]
        {
            assert_eq!(signed_itself(bytes), None, "{bytes:?}");
        }
    }
}
