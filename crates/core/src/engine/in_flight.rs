//! Requests of the peer that are being worked on.
//!
//! An id may be in use once at a time. What is not in the table cannot be cancelled, so a cancellation
//! that comes late, twice or for somebody else's request changes nothing.

use std::collections::HashMap;

use crate::json_rpc::RequestId;
use crate::model::ErrorObject;

/// Why a request was not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotAccepted {
    /// A request with this id is being worked on.
    IdInUse,
    /// As many requests as allowed are being worked on.
    Busy {
        /// How many that is.
        limit: usize,
    },
}

impl From<NotAccepted> for ErrorObject {
    fn from(reason: NotAccepted) -> Self {
        match reason {
            NotAccepted::IdInUse => Self::invalid_request("a request with this id is still being worked on"),
            NotAccepted::Busy { limit } => Self::new(
                super::admission::BUSY,
                format!("{limit} requests are being worked on; wait for one to finish"),
            ),
        }
    }
}

/// The peer's requests that are being worked on.
#[derive(Debug)]
pub struct InFlight<T> {
    limit: usize,
    entries: HashMap<RequestId, T>,
}

impl<T> InFlight<T> {
    /// An empty table for at most `limit` requests.
    pub fn new(limit: usize) -> Self {
        Self { limit, entries: HashMap::new() }
    }

    /// Whether a request with this id may begin.
    pub fn check(&self, id: &RequestId) -> Result<(), NotAccepted> {
        if self.entries.contains_key(id) {
            return Err(NotAccepted::IdInUse);
        }
        if self.entries.len() >= self.limit {
            return Err(NotAccepted::Busy { limit: self.limit });
        }
        Ok(())
    }

    /// Enters a request.
    pub fn open(&mut self, id: RequestId, value: T) -> Result<(), NotAccepted> {
        self.check(&id)?;
        self.entries.insert(id, value);
        Ok(())
    }

    /// What belongs to a request that is being worked on.
    pub fn get(&self, id: &RequestId) -> Option<&T> {
        self.entries.get(id)
    }

    /// What belongs to each of the requests.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.entries.values()
    }

    /// Takes a request out: it is answered or cancelled.
    pub fn close(&mut self, id: &RequestId) -> Option<T> {
        self.entries.remove(id)
    }

    /// Takes everything out: the connection is over.
    pub fn drain(&mut self) -> Vec<(RequestId, T)> {
        self.entries.drain().collect()
    }

    /// How many are being worked on.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing is being worked on.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // covers: CANC-IGNORE-UNKNOWN, CANC-IGNORE-COMPLETED
    #[test]
    fn only_what_is_worked_on_can_be_cancelled() {
        let mut table = InFlight::new(2);
        table.open(1.into(), "slow").expect("room");
        assert_eq!(table.close(&"1".into()), None, "the string is another id");
        assert_eq!(table.close(&1.into()), Some("slow"));
        assert_eq!(table.close(&1.into()), None);
    }

    #[test]
    fn an_id_is_in_use_once_and_the_table_is_bounded() {
        let mut table = InFlight::new(2);
        table.open(1.into(), ()).expect("room");
        assert_eq!(table.open(1.into(), ()), Err(NotAccepted::IdInUse));
        table.open(2.into(), ()).expect("room");
        assert_eq!(table.open(3.into(), ()), Err(NotAccepted::Busy { limit: 2 }));
    }
}
