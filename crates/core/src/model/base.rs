//! What every page of the specification uses: names, icons, annotations, ids and tokens.
//!
//! Priorities are checked where people set them, not where peers send them: a peer's odd number must not
//! cost us its whole message.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

/// A JSON object of no particular type.
pub type JsonObject = serde_json::Map<String, serde_json::Value>;

/// An opaque position in a list, minted by the server.
pub type Cursor = String;

/// A number that the specification wants between 0 and 1 is not.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OutOfRange(
    /// The number.
    pub f64,
);

impl OutOfRange {
    /// Passes on a number between 0 and 1, and nothing else.
    pub(super) fn check(number: f64) -> Result<f64, Self> {
        // NaN is in no range, so this also refuses it.
        if (0.0..=1.0).contains(&number) { Ok(number) } else { Err(Self(number)) }
    }
}

impl fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not between 0 and 1", self.0)
    }
}

impl std::error::Error for OutOfRange {}

/// Writes a whole number without a fraction: `50`, not `50.0`, which some peers take for another type.
pub(super) fn plain_number<S: Serializer>(number: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    /// Up to here every whole number has its own `f64`.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match *number {
        Some(number) if number.fract() == 0.0 && number.abs() <= EXACT => {
            serializer.serialize_i64(number as i64)
        }
        number => number.serialize(serializer),
    }
}

/// What ties progress notifications to their request. `1` and `"1"` are different tokens.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged, expecting = "a progress token must be a string or an integer")]
pub enum ProgressToken {
    /// An integer.
    Integer(i64),
    /// A string.
    String(String),
}

impl From<i64> for ProgressToken {
    fn from(token: i64) -> Self {
        Self::Integer(token)
    }
}

impl From<&str> for ProgressToken {
    fn from(token: &str) -> Self {
        Self::String(token.to_owned())
    }
}

/// The id of a request where another message speaks about it. `1` and `"1"` are different ids.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged, expecting = "a request id must be a string or an integer")]
pub enum RequestId {
    /// An integer.
    Integer(i64),
    /// A string.
    String(String),
}

impl From<i64> for RequestId {
    fn from(id: i64) -> Self {
        Self::Integer(id)
    }
}

impl From<&str> for RequestId {
    fn from(id: &str) -> Self {
        Self::String(id.to_owned())
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(id) => write!(f, "{id}"),
            Self::String(id) => write!(f, "{id:?}"),
        }
    }
}

/// Who speaks in a conversation, or for whom something is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The person.
    User,
    /// The model.
    Assistant,
}

/// Hints about how content is to be used or shown.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Annotations {
    /// For whom it is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audience: Option<Vec<Role>>,
    /// How much it matters: 1 is required, 0 is entirely optional.
    #[serde(serialize_with = "plain_number", skip_serializing_if = "Option::is_none")]
    pub priority: Option<f64>,
    /// When it last changed, in ISO 8601. Not checked on arrival.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
}

impl Annotations {
    /// No hints yet.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// For whom it is meant.
        audience: Vec<Role>,
        /// When it last changed, in ISO 8601.
        last_modified: String,
    }

    /// How much it matters, from 0 to 1.
    pub fn priority(mut self, priority: f64) -> Result<Self, OutOfRange> {
        self.priority = Some(OutOfRange::check(priority)?);
        Ok(self)
    }
}

/// The background that an icon was drawn for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum IconTheme {
    /// A light background.
    Light,
    /// A dark background.
    Dark,
}

/// A picture for a user interface. The source is the peer's word: fetch it with care or not at all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Icon {
    /// An `https:` or `data:` URI.
    pub src: String,
    /// The media type, where the source's own may be wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Sizes such as `48x48` or `any`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Vec<String>>,
    /// The background that it was drawn for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub theme: Option<IconTheme>,
}

impl Icon {
    /// An icon at a URI.
    pub fn new(src: impl Into<String>) -> Self {
        Self { src: src.into(), mime_type: None, sizes: None, theme: None }
    }

    setters! {
        /// The media type.
        mime_type: String,
        /// Sizes such as `48x48` or `any`.
        sizes: Vec<String>,
        /// The background that it was drawn for.
        theme: IconTheme,
    }
}

/// The name and version of a client or a server. For display only: nobody has proved it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Implementation {
    /// The name that programs use.
    pub name: String,
    /// The name that people read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The version, in any scheme.
    pub version: String,
    /// What it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Pictures of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Icon>>,
    /// Where to read about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub website_url: Option<String>,
}

impl Implementation {
    /// A name and a version.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            title: None,
            version: version.into(),
            description: None,
            icons: None,
            website_url: None,
        }
    }

    setters! {
        /// The name that people read.
        title: String,
        /// What it is.
        description: String,
        /// Pictures of it.
        icons: Vec<Icon>,
        /// Where to read about it.
        website_url: String,
    }

    /// What to show to people: the title, or else the name.
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}
