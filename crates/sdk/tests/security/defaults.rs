//! What holds when nobody has set anything.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use contexture::{Client, Error, Server, tool};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A certificate for `localhost` and `127.0.0.1` that is valid until 2126, signed by nobody but itself.
const CERTIFICATE: &str = "MIIBsTCCAVagAwIBAgIUQVKOp6agO8OwuLrE3adeAaAgSHwwCgYIKoZIzj0EAwIwIDEeMBwGA1UEAwwVdm91Y2hlZCBmb3IgYnkg\
    bm9ib2R5MCAXDTI2MTExNTE2MTQ0OFoYDzIxMjYxMDIyMTYxNDQ4WjAgMR4wHAYDVQQDDBV2b3VjaGVkIGZvciBieSBub2JvZHkw\
    WTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQJxikJ74umBLT53exlRNQ9GB3gVgKYIvBEwIHYcrE3La/pkjq5HXwo6jZCZsyjww3h\
    J6/RC6q1eEmudK7XgYhuo2wwajAdBgNVHQ4EFgQUSMQWcphwh9z9hW1FlDY9PM/irt4wHwYDVR0jBBgwFoAUSMQWcphwh9z9hW1F\
    lDY9PM/irt4wGgYDVR0RBBMwEYIJbG9jYWxob3N0hwR/AAABMAwGA1UdEwEB/wQCMAAwCgYIKoZIzj0EAwIDSQAwRgIhALCVzM/R\
    JBUxtizHbNZGAkkXsj0d1b5sDSwgiJbg4zDSAiEAyt7XPP+3NDuXaaaRiuhRQ7dpdwpma8zFCAT1lG67e3E=";
/// Its key, which is good for nothing else.
const KEY: &str = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg0sogu7qjlnDOXOHqH+YV4hGzATV0ENP5PlhXf+d5GiGhRANCAAQJ\
    xikJ74umBLT53exlRNQ9GB3gVgKYIvBEwIHYcrE3La/pkjq5HXwo6jZCZsyjww3hJ6/RC6q1eEmudK7XgYhu";

/// Takes one connection with a certificate that nobody vouches for. What came of it, and what was said.
fn vouched_by_nobody(listener: &TcpListener) -> (String, Vec<u8>) {
    let decode = |text: &str| BASE64_STANDARD.decode(text).expect("base64");
    let certificate = CertificateDer::from(decode(CERTIFICATE));
    let key = PrivateKeyDer::try_from(decode(KEY)).expect("a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions of TLS")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .expect("a certificate with its key");
    let mut connection = rustls::ServerConnection::new(Arc::new(config)).expect("a server of TLS");
    let (mut stream, _) = listener.accept().expect("a client");
    let mut said = Vec::new();
    let mut tls = rustls::Stream::new(&mut connection, &mut stream);
    let outcome = tls.flush().and_then(|()| tls.read_to_end(&mut said));
    (outcome.map_or_else(|error| error.to_string(), |_| "agreed".to_owned()), said)
}

// covers: SEC-IMPL-BEST-PRACTICES
#[tokio::test]
async fn a_certificate_that_nobody_vouches_for_is_refused() {
    for host in ["localhost", "127.0.0.1"] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let served = tokio::task::spawn_blocking(move || vouched_by_nobody(&listener));
        let builder = Client::builder().header("authorization", "Bearer secret");
        let error = builder.connect(format!("https://{host}:{port}/mcp")).await.expect_err("refused");
        assert!(matches!(error, Error::Transport(_)), "{error:?}");
        let (outcome, said) = served.await.expect("served");
        // The client itself says what is wrong: that it does not know who signed this.
        assert!(outcome.contains("UnknownCA") || outcome.contains("UnknownIssuer"), "{outcome}");
        assert!(said.is_empty(), "not a byte was meant for this server");
    }
}

/// The status of an answer to a request with these headers.
async fn status(port: u16, headers: &str) -> u16 {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"raw","version":"0"}}}"#;
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.expect("it listens");
    let head = format!(
        "POST /mcp HTTP/1.1\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n\
         content-length: {}\r\nconnection: close\r\n{headers}\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.expect("is sent");
    stream.write_all(body.as_bytes()).await.expect("is sent");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("an answer");
    let answer = String::from_utf8_lossy(&answer);
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_else(|| panic!("{answer}"))
}

// covers: SEC-IMPL-BEST-PRACTICES
#[tokio::test]
async fn a_server_on_every_address_still_answers_to_this_machine_only() {
    for address in ["127.0.0.1:0", "0.0.0.0:0"] {
        let server = Server::new("default", "1.0.0").tool(tool("t").handler(|| async { "t" }));
        let bound = server.into_http().expect("a server").bind(address).await.expect("a port");
        let port = bound.address().port();
        let serving = tokio::spawn(bound.serve_until(std::future::pending()));
        let own = format!("127.0.0.1:{port}");
        let cases = [
            (format!("host: {own}\r\n"), 200),
            (format!("host: localhost:{port}\r\n"), 200),
            (format!("host: {own}\r\norigin: http://{own}\r\n"), 200),
            (format!("host: {own}\r\norigin: https://evil.example\r\n"), 403),
            (format!("host: {own}\r\norigin: null\r\n"), 403),
            (format!("host: evil.example:{port}\r\n"), 403),
            (format!("host: 0.0.0.0:{port}\r\n"), 403),
            (format!("host: 192.0.2.1:{port}\r\norigin: http://192.0.2.1:{port}\r\n"), 403),
        ];
        for (headers, expected) in cases {
            assert_eq!(status(port, &headers).await, expected, "{address}: {headers}");
        }
        serving.abort();
    }
}
