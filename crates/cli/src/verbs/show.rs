//! Content blocks as text.

use contexture::model::{Content, ResourceContents};

use crate::terminal::text::{safe, safe_line};

/// Blocks, one after the other.
pub(super) fn contents(blocks: &[Content], raw: bool) -> String {
    blocks.iter().map(|block| line_end(content(block, raw))).collect()
}

fn line_end(mut text: String) -> String {
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// One block. What is not text is described.
pub(super) fn content(block: &Content, raw: bool) -> String {
    match block {
        Content::Text(text) if raw => text.text.clone(),
        Content::Text(text) => safe(&text.text),
        Content::Image(image) => binary("image", &image.mime_type, image.data.byte_len()),
        Content::Audio(audio) => binary("audio", &audio.mime_type, audio.data.byte_len()),
        Content::ResourceLink(link) => {
            format!("[link {} ({})]", safe_line(&link.uri), safe_line(link.display_name()))
        }
        Content::Resource(embedded) => match &embedded.resource {
            ResourceContents::Text(text) => {
                let body = if raw { text.text.clone() } else { safe(&text.text) };
                format!("[resource {}]\n{body}", safe_line(&text.uri))
            }
            ResourceContents::Blob(blob) => {
                let mime_type = blob.mime_type.as_deref().unwrap_or("bytes");
                binary(&format!("resource {}", safe_line(&blob.uri)), mime_type, blob.blob.byte_len())
            }
        },
        _ => "[content of an unknown kind]".to_owned(),
    }
}

/// Bytes that nobody wants in a terminal.
pub(super) fn binary(what: &str, mime_type: &str, bytes: usize) -> String {
    format!("[{what} {}, {bytes} bytes]", safe_line(mime_type))
}
