//! Lowering: what we send, in the words that the peer's revision has.
//!
//! Whatever a revision lacks is converted where a meaning survives (audio becomes a note, a link its title and
//! URI, a list of choices `enum` and `enumNames`) and dropped where none does; whatever it demands is
//! stamped. Lowering never fails and never asks anybody: what must not be sent at all, such as an elicitation
//! to a client that has none, is for the engine to refuse before.

mod content;
mod elicitation;
mod lifecycle;
mod messages;
mod offers;
mod sampling;
mod structured;
mod tools;

pub use elicitation::unaskable_field;

use super::Rules;
use crate::model::{CacheScope, Items, Meta, ResultType, key};

/// A value that can be put into the words of a revision.
pub trait Lower {
    /// Drops, converts and stamps until the value is one of the revision's.
    fn lower(&mut self, rules: &Rules);
}

impl<T: Lower> Lower for Option<T> {
    fn lower(&mut self, rules: &Rules) {
        if let Some(value) = self {
            value.lower(rules);
        }
    }
}

impl<T: Lower> Lower for [T] {
    fn lower(&mut self, rules: &Rules) {
        for value in self {
            value.lower(rules);
        }
    }
}

impl<T: Lower> Lower for Vec<T> {
    fn lower(&mut self, rules: &Rules) {
        self.as_mut_slice().lower(rules);
    }
}

impl<T: Lower> Lower for Items<T> {
    fn lower(&mut self, rules: &Rules) {
        self.as_mut_slice().lower(rules);
    }
}

/// Keeps a member only where the revision has it.
fn keep<T>(member: &mut Option<T>, has: bool) {
    if !has {
        *member = None;
    }
}

/// What every result of a server has: its type, and its `_meta`.
fn stamp(result_type: &mut Option<ResultType>, meta: &mut Option<Meta>, rules: &Rules) {
    if rules.has_result_type {
        result_type.get_or_insert(ResultType::Complete);
    } else {
        *result_type = None;
    }
    if !rules.has_server_info_meta {
        remove(meta, key::SERVER_INFO);
    }
}

/// What results that may be cached have. Without a word from the author, nobody keeps them.
fn stamp_cache(ttl_ms: &mut Option<u64>, cache_scope: &mut Option<CacheScope>, rules: &Rules) {
    if rules.has_cache_hints {
        ttl_ms.get_or_insert(0);
        cache_scope.get_or_insert(CacheScope::Private);
    } else {
        *ttl_ms = None;
        *cache_scope = None;
    }
}

/// Removes a key of `_meta`, and a `_meta` that this leaves empty.
fn remove(meta: &mut Option<Meta>, key: &str) {
    let Some(members) = meta else { return };
    if members.remove(key).is_some() && members.is_empty() {
        *meta = None;
    }
}
