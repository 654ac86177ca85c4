//! What both kinds of providers have in common: which content they take, and an answer out of blocks.

use contexture::model::{
    Content, CreateMessageResult, ErrorObject, OneOrMany, ResourceContents, SamplingContent,
};

/// A tool's answer as text, where it has one.
pub(super) fn words(content: &Content) -> Result<String, ErrorObject> {
    match content {
        Content::Text(text) => Ok(text.text.clone()),
        Content::ResourceLink(link) => Ok(link.uri.clone()),
        Content::Resource(embedded) => match &embedded.resource {
            ResourceContents::Text(contents) => Ok(contents.text.clone()),
            ResourceContents::Blob(_) => Err(unsupported("a resource of bytes in a tool's answer")),
        },
        Content::Audio(_) => Err(unsupported("audio")),
        _ => Err(unsupported("content of an unknown kind in a tool's answer")),
    }
}

/// The question has something that this provider does not take.
pub(super) fn unsupported(what: &str) -> ErrorObject {
    ErrorObject::invalid_params(format!("the model that would be asked does not take {what}"))
}

/// An answer; one block stands alone, because older revisions know no others.
pub(super) fn result(
    model: &str,
    mut blocks: Vec<SamplingContent>,
    stop_reason: Option<String>,
) -> CreateMessageResult {
    let content = match blocks.pop() {
        None => OneOrMany::One(SamplingContent::text("")),
        Some(only) if blocks.is_empty() => OneOrMany::One(only),
        Some(last) => {
            blocks.push(last);
            OneOrMany::Many(blocks)
        }
    };
    let mut result = CreateMessageResult::new(model, content);
    result.stop_reason = stop_reason;
    result
}
