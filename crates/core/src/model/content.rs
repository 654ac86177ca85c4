//! Content blocks: what tools return and prompts say.
//!
//! A block is told by its `type` and resource contents by the key that they have; nothing is guessed. A type
//! that we do not know is an error, because content that silently vanishes is worse.

use serde::{Deserialize, Deserializer, Serialize};

use super::{Annotations, Blob, Meta, Resource};

/// One block of content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
#[non_exhaustive]
pub enum Content {
    /// Text.
    #[serde(rename = "text")]
    Text(TextContent),
    /// A picture.
    #[serde(rename = "image")]
    Image(ImageContent),
    /// Sound.
    #[serde(rename = "audio")]
    Audio(AudioContent),
    /// A resource that can be read separately.
    #[serde(rename = "resource_link")]
    ResourceLink(ResourceLink),
    /// A resource with its contents.
    #[serde(rename = "resource")]
    Resource(EmbeddedResource),
}

impl Content {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent::new(text))
    }

    /// A picture.
    pub fn image(bytes: impl AsRef<[u8]>, mime_type: impl Into<String>) -> Self {
        Self::Image(ImageContent::new(Blob::encode(bytes), mime_type))
    }

    /// Sound.
    pub fn audio(bytes: impl AsRef<[u8]>, mime_type: impl Into<String>) -> Self {
        Self::Audio(AudioContent::new(Blob::encode(bytes), mime_type))
    }

    /// A resource with its contents.
    pub fn resource(contents: impl Into<ResourceContents>) -> Self {
        Self::Resource(EmbeddedResource::new(contents))
    }

    /// The text of a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(block) => Some(&block.text),
            _ => None,
        }
    }

    /// Sets the annotations, whatever the kind.
    #[must_use]
    pub fn annotations(mut self, annotations: Annotations) -> Self {
        *match &mut self {
            Self::Text(block) => &mut block.annotations,
            Self::Image(block) => &mut block.annotations,
            Self::Audio(block) => &mut block.annotations,
            Self::ResourceLink(block) => &mut block.annotations,
            Self::Resource(block) => &mut block.annotations,
        } = Some(annotations);
        self
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

/// Text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TextContent {
    /// The text.
    pub text: String,
    /// Hints.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl TextContent {
    /// A text without hints.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), annotations: None, meta: None }
    }

    setters! {
        /// Hints.
        annotations: Annotations,
        /// Metadata.
        meta: Meta,
    }
}

/// A picture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageContent {
    /// Its bytes.
    pub data: Blob,
    /// Its media type.
    pub mime_type: String,
    /// Hints.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ImageContent {
    /// A picture of a media type.
    pub fn new(data: Blob, mime_type: impl Into<String>) -> Self {
        Self { data, mime_type: mime_type.into(), annotations: None, meta: None }
    }

    setters! {
        /// Hints.
        annotations: Annotations,
        /// Metadata.
        meta: Meta,
    }
}

/// Sound.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AudioContent {
    /// Its bytes.
    pub data: Blob,
    /// Its media type.
    pub mime_type: String,
    /// Hints.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl AudioContent {
    /// Sound of a media type.
    pub fn new(data: Blob, mime_type: impl Into<String>) -> Self {
        Self { data, mime_type: mime_type.into(), annotations: None, meta: None }
    }

    setters! {
        /// Hints.
        annotations: Annotations,
        /// Metadata.
        meta: Meta,
    }
}

/// A resource that can be read separately. It need not be in the server's list.
pub type ResourceLink = Resource;

impl From<Resource> for Content {
    fn from(link: Resource) -> Self {
        Self::ResourceLink(link)
    }
}

/// A resource with its contents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EmbeddedResource {
    /// The contents.
    pub resource: ResourceContents,
    /// Hints.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl EmbeddedResource {
    /// Contents without hints.
    pub fn new(resource: impl Into<ResourceContents>) -> Self {
        Self { resource: resource.into(), annotations: None, meta: None }
    }

    setters! {
        /// Hints.
        annotations: Annotations,
        /// Metadata.
        meta: Meta,
    }
}

/// Contents of a resource that are text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TextResourceContents {
    /// Which resource.
    pub uri: String,
    /// Its media type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The text.
    pub text: String,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// Contents of a resource that are bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BlobResourceContents {
    /// Which resource.
    pub uri: String,
    /// Its media type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The bytes.
    pub blob: Blob,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// Contents of a resource: text or bytes, told apart by the key `text` or `blob`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum ResourceContents {
    /// Text.
    Text(TextResourceContents),
    /// Bytes.
    Blob(BlobResourceContents),
}

impl ResourceContents {
    /// Contents that are text.
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self::Text(TextResourceContents { uri: uri.into(), mime_type: None, text: text.into(), meta: None })
    }

    /// Contents that are bytes.
    pub fn blob(uri: impl Into<String>, bytes: impl AsRef<[u8]>) -> Self {
        let blob = Blob::encode(bytes);
        Self::Blob(BlobResourceContents { uri: uri.into(), mime_type: None, blob, meta: None })
    }

    /// Sets the media type.
    #[must_use]
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        match &mut self {
            Self::Text(contents) => contents.mime_type = Some(mime_type.into()),
            Self::Blob(contents) => contents.mime_type = Some(mime_type.into()),
        }
        self
    }

    /// Sets the metadata.
    #[must_use]
    pub fn meta(mut self, meta: impl Into<Meta>) -> Self {
        match &mut self {
            Self::Text(contents) => contents.meta = Some(meta.into()),
            Self::Blob(contents) => contents.meta = Some(meta.into()),
        }
        self
    }

    /// Which resource.
    pub fn uri(&self) -> &str {
        match self {
            Self::Text(contents) => &contents.uri,
            Self::Blob(contents) => &contents.uri,
        }
    }
}

impl<'de> Deserialize<'de> for ResourceContents {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Either {
            uri: String,
            mime_type: Option<String>,
            text: Option<String>,
            blob: Option<Blob>,
            #[serde(rename = "_meta")]
            meta: Option<Meta>,
        }
        let Either { uri, mime_type, text, blob, meta } = Either::deserialize(deserializer)?;
        match (text, blob) {
            (Some(text), None) => Ok(Self::Text(TextResourceContents { uri, mime_type, text, meta })),
            (None, Some(blob)) => Ok(Self::Blob(BlobResourceContents { uri, mime_type, blob, meta })),
            (None, None) => Err(serde::de::Error::custom("resource contents have neither `text` nor `blob`")),
            (Some(_), Some(_)) => {
                Err(serde::de::Error::custom("resource contents have both `text` and `blob`"))
            }
        }
    }
}
