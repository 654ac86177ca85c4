//! Files on the way in: bounded, text, and whatever cannot be read says why.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::Path;

/// No configuration that people write is longer.
const LONGEST: u64 = 4 << 20;

/// A file's text; `None` if there is no such file.
pub(super) fn text(path: &Path) -> Result<Option<String>, String> {
    // What is not a file (a pipe, a device) might never end, or never begin.
    match std::fs::metadata(path) {
        Ok(found) if found.is_file() => {}
        Ok(_) => return Err("this is no file".to_owned()),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(format!("it cannot be read: {error}")),
    }
    let mut bytes = Vec::new();
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("it cannot be read: {error}")),
    };
    file.take(LONGEST + 1).read_to_end(&mut bytes).map_err(|error| format!("it cannot be read: {error}"))?;
    if bytes.len() as u64 > LONGEST {
        return Err(format!("it has more than {LONGEST} bytes"));
    }
    String::from_utf8(bytes).map(Some).map_err(|error| {
        format!("it is no text in UTF-8: byte {} is not", error.utf8_error().valid_up_to() + 1)
    })
}
