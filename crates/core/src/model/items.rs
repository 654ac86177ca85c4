//! A list from a peer, in which one bad item does not cost the good ones.
//!
//! It skips what does not decode and says so; it does not mend anything. A list that is missing, `null` or
//! not an array is an error of the whole result.

use std::ops::{Deref, DerefMut};

use serde::de::{DeserializeOwned, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// So many reasons are kept; the rest are only counted.
const KEPT_REASONS: usize = 4;

/// Decoded items, and an account of those that did not decode.
#[derive(Debug, Clone)]
pub struct Items<T> {
    items: Vec<T>,
    dropped: usize,
    reasons: Vec<String>,
}

impl<T> Items<T> {
    /// How many items were skipped.
    pub fn dropped(&self) -> usize {
        self.dropped
    }

    /// Why the first few of them were skipped.
    pub fn reasons(&self) -> &[String] {
        &self.reasons
    }

    /// Only the items.
    pub fn into_vec(self) -> Vec<T> {
        self.items
    }
}

impl<T> Default for Items<T> {
    fn default() -> Self {
        Self::from(Vec::new())
    }
}

impl<T> From<Vec<T>> for Items<T> {
    fn from(items: Vec<T>) -> Self {
        Self { items, dropped: 0, reasons: Vec::new() }
    }
}

impl<T> FromIterator<T> for Items<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self::from(items.into_iter().collect::<Vec<_>>())
    }
}

impl<T> IntoIterator for Items<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a Items<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}

impl<T> Deref for Items<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.items
    }
}

impl<T> DerefMut for Items<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.items
    }
}

/// Lists are equal if their items are: what was dropped is not part of the value.
impl<T: PartialEq> PartialEq for Items<T> {
    fn eq(&self, other: &Self) -> bool {
        self.items == other.items
    }
}

impl<T: Serialize> Serialize for Items<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.items.serialize(serializer)
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Items<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Each<T>(std::marker::PhantomData<T>);

        impl<'de, T: DeserializeOwned> Visitor<'de> for Each<T> {
            type Value = Items<T>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an array")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Items<T>, A::Error> {
                let mut items = Items::default();
                let mut at = 0_usize;
                while let Some(raw) = seq.next_element::<Box<RawValue>>()? {
                    match serde_json::from_str(raw.get()) {
                        Ok(item) => items.items.push(item),
                        Err(error) => {
                            items.dropped += 1;
                            if items.reasons.len() < KEPT_REASONS {
                                items.reasons.push(format!("item {at}: {error}"));
                            }
                        }
                    }
                    at += 1;
                }
                Ok(items)
            }
        }

        deserializer.deserialize_seq(Each(std::marker::PhantomData))
    }
}
