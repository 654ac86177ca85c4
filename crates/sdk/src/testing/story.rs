//! One story, told in every revision and over every way to be connected.
//!
//! The server and the client are whole; only the process boundary is missing. The wire between them is
//! recorded.

use std::future::Future;

use super::{Recording, Side, Transcript};
use crate::client::{Builder, Client};
use crate::revision::Revision;
use crate::server::Server;
use crate::transport::{Transport, memory};
use crate::{Policy, Result};

/// How client and server are connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wiring {
    /// Buffers in memory.
    Memory,
    /// Two pipes of the operating system, as between a process and its child.
    Pipes,
}

impl Wiring {
    /// All that this platform has.
    pub const ALL: &'static [Self] = if cfg!(unix) { &[Self::Memory, Self::Pipes] } else { &[Self::Memory] };
}

/// One telling of a story.
#[derive(Debug)]
pub struct Story {
    /// The revision that is spoken.
    pub revision: Revision,
    /// How the two are connected.
    pub wiring: Wiring,
    /// A client, connected to the server.
    pub client: Client,
    /// Everything that was said so far.
    pub transcript: Transcript,
}

/// A client of a server in this process, in the newest revision.
///
/// # Errors
/// When the server was not put together correctly, or the two do not get along.
pub async fn connect(server: Server) -> Result<Client> {
    connect_with(server, Client::builder()).await
}

/// A client of a server in this process, with responders, hooks or a revision of your choice.
///
/// # Errors
/// When the server was not put together correctly, or the two do not get along.
pub async fn connect_with(server: Server, client: Builder) -> Result<Client> {
    let (near, far) = memory(Policy::default().line_bytes);
    let server = server.build()?;
    tokio::spawn(async move { server.serve(far).await });
    client.connect(near).await
}

/// Tells a story in every revision, over every wiring: with a fresh server and a fresh client each time.
/// Returns what was said each time.
///
/// # Errors
/// When a server or a client cannot be set up. A story that fails should panic, as tests do.
pub async fn stories<F, Fut>(
    server: impl Fn() -> Server,
    client: impl Fn() -> Builder,
    story: F,
) -> Result<Vec<(Revision, Transcript)>>
where
    F: Fn(Story) -> Fut,
    Fut: Future<Output = ()>,
{
    let mut told = Vec::new();
    for revision in Revision::ALL {
        for &wiring in Wiring::ALL {
            let transcript = Transcript::new();
            let (near, far) = wire(wiring)?;
            let near = Recording::new(near, Side::Client, transcript.clone());
            let server = server().build()?;
            let serving = tokio::spawn(async move { server.serve(far).await });
            let client = client().revisions(&[revision]).connect(near).await?;
            story(Story { revision, wiring, client: client.clone(), transcript: transcript.clone() }).await;
            client.close().await;
            if let Ok(ended) = serving.await {
                ended?;
            }
            told.push((revision, transcript));
        }
    }
    Ok(told)
}

type Ends = (Box<dyn Transport>, Box<dyn Transport>);

fn wire(wiring: Wiring) -> Result<Ends> {
    let limit = Policy::default().line_bytes;
    match wiring {
        Wiring::Memory => {
            let (near, far) = memory(limit);
            Ok((Box::new(near), Box::new(far)))
        }
        #[cfg(unix)]
        Wiring::Pipes => {
            use crate::transport::LineTransport;
            use tokio::net::unix::pipe::pipe;
            let ((to_server, at_server), (to_client, at_client)) = (pipe()?, pipe()?);
            let near = LineTransport::new(at_client, to_server, limit);
            let far = LineTransport::new(at_server, to_client, limit);
            Ok((Box::new(near), Box::new(far)))
        }
        #[cfg(not(unix))]
        Wiring::Pipes => Err(crate::Error::Misuse("there are no such pipes here".into())),
    }
}
