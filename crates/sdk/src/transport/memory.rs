//! Two ends of a connection inside one process.
//!
//! It moves real lines through bounded buffers, so that what works here works over a pipe.

use tokio::io::{DuplexStream, ReadHalf, WriteHalf};

use super::LineTransport;

/// One end of an in-memory connection.
pub type MemoryTransport = LineTransport<ReadHalf<DuplexStream>, WriteHalf<DuplexStream>>;

const BUFFER: usize = 64 * 1024;

/// A connection inside this process: what is sent at one end arrives at the other. Lines are limited to
/// `limit` bytes.
pub fn memory(limit: usize) -> (MemoryTransport, MemoryTransport) {
    let (left, right) = tokio::io::duplex(BUFFER);
    (end(left, limit), end(right, limit))
}

fn end(stream: DuplexStream, limit: usize) -> MemoryTransport {
    let (reader, writer) = tokio::io::split(stream);
    LineTransport::new(reader, writer, limit)
}
