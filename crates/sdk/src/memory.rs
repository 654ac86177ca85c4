//! What the allocator is told about us.
//!
//! It sets nothing by force and needs no allocator in particular.

use std::hint::black_box;
use std::sync::Once;

/// Twice the largest message with defaults, and a little.
const LARGEST: usize = 12 * 1024 * 1024;

/// Lets the allocator know that large blocks come and go here.
///
/// glibc gives blocks beyond 128 KiB back to the kernel one by one, until it has seen a larger one go; from then on
/// it keeps blocks up to that size, and twice as much in all. Without this a message of a megabyte costs more in
/// page faults than in everything else. The block is never touched, so that it takes no memory; other allocators do
/// not mind.
pub(crate) fn expect_large_blocks() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| drop(black_box(Vec::<u8>::with_capacity(LARGEST))));
}
