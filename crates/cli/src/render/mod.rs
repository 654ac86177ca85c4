//! What servers return, for people to read.
//!
//! On a terminal Markdown is set, rows become a table, and pictures are shown where the terminal can. Anywhere else text is
//! printed as the server sent it: whoever reads a pipe wants that. Nothing of it does anything to a terminal, unless the person
//! asked for exactly what came (`--raw`), and bytes are kept only where they said (`--save`).

mod inline;
mod json;
mod markdown;
mod pictures;
mod save;
mod structured;
mod table;

use std::io::IsTerminal as _;
use std::path::Path;

use contexture::model::{Annotations, Blob, CallToolResult, Content, ResourceContents, Role};

use crate::exit::Failure;
use crate::terminal::style::Style;
use crate::terminal::text::{safe, safe_line};
use crate::terminal::width;

pub(crate) use json::indented;
use pictures::Pictures;

/// Where and how results are shown.
#[derive(Debug)]
pub(crate) struct Page<'a> {
    /// Whether a person reads it.
    is_terminal: bool,
    style: Style,
    width: usize,
    pictures: Pictures,
    /// Exactly what came.
    raw: bool,
    /// Where bytes are kept.
    folder: Option<&'a Path>,
}

/// Bytes of a result: what they are, and where they are from.
struct Bytes<'a> {
    kind: &'a str,
    mime_type: Option<&'a str>,
    uri: Option<&'a str>,
    blob: &'a Blob,
}

impl<'a> Page<'a> {
    /// Standard output. Bytes are kept in this folder, if there is one.
    pub(crate) fn of_stdout(raw: bool, folder: Option<&'a Path>) -> Self {
        Self {
            is_terminal: std::io::stdout().is_terminal(),
            style: Style::of_stdout(),
            width: width::of_stdout(),
            pictures: Pictures::of_environment(),
            raw,
            folder,
        }
    }

    /// The result of a tool. On a terminal its structure is shown in the place of text that says the same.
    pub(crate) fn result(&mut self, result: &CallToolResult) -> Result<String, Failure> {
        let Some(structured) = result.structured_content.as_deref().filter(|_| !self.raw) else {
            return self.blocks(&result.content);
        };
        let shown = || structured::shown(structured, self.width, self.style);
        match result.content.as_slice() {
            [] => Ok(shown()),
            _ if !self.is_terminal => self.blocks(&result.content),
            [Content::Text(text)] if structured::is_mirror(&text.text, structured) => {
                if structured::is_plain(&text.text) { self.blocks(&result.content) } else { Ok(shown()) }
            }
            _ => {
                let structure = shown();
                Ok(format!("{}{structure}", self.blocks(&result.content)?))
            }
        }
    }

    /// Blocks, one after the other.
    pub(crate) fn blocks(&mut self, blocks: &[Content]) -> Result<String, Failure> {
        blocks.iter().map(|block| self.block(block).map(line_end)).collect()
    }

    /// One block.
    pub(crate) fn block(&mut self, block: &Content) -> Result<String, Failure> {
        let shown = match block {
            Content::Text(text) => self.text(&text.text, None),
            Content::Image(image) => self.bytes(&Bytes {
                kind: "image",
                mime_type: Some(&image.mime_type),
                uri: None,
                blob: &image.data,
            })?,
            Content::Audio(audio) => self.bytes(&Bytes {
                kind: "audio",
                mime_type: Some(&audio.mime_type),
                uri: None,
                blob: &audio.data,
            })?,
            Content::ResourceLink(link) => {
                format!("[link {} ({})]", safe_line(&link.uri), safe_line(link.display_name()))
            }
            Content::Resource(embedded) => {
                let body = self.resource(&embedded.resource)?;
                match &embedded.resource {
                    ResourceContents::Text(text) => format!("[resource {}]\n{body}", safe_line(&text.uri)),
                    ResourceContents::Blob(_) => body,
                }
            }
            _ => "[content of an unknown kind]".to_owned(),
        };
        Ok(format!("{}{shown}", self.hints(annotations(block))))
    }

    /// Contents of resources, one after the other.
    pub(crate) fn resources(&mut self, contents: &[ResourceContents]) -> Result<String, Failure> {
        contents.iter().map(|one| self.resource(one).map(line_end)).collect()
    }

    fn resource(&mut self, contents: &ResourceContents) -> Result<String, Failure> {
        match contents {
            ResourceContents::Text(text) => Ok(self.text(&text.text, text.mime_type.as_deref())),
            ResourceContents::Blob(blob) => self.bytes(&Bytes {
                kind: "blob",
                mime_type: blob.mime_type.as_deref(),
                uri: Some(&blob.uri),
                blob: &blob.blob,
            }),
        }
    }

    fn text(&self, text: &str, mime_type: Option<&str>) -> String {
        if self.raw {
            return text.to_owned();
        }
        let text = safe(text);
        let is_markdown = match mime_type {
            Some("text/markdown" | "text/x-markdown") => true,
            None | Some("text/plain") => markdown::is_likely(&text),
            Some(_) => false,
        };
        if self.is_terminal && is_markdown { markdown::set(&text, self.width, self.style) } else { text }
    }

    /// Shown as a picture, kept as a file, or described.
    fn bytes(&mut self, bytes: &Bytes<'_>) -> Result<String, Failure> {
        let mime_type = bytes.mime_type.unwrap_or("bytes");
        let from = bytes.uri.map(|uri| format!(" of {}", safe_line(uri))).unwrap_or_default();
        let what = format!("{} {}, {} bytes{from}", bytes.kind, safe_line(mime_type), bytes.blob.byte_len());
        if let Some(folder) = self.folder {
            let kept = bytes.blob.decode().map_err(|error| Failure::tool(format!("{what}: {error}")))?;
            let path = save::keep(folder, &save::name(bytes.kind, bytes.uri, bytes.mime_type), &kept)?;
            return Ok(format!("[{what}, kept as {}]", safe_line(&path.display().to_string())));
        }
        let picture = bytes.blob.decode().ok().and_then(|data| self.pictures.draw(&data));
        Ok(picture.unwrap_or_else(|| format!("[{what}; --save DIR keeps it]")))
    }

    /// For whom a block is meant, and how much it matters, where a person can see it.
    fn hints(&self, annotations: Option<&Annotations>) -> String {
        let Some(annotations) = annotations.filter(|_| self.is_terminal && !self.raw) else {
            return String::new();
        };
        let audience = annotations.audience.as_deref().unwrap_or_default();
        let whom = (audience == [Role::Assistant]).then(|| "for the model".to_owned());
        let priority = annotations.priority.map(|priority| format!("priority {priority}"));
        let hints: Vec<String> = whom.into_iter().chain(priority).collect();
        if hints.is_empty() {
            String::new()
        } else {
            self.style.dim(&format!("({})", hints.join(", "))) + "\n"
        }
    }
}

fn annotations(block: &Content) -> Option<&Annotations> {
    match block {
        Content::Text(block) => block.annotations.as_ref(),
        Content::Image(block) => block.annotations.as_ref(),
        Content::Audio(block) => block.annotations.as_ref(),
        Content::ResourceLink(block) => block.annotations.as_ref(),
        Content::Resource(block) => block.annotations.as_ref(),
        _ => None,
    }
}

fn line_end(mut text: String) -> String {
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}
