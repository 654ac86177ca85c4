//! From a transport, a command or a URL to a connection with a server whose era is known.
//!
//! The decisions are made by the core's negotiation; here they are carried out. Nothing but the
//! handshake is sent before it is done, and a handshake is never cancelled at the server.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::config::Config;
use super::hub::Hub;
use super::link::{FOR_EVER, Hears, Outgoing, Waiting};
use super::live::Live;
use super::payload::{Metadata, Payload, meta_text};
use super::rounds::decode;
use super::session::{Session, capabilities, client_info, modern_meta};
use super::source::Source;
use crate::engine::{Disagreement, Heard, Negotiation, Patience, Step};
use crate::model::{DiscoverResult, InitializeParams, InitializeResult, Meta, Method, ResultType};
use crate::revision::Revision;
use crate::{Error, Result};

impl Source {
    /// Connects and finds the era. What is opened lies in `live` for as long as it is not done, so that
    /// whoever loses patience can bring it down.
    pub(super) async fn establish(
        &mut self,
        hub: &Arc<Hub>,
        known: Option<Revision>,
        live: &mut Option<Live>,
    ) -> Result<Live> {
        let config = &hub.config;
        let (mut negotiation, mut step) = Negotiation::begin(&config.revisions, known, self.reach());
        let mut findings = Findings::default();
        let mut stepped_back = false;
        loop {
            let heard = match step {
                Step::Discover(revision) => {
                    let live = self.ensure(live, hub, false).await?;
                    // Where there is nothing to fall back to, a slow start has all the time of a request.
                    let whole = silence(config).max(config.probe);
                    let patience = if negotiation.probe_is_final() { whole } else { config.probe };
                    discover(live, config, (revision, patience), &mut findings).await
                }
                Step::Initialize { offer, restart } => {
                    let live = self.ensure(live, hub, restart).await?;
                    initialize(live, config, offer, &mut findings).await
                }
                Step::OlderTransport { offer } => {
                    stepped_back = true;
                    let live = self.step_back(live, hub, &mut findings).await?;
                    initialize(live, config, offer, &mut findings).await
                }
                Step::Settled(revision) => {
                    let live = self.ensure(live, hub, false).await?;
                    settle(live, config, revision, findings.found.take())?;
                    if stepped_back {
                        self.keep_older_transport();
                    }
                    break;
                }
                Step::Failed(disagreement) => {
                    return Err(explain(disagreement, live.as_ref(), config, findings.trouble));
                }
            };
            step = negotiation.hear(heard);
        }
        live.take().ok_or_else(|| Error::Misuse("no revision is allowed".into()))
    }

    /// A connection: the one that there is, or a new one.
    async fn ensure<'a>(
        &mut self,
        live: &'a mut Option<Live>,
        hub: &Arc<Hub>,
        restart: bool,
    ) -> Result<&'a Live> {
        if let (true, Some(old)) = (restart, &live) {
            tracing::info!("the server ended; it is started anew for the older handshake");
            // Two copies of a server could fight over a lock, a port or a database.
            old.close().await;
            *live = None;
        }
        match live {
            Some(live) => Ok(live),
            none => Ok(none.insert(self.open(hub, false).await?)),
        }
    }

    /// Opens the stream that servers of the first revision have. If there is none, what went wrong before
    /// says more; if there is one and it is not for us, that does.
    async fn step_back<'a>(
        &mut self,
        live: &'a mut Option<Live>,
        hub: &Arc<Hub>,
        findings: &mut Findings,
    ) -> Result<&'a Live> {
        if let Some(old) = live.take() {
            old.close().await;
        }
        match (self.open(hub, true).await, findings.trouble.take()) {
            (Ok(opened), _) => Ok(live.insert(opened)),
            (Err(Error::Http(refusal)), Some(before)) if !matches!(refusal.status, 401 | 403) => Err(before),
            (Err(error), _) => Err(error),
        }
    }
}

/// What came to light on the way.
#[derive(Default)]
struct Findings {
    found: Option<Found>,
    /// A probe that was not answered in time.
    late: Option<Waiting>,
    /// The last thing that went wrong.
    trouble: Option<Error>,
}

/// What the handshake brought.
enum Found {
    Discovery(Box<DiscoverResult>),
    Handshake(Box<InitializeResult>),
}

/// Probes. A request that is not answered in time stays open in `late`.
async fn discover(
    live: &Live,
    config: &Config,
    (revision, patience): (Revision, Duration),
    findings: &mut Findings,
) -> Heard {
    let meta = modern_meta(config, revision);
    let mut waiting = match open(live, Method::ServerDiscover, &Payload::new(), &meta, FOR_EVER) {
        Ok(waiting) => waiting,
        Err(error) => return hear(error, findings),
    };
    let Some(answer) = live.link.in_time(patience, waiting.result(|_| {})).await else {
        tracing::info!(?patience, "no answer to the probe so far; the older handshake is tried as well");
        findings.late = Some(waiting);
        return Heard::Silence;
    };
    match answer.map(|result| discovery(&result)) {
        Ok(Some(result)) => discovered(result, findings),
        Ok(None) => Heard::Garbage,
        Err(error) => hear(error, findings),
    }
}

