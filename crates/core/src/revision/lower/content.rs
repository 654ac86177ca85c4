//! Content blocks.

use super::{Lower, keep};
use crate::model::{
    Annotations, AudioContent, Content, EmbeddedResource, ImageContent, Resource, ResourceContents,
    TextContent,
};
use crate::revision::Rules;

impl Lower for Annotations {
    fn lower(&mut self, rules: &Rules) {
        keep(&mut self.last_modified, rules.has_last_modified);
    }
}

impl Lower for Content {
    fn lower(&mut self, rules: &Rules) {
        match self {
            Self::Audio(audio) if !rules.has_audio => *self = Self::Text(audio_note(audio)),
            Self::ResourceLink(link) if !rules.has_resource_links => *self = Self::Text(link_note(link)),
            _ => {}
        }
        match self {
            Self::Text(block) => block.lower(rules),
            Self::Image(block) => block.lower(rules),
            Self::Audio(block) => block.lower(rules),
            Self::ResourceLink(block) => block.lower(rules),
            Self::Resource(block) => block.lower(rules),
        }
    }
}

/// What is left of sound where there is none.
pub(super) fn audio_note(audio: &mut AudioContent) -> TextContent {
    let text = format!("[audio: {}, {} bytes]", audio.mime_type, audio.data.byte_len());
    TextContent { text, annotations: audio.annotations.take(), meta: audio.meta.take() }
}

/// What is left of a link where there is none: enough to read the resource by hand.
fn link_note(link: &mut Resource) -> TextContent {
    let text = format!("[resource: {}, {}]", link.display_name(), link.uri);
    TextContent { text, annotations: link.annotations.take(), meta: link.meta.take() }
}

impl Lower for TextContent {
    fn lower(&mut self, rules: &Rules) {
        self.annotations.lower(rules);
        keep(&mut self.meta, rules.has_meta_everywhere);
    }
}

impl Lower for ImageContent {
    fn lower(&mut self, rules: &Rules) {
        self.annotations.lower(rules);
        keep(&mut self.meta, rules.has_meta_everywhere);
    }
}

impl Lower for AudioContent {
    fn lower(&mut self, rules: &Rules) {
        self.annotations.lower(rules);
        keep(&mut self.meta, rules.has_meta_everywhere);
    }
}

impl Lower for EmbeddedResource {
    fn lower(&mut self, rules: &Rules) {
        self.resource.lower(rules);
        self.annotations.lower(rules);
        keep(&mut self.meta, rules.has_meta_everywhere);
    }
}

impl Lower for ResourceContents {
    fn lower(&mut self, rules: &Rules) {
        match self {
            Self::Text(contents) => keep(&mut contents.meta, rules.has_meta_everywhere),
            Self::Blob(contents) => keep(&mut contents.meta, rules.has_meta_everywhere),
        }
    }
}
