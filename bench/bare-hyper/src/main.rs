//! The limit of HTTP: hyper's HTTP/1.1 server, one thread, with canned answers. It parses no JSON, looks at no
//! header and keeps no session; what it costs is what hyper and the sockets cost. Calls are answered byte for byte
//! as by ours. As a client it is hyper's client with canned requests.

mod client;

use bytes::Bytes;
use canned::{Canned, HTTP, Load, Options, Outcome, Said};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::runtime::Builder;

const USAGE: &str = "usage: bare-hyper http PORT [--stateless] [--tuned] [--tools N]
       bare-hyper client 2025-06-18|2026-07-28 http URL CALLS WINDOW [--tuned]";
/// As long as one of ours, and the same for everybody.
const SESSION: &str = "0123456789abcdef012345";

struct Bare {
    canned: Canned,
    stateless: bool,
}

fn main() -> Outcome {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let runtime = Builder::new_current_thread().enable_all().build()?;
    match args.as_slice() {
        [mode, port, rest @ ..] if mode == "http" => {
            runtime.block_on(serve(port.parse()?, &Options::read(rest).ok_or(USAGE)?))
        }
        [mode, rest @ ..] if mode == "client" => {
            client::run(&runtime, Load::read("http", rest).ok_or(USAGE)?)
        }
        _ => Err(USAGE.into()),
    }
}

async fn serve(port: u16, options: &Options) -> Outcome {
    let bare = Arc::new(Bare { canned: Canned::new(HTTP, options.tools), stateless: options.stateless });
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let bare = Arc::clone(&bare);
        let service = service_fn(move |request| answer(Arc::clone(&bare), request));
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

async fn answer(bare: Arc<Bare>, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let response = match *request.method() {
        Method::POST => bare.post(&whole(request.into_body()).await),
        Method::DELETE => empty(StatusCode::OK),
        _ => empty(StatusCode::METHOD_NOT_ALLOWED),
    };
    Ok(response)
}

impl Bare {
    fn post(&self, body: &[u8]) -> Response<Full<Bytes>> {
        let mut reply = Vec::with_capacity(512);
        let said = self.canned.answer(body, &mut reply);
        if said == Said::Nothing {
            return empty(StatusCode::ACCEPTED);
        }
        let mut response = Response::new(Full::new(Bytes::from(reply)));
        let headers = response.headers_mut();
        let kind = if said == Said::Several { "text/event-stream" } else { "application/json" };
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        if said == Said::Several {
            headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
            headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
        }
        if said == Said::Hello && !self.stateless {
            headers.insert("mcp-session-id", HeaderValue::from_static(SESSION));
        }
        response
    }
}

fn empty(status: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = status;
    response
}

/// The body, which is one frame if it is short and then is not copied.
async fn whole(mut body: Incoming) -> Bytes {
    let expected = usize::try_from(body.size_hint().lower()).unwrap_or_default();
    let first = frame(&mut body).await.unwrap_or_default();
    if body.is_end_stream() {
        return first;
    }
    let mut all = Vec::with_capacity(expected.max(first.len()));
    all.extend_from_slice(&first);
    while let Some(more) = frame(&mut body).await {
        all.extend_from_slice(&more);
    }
    all.into()
}

/// The next piece. A body that breaks off is as good as one that ends: the answer will not be the right one.
async fn frame(body: &mut Incoming) -> Option<Bytes> {
    body.frame().await?.ok().map(|frame| frame.into_data().unwrap_or_default())
}