fn discovery(result: &Bytes) -> Option<DiscoverResult> {
    let result: DiscoverResult = decode(Method::ServerDiscover.as_str(), result).ok()?;
    matches!(result.result_type, None | Some(ResultType::Complete)).then_some(result)
}

fn discovered(result: DiscoverResult, findings: &mut Findings) -> Heard {
    let versions = result.supported_versions.clone();
    findings.found = Some(Found::Discovery(Box::new(result)));
    Heard::Discovered(versions)
}

/// A discovery that comes after all. Anything else that comes late means nothing.
async fn late_discovery(late: Option<Waiting>) -> DiscoverResult {
    if let Some(mut waiting) = late
        && let Ok(result) = waiting.result(|_| {}).await
        && let Some(result) = discovery(&result)
    {
        return result;
    }
    std::future::pending().await
}

async fn initialize(live: &Live, config: &Config, offer: Revision, findings: &mut Findings) -> Heard {
    let params = InitializeParams {
        protocol_version: offer.as_str().to_owned(),
        capabilities: capabilities(config, offer.rules()),
        client_info: client_info(config, offer.rules()),
        meta: None,
    };
    let Ok((payload, meta)) = Payload::from_value(&params) else { return Heard::Garbage };
    let opened = open(live, Method::Initialize, &payload, &meta, config.policy.patience);
    let mut waiting = match opened {
        Ok(waiting) => waiting,
        Err(error) => return hear(error, findings),
    };
    let answer = tokio::select! {
        biased;
        result = late_discovery(findings.late.take()) => return discovered(result, findings),
        answer = waiting.result(|_| {}) => answer,
    };
    match answer.and_then(|result| decode::<InitializeResult>(Method::Initialize.as_str(), &result)) {
        Ok(result) => {
            let version = result.protocol_version.clone();
            findings.found = Some(Found::Handshake(Box::new(result)));
            Heard::Initialized(version)
        }
        Err(error) => hear(error, findings),
    }
}

fn open(live: &Live, method: Method, payload: &Payload, meta: &Meta, patience: Patience) -> Result<Waiting> {
    live.link.open(Outgoing {
        method: method.as_str(),
        payload,
        meta: Metadata { text: Cow::Owned(meta_text(meta)), wants_progress: false },
        patience,
        cancellable: false,
        hears: Hears::Nothing,
        must_know: false,
        acknowledged: None,
        headers: Vec::new(),
    })
}

fn hear(error: Error, findings: &mut Findings) -> Heard {
    let heard = match &error {
        Error::Remote(error) => Heard::Refused(error.clone()),
        Error::Timeout(_) => Heard::Silence,
        Error::Closed(_) => Heard::Gone,
        Error::Http(refusal) => match (refusal.status, &refusal.error) {
            (200, Some(error)) => Heard::Refused(error.clone()),
            (status, error) => Heard::Status(status, error.clone()),
        },
        Error::Transport(_)
        | Error::Interrupted(_)
        | Error::Redirected(_)
        | Error::TooMuch(_)
        | Error::SessionEnded
        | Error::Authorization(_) => Heard::Lost,
        _ => Heard::Garbage,
    };
    findings.trouble = Some(error);
    heard
}

/// The era is settled: from here on the connection is in operation.
fn settle(live: &Live, config: &Config, revision: Revision, found: Option<Found>) -> Result<()> {
    let session = match found {
        Some(Found::Discovery(result)) => Session::modern(config, revision, *result),
        Some(Found::Handshake(result)) => Session::legacy(config, revision, *result),
        None => return Err(Error::PeerMisbehaved("a handshake without a result".into())),
    };
    for method in &config.required {
        session.permits(*method)?;
    }
    let (legacy, rules) = (revision.is_legacy(), session.rules);
    tracing::info!(%revision, server = session.server.display_name(), "connected");
    // First, so that whatever the server asks as soon as it may finds us ready.
    let _ = live.link.session.set(session);
    live.link.agree(rules);
    if legacy {
        live.link.notify(Method::Initialized);
    }
    Ok(())
}

fn explain(
    disagreement: Disagreement,
    live: Option<&Live>,
    config: &Config,
    trouble: Option<Error>,
) -> Error {
    let end = live.and_then(|live| live.link.ended());
    let over_http = live.is_some_and(|live| live.link.has_headers);
    match (&disagreement, trouble) {
        (Disagreement::Status(_) | Disagreement::Lost, Some(trouble)) => return trouble,
        (Disagreement::Garbage, Some(trouble)) if over_http => return trouble,
        _ => {}
    }
    match (disagreement, end) {
        (Disagreement::Versions { .. }, _) if config.revisions.is_empty() => {
            Error::Misuse("no revision is allowed".into())
        }
        (Disagreement::Refused(error), _) => Error::Remote(error),
        (Disagreement::Silence, _) => Error::Timeout(silence(config)),
        (Disagreement::Gone | Disagreement::Garbage, Some(end)) => end.error(),
        (Disagreement::Gone, None) => Error::Closed("the server ended during the handshake".into()),
        (garbage @ Disagreement::Garbage, None) => Error::PeerMisbehaved(garbage.to_string()),
        (versions, _) => Error::PeerIncompatible(versions.to_string()),
    }
}

fn silence(config: &Config) -> Duration {
    config.policy.patience.idle.min(config.policy.patience.total)
}
