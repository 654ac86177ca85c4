//! `read`: the contents of a resource. With `--raw`, byte for byte.

use contexture::model::{ReadResourceResult, ResourceContents, code};
use contexture::{Client, Error};

use super::{print_each, results};
use crate::exit::Failure;
use crate::options::{Format, Reading, Words};
use crate::render::Page;
use crate::terminal;
use crate::terminal::text::safe_line;

pub(super) async fn read(client: Client, mut words: Words, reading: &Reading) -> Result<(), Failure> {
    let target = &reading.target;
    let uri = words.wanted("which resource to read, its URI,")?;
    words.end()?;
    let result = client.read(&uri).await.map_err(|error| refused(error, &uri))?;
    results::said(&result);
    if target.raw && target.format == Format::Text {
        terminal::print(&bytes(&result)?)?;
        return Ok(());
    }
    print_each(target.format, &result, &result.contents, || {
        Page::of_stdout(target.raw, reading.save.as_deref()).resources(&result.contents)
    })
}

/// A resource that is not there is named; its error code depends on the revision.
fn refused(error: Error, uri: &str) -> Failure {
    let is_missing = match &error {
        Error::NotFound => true,
        Error::Remote(refusal) => {
            let names_it = refusal.data.as_ref().is_some_and(|data| data["uri"] == uri);
            refusal.code == code::RESOURCE_NOT_FOUND || (refusal.code == code::INVALID_PARAMS && names_it)
        }
        _ => false,
    };
    if !is_missing {
        return error.into();
    }
    Failure::usage(format!("the server has no resource {}", safe_line(uri)))
        .hint(Some("`resources list` shows those that there are".to_owned()))
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
