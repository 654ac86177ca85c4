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
    /// Bytes of a handshake, which is kept for as long as its session, and of a client's list of roots.
    pub peer_bytes: usize,
    /// Bytes of one HTTP request's body.
    pub body_bytes: usize,
    /// How long the head of an HTTP request may take to arrive.
    pub header_time: Duration,
    /// How long the body of an HTTP request may take to arrive.
    pub body_time: Duration,
    /// How long a client may take nothing of what it is sent over HTTP, before its connection is ended (Linux).
    pub stalled: Duration,
    /// HTTP connections at once; more are accepted only when others have gone.
    pub connections: usize,
    /// HTTP requests at once, of everybody together. Streams that only listen do not count.
    pub requests_at_once: usize,
    /// Streams of changes over HTTP at once, of everybody together.
    pub streams: usize,
    /// Streams of one legacy session: those that are open, and those that can be taken up again.
    pub session_streams: usize,
    /// Legacy sessions over HTTP, of everybody together.
    pub sessions: usize,
    /// Legacy sessions over HTTP of one proven caller.
    pub sessions_per_principal: usize,
    /// Legacy sessions over HTTP of callers who proved nothing, together.
    pub anonymous_sessions: usize,
    /// How long a legacy session may be without a request or an open stream.
    pub session_idle: Duration,
    /// How old a legacy session may become.
    pub session_age: Duration,
    /// Events of one legacy session that are kept for clients that were cut off.
    pub kept_events: usize,
    /// Bytes of those events.
    pub kept_event_bytes: usize,
    /// Bytes of kept events of all sessions together.
    pub all_kept_event_bytes: usize,
    /// How long events are kept.
    pub kept_event_age: Duration,
    /// A stream that is silent for so long says that it is there.
    pub stream_pulse: Duration,
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
            peer_bytes: 64 * 1024,
            body_bytes: 4 * 1024 * 1024,
            header_time: Duration::from_secs(30),
            body_time: Duration::from_secs(30),
            stalled: Duration::from_secs(60),
            connections: 16_384,
            requests_at_once: 4_096,
            streams: 8_192,
            session_streams: 64,
            sessions: 16_384,
            sessions_per_principal: 64,
            anonymous_sessions: 1_000,
            session_idle: Duration::from_secs(30 * 60),
            session_age: Duration::from_secs(24 * 60 * 60),
            kept_events: 1_000,
            kept_event_bytes: 4 * 1024 * 1024,
            all_kept_event_bytes: 256 * 1024 * 1024,
            kept_event_age: Duration::from_secs(10 * 60),
            stream_pulse: Duration::from_secs(15),
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
