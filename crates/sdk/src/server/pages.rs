//! Lists in pages.
//!
//! A cursor names the last entry that was sent by the number of its registration, so that pages neither
//! repeat nor skip entries when others come or go. It is bound to its list and to this process; any other
//! text is refused. Complete lists are encoded once for each revision and kept until something changes.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::registry::Table;
use crate::model::{ErrorObject, Method};
use crate::revision::Revision;

/// One page, and where the next one begins.
pub(super) struct Page<T> {
    pub(super) items: Vec<T>,
    pub(super) next: Option<String>,
}

/// Makes pages of lists.
#[derive(Debug)]
pub(super) struct Pager {
    size: usize,
    cursor_bytes: usize,
    key: RandomState,
}

impl Pager {
    pub(super) fn new(size: Option<usize>, cursor_bytes: usize) -> Self {
        Self { size: size.unwrap_or(usize::MAX).max(1), cursor_bytes, key: RandomState::new() }
    }

    /// The page behind a cursor, or the first.
    pub(super) fn page<T: Clone, R>(
        &self,
        list: Method,
        table: &Table<T>,
        cursor: Option<&str>,
        item: impl Fn(&T) -> R,
    ) -> Result<Page<R>, ErrorObject> {
        let start = match cursor {
            Some(cursor) => self
                .read(list, cursor)
                .ok_or_else(|| ErrorObject::invalid_params("this is no cursor of this list"))?,
            None => 0,
        };
        let mut items = Vec::new();
        let mut last = start;
        for (number, entry) in table.after(start) {
            if items.len() == self.size {
                return Ok(Page { items, next: Some(self.write(list, last)) });
            }
            items.push(item(entry));
            last = number;
        }
        Ok(Page { items, next: None })
    }

    fn check(&self, list: Method, number: u64) -> u64 {
        self.key.hash_one((list, number))
    }

    fn write(&self, list: Method, number: u64) -> String {
        let mut bytes = number.to_be_bytes().to_vec();
        bytes.extend(self.check(list, number).to_be_bytes());
        URL_SAFE_NO_PAD.encode(bytes)
    }

    fn read(&self, list: Method, cursor: &str) -> Option<u64> {
        if cursor.len() > self.cursor_bytes {
            return None;
        }
        let bytes: [u8; 16] = URL_SAFE_NO_PAD.decode(cursor).ok()?.try_into().ok()?;
        let value = u128::from_be_bytes(bytes);
        let (number, check) = ((value >> 64) as u64, value as u64);
        (self.check(list, number) == check).then_some(number)
    }
}

/// First pages as they go over the wire.
#[derive(Debug, Default)]
pub(super) struct Encoded(Mutex<Pages>);

type Pages = HashMap<(Method, Revision), Arc<[u8]>>;

/// What was encoded for one state of the registry is worth nothing for another.
impl Clone for Encoded {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Encoded {
    pub(super) fn get_or_encode(
        &self,
        list: Method,
        revision: Revision,
        encode: impl FnOnce() -> Result<Vec<u8>, ErrorObject>,
    ) -> Result<Arc<[u8]>, ErrorObject> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bytes) = known.get(&(list, revision)) {
            return Ok(Arc::clone(bytes));
        }
        let bytes: Arc<[u8]> = encode()?.into();
        known.insert((list, revision), Arc::clone(&bytes));
        Ok(bytes)
    }
}
