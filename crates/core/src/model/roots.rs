//! Roots: the directories that a client lets a server work in.
//!
//! URIs are carried as text here; `uri::check_root` decides which ones are roots.

use serde::{Deserialize, Serialize};

use super::{EmptyParams, Items, Meta};

/// A directory or file to work in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Root {
    /// A `file:` URI.
    pub uri: String,
    /// The name that people read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl Root {
    /// A root without a name.
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into(), name: None, meta: None }
    }

    setters! {
        /// The name that people read.
        name: String,
        /// Metadata.
        meta: Meta,
    }
}

/// Parameters of `roots/list`.
pub type ListRootsParams = EmptyParams;

/// Result of `roots/list`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListRootsResult {
    /// The roots.
    pub roots: Items<Root>,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}
