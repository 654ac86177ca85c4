//! What a legacy server says about its questions, if it knows how: their keys, and which of them it asks together.
//!
//! Servers of ours do, to gateways. What is said is believed as far as it goes: a key is only a wish, and whoever waits for
//! questions that were announced waits for a time.

use std::collections::BTreeSet;

use contexture::model::{Meta, key};
use serde_json::Value;

/// The questions of one call, by the names that their server has for them.
#[derive(Debug, Default)]
pub(super) struct Named {
    arrived: BTreeSet<String>,
    /// What belongs to the last one and is not here yet.
    awaited: BTreeSet<String>,
    /// Whether that one said what belongs to it.
    tells: bool,
}

impl Named {
    /// Another one is here. Takes what is said about it out of its metadata; gives its name, which may be none.
    pub(super) fn take(&mut self, meta: &mut Option<Meta>) -> String {
        let mut said = |key| meta.as_mut().and_then(|meta| meta.remove(key));
        let (own, together) = (said(key::QUESTION), said(key::TOGETHER));
        if meta.as_ref().is_some_and(|meta| meta.is_empty()) {
            *meta = None;
        }
        let own = own.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
        self.arrived.insert(own.clone());
        let together: Option<BTreeSet<String>> = together.and_then(|keys| serde_json::from_value(keys).ok());
        self.tells = together.is_some();
        self.awaited = together.unwrap_or_default();
        self.awaited.retain(|key| !self.arrived.contains(key));
        own
    }

    /// Whether all are here that belong to the last one. `None` if the server does not say.
    pub(super) fn are_complete(&self) -> Option<bool> {
        self.tells.then_some(self.awaited.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn meta(value: Value) -> Option<Meta> {
        serde_json::from_value(value).expect("metadata")
    }

    #[test]
    fn a_round_is_complete_when_all_that_were_announced_are_here() {
        let mut named = Named::default();
        assert_eq!(named.take(&mut None), "");
        assert_eq!(named.are_complete(), None);
        let said = |key: &str| meta(json!({ key::QUESTION: key, key::TOGETHER: ["a", "b"] }));
        let mut first = said("a");
        assert_eq!(named.take(&mut first), "a");
        assert_eq!((first, named.are_complete()), (None, Some(false)));
        assert_eq!(named.take(&mut said("b")), "b");
        assert_eq!(named.are_complete(), Some(true));
    }

    #[test]
    fn what_makes_no_sense_is_as_good_as_nothing() {
        let mut named = Named::default();
        let mut odd = meta(json!({ key::QUESTION: 7, key::TOGETHER: "a", "own": 1 }));
        assert_eq!(named.take(&mut odd), "");
        assert_eq!(named.are_complete(), None);
        assert_eq!(odd, meta(json!({ "own": 1 })), "what is the server's own goes on");
    }
}
