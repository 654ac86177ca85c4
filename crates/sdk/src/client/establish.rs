//! From a transport or a command to a connection with a server whose era is known.
//!
//! The decisions are made by the core's negotiation; here they are carried out. Nothing but the
//! handshake is sent before it is done, and a handshake is never cancelled at the server.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde::de::DeserializeOwned;

use super::config::Config;
use super::connection::Connection;
use super::hub::Hub;
use super::link::Outgoing;
use super::live::Live;
use super::payload::Payload;
use super::session::{Session, capabilities, client_info, modern_meta};
use crate::engine::{Disagreement, Heard, Negotiation, Patience, Step};
use crate::model::{DiscoverResult, InitializeParams, InitializeResult, Meta, Method, ResultType};
use crate::revision::Revision;
use crate::transport::{ChildCommand, ChildTransport, Transport};
use crate::{Error, Result};

/// Where the server is.
pub(super) enum Source {
    /// At the other end of this.
    Given(Option<Box<dyn Transport>>),
    /// In a process that can be started, again and again.
    Child(ChildCommand),
}

impl Source {
    pub(super) fn can_restart(&self) -> bool {
        matches!(self, Self::Child(_))
    }

    fn open(&mut self, hub: &Arc<Hub>) -> Result<Live> {
        let link = match self {
            Self::Given(transport) => {
                let transport = transport
                    .take()
                    .ok_or_else(|| Error::Closed("this transport cannot be opened again".into()))?;
                Connection::start(transport, None, hub)
            }
            Self::Child(command) => {
                let child = ChildTransport::spawn(command, &hub.config.policy)?;
                let exit = child.exit();
                Connection::start(Box::new(child), Some(exit), hub)
            }
        };
        Ok(Live { link })
    }

    /// Connects and finds the era. What is opened lies in `live` for as long as it is not done, so that
    /// whoever loses patience can bring it down.
    pub(super) async fn establish(
        &mut self,
        hub: &Arc<Hub>,
        known: Option<Revision>,
        live: &mut Option<Live>,
    ) -> Result<Live> {
        let config = &hub.config;
        let (mut negotiation, mut step) = Negotiation::begin(&config.revisions, known, self.can_restart());
        let mut found = None;
        loop {
            let heard = match step {
                Step::Discover(revision) => {
                    let live = self.ensure(live, hub, false).await?;
                    discover(live, config, revision, &mut found).await
                }
                Step::Initialize { offer, restart } => {
                    let live = self.ensure(live, hub, restart).await?;
                    initialize(live, config, offer, &mut found).await
                }
                Step::Settled(revision) => {
                    let live = self.ensure(live, hub, false).await?;
                    settle(live, config, revision, found.take())?;
                    break;
                }
                Step::Failed(disagreement) => return Err(explain(disagreement, live.as_ref(), config)),
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
            // Two copies of a server could fight over a lock, a port or a database.
            old.close().await;
            *live = None;
        }
        match live {
            Some(live) => Ok(live),
            none => Ok(none.insert(self.open(hub)?)),
        }
    }
}

/// What the handshake brought.
enum Found {
    Discovery(Box<DiscoverResult>),
    Handshake(Box<InitializeResult>),
}

async fn discover(live: &Live, config: &Config, revision: Revision, found: &mut Option<Found>) -> Heard {
    let meta = modern_meta(config, revision);
    let patience = Patience { idle: config.probe, total: config.probe, renewed_by_progress: false };
    match ask::<DiscoverResult>(live, Method::ServerDiscover, &Payload::new(), meta, patience).await {
        Ok(result) if !matches!(result.result_type, None | Some(ResultType::Complete)) => Heard::Garbage,
        Ok(result) => {
            let versions = result.supported_versions.clone();
            *found = Some(Found::Discovery(Box::new(result)));
            Heard::Discovered(versions)
        }
        Err(error) => hear(error),
    }
}

async fn initialize(live: &Live, config: &Config, offer: Revision, found: &mut Option<Found>) -> Heard {
    let params = InitializeParams {
        protocol_version: offer.as_str().to_owned(),
        capabilities: capabilities(config, offer.rules()),
        client_info: client_info(config, offer.rules()),
        meta: None,
    };
    let Ok((payload, meta)) = Payload::from_value(&params) else { return Heard::Garbage };
    let patience = config.policy.patience;
    match ask::<InitializeResult>(live, Method::Initialize, &payload, meta, patience).await {
        Ok(result) => {
            let version = result.protocol_version.clone();
            *found = Some(Found::Handshake(Box::new(result)));
            Heard::Initialized(version)
        }
        Err(error) => hear(error),
    }
}

async fn ask<T: DeserializeOwned>(
    live: &Live,
    method: Method,
    payload: &Payload,
    meta: Meta,
    patience: Patience,
) -> Result<T> {
    let mut waiting = live.link.open(Outgoing {
        method: Cow::Borrowed(method.as_str()),
        payload,
        meta,
        patience,
        wants_progress: false,
        cancellable: false,
        acknowledged: None,
    })?;
    let result: Bytes = waiting.result(|_| {}).await?;
    super::rounds::decode(method.as_str(), &result)
}

fn hear(error: Error) -> Heard {
    match error {
        Error::Remote(error) => Heard::Refused(error),
        Error::Timeout(_) => Heard::Silence,
        Error::Closed(_) => Heard::Gone,
        _ => Heard::Garbage,
    }
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
    let legacy = revision.is_legacy();
    // First, so that whatever the server asks as soon as it may finds us ready.
    let _ = live.link.session.set(session);
    if legacy {
        live.link.notify(Method::Initialized.as_str(), &Payload::new(), &Meta::new());
    }
    Ok(())
}

fn explain(disagreement: Disagreement, live: Option<&Live>, config: &Config) -> Error {
    let end = live.and_then(|live| live.link.ended());
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
