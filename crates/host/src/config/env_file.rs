//! Files of variables, `NAME=value` line by line, as editors read them.

use std::path::Path;

use super::files;
use super::reading::Reading;

/// The text of one. `None` if it cannot be read, which is a fault of the entry: without it, something else would run.
pub(super) fn read(reading: &mut Reading<'_>, file: &Path, line: usize) -> Option<String> {
    let text = match files::text(file) {
        Ok(Some(text)) => text,
        Ok(None) => {
            reading.error(line, format!("\"envFile\": {} is not there", file.display()));
            return None;
        }
        Err(what) => {
            reading.error(line, format!("\"envFile\": {}: {what}", file.display()));
            return None;
        }
    };
    match reading.expand.spend(text.len()) {
        Ok(()) => Some(text),
        Err(what) => {
            reading.error(line, what);
            None
        }
    }
}

/// What a text says: comments and empty lines are left out, quotes around a value go, nothing else is interpreted.
pub(super) fn variables(text: &str) -> impl Iterator<Item = (String, String)> {
    text.trim_start_matches('\u{feff}').lines().filter_map(|line| {
        let line = line.trim();
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (name, value) = line.split_once('=')?;
        let (name, value) = (name.trim(), value.trim());
        if line.starts_with('#') || name.is_empty() || value.contains('\0') {
            return None;
        }
        let bare = ['"', '\''].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
        Some((name.to_owned(), bare.unwrap_or(value).to_owned()))
    })
}
