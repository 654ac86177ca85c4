//! Transcripts as fixtures: what a client said once is said again, and the server must answer the same.

use serde_json::Value;

use super::{RawPeer, Side, Transcript};
use crate::server::Server;
use crate::{Error, Result};

/// Members that differ from run to run by design.
const FRESH: [&str; 2] = ["requestState", "nextCursor"];

impl Transcript {
    /// Plays the client's part against a server and compares what the server says, message by message.
    /// What is sealed or salted anew each time is only required to be there.
    ///
    /// # Errors
    /// [`Error::Invalid`] names the first message that differs.
    pub async fn replay(&self, server: Server) -> Result<()> {
        let mut peer = RawPeer::client_of(server);
        for (at, entry) in self.entries().into_iter().enumerate() {
            match entry.from {
                Side::Client => peer.send_line(entry.message.get()).await?,
                Side::Server => {
                    let (recorded, said) = (comparable(entry.value()), comparable(peer.receive().await?));
                    if recorded != said {
                        return Err(Error::Invalid(format!(
                            "message {at} differs:\n  recorded: {recorded}\n  said now: {said}"
                        )));
                    }
                }
            }
        }
        Ok(())
    }
}

fn comparable(mut message: Value) -> Value {
    match &mut message {
        Value::Object(members) => {
            for (name, member) in members.iter_mut() {
                *member = if FRESH.contains(&name.as_str()) {
                    Value::from("fresh")
                } else {
                    comparable(member.take())
                };
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = comparable(item.take())),
        _ => {}
    }
    message
}
