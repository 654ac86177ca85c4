//! Where a list goes on.
//!
//! A cursor names the list, the server and how many of its items were seen, so that pages neither repeat nor skip
//! items when *other* servers come or go, and always get on. Nothing is remembered for it here. It is not a secret and proves
//! nothing: it is checked only so that text that is none is refused.

use ring::digest::{SHA256, digest};

use crate::names::hex;

/// Where a page begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Position {
    /// The server's place.
    pub(super) server: u32,
    /// The first digits of a digest of its name: after a change of the configuration it may have another place.
    pub(super) name: u32,
    /// So many of its items were seen.
    pub(super) seen: u32,
}

/// The numbers of a cursor, and their check.
const BYTES: usize = 16;

impl Position {
    pub(super) fn write(self, list: &str) -> String {
        let mut bytes = [self.server, self.name, self.seen].map(u32::to_be_bytes).concat();
        bytes.extend(check(list, &bytes));
        hex(&bytes)
    }

    pub(super) fn read(list: &str, cursor: &str) -> Option<Self> {
        if cursor.len() != 2 * BYTES || !cursor.is_ascii() {
            return None;
        }
        let digits = |at: usize| u32::from_str_radix(cursor.get(8 * at..8 * at + 8)?, 16).ok();
        let position = Self { server: digits(0)?, name: digits(1)?, seen: digits(2)? };
        (position.write(list) == cursor).then_some(position)
    }
}

/// What a server's name looks like in a cursor.
pub(super) fn name_of(server: &str) -> u32 {
    let mut first = [0; 4];
    first.copy_from_slice(&digest(&SHA256, server.as_bytes()).as_ref()[..4]);
    u32::from_be_bytes(first)
}

fn check(list: &str, bytes: &[u8]) -> Vec<u8> {
    digest(&SHA256, &[list.as_bytes(), bytes].concat()).as_ref()[..4].to_vec()
}
