//! Every bound in one place.
//!
//! Whatever a peer can make grow (a line, a queue, a table, a wait) has its limit here, with a default
//! that is safe on a public network. Nothing here is a decision about meaning.

use std::time::Duration;

use contexture_core::engine::Patience;
use contexture_core::json_rpc::Limits;

/// Bounds on what a peer may cost.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Policy {
    /// Bytes of one message on a line.
    pub line_bytes: usize,
    /// Nesting, ids and batches.
    pub limits: Limits,
    /// Requests of one connection that are worked on at the same time.
    pub in_flight: usize,
    /// Bytes waiting for a peer that does not read. Beyond it we stop reading, too.
    pub unsent_bytes: usize,
    /// Requests of ours that one peer may leave unanswered.
    pub pending: usize,
    /// How long a request of ours may take.
    pub patience: Patience,
    /// Bytes of a cursor.
    pub cursor_bytes: usize,
    /// Bytes of the state that travels with an input round.
    pub request_state_bytes: usize,
    /// How long sealed state is good for.
    pub request_state_age: Duration,
    /// Input rounds of one call.
    pub input_rounds: usize,
    /// Requests of one input round.
    pub input_requests: usize,
    /// Pages, items and time that listing everything may take.
    pub list_pages: usize,
    /// Items of a complete list.
    pub list_items: usize,
    /// Time that listing everything may take.
    pub list_time: Duration,
    /// Resources that one session or stream may watch.
    pub subscriptions: usize,
    /// Streams of changes on one connection.
    pub listen_streams: usize,
    /// Log and progress notifications in a second; what exceeds them is dropped and counted.
    pub notifications_per_second: u32,
    /// Calls and completions that one session may begin in a second.
    pub calls_per_second: u32,
    /// How long the work at hand may take when a connection ends.
    pub drain: Duration,
    /// What is kept of a child's standard error.
    pub stderr_bytes: usize,
    /// How long a child may take to leave after its standard input closed.
    pub child_exit: Duration,
    /// How long it may take after SIGTERM.
    pub child_term: Duration,
    /// Lines of a server that are not messages before the connection is given up.
    pub garbage_lines: usize,
    // HTTP, client side
    /// How long it may take until a server that is reached by URL takes the connection.
    pub connect_time: Duration,
    /// How often in a row a stream that brings nothing new is opened again.
    pub stream_attempts: u32,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            line_bytes: 16 * 1024 * 1024,
            limits: Limits::default(),
            in_flight: 256,
            unsent_bytes: 4 * 1024 * 1024,
            pending: 1024,
            patience: Patience::default(),
            cursor_bytes: 4 * 1024,
            request_state_bytes: 64 * 1024,
            request_state_age: Duration::from_secs(15 * 60),
            input_rounds: 10,
            input_requests: 32,
            list_pages: 1_000,
            list_items: 100_000,
            list_time: Duration::from_secs(60),
            subscriptions: 1_000,
            listen_streams: 16,
            notifications_per_second: 1_000,
            calls_per_second: u32::MAX,
            drain: Duration::from_secs(30),
            stderr_bytes: 64 * 1024,
            child_exit: Duration::from_secs(2),
            child_term: Duration::from_secs(3),
            garbage_lines: 1_000,
            connect_time: Duration::from_secs(15),
            stream_attempts: 5,
        }
    }
}
