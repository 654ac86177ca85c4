//! Spans: which exchange belongs to which, across processes.
//!
//! The parent of a span comes in `_meta`, or in the header that HTTP has for it, as W3C Trace Context writes it; the upstream
//! is told of ours in `_meta`. Whether a trace is recorded is decided by whoever began it. Where nothing is exported, no span
//! is made, and what came is passed on.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use contexture::Context;
use contexture::model::{Meta, Method, key};
use ring::rand::{SecureRandom as _, SystemRandom};
use tokio::sync::{mpsc, oneshot};

use super::exchange::Outcome;
use super::otlp::{self, Settings};

/// The header that carries a parent, and the key in `_meta`.
const TRACEPARENT: &str = "traceparent";
/// How long the last spans may take to leave.
const LAST: Duration = Duration::from_secs(3);

/// A trace, and one span of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parent {
    /// The trace.
    pub trace: [u8; 16],
    /// The span.
    pub span: [u8; 8],
    /// Whether it is recorded.
    pub is_sampled: bool,
}

impl Parent {
    /// Reads what W3C Trace Context calls `traceparent`. What is malformed is nothing.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let [version] = bytes::<1>(version)?;
        // The first version has nothing after the flags; later ones may have.
        if version == 0xff || (version == 0 && parts.next().is_some()) {
            return None;
        }
        let (trace, span, [flags]) = (bytes::<16>(trace)?, bytes::<8>(span)?, bytes::<1>(flags)?);
        let is_valid = trace != [0; 16] && span != [0; 8];
        is_valid.then_some(Self { trace, span, is_sampled: flags & 1 == 1 })
    }

    /// As it is written.
    pub fn text(&self) -> String {
        format!("00-{}-{}-{:02x}", hex(&self.trace), hex(&self.span), u8::from(self.is_sampled))
    }
}

/// Lower-case digits only, as the format wants it.
fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if text.len() != 2 * N || !text.bytes().all(is_hex) {
        return None;
    }
    let mut out = [0; N];
    for (at, byte) in out.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(out)
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// On which side of an exchange a span is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Server,
    Client,
}

/// A span that is not over yet, or was just ended.
#[derive(Debug)]
pub(super) struct Span {
    pub(super) id: Parent,
    pub(super) parent: Option<[u8; 8]>,
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) began: SystemTime,
    pub(super) ended: SystemTime,
    pub(super) attributes: Vec<(&'static str, String)>,
    pub(super) outcome: Outcome,
}

impl Span {
    fn new(
        trace: [u8; 16],
        parent: Option<[u8; 8]>,
        kind: Kind,
        method: Method,
        target: Option<&str>,
    ) -> Self {
        let method = method.as_str();
        let name = target.map_or_else(|| method.to_owned(), |target| format!("{method} {target}"));
        let mut attributes = vec![("mcp.method.name", method.to_owned())];
        if let Some(target) = target {
            let is_tool = method == Method::ToolsCall.as_str();
            let key = if is_tool { "gen_ai.tool.name" } else { "gen_ai.prompt.name" };
            attributes.push((key, target.to_owned()));
        }
        let now = SystemTime::now();
        let id = Parent { trace, span: random(), is_sampled: true };
        Self { id, parent, name, kind, began: now, ended: now, attributes, outcome: Outcome::Cancelled }
    }

    /// A span below another one.
    pub(super) fn child(parent: &Self, kind: Kind, method: Method, target: Option<&str>) -> Self {
        Self::new(parent.id.trace, Some(parent.id.span), kind, method, target)
    }

    pub(super) fn set(&mut self, key: &'static str, value: &str) {
        self.attributes.push((key, value.to_owned()));
    }
}

/// Never all zeros, which would be no id.
fn random<const N: usize>() -> [u8; N] {
    let mut id = [0; N];
    // Without a source of randomness there are worse problems than a trace that cannot be told from another.
    let _ = SystemRandom::new().fill(&mut id);
    if id == [0; N] { [1; N] } else { id }
}

/// What belongs to one exchange: a span of ours, or what came from elsewhere and is passed on.
#[derive(Debug, Default)]
pub(super) enum Trail {
    #[default]
    None,
    /// The parent that came in a header, which an upstream would not see otherwise.
    Passing(String),
    Recorded(Box<Span>, Arc<Outlet>),
}

impl Trail {
    pub(super) fn is_recorded(&self) -> bool {
        matches!(self, Self::Recorded(..))
    }

