//! A connection that is not woken for what it has just done.
//!
//! Whenever a piece of a body is taken, hyper wakes the task of its connection, in case there is more to read.
//! Mostly that piece was all of the body, and the one who took it runs on that very task: it would be polled once
//! more for every request, and find nothing to do. Wakes are held back while a piece is taken, on this thread
//! and by nobody else; unless that was the end of the body, they are made up for at once.

use std::cell::Cell;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

thread_local! {
    /// Whether a piece is being taken on this thread, and if so, whether a connection was to be woken meanwhile.
    static TAKING: Cell<Option<bool>> = const { Cell::new(None) };
}

/// Wakes a connection, except while a piece of a body is taken.
struct Alarm(Waker);

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        match TAKING.get() {
            None => self.0.wake_by_ref(),
            Some(_) => TAKING.set(Some(true)),
        }
    }
}

/// How a connection is polled so that its bodies can be taken quietly.
#[derive(Default)]
pub(super) struct Quietly {
    /// The task's waker, and ours around it. Tasks have one and the same for all of their life.
    wakers: Option<(Waker, Waker)>,
}

impl Quietly {
    pub(super) fn poll<F: Future>(
        &mut self,
        connection: Pin<&mut F>,
        cx: &mut Context<'_>,
    ) -> Poll<F::Output> {
        let known = self.wakers.take().filter(|(task, _)| task.will_wake(cx.waker()));
        let (_, waker) = self.wakers.insert(known.unwrap_or_else(|| {
            let alarm = Waker::from(Arc::new(Alarm(cx.waker().clone())));
            (cx.waker().clone(), alarm)
        }));
        connection.poll(&mut Context::from_waker(waker))
    }
}

/// A piece is being taken for as long as this is here.
struct Taking;

impl Taking {
    fn begin() -> Self {
        TAKING.set(Some(false));
        Self
    }

    /// Whether a connection was to be woken.
    fn was_woken() -> bool {
        TAKING.get() == Some(true)
    }
}

impl Drop for Taking {
    fn drop(&mut self) {
        TAKING.set(None);
    }
}

/// The body of a request, taken quietly.
pub(super) struct Quiet(pub(super) Incoming);

impl Body for Quiet {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let taking = Taking::begin();
        let frame = Pin::new(&mut self.0).poll_frame(cx);
        let was_woken = Taking::was_woken();
        drop(taking);
        let is_over = matches!(frame, Poll::Ready(Some(Ok(_)))) && self.0.is_end_stream();
        if was_woken && !is_over {
            cx.waker().wake_by_ref();
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }
}
