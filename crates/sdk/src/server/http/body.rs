//! Bodies: what a request brings, bounded in size and time, and what a response carries.
//!
//! A response is whole, or a stream of events that is asked for more as fast as the client reads.

use std::convert::Infallible;
use std::fmt;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body::{Body as HttpBody, Frame, SizeHint};
use tokio::time::Sleep;

use super::connection::Open;

/// The body of a response.
pub struct Body {
    kind: Kind,
    /// Its connection is in use for as long as this is here.
    open: Option<Open>,
}

enum Kind {
    Empty,
    Whole(Bytes),
    Events(Pin<Box<dyn Events>>),
}

/// Events, as they come.
pub(super) trait Events: Send {
    /// The next piece of the stream; none at its end.
    fn poll_events(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>>;
}

impl Body {
    fn new(kind: Kind) -> Self {
        Self { kind, open: None }
    }

    /// Keeps a connection in use until this is sent.
    pub(super) fn holds(&mut self, open: Option<Open>) {
        self.open = open;
    }

    pub(super) fn empty() -> Self {
        Self::new(Kind::Empty)
    }

    pub(super) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self::new(Kind::Whole(bytes.into()))
    }

    pub(super) fn events(events: impl Events + 'static) -> Self {
        Self::new(Kind::Events(Box::pin(events)))
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = match &mut self.kind {
            Kind::Empty => None,
            Kind::Whole(bytes) => {
                let bytes = std::mem::take(bytes);
                self.kind = Kind::Empty;
                Some(bytes)
            }
            Kind::Events(events) => match events.as_mut().poll_events(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(next) => next,
            },
        };
        if next.is_none() {
            self.kind = Kind::Empty;
        }
        Poll::Ready(next.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.kind, Kind::Empty)
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Empty => SizeHint::with_exact(0),
            Kind::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Kind::Events(_) => SizeHint::default(),
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            Kind::Empty => "Body::Empty",
            Kind::Whole(_) => "Body::Whole",
            Kind::Events(_) => "Body::Events",
        })
    }
}

/// Why a body was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unread {
    TooLarge,
    TooSlow,
    Broken,
}

/// Reads a body of at most `limit` bytes within `time`.
pub(super) async fn read<B>(body: B, limit: usize, time: Duration) -> Result<Bytes, Unread>
where
    B: HttpBody<Data = Bytes>,
{
    let promised = match usize::try_from(body.size_hint().lower()) {
        Ok(promised) if promised <= limit => promised,
        _ => return Err(Unread::TooLarge),
    };
    let mut body = pin!(body);
    let mut late: Option<Pin<Box<Sleep>>> = None;
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    loop {
        let frame = std::future::poll_fn(|cx| poll_in_time(body.as_mut(), &mut late, time, cx)).await?;
        let Some(frame) = frame else { break };
        let Ok(data) = frame.into_data() else { continue };
        if first.len() + rest.len() + data.len() > limit {
            return Err(Unread::TooLarge);
        }
        // Most bodies arrive in one piece, which is kept as it is. Others have their room made before the next
        // piece comes: after it, the room of the body before this one may be in use for pieces.
        if first.is_empty() && rest.is_empty() && data.len() >= promised {
            first = data;
        } else {
            if rest.is_empty() {
                // Room for all of it at once: to grow would be to hold a large body twice.
                rest.reserve(promised);
                rest.extend_from_slice(&std::mem::take(&mut first));
            }
            rest.extend_from_slice(&data);
        }
        if body.is_end_stream() {
            break;
        }
    }
    Ok(if rest.is_empty() { first } else { rest.freeze() })
}

type Framed = Result<Option<Frame<Bytes>>, Unread>;

fn poll_in_time<B: HttpBody<Data = Bytes>>(
    body: Pin<&mut B>,
    late: &mut Option<Pin<Box<Sleep>>>,
    time: Duration,
    cx: &mut Context<'_>,
) -> Poll<Framed> {
    match body.poll_frame(cx) {
        Poll::Ready(frame) => Poll::Ready(frame.transpose().map_err(|_| Unread::Broken)),
        Poll::Pending => {
            let late = late.get_or_insert_with(|| Box::pin(tokio::time::sleep(time)));
            late.as_mut().poll(cx).map(|()| Err(Unread::TooSlow))
        }
    }
}
