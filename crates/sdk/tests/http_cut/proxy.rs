//! A proxy that resets both connections after so many bytes of the answer to a call, and passes on all else.
//!
//! It knows of HTTP only that on a connection a request is followed by its answer.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

use crate::run::Run;

/// The run that the next call belongs to.
type Expected = Arc<Mutex<Option<Arc<Run>>>>;

/// A proxy in front of a server; gone when it is dropped.
pub(crate) struct Proxy {
    pub(crate) address: String,
    expected: Expected,
    accepting: AbortHandle,
}

impl Proxy {
    pub(crate) async fn start(server: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let expected = Expected::default();
        let accepting = tokio::spawn(accept(listener, server.to_owned(), Arc::clone(&expected)));
        Self { address, expected, accepting: accepting.abort_handle() }
    }

    /// From now on calls are of this run.
    pub(crate) fn expect(&self, run: &Arc<Run>) {
        *self.expected.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(run));
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, server: String, expected: Expected) {
    while let Ok((client, _)) = listener.accept().await {
        let Ok(server) = TcpStream::connect(&server).await else { return };
        let connection = Connection {
            expected: Arc::clone(&expected),
            request: Vec::new(),
            is_answering: false,
            run: None,
            received: Vec::new(),
        };
        tokio::spawn(connection.pass_on(client, server));
    }
}

/// Two connections, one on each side.
struct Connection {
    expected: Expected,
    /// The request that is being sent, or was last.
    request: Vec<u8>,
    is_answering: bool,
    /// The run whose call was sent here.
    run: Option<Arc<Run>>,
    /// What came of its answer.
    received: Vec<u8>,
}

impl Connection {
    async fn pass_on(mut self, mut client: TcpStream, mut server: TcpStream) -> io::Result<()> {
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        let (mut asked, mut answered) = ([0; 4096], [0; 4096]);
        loop {
            tokio::select! {
                read = client.read(&mut asked) => match read? {
                    0 => return server.shutdown().await,
                    length => {
                        self.look_at_request(&asked[..length]);
                        server.write_all(&asked[..length]).await?;
                    }
                },
                read = server.read(&mut answered) => match read? {
                    0 => return client.shutdown().await,
                    length => {
                        self.is_answering = true;
                        if self.answer(&answered[..length], &mut client).await? {
                            client.set_zero_linger()?;
                            server.set_zero_linger()?;
                            return Ok(());
                        }
                    }
                },
            }
        }
    }

    fn look_at_request(&mut self, piece: &[u8]) {
        if std::mem::take(&mut self.is_answering) {
            self.request.clear();
            self.run = None;
        }
        self.request.extend_from_slice(piece);
        let expected = self.expected.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (Some(run), None) = (expected, &self.run) else { return };
        if contains(&self.request, br#""tools/call""#) {
            run.note(|stage| stage.posted += 1);
            self.received.clear();
            self.run = Some(run);
        } else if self.request.starts_with(b"GET ")
            && contains(&self.request.to_ascii_lowercase(), b"\r\nlast-event-id: ")
            && self.request.ends_with(b"\r\n\r\n")
        {
            run.note(|stage| stage.resumed += 1);
        }
    }

    /// Passes on what may be passed on. Says whether that was all.
    async fn answer(&mut self, piece: &[u8], client: &mut TcpStream) -> io::Result<bool> {
        let Some(run) = &self.run else {
            client.write_all(piece).await?;
            return Ok(false);
        };
        self.received.extend_from_slice(piece);
        let before = self.received.len() - piece.len();
        let passed = &piece[..piece.len().min(run.cut_at.saturating_sub(before))];
        client.write_all(passed).await?;
        let arrived = (1..=crate::STEPS)
            .rev()
            .find(|step| contains(&self.received, crate::note(run.number, *step).as_bytes()));
        let is_cut = self.received.len() >= run.cut_at;
        run.note(|stage| {
            stage.passed.extend_from_slice(passed);
            stage.arrived = arrived.unwrap_or(0);
            stage.is_cut = is_cut;
        });
        Ok(is_cut)
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// How many whole events there are in the beginning of an answer.
pub(crate) fn events(answer: &[u8]) -> usize {
    let Some(end) = answer.windows(4).position(|window| window == b"\r\n\r\n") else { return 0 };
    let mut rest = &answer[end + 4..];
    let mut body = Vec::new();
    while let Some(line) = rest.windows(2).position(|window| window == b"\r\n") {
        let size =
            std::str::from_utf8(&rest[..line]).ok().and_then(|size| usize::from_str_radix(size, 16).ok());
        let size = size.expect("the size of a chunk");
        let chunk = &rest[line + 2..];
        body.extend_from_slice(&chunk[..size.min(chunk.len())]);
        rest = chunk.get(size + 2..).unwrap_or_default();
    }
    body.windows(2).filter(|window| *window == b"\n\n").count()
}
