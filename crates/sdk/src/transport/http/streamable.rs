//! A server at a URL, as a transport.
//!
//! Every message is a POST of its own; what the server says unasked comes on one stream that is opened with GET.
//! Nothing is sent after `notifications/initialized` before the server has taken it.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use ::http::{HeaderMap, HeaderValue, Method as Verb};
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::{AbortHandle, BoxFuture, abortable};
use futures_util::stream::FuturesUnordered;
use tokio::sync::mpsc;

use super::address::Address;
use super::exchange::Exchange;
use super::fetch::Fetch;
use super::outbound::{Outbound, identify, is_response};
use super::stream::{Closed, Stream};
use super::{Bounds, Report, Reports, Way};
use crate::json_rpc::RequestId;
use crate::model::Method;
use crate::revision::Rules;
use crate::transport::{Failure, Incoming, Transport};
use crate::{Error, Policy};

/// What was read and not yet taken.
const REPORTS: usize = 64;
/// How long what we still have to say may take before the session is ended.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A server at a URL.
pub(crate) struct HttpTransport {
    fetch: Arc<Fetch>,
    /// Where messages go.
    address: Address,
    bounds: Bounds,
    rules: Option<&'static Rules>,
    session: Option<HeaderValue>,
    /// The server has forgotten the session: nothing more is sent.
    is_forgotten: bool,
    /// Whether answers come on the one stream that was opened first (HTTP+SSE).
    is_pair: bool,
    /// Everything under way.
    work: FuturesUnordered<BoxFuture<'static, ()>>,
    /// What can be given up: requests by their ids, and whether the server notices.
    open: HashMap<RequestId, (AbortHandle, bool)>,
    listening: Option<AbortHandle>,
    reports: mpsc::Receiver<Report>,
    reporter: Reports,
    /// What waits until the server has taken `notifications/initialized`.
    held: Option<VecDeque<Outbound>>,
    ending: Option<BoxFuture<'static, ()>>,
}

impl HttpTransport {
    /// Nothing is sent yet.
    pub(crate) fn new(fetch: Arc<Fetch>, address: Address, policy: &Policy) -> Self {
        let (reporter, reports) = mpsc::channel(REPORTS);
        Self {
            fetch,
            address,
            bounds: Bounds::new(policy),
            rules: None,
            session: None,
            is_forgotten: false,
            is_pair: false,
            work: FuturesUnordered::new(),
            open: HashMap::new(),
            listening: None,
            reports,
            reporter,
            held: None,
            ending: None,
        }
    }

    /// Over HTTP+SSE: the stream is open, and messages go where it said.
    pub(super) fn pair(mut self, endpoint: Address, stream: Stream) -> Self {
        self.address = endpoint;
        self.is_pair = true;
        self.start_listening(listen_once(stream, self.reporter.clone()));
        self
    }

    pub(super) fn way(&self, headers: HeaderMap) -> Way {
        let (fetch, address) = (Arc::clone(&self.fetch), self.address.clone());
        Way { fetch, address, headers, bounds: self.bounds }
    }

    fn start_listening(&mut self, listen: impl Future<Output = ()> + Send + 'static) {
        let (work, handle) = abortable(listen);
        self.listening = Some(handle);
        self.work.push(Box::pin(async move { _ = work.await }));
    }

    fn dispatch(&mut self, mut message: Outbound) {
        if let Some(held) = &mut self.held {
            return held.push_back(message);
        }
        if self.is_forgotten {
            return self.refuse(message);
        }
        if message.method == Some(Method::Initialized) {
            self.held = Some(VecDeque::new());
        }
        let rules = message.rules.or(self.rules);
        let cancels = rules.is_some_and(|rules| rules.disconnect_cancels);
        let id = message.id.clone();
        let exchange = Exchange {
            way: self.way(message.take_headers(self.rules, self.session.as_ref())),
            reports: self.reporter.clone(),
            has_session: self.session.is_some(),
            resumes: !cancels,
            has_batches: rules.is_some_and(|rules| rules.has_batches),
            answered_elsewhere: self.is_pair,
            message,
        };
        let Some(id) = id else { return self.work.push(Box::pin(exchange.run())) };
        let (work, handle) = abortable(exchange.run());
        self.open.insert(id, (handle, cancels));
        self.work.push(Box::pin(async move { _ = work.await }));
    }

