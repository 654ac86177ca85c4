//! The limit: hyper's HTTP/1.1 server, one thread, with an answer made by copying the id and the
//! message out of the request. It parses no JSON, looks at no header and keeps no session; what it
//! costs is what hyper and the sockets cost. The answers are byte for byte those of ours.
//!
//! usage: bare-hyper PORT

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use tokio::net::TcpListener;

/// What a call is answered with around the id and the message: in the legacy era, and in the modern one.
const LEGACY: [&[u8]; 2] = [br#","result":{"content":[{"type":"text","text":""#, br#""}]}}"#];
const MODERN: [&[u8]; 2] = [
    LEGACY[0],
    concat!(
        r#""}],"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":"#,
        r#"{"name":"echo","version":"1.0.0"}}}}"#
    )
    .as_bytes(),
];
const HANDSHAKE: &[u8] = concat!(
    r#","result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"#,
    r#""serverInfo":{"name":"bare-hyper","version":"1.0.0"}}}"#
)
.as_bytes();

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let port = std::env::args().nth(1).ok_or("usage: bare-hyper PORT")?.parse()?;
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer)));
    }
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let body = whole(request.into_body()).await;
    let Some(id) = between(&body, b"\"id\":", b',') else {
        let mut accepted = Response::new(Full::default());
        *accepted.status_mut() = StatusCode::ACCEPTED;
        return Ok(accepted);
    };
    let mut reply = Vec::with_capacity(512);
    reply.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    reply.extend_from_slice(id);
    let message = between(&body, b"\"message\":\"", b'"');
    match message {
        Some(message) => {
            // Only the modern era's calls end with metadata.
            let [before, after] = if body.ends_with(b"\"}}}") { LEGACY } else { MODERN };
            reply.extend_from_slice(before);
            reply.extend_from_slice(message);
            reply.extend_from_slice(after);
        }
        None => reply.extend_from_slice(HANDSHAKE),
    }
    let mut response = Response::new(Full::new(Bytes::from(reply)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if message.is_none() {
        headers.insert("mcp-session-id", HeaderValue::from_static("0123456789abcdef012345"));
    }
    Ok(response)
}

/// The body, which is one frame under load and then is not copied.
async fn whole(mut body: Incoming) -> Bytes {
    let Some(Ok(first)) = body.frame().await else { return Bytes::new() };
    let first = first.into_data().unwrap_or_default();
    if body.is_end_stream() {
        return first;
    }
    let rest = body.collect().await.map(|all| all.to_bytes()).unwrap_or_default();
    [first, rest].concat().into()
}

fn between<'a>(text: &'a [u8], before: &[u8], after: u8) -> Option<&'a [u8]> {
    let start = text.windows(before.len()).position(|w| w == before)? + before.len();
    let length = text[start..].iter().position(|b| *b == after)?;
    Some(&text[start..start + length])
}
