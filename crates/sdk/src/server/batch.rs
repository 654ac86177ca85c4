//! Batches: messages that came together are answered together.
//!
//! An answer waits until all requests of its batch are settled. Where nothing is to be answered, nothing
//! is sent.

use std::collections::HashMap;

use super::wire::Wire;

/// Batches that are being worked on.
#[derive(Debug, Default)]
pub(super) struct Batches {
    last: u64,
    /// Bytes of all answers that wait for others.
    bytes: usize,
    open: HashMap<u64, Batch>,
}

#[derive(Debug, Default)]
struct Batch {
    answers: Vec<u8>,
    /// Requests that are being worked on, and one for the reading of the batch itself.
    waiting: usize,
}

impl Batches {
    /// Begins a batch, which stays open until [`filled`](Self::filled).
    pub(super) fn open(&mut self) -> u64 {
        self.last += 1;
        self.open.insert(self.last, Batch { answers: Vec::new(), waiting: 1 });
        self.last
    }

    /// How much waits for requests that are not settled.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// A request of the batch goes on for longer.
    pub(super) fn keep_open(&mut self, batch: Option<u64>) {
        if let Some(batch) = batch.and_then(|batch| self.open.get_mut(&batch)) {
            batch.waiting += 1;
        }
    }

    /// Adds an answer.
    pub(super) fn add(&mut self, batch: u64, write: impl FnOnce(&mut Vec<u8>)) {
        if let Some(batch) = self.open.get_mut(&batch) {
            let before = batch.answers.len();
            batch.answers.push(if before == 0 { b'[' } else { b',' });
            write(&mut batch.answers);
            self.bytes += batch.answers.len() - before;
        }
    }

    /// All messages of the batch have been read.
    pub(super) fn filled(&mut self, batch: u64, wire: &Wire) {
        self.done(Some(batch), wire);
    }

    /// A request of the batch is settled.
    pub(super) fn done(&mut self, number: Option<u64>, wire: &Wire) {
        let Some(number) = number else { return };
        let Some(batch) = self.open.get_mut(&number) else { return };
        batch.waiting -= 1;
        if batch.waiting > 0 {
            return;
        }
        if let Some(mut batch) = self.open.remove(&number)
            && !batch.answers.is_empty()
        {
            self.bytes -= batch.answers.len();
            wire.write(|out| {
                out.append(&mut batch.answers);
                out.push(b']');
            });
        }
    }
}