    /// What belongs to a session that is no more need not be sent to fail.
    fn refuse(&mut self, message: Outbound) {
        let Some(id) = message.id else { return };
        let reports = self.reporter.clone();
        let failed = Report::Failed { id, failure: Failure::SessionEnded };
        self.work.push(Box::pin(async move { drop(reports.send(failed).await) }));
    }

    /// Notes what happened; what concerns the connection is passed on.
    fn note(&mut self, report: Report) -> Option<Incoming> {
        match report {
            Report::Message(message) => return Some(Incoming::Message(message)),
            Report::Answer { id, message } => {
                self.open.remove(&id);
                return Some(Incoming::Message(message));
            }
            Report::Beside { of, message } => return Some(Incoming::Beside { of, message }),
            Report::Failed { id, failure } => {
                self.open.remove(&id);
                self.is_forgotten |= failure == Failure::SessionEnded;
                return Some(Incoming::Failed { id, failure });
            }
            Report::Done(id) => drop(self.open.remove(&id)),
            Report::Session(session) => self.session = Some(session),
            Report::Acknowledged => self.acknowledged(),
            Report::Forgotten => self.is_forgotten = true,
            Report::Ended(how) => {
                tracing::debug!(how, "the stream of the server is over");
                return Some(Incoming::End);
            }
        }
        None
    }

    /// The handshake is over: what was held back leaves, and the server may speak unasked.
    fn acknowledged(&mut self) {
        if !self.is_pair {
            let mut headers = HeaderMap::new();
            identify(&mut headers, self.rules, self.session.as_ref());
            let stream = Stream::new(self.way(headers), None);
            self.start_listening(listen(stream, self.reporter.clone(), self.session.is_some()));
        }
        for message in self.held.take().into_iter().flatten() {
            self.dispatch(message);
        }
    }

    /// Ends the session, if there is one.
    fn farewell(&self) -> BoxFuture<'static, ()> {
        let Some(session) = self.session.clone().filter(|_| !self.is_pair && !self.is_forgotten) else {
            return Box::pin(async {});
        };
        let mut headers = HeaderMap::new();
        identify(&mut headers, self.rules, Some(&session));
        let way = self.way(headers);
        Box::pin(async move {
            match way.fetch.send(Verb::DELETE, &way.address, &way.headers, None).await {
                Ok(reply) => tracing::debug!(status = reply.status(), "the session was ended"),
                Err(failure) => tracing::debug!(?failure, "the session could not be ended"),
            }
        })
    }

    /// Lets go of everything that waits for the server, lets our last messages leave, and says good-bye.
    fn end(&mut self) -> BoxFuture<'static, ()> {
        for (_, (handle, _)) in self.open.drain() {
            handle.abort();
        }
        if let Some(handle) = self.listening.take() {
            handle.abort();
        }
        for message in self.held.take().into_iter().flatten().filter(|message| message.id.is_none()) {
            self.dispatch(message);
        }
        let mut work = std::mem::take(&mut self.work);
        let farewell = self.farewell();
        // Nobody reads the reports any more, and nobody must wait for them to be read.
        self.reports.close();
        Box::pin(async move {
            let last_words = async { while work.next().await.is_some() {} };
            if tokio::time::timeout(LAST_WORDS, last_words).await.is_err() {
                tracing::debug!("the server did not take our last messages");
            }
            farewell.await;
        })
    }
}

