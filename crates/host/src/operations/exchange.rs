//! One exchange as operations see it: counted, timed, logged, and a span where traces are exported.
//!
//! Whatever is not ended by a word is ended by being dropped, which is how exchanges are cancelled; so nothing is counted as
//! in flight for longer than it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use contexture::model::{Meta, Method};
use contexture::server::{OperationResult, Reply, Request};
use contexture::{Context, Principal};

use super::metrics::{Metrics, ServerCounts};
use super::trace::{Kind, Span, Trail};

/// How an exchange ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// With a result.
    Ok,
    /// With the tool's own failure.
    ToolError,
    /// With an error.
    Error,
    /// With a question, which another exchange will answer.
    Asked,
    /// Consent was not given.
    Denied,
    /// The server could not be reached.
    Unavailable,
    /// The server took too long.
    TimedOut,
    /// Nobody waited for it any more.
    Cancelled,
}

impl Outcome {
    pub(super) const ALL: [Self; 8] = [
        Self::Ok,
        Self::ToolError,
        Self::Error,
        Self::Asked,
        Self::Denied,
        Self::Unavailable,
        Self::TimedOut,
        Self::Cancelled,
    ];

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::ToolError => "tool_error",
            Self::Error => "error",
            Self::Asked => "asked",
            Self::Denied => "denied",
            Self::Unavailable => "unavailable",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether a span of it is one of a failure.
    pub(super) fn is_failure(self) -> bool {
        !matches!(self, Self::Ok | Self::Asked | Self::Cancelled)
    }
}

/// An exchange with a client.
#[derive(Debug)]
pub struct Seen {
    metrics: Arc<Metrics>,
    context: Context,
    method: Method,
    /// Names of a tool or prompt, if somebody will read it.
    target: Option<String>,
    trail: Trail,
    began: Instant,
    denied: AtomicBool,
    ended: bool,
}

impl Metrics {
    /// A client asks for something.
    pub fn exchange(self: &Arc<Self>, context: &Context, request: &Request) -> Seen {
        let (method, target) = what(request);
        self.in_flight.up();
        let trail = self.tracer.follow(context, method, target);
        let is_read = trail.is_recorded() || tracing::enabled!(tracing::Level::DEBUG);
        Seen {
            metrics: Arc::clone(self),
            context: context.clone(),
            method,
            target: target.filter(|_| is_read).map(str::to_owned),
            trail,
            began: Instant::now(),
            denied: AtomicBool::new(false),
            ended: false,
        }
    }
}

impl Seen {
    /// An upstream is asked for something, in the course of this exchange. The target is the name of a tool or prompt, as
    /// that server has it.
    pub fn upstream(&self, server: &str, method: Method, target: Option<&str>) -> UpstreamCall {
        let counts = self.metrics.server(server);
        counts.in_flight.up();
        let trail = self.trail.child(|parent| {
            let mut span = Span::child(parent, Kind::Client, method, target);
            span.set("contexture.server", server);
            span
        });
        let logged = tracing::enabled!(tracing::Level::DEBUG).then(|| server.to_owned());
        UpstreamCall { counts, method, logged, trail, began: Instant::now(), outcome: Outcome::Cancelled }
    }

    /// Consent was not given. What is answered counts as that, and not as an error.
    pub fn denied(&self) {
        self.denied.store(true, Ordering::Relaxed);
    }

    /// The trace that this belongs to, for the audit.
    pub fn trace_id(&self) -> Option<String> {
        self.trail.trace_id()
    }

    /// It is answered.
    pub fn end(mut self, result: &OperationResult) {
        let outcome = match result {
            _ if self.denied.load(Ordering::Relaxed) => Outcome::Denied,
            Ok(Reply::Tool(reply)) if reply.is_error => Outcome::ToolError,
            Ok(_) => Outcome::Ok,
            Err(_) => Outcome::Error,
        };
        if let Err(error) = result {
            self.trail.set("rpc.response.status_code", &error.code.to_string());
        }
        self.finish(outcome);
    }

    fn finish(&mut self, outcome: Outcome) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        self.metrics.in_flight.down();
        self.metrics.exchanges.add(self.method, outcome);
        tracing::debug!(
            mcp.method.name = self.method.as_str(),
            gen_ai.tool.name = self.target.as_deref(),
            principal = %name(self.context.principal()),
            outcome = outcome.word(),
            micros = self.began.elapsed().as_micros() as u64,
            "exchange",
        );
        self.trail.end(outcome);
    }
}

impl Drop for Seen {
    fn drop(&mut self) {
        // In the modern era a handler is dropped when it has asked, too.
        let waits_in_place = self.context.revision().rules().has_server_requests;
        let asked = !waits_in_place && !self.context.is_cancelled();
        let denied = self.denied.load(Ordering::Relaxed);
        self.finish(match (denied, asked) {
            (true, _) => Outcome::Denied,
            (false, true) => Outcome::Asked,
            (false, false) => Outcome::Cancelled,
        });
    }
}

/// An exchange with an upstream.
#[derive(Debug)]
pub struct UpstreamCall {
    counts: Arc<ServerCounts>,
    method: Method,
    /// The server's name, if somebody will read it.
    logged: Option<String>,
    trail: Trail,
    began: Instant,
    outcome: Outcome,
}

impl UpstreamCall {
    /// Says in `_meta` which span the upstream's own belong to.
    pub fn carry(&self, meta: &mut Meta) {
        self.trail.carry(meta);
    }

    /// It is answered. A call that is dropped instead was cancelled.
    pub fn end(mut self, outcome: Outcome) {
        self.outcome = outcome;
    }
}

impl Drop for UpstreamCall {
    fn drop(&mut self) {
        let took = self.began.elapsed();
        self.counts.in_flight.down();
        self.counts.calls.add(self.method, self.outcome);
        self.counts.took(self.method).record(took);
        if let Some(server) = &self.logged {
            tracing::debug!(
                mcp.method.name = self.method.as_str(),
                server,
                outcome = self.outcome.word(),
                micros = took.as_micros() as u64,
                "upstream call",
            );
        }
        self.trail.end(self.outcome);
    }
}

/// Who it is, as policies write it: issuer and subject, or what stands for whoever has no issuer.
fn name(principal: &Principal) -> String {
    format!("{} {}", principal.issuer(), principal.subject()).trim_start().to_owned()
}

/// The method of a request, and the name of the tool or prompt that it is about.
fn what(request: &Request) -> (Method, Option<&str>) {
    match request {
        Request::ListTools(_) => (Method::ToolsList, None),
        Request::CallTool { name, .. } => (Method::ToolsCall, Some(name)),
        Request::ListPrompts(_) => (Method::PromptsList, None),
        Request::GetPrompt { name, .. } => (Method::PromptsGet, Some(name)),
        Request::ListResources(_) => (Method::ResourcesList, None),
        Request::ListResourceTemplates(_) => (Method::ResourcesTemplatesList, None),
        Request::ReadResource(_) => (Method::ResourcesRead, None),
        Request::Subscribe(_) => (Method::ResourcesSubscribe, None),
        Request::Unsubscribe(_) => (Method::ResourcesUnsubscribe, None),
        Request::Updated(_) => (Method::ResourcesUpdated, None),
        Request::Complete(_) => (Method::CompletionComplete, None),
        Request::SetLevel(_) => (Method::LoggingSetLevel, None),
        Request::Discover => (Method::ServerDiscover, None),
        Request::Listen(_) => (Method::SubscriptionsListen, None),
        // What later revisions bring is counted with all that is rare.
        _ => (Method::Ping, None),
    }
}
