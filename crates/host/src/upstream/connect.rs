//! From an entry of the configuration to a client that is connected.
//!
//! A child gets the short list of variables that every child gets, and those of its entry. What goes to an address comes
//! from the entry and from logins; nothing that a client of ours sent is among it.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use contexture::client::{Builder, Client, KnownEra};
use contexture::engine::Patience;
use contexture::revision::Revision;
use contexture::transport::ChildCommand;
use contexture::{Error, Policy, Principal, Result};

use super::desk::Desk;
use super::{Declares, Surroundings};
use crate::config::{ServerEntry, TransportSpec};

/// How long anything may take altogether that goes on making progress.
pub(crate) const LONGEST_CALL: Duration = Duration::from_secs(60 * 60);

/// Connects, within the time that the entry gives.
pub(super) async fn connect(
    desk: &Arc<Desk>,
    declares: Declares,
    known: Option<KnownEra>,
    around: &Surroundings,
) -> Result<Client> {
    let entry = &desk.entry;
    let connecting = async {
        let client = dial(desk, declares, known, around).await?;
        match client.watch_lists().await {
            // It does not tell of changes; that is no reason to do without it.
            Err(error @ (Error::Remote(_) | Error::PeerIncompatible(_) | Error::Http(_))) => {
                tracing::warn!(server = entry.name, %error, "the server does not tell of changes");
            }
            watched => watched?,
        }
        Ok(client)
    };
    in_time(entry.startup_time, connecting).await
}

/// No longer than this. Clocks that wait for a person are the caller's business.
pub(super) async fn in_time<T>(time: Duration, work: impl Future<Output = Result<T>>) -> Result<T> {
    match tokio::time::timeout(time, work).await {
        Ok(done) => done,
        Err(_) => Err(Error::Timeout(time)),
    }
}

async fn dial(
    desk: &Arc<Desk>,
    declares: Declares,
    known: Option<KnownEra>,
    around: &Surroundings,
) -> Result<Client> {
    let entry = &desk.entry;
    let mut builder = base(entry, around);
    if let Some(known) = known {
        builder = builder.known_era(known);
    }
    let answering = Arc::clone(desk);
    // Also where nothing can be asked: what else is declared concerns answers.
    builder =
        builder.responder(declares.capabilities(), move |_, request| Arc::clone(&answering).answer(request));
    match &entry.transport {
        TransportSpec::Stdio { command, args, env, cwd } => {
            let mut child = ChildCommand::new(command).args(args);
            for (name, value) in env {
                child = child.env(name, value.expose());
            }
            if let Some(cwd) = cwd {
                child = child.current_dir(cwd);
            }
            builder.spawn(child).await
        }
        TransportSpec::Http { url, headers, socket, .. } => {
            for (name, value) in headers {
                builder = builder.header(name, value.expose());
            }
            if let Some(socket) = socket {
                builder = builder.unix_socket(socket);
            }
            if let Some(logins) = &around.logins {
                let principal = desk.principal.clone().unwrap_or_else(Principal::anonymous);
                if let Some(authorization) = logins.authorization_for(entry, &principal) {
                    builder = builder.authorization(authorization);
                }
            }
            builder.connect(url).await
        }
    }
}

fn base(entry: &ServerEntry, around: &Surroundings) -> Builder {
    let mut policy = Policy::default();
    policy.patience = Patience { idle: entry.call_time, total: LONGEST_CALL, renewed_by_progress: true };
    policy.list_time = entry.call_time;
    let builder = Client::builder()
        .name(&around.name, env!("CARGO_PKG_VERSION"))
        .server_name(&entry.name)
        .policy(policy);
    let older = matches!(entry.transport, TransportSpec::Http { sse: true, .. });
    let spoken: Vec<Revision> = match entry.era {
        // That transport went with them.
        _ if older => Revision::LEGACY.to_vec(),
        Some(era) => Revision::ALL.into_iter().filter(|revision| revision.era() == era).collect(),
        None => return builder,
    };
    builder.revisions(&spoken)
}
