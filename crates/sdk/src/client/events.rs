//! What happens beside the calls: log messages, changes, and a record of every tool call.
//!
//! Receivers that are too slow lose the oldest events and learn how many; they never hold up the
//! connection.

use std::time::Duration;

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::json_rpc::RequestId;
use crate::model::LoggingMessageParams;

/// Something happened.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Event {
    /// A log message of the server.
    Log(LoggingMessageParams),
    /// The list of tools changed.
    ToolsChanged,
    /// The list of prompts changed.
    PromptsChanged,
    /// The list of resources changed.
    ResourcesChanged,
    /// A resource that is subscribed to changed.
    ResourceUpdated(String),
    /// A person is done with a URL (2025-11-25).
    ElicitationComplete(String),
    /// The server ended a subscription to changes.
    SubscriptionEnded,
    /// The server no longer watches a resource that was subscribed to; the other subscriptions go on.
    SubscriptionLost(String),
    /// The server withdrew a question.
    Withdrawn {
        /// The id of its request.
        id: RequestId,
        /// Why.
        reason: Option<String>,
    },
    /// A tool is about to be called.
    CallStarted {
        /// Numbers the calls of this client.
        call: u64,
        /// Which tool.
        tool: String,
    },
    /// A tool call is over.
    CallFinished {
        /// The number of the call.
        call: u64,
        /// Which tool.
        tool: String,
        /// How it went.
        outcome: CallOutcome,
        /// How long it took.
        took: Duration,
    },
    /// A ping was not answered.
    PingFailed {
        /// How many in a row.
        failures: u32,
    },
    /// There is a new connection to a new process of the same server.
    Reconnected,
    /// The connection is over.
    Closed(String),
    /// This receiver was too slow and lost so many events.
    Missed(u64),
}

/// How a tool call went.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallOutcome {
    /// The tool succeeded.
    Succeeded,
    /// The tool failed, and said so to the model.
    ToolFailed,
    /// It was denied before it reached the server.
    Denied,
    /// It was cancelled.
    Cancelled,
    /// It failed otherwise.
    Failed(String),
}

/// A receiver of events.
#[derive(Debug)]
pub struct Events(pub(super) broadcast::Receiver<Event>);

impl Events {
    /// The next event; `None` after the client is gone.
    pub async fn next(&mut self) -> Option<Event> {
        match self.0.recv().await {
            Ok(event) => Some(event),
            Err(RecvError::Lagged(missed)) => Some(Event::Missed(missed)),
            Err(RecvError::Closed) => None,
        }
    }
}
