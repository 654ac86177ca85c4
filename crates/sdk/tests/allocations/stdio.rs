//! A connection of lines, as over a pipe that brings one line at a time.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use contexture::Policy;
use contexture::transport::LineTransport;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::messages::{Era, INITIALIZE, Work, judge};

/// Lines that are there from the beginning; each read gives one.
struct Lines(std::vec::IntoIter<String>);

impl AsyncRead for Lines {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(line) = self.0.next() {
            into.put_slice(line.as_bytes());
        }
        Poll::Ready(Ok(()))
    }
}

/// What the server said, in memory that was there before.
#[derive(Clone)]
struct Said(Arc<Mutex<Vec<u8>>>);

impl AsyncWrite for Said {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.0.lock().expect("one thread").extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Allocations of a connection with a handshake and so many calls of `echo`.
pub(crate) fn allocations(era: Era, calls: u64) -> u64 {
    let server = super::server().build().expect("a server");
    let mut asked = vec![INITIALIZE.to_owned()];
    asked.extend((1..=calls).map(|id| Work::Echo(64).call(era, id)));
    let lines: Vec<String> = asked.iter().map(|message| format!("{message}\n")).collect();
    let said = Said(Arc::new(Mutex::new(Vec::with_capacity(1024 * lines.len()))));
    let transport = LineTransport::new(Lines(lines.into_iter()), said.clone(), Policy::default().line_bytes);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let counted = allocation_counter::measure(|| runtime.block_on(server.serve(transport)).expect("serves"));
    let said = said.0.lock().expect("one thread");
    judge(&asked, said.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()));
    counted.count_total
}
