//! The service itself: requests that are in memory go in, responses are read to their end.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use contexture::server::HttpServer;
use http::{Request, StatusCode};
use http_body::{Body, Frame, SizeHint};
use tower_service::Service;

use super::messages::{Era, INITIALIZE, Work, judge};

/// A body in one piece.
struct Whole(Option<Bytes>);

impl Body for Whole {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.take().map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.as_ref().map_or(0, |bytes| bytes.len() as u64))
    }
}

/// Allocations of so many calls, after whatever the era begins with.
pub(crate) fn allocations(era: Era, work: Work, calls: u64) -> u64 {
    let server = super::server().into_http().expect("a server");
    let mut server = if era == Era::Legacy { server.stateless() } else { server };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let session = if era == Era::Session { open(&mut server).await } else { None };
        let asked: Vec<String> = (1..=calls).map(|id| work.call(era, id)).collect();
        let requests: Vec<_> = asked.iter().map(|body| post(era, work, session.as_deref(), body)).collect();
        // Answers are kept as they come, in memory that was there before: ten steps are a dozen pieces at most.
        let mut said = Vec::with_capacity(16 * requests.len());
        let counted = measured(async {
            for request in requests {
                send(&mut server, request, &mut said).await;
            }
        })
        .await;
        let said = said.concat();
        let messages = said.split(|&byte| byte == b'\n').filter_map(message);
        judge(&asked, messages);
        counted
    })
}

/// Allocations of a future that never waits for anything.
async fn measured(work: impl Future<Output = ()>) -> u64 {
    let mut work = std::pin::pin!(work);
    std::future::poll_fn(|cx| {
        let mut done = false;
        let counted = allocation_counter::measure(|| done = work.as_mut().poll(cx).is_ready());
        assert!(done, "everything is there from the beginning");
        Poll::Ready(counted.count_total)
    })
    .await
}

async fn open(server: &mut HttpServer) -> Option<String> {
    let request = post(Era::Legacy, Work::Echo(0), None, INITIALIZE);
    let Ok(response) = server.call(request).await;
    let id = response.headers().get("mcp-session-id")?.to_str().ok()?;
    Some(id.to_owned())
}

fn post(era: Era, work: Work, session: Option<&str>, body: &str) -> Request<Whole> {
    let mut request = Request::post("/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("content-length", body.len());
    request = match era {
        Era::Modern => request
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", "tools/call")
            .header("mcp-name", work.tool()),
        _ => request.header("mcp-protocol-version", "2025-06-18"),
    };
    if let Some(session) = session {
        request = request.header("mcp-session-id", session);
    }
    request.body(Whole(Some(shared(body)))).expect("a request")
}

/// A body as hyper gives it: cut out of the buffer that its head was in, and so shared from the beginning.
fn shared(body: &str) -> Bytes {
    let mut buffer = BytesMut::from("head");
    buffer.extend_from_slice(body.as_bytes());
    buffer.split_off("head".len()).freeze()
}

/// Answers are told apart by line breaks, which only events have of their own.
async fn send(server: &mut HttpServer, request: Request<Whole>, said: &mut Vec<Bytes>) {
    let Ok(response) = server.call(request).await;
    assert_eq!(response.status(), StatusCode::OK);
    let mut body = std::pin::pin!(response.into_body());
    while let Some(Ok(frame)) = std::future::poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
        said.extend(frame.into_data());
    }
    said.push(Bytes::from_static(b"\n"));
}

/// The message of a line, whether of an event or of an answer that came alone.
fn message(line: &[u8]) -> Option<&[u8]> {
    let message = line.strip_prefix(b"data: ").unwrap_or(line);
    message.starts_with(b"{").then_some(message)
}
