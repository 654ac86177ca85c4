//! `read`: the contents of a resource. With `--raw`, byte for byte.

use contexture::Client;
use contexture::model::{ReadResourceResult, ResourceContents};

use super::{print, show};
use crate::exit::Failure;
use crate::options::{Format, Target};
use crate::terminal;
use crate::terminal::text::safe;

pub(super) async fn read(client: Client, uri: &str, target: &Target) -> Result<(), Failure> {
    let result = client.read(uri).await?;
    if target.raw && target.format == Format::Text {
        terminal::print(&bytes(&result)?)?;
        return Ok(());
    }
    print(target.format, &result, || result.contents.iter().map(shown).collect())
}

fn shown(contents: &ResourceContents) -> String {
    match contents {
        ResourceContents::Text(text) => safe(&text.text),
        ResourceContents::Blob(blob) => {
            let mime_type = blob.mime_type.as_deref().unwrap_or("bytes");
            show::binary("blob", mime_type, blob.blob.byte_len()) + " (--raw prints them)\n"
        }
    }
}

fn bytes(result: &ReadResourceResult) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    for contents in &result.contents {
        match contents {
            ResourceContents::Text(text) => bytes.extend(text.text.as_bytes()),
            ResourceContents::Blob(blob) => {
                bytes.extend(blob.blob.decode().map_err(|error| Failure::usage(error.to_string()))?);
            }
        }
    }
    Ok(bytes)
}
