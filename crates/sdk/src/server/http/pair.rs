//! HTTP+SSE, the transport of 2024-11-05: a stream for what the server says, and a second address to post to.
//!
//! Each stream is a connection like one over a pipe, with the same loop; it is polled by whoever sends the
//! stream. Closing the stream ends the session. The second address is the session's secret, and good for
//! nobody but the principal who opened it. What a message may do is decided by its own proof, not by the stream's.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context as TaskContext, Poll, Waker};

use bytes::Bytes;
use contexture_core::http::sse;
use http::{Response, StatusCode};

use super::body::{Body, Events};
use super::reply;
use super::table::{Permit, Place, Table};
use crate::Policy;
use crate::json_rpc::lines as lines_of;
use crate::server::Principal;
use crate::server::bus::Membership;
use crate::server::connection::Connection;
use crate::server::operation::BoxFuture;
use crate::server::seal::fresh_id;
use crate::server::wire::Wire;
use crate::transport::{Incoming, Transport};

/// Messages that were posted and not looked at yet.
const INBOX: usize = 256;

/// All open streams of this kind.
pub(super) struct Pairs {
    open: Mutex<HashMap<String, (Principal, Arc<Channel>)>>,
    /// Bytes of messages of one session that were not looked at yet.
    unread_bytes: usize,
}

/// Both directions of one session.
#[derive(Default)]
struct Channel {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Each with who sent it.
    inbox: VecDeque<(Bytes, Principal)>,
    inbox_bytes: usize,
    /// Who sent what was taken out last.
    sender: Option<Principal>,
    outbox: Vec<u8>,
    reader: Option<Waker>,
    closed: bool,
}

impl Channel {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The server's end of it.
struct PairTransport(Arc<Channel>);

impl Transport for PairTransport {
    fn poll_receive(&mut self, cx: &mut TaskContext<'_>) -> Poll<io::Result<Incoming>> {
        let mut state = self.0.lock();
        if let Some((message, sender)) = state.inbox.pop_front() {
            state.inbox_bytes -= message.len();
            state.sender = Some(sender);
            return Poll::Ready(Ok(Incoming::Message(message)));
        }
        state.reader = Some(cx.waker().clone());
        Poll::Pending
    }

    fn send(&mut self, lines: &mut Vec<u8>) {
        self.0.lock().outbox.append(lines);
    }

    fn unsent(&self) -> usize {
        self.0.lock().outbox.len()
    }

    fn poll_flush(&mut self, _cx: &mut TaskContext<'_>) -> Poll<io::Result<()>> {
        // The stream that polls this takes what there is as soon as it can.
        Poll::Ready(Ok(()))
    }

    fn poll_close(&mut self, _cx: &mut TaskContext<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn principal(&self) -> Option<Principal> {
        self.0.lock().sender.clone()
    }
}

impl Pairs {
    pub(super) fn new(policy: &Policy) -> Self {
        Self { open: Mutex::default(), unread_bytes: policy.unsent_bytes }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, (Principal, Arc<Channel>)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a stream; its first event says where to post.
    pub(super) fn get(
        self: &Arc<Self>,
        table: &Arc<Table>,
        principal: Principal,
        post_to: &str,
    ) -> Response<Body> {
        let Some(permit) = table.stream() else {
            return reply::busy(StatusCode::SERVICE_UNAVAILABLE, "too many streams are open");
        };
        let policy = &table.serving.policy;
        let place = match table.place(&principal) {
            Ok(place) => place,
            Err(full) => return full.refusal(),
        };
        let Ok(id) = fresh_id() else {
            return reply::busy(StatusCode::SERVICE_UNAVAILABLE, "no session can be opened now");
        };
        let channel = Arc::new(Channel::default());
        self.lock().insert(id.clone(), (principal.identity(), Arc::clone(&channel)));
        let mut first = Vec::new();
        sse::write_named("endpoint", format!("{post_to}?session={id}").as_bytes(), &mut first);
        // Only to hear that the server is being stopped.
        let stopping = Wire::new(policy, None);
        let membership = Membership::new(&table.serving.registry, &stopping, &principal);
        let transport = PairTransport(Arc::clone(&channel));
        let connection = Connection::new(Arc::clone(&table.serving), transport, principal).legacy_only();
        let stop = stopped(Arc::clone(&stopping));
        reply::events(PairEvents {
            id,
            pairs: Arc::clone(self),
            channel,
            serving: Some(Box::pin(async move { drop(connection.serve(stop).await) })),
            first,
            _membership: membership,
            pulse: super::streams::Comments::new(policy.stream_pulse),
            _permit: permit,
            _place: place,
        })
    }

    /// Takes a message for a stream.
    pub(super) fn post(&self, id: Option<&str>, principal: Principal, message: Bytes) -> Response<Body> {
        let open = self.lock();
        let found = id.and_then(|id| open.get(id)).filter(|(owner, _)| *owner == principal);
        let Some((_, channel)) = found else {
            return reply::refused(StatusCode::NOT_FOUND, "there is no such session; open a stream first");
        };
        let mut state = channel.lock();
        if state.closed {
            return reply::refused(StatusCode::NOT_FOUND, "this session is over");
        }
        if state.inbox.len() >= INBOX || state.inbox_bytes > self.unread_bytes {
            return reply::busy(StatusCode::TOO_MANY_REQUESTS, "earlier messages wait to be read");
        }
        state.inbox_bytes += message.len();
        state.inbox.push_back((message, principal));
        let reader = state.reader.take();
        drop(state);
        if let Some(reader) = reader {
            reader.wake();
        }
        reply::accepted()
    }
}

async fn stopped(wire: Arc<Wire>) {
    std::future::poll_fn(|cx| {
        wire.register(cx.waker());
        if wire.take_changes().stopping { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

/// The stream of one session.
struct PairEvents {
    id: String,
    pairs: Arc<Pairs>,
    channel: Arc<Channel>,
    /// The connection at work; none once it has ended.
    serving: Option<BoxFuture<()>>,
    first: Vec<u8>,
    pulse: super::streams::Comments,
    _membership: Membership,
    _permit: Permit,
    _place: Place,
}

impl Events for PairEvents {
    fn poll_events(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Option<Bytes>> {
        let this = &mut *self;
        let mut out = std::mem::take(&mut this.first);
        if let Some(serving) = &mut this.serving
            && serving.as_mut().poll(cx).is_ready()
        {
            this.serving = None;
        }
        let lines = std::mem::take(&mut this.channel.lock().outbox);
        for line in lines_of(&lines) {
            sse::write_named("message", line, &mut out);
        }
        if this.serving.is_none() && out.is_empty() {
            return Poll::Ready(None);
        }
        if !lines.is_empty() {
            // What was held back for want of room may go on.
            cx.waker().wake_by_ref();
        }
        this.pulse.poll(&mut out, cx);
        super::streams::piece(out)
    }
}

impl Drop for PairEvents {
    fn drop(&mut self) {
        self.channel.lock().closed = true;
        self.pairs.lock().remove(&self.id);
    }
}
