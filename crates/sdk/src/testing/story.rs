//! One story, told in every revision and over every way to be connected.
//!
//! The server and the client are whole; only the process boundary is missing. The wire between them is
//! recorded.

use std::future::Future;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::{Recording, Side, Transcript};
use crate::client::{Builder, Client};
use crate::revision::Revision;
use crate::server::{BuiltServer, Server};
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
    /// HTTP, on a port of this machine.
    Http,
}

impl Wiring {
    /// All that this platform has.
    pub const ALL: &'static [Self] = &[
        Self::Memory,
        #[cfg(unix)]
        Self::Pipes,
        #[cfg(all(feature = "http-server", feature = "http-client"))]
        Self::Http,
    ];
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
            let (near, at_work) = put_to_work(server().build()?, wiring).await?;
            let near = Recording::new(near, Side::Client, transcript.clone());
            let client = client().revisions(&[revision]).connect(near).await?;
            story(Story { revision, wiring, client: client.clone(), transcript: transcript.clone() }).await;
            client.close().await;
            at_work.end().await?;
            told.push((revision, transcript));
        }
    }
    Ok(told)
}

/// A server at work.
struct AtWork {
    serving: JoinHandle<Result<()>>,
    /// Where servers do not end with their only connection.
    stop: Option<oneshot::Sender<()>>,
}

impl AtWork {
    async fn end(self) -> Result<()> {
        drop(self.stop);
        match self.serving.await {
            Ok(ended) => ended,
            // It was cancelled with its runtime.
            Err(_) => Ok(()),
        }
    }
}

/// Starts a server, and opens the way to it.
async fn put_to_work(server: BuiltServer, wiring: Wiring) -> Result<(Box<dyn Transport>, AtWork)> {
    if wiring == Wiring::Http {
        return put_on_the_net(server).await;
    }
    let (near, far) = wire(wiring)?;
    let serving = tokio::spawn(async move { server.serve(far).await });
    Ok((near, AtWork { serving, stop: None }))
}

#[cfg(all(feature = "http-server", feature = "http-client"))]
async fn put_on_the_net(server: BuiltServer) -> Result<(Box<dyn Transport>, AtWork)> {
    use crate::transport::http::{Address, Fetch, HttpOptions, HttpTransport};
    let bound = server.into_http().bind("127.0.0.1:0").await?;
    let (address, policy) = (Address::parse(&bound.url())?, Policy::default());
    let fetch = Fetch::new(&address, &HttpOptions::default(), &policy)?;
    let near = HttpTransport::new(std::sync::Arc::new(fetch), address, &policy);
    let (stop, stopped) = oneshot::channel::<()>();
    let stopped = async { drop(stopped.await) };
    let serving = tokio::spawn(async move { bound.serve_until(stopped).await });
    Ok((Box::new(near), AtWork { serving, stop: Some(stop) }))
}

#[cfg(not(all(feature = "http-server", feature = "http-client")))]
async fn put_on_the_net(_: BuiltServer) -> Result<(Box<dyn Transport>, AtWork)> {
    Err(crate::Error::Misuse("HTTP is not among the features".into()))
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
        _ => Err(crate::Error::Misuse("there are no such pipes here".into())),
    }
}