    pub(super) fn child(&self, span: impl FnOnce(&Span) -> Span) -> Self {
        match self {
            Self::None => Self::None,
            Self::Passing(parent) => Self::Passing(parent.clone()),
            Self::Recorded(parent, outlet) => Self::Recorded(Box::new(span(parent)), Arc::clone(outlet)),
        }
    }

    pub(super) fn set(&mut self, key: &'static str, value: &str) {
        if let Self::Recorded(span, _) = self {
            span.set(key, value);
        }
    }

    pub(super) fn trace_id(&self) -> Option<String> {
        match self {
            Self::None => None,
            Self::Passing(parent) => Parent::parse(parent).map(|parent| hex(&parent.trace)),
            Self::Recorded(span, _) => Some(hex(&span.id.trace)),
        }
    }

    /// Says in `_meta` where we are.
    pub(super) fn carry(&self, meta: &mut Meta) {
        match self {
            Self::None => {}
            Self::Passing(parent) => meta.set(key::TRACEPARENT, parent),
            Self::Recorded(span, _) => meta.set(key::TRACEPARENT, span.id.text()),
        }
    }

    /// Hands the span over to be exported. A second time does nothing.
    pub(super) fn end(&mut self, outcome: Outcome) {
        if let Self::Recorded(mut span, outlet) = std::mem::take(self) {
            span.ended = SystemTime::now();
            span.outcome = outcome;
            outlet.give(*span);
        }
    }
}

/// Where ended spans go. It never blocks: what does not fit is dropped and counted.
#[derive(Debug)]
pub(super) struct Outlet {
    queue: mpsc::Sender<Given>,
    dropped: Arc<AtomicU64>,
}

/// What the exporting task is given.
#[derive(Debug)]
pub(super) enum Given {
    Span(Box<Span>),
    /// Everything so far has to leave; then say so.
    Flush(oneshot::Sender<()>),
}

impl Outlet {
    fn give(&self, span: Span) {
        if self.queue.try_send(Given::Span(Box::new(span))).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Makes spans, if they are exported. Cheap to clone; the default makes none.
#[derive(Debug, Clone, Default)]
pub struct Tracer {
    outlet: Option<Arc<Outlet>>,
    dropped: Arc<AtomicU64>,
}

impl Tracer {
    /// Exports to a collector, on a task of the current runtime.
    ///
    /// # Errors
    /// When HTTP cannot be set up.
    pub fn start(settings: Settings) -> Result<Self, String> {
        let dropped = Arc::new(AtomicU64::new(0));
        let (queue, given) = mpsc::channel(settings.queue);
        tokio::spawn(otlp::Exporter::new(settings, Arc::clone(&dropped))?.run(given));
        let outlet = Outlet { queue, dropped: Arc::clone(&dropped) };
        Ok(Self { outlet: Some(Arc::new(outlet)), dropped })
    }

    /// Whether spans are exported.
    pub fn is_on(&self) -> bool {
        self.outlet.is_some()
    }

    /// Waits until the spans that ended so far have left, but not for long.
    pub async fn flush(&self) {
        let Some(outlet) = &self.outlet else { return };
        let (done, all_left) = oneshot::channel();
        let flushed = async {
            if outlet.queue.send(Given::Flush(done)).await.is_ok() {
                let _ = all_left.await;
            }
        };
        let _ = tokio::time::timeout(LAST, flushed).await;
    }

    /// Spans that did not leave.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// The beginning of an exchange with a client.
    pub(super) fn follow(&self, context: &Context, method: Method, target: Option<&str>) -> Trail {
        let header = || context.headers()?.get(TRACEPARENT)?.to_str().ok();
        let Some(outlet) = &self.outlet else {
            // Whoever passes `_meta` on passes on what is in there; only what is in the header would get lost.
            let passed = header().filter(|text| Parent::parse(text).is_some());
            return match passed {
                Some(parent) if context.meta().traceparent().is_none() => Trail::Passing(parent.to_owned()),
                _ => Trail::None,
            };
        };
        let meta = context.meta();
        let parent = meta.traceparent().and_then(Parent::parse).or_else(|| header().and_then(Parent::parse));
        if let Some(parent) = parent.filter(|parent| !parent.is_sampled) {
            return Trail::Passing(parent.text());
        }
        let trace = parent.map_or_else(random, |parent| parent.trace);
        let mut span = Span::new(trace, parent.map(|parent| parent.span), Kind::Server, method, target);
        span.set("mcp.protocol.version", context.revision().as_str());
        span.set("network.transport", if context.headers().is_some() { "tcp" } else { "pipe" });
        Trail::Recorded(Box::new(span), Arc::clone(outlet))
    }
}
