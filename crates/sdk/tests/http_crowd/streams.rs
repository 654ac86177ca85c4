//! Streams that are open, each on a connection of its own, and what was heard on them.
//!
//! Only methods are kept. Comments and the framing of chunks are skipped; an event is never split by either.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tokio::io::AsyncBufReadExt;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::raw::{Connection, Session, wrong};

/// What one stream said.
#[derive(Default)]
pub(crate) struct Heard(Mutex<Vec<String>>);

impl Heard {
    pub(crate) const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
}

/// How much was heard on all streams, and how many of them are over.
#[derive(Default)]
struct Count {
    messages: usize,
    ends: usize,
}

/// All streams. Dropping them closes their connections, without a word.
#[derive(Default)]
pub(crate) struct Streams {
    readers: JoinSet<()>,
    heard: Vec<Arc<Heard>>,
    count: Arc<watch::Sender<Count>>,
}

impl Streams {
    /// A session's own stream.
    pub(crate) async fn listen_to_session(&mut self, address: &str, session: &Session) -> io::Result<()> {
        let mut connection = Connection::open(address).await?;
        connection.get(session).await?;
        self.read(connection).await
    }

    /// A stream of the modern era.
    pub(crate) async fn listen(&mut self, address: &str, filter: Value) -> io::Result<()> {
        let mut connection = Connection::open(address).await?;
        let params = serde_json::json!({ "notifications": filter });
        connection.send_modern("subscriptions/listen", None, params).await?;
        self.read(connection).await
    }

    async fn read(&mut self, mut connection: Connection) -> io::Result<()> {
        let head = connection.head().await?;
        if head.status != 200 {
            return Err(wrong(format!("status {}", head.status)));
        }
        let (heard, count) = (Arc::new(Heard::default()), Arc::clone(&self.count));
        self.heard.push(Arc::clone(&heard));
        self.readers.spawn(async move {
            let mut line = String::new();
            // The last chunk is empty; the connection itself could go on.
            while matches!(connection.stream.read_line(&mut line).await, Ok(1..)) && line.trim_end() != "0" {
                if let Some(data) = line.trim_end().strip_prefix("data: ") {
                    let message: Value = serde_json::from_str(data).unwrap_or_default();
                    // What is no notification is kept as it is, and will be noticed.
                    let method = message["method"].as_str().unwrap_or(data).to_owned();
                    heard.0.lock().unwrap_or_else(PoisonError::into_inner).push(method);
                    count.send_modify(|count| count.messages += 1);
                }
                line.clear();
            }
            count.send_modify(|count| count.ends += 1);
        });
        Ok(())
    }

    /// Waits until so many messages were heard, on all streams together.
    pub(crate) async fn wait_for(&self, messages: usize) {
        let mut count = self.count.subscribe();
        count.wait_for(|count| count.messages >= messages).await.expect("somebody counts");
    }

    /// Waits until so many streams were ended by the server.
    pub(crate) async fn wait_for_ends(&self, ends: usize) {
        let mut count = self.count.subscribe();
        count.wait_for(|count| count.ends >= ends).await.expect("somebody counts");
    }

    /// What each stream said, in the order in which they were opened.
    pub(crate) fn heard(&self) -> Vec<Vec<String>> {
        self.heard
            .iter()
            .map(|heard| heard.0.lock().unwrap_or_else(PoisonError::into_inner).clone())
            .collect()
    }
}