/// Listens to what the server says unasked. Interruptions never end this: only the server does, by what it says.
async fn listen(mut stream: Stream, reports: Reports, has_session: bool) {
    let mut was_open = false;
    let mut opened = stream.open().await;
    loop {
        match opened {
            Ok(()) => {
                was_open = true;
                if let Err(failure) = pass_on(&mut stream, &reports, false).await {
                    return tracing::warn!(?failure, "the server's stream is over");
                }
            }
            Err(Closed::Refused { status: 404, .. }) if was_open && has_session => {
                tracing::info!("the server no longer knows the session");
                let _ = reports.send(Report::Forgotten).await;
                return;
            }
            // There need not be such a stream.
            Err(Closed::Refused { status: 404 | 405, .. }) => return,
            Err(Closed::Refused { status, .. }) if !was_open && is_final(status) => {
                return tracing::warn!(status, "the server's stream cannot be opened");
            }
            Err(Closed::Refused { status, .. }) => {
                let missed = is_final(status) && stream.begin_anew();
                tracing::info!(status, missed, "the server's stream cannot be opened for now");
            }
            Err(Closed::Failed(failure @ (Failure::Interrupted(_) | Failure::Unreachable(_)))) => {
                tracing::info!(?failure, "the server's stream cannot be opened for now");
            }
            Err(Closed::Failed(failure)) => {
                return tracing::warn!(?failure, "the server's stream cannot be opened");
            }
        }
        opened = stream.open_again().await;
    }
}

/// Whether it is of no use to ask for the very same once more.
fn is_final(status: u16) -> bool {
    status == 501 || (status < 500 && !matches!(status, 408 | 409 | 425 | 429))
}

/// Listens to the one stream that everything comes on. Its end is the end of the session.
async fn listen_once(mut stream: Stream, reports: Reports) {
    let how = match pass_on(&mut stream, &reports, true).await {
        Ok(()) => stream.broken().to_owned(),
        Err(failure) => Error::from(failure).to_string(),
    };
    let _ = reports.send(Report::Ended(how)).await;
}

/// Until the connection ends. Answers come here only where there is no other way for them.
async fn pass_on(stream: &mut Stream, reports: &Reports, answers: bool) -> Result<(), Failure> {
    while let Some(event) = stream.next().await? {
        if event.name != "message" || event.data.is_empty() {
            continue;
        }
        let message = Bytes::from(event.data);
        if !answers && is_response(&message) {
            tracing::warn!("dropped an answer that came on the wrong stream");
            continue;
        }
        let message = Report::Message(message);
        reports.send(message).await.map_err(|_| Failure::Interrupted("the connection is over".into()))?;
    }
    Ok(())
}

impl Transport for HttpTransport {
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Incoming>> {
        loop {
            while let Poll::Ready(Some(report)) = self.reports.poll_recv(cx) {
                if let Some(incoming) = self.note(report) {
                    return Poll::Ready(Ok(incoming));
                }
            }
            match self.work.poll_next_unpin(cx) {
                Poll::Ready(Some(())) => {}
                Poll::Ready(None) | Poll::Pending => return Poll::Pending,
            }
        }
    }

    fn send(&mut self, lines: &mut Vec<u8>) {
        for line in crate::json_rpc::lines(&std::mem::take(lines)) {
            self.dispatch(Outbound::new(Bytes::copy_from_slice(line), Vec::new()));
        }
    }

    fn unsent(&self) -> usize {
        // What is under way moves whenever messages are received.
        0
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.ending.is_none() {
            self.ending = Some(self.end());
        }
        if let Some(ending) = &mut self.ending {
            ready!(ending.as_mut().poll(cx));
        }
        self.ending = Some(Box::pin(async {}));
        Poll::Ready(Ok(()))
    }

    fn has_headers(&self) -> bool {
        true
    }

    fn send_request(&mut self, line: &mut Vec<u8>, headers: Vec<(String, String)>) {
        let mut line = std::mem::take(line);
        if line.ends_with(b"\n") {
            line.pop();
        }
        self.dispatch(match self.rules {
            Some(agreed) => Outbound::request(line.into(), headers, agreed),
            None => Outbound::new(line.into(), headers),
        });
    }

    fn agreed(&mut self, rules: &'static Rules) {
        self.rules = Some(rules);
    }

    fn withdraw(&mut self, id: &RequestId) -> bool {
        if let Some(held) = &mut self.held
            && let Some(at) = held.iter().position(|message| message.id.as_ref() == Some(id))
        {
            held.remove(at);
            return true;
        }
        match self.open.remove(id) {
            Some((handle, cancels)) => {
                handle.abort();
                cancels
            }
            // It is answered: there is nothing left to cancel.
            None => self.rules.is_some_and(|rules| rules.disconnect_cancels),
        }
    }
}
