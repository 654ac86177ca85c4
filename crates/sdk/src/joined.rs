//! Small writes in one piece.
//!
//! hyper hands over the head of a message and its body as two pieces. To have the system gather them is slower than
//! to put them together, as long as they are small: it has to be told where they are, and look at each. Large ones
//! go as they are, and are never copied.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::rt::{Read, ReadBufCursor, Write};

/// Bytes that are put together: most answers, and most requests.
const SMALL: usize = 2048;

/// A stream that is written to in few pieces.
#[derive(Debug)]
pub(crate) struct Joined<T>(pub(crate) T);

impl<T: Read + Unpin> Read for Joined<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl<T: Write + Unpin> Write for Joined<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let stream = Pin::new(&mut self.0);
        if let [piece] = pieces {
            return stream.poll_write(cx, piece);
        }
        let mut joined = [0; SMALL];
        let mut length = 0;
        for piece in pieces {
            let Some(room) = joined.get_mut(length..length + piece.len()) else {
                return stream.poll_write_vectored(cx, pieces);
            };
            room.copy_from_slice(piece);
            length += piece.len();
        }
        stream.poll_write(cx, &joined[..length])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes so many bytes in one write, and notes in how many pieces they came.
    struct Taking {
        at_most: usize,
        taken: Vec<u8>,
        pieces: usize,
    }

    impl Taking {
        fn take(&mut self, bytes: &[u8]) -> usize {
            let taken = bytes.len().min(self.at_most);
            self.taken.extend_from_slice(&bytes[..taken]);
            taken
        }
    }

    impl Write for Taking {
        fn poll_write(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            self.pieces = 1;
            Poll::Ready(Ok(self.take(bytes)))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_write_vectored(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            pieces: &[IoSlice<'_>],
        ) -> Poll<io::Result<usize>> {
            self.pieces = pieces.len();
            let all = pieces.iter().flat_map(|piece| piece.iter().copied()).collect::<Vec<_>>();
            Poll::Ready(Ok(self.take(&all)))
        }
    }

    fn write(pieces: &[&[u8]], at_most: usize) -> (usize, Taking) {
        let mut joined = Joined(Taking { at_most, taken: Vec::new(), pieces: 0 });
        let slices: Vec<_> = pieces.iter().map(|piece| IoSlice::new(piece)).collect();
        let mut cx = Context::from_waker(std::task::Waker::noop());
        match Pin::new(&mut joined).poll_write_vectored(&mut cx, &slices) {
            Poll::Ready(Ok(written)) => (written, joined.0),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn small_pieces_leave_as_one_and_large_ones_as_they_are() {
        for (lengths, pieces) in
            [(vec![], 1), (vec![5], 1), (vec![100, 0, 1948], 1), (vec![100, 1949], 2), (vec![SMALL + 1], 1)]
        {
            let texts: Vec<_> = (b'a'..).zip(&lengths).map(|(byte, &length)| vec![byte; length]).collect();
            let all = texts.concat();
            let (written, taken) = write(&texts.iter().map(Vec::as_slice).collect::<Vec<_>>(), usize::MAX);
            assert_eq!((written, taken.taken, taken.pieces), (all.len(), all, pieces), "{lengths:?}");
        }
    }

    #[test]
    fn it_says_how_much_was_taken() {
        let (written, taken) = write(&[b"head ", b"and body"], 7);
        assert_eq!((written, taken.taken.as_slice()), (7, b"head an".as_slice()));
    }
}
