//! Bytes that are kept as files, under names that do no harm.
//!
//! Names come from servers, so only letters, digits and a few signs of them are used, never a folder and never a name that
//! begins with a dot. A file that is there is not touched: the next free name is taken.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use crate::exit::Failure;

/// How many files of one name there may be.
const MOST: usize = 1000;
/// How long a name may be.
const LONGEST: usize = 80;

const ENDINGS: &[(&str, &str)] = &[
    ("image/png", "png"),
    ("image/jpeg", "jpg"),
    ("image/gif", "gif"),
    ("image/webp", "webp"),
    ("image/svg+xml", "svg"),
    ("audio/wav", "wav"),
    ("audio/x-wav", "wav"),
    ("audio/mpeg", "mp3"),
    ("audio/ogg", "ogg"),
    ("application/pdf", "pdf"),
    ("application/json", "json"),
    ("application/zip", "zip"),
    ("text/plain", "txt"),
    ("text/html", "html"),
];

/// What to call it: the end of its URI, or its kind, with an ending that fits.
pub(super) fn name(kind: &str, uri: Option<&str>, mime_type: Option<&str>) -> String {
    let last = uri.and_then(|uri| uri.split(['?', '#']).next()?.rsplit('/').next()).unwrap_or_default();
    let is_plain = |char: &char| char.is_ascii_alphanumeric() || "-_.".contains(*char);
    let plain: String = last.chars().filter(is_plain).take(LONGEST).collect();
    let plain = plain.trim_matches('.');
    let plain = if plain.is_empty() { kind } else { plain };
    if Path::new(plain).extension().is_some() {
        return plain.to_owned();
    }
    let ending =
        ENDINGS.iter().find(|(known, _)| Some(*known) == mime_type).map_or("bin", |(_, ending)| ending);
    format!("{plain}.{ending}")
}

/// Writes a new file.
pub(super) fn keep(folder: &Path, name: &str, bytes: &[u8]) -> Result<PathBuf, Failure> {
    let wrong = |path: &Path, error: &std::io::Error| {
        Failure::usage(format!("cannot keep {}: {error}", path.display()))
    };
    std::fs::create_dir_all(folder).map_err(|error| wrong(folder, &error))?;
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, "bin"));
    for number in 1..=MOST {
        let path = match number {
            1 => folder.join(name),
            number => folder.join(format!("{stem}-{number}.{ending}")),
        };
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(mut file) => {
                // What is not whole is not kept.
                return file.write_all(bytes).map(|()| path.clone()).map_err(|error| {
                    let _ = std::fs::remove_file(&path);
                    wrong(&path, &error)
                });
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(wrong(&path, &error)),
        }
    }
    Err(Failure::usage(format!("{} has too many files called {name}", folder.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_servers_stay_in_the_folder() {
        let cases = [
            (Some("demo://logo.png"), None, "logo.png"),
            (Some("file:///etc/../../passwd?x=/../y"), None, "passwd.bin"),
            (Some("x:..%2f..\\evil"), Some("image/png"), "x..2f..evil"),
            (Some("x:/.bashrc"), None, "bashrc.bin"),
            (Some("x:/"), Some("audio/wav"), "blob.wav"),
            (None, None, "blob.bin"),
        ];
        for (uri, mime_type, wanted) in cases {
            let name = name("blob", uri, mime_type);
            assert_eq!(name, wanted);
            assert!(!name.starts_with('.') && !name.contains(['/', '\\']));
        }
    }

    #[test]
    fn nothing_is_written_over() {
        let folder = std::env::temp_dir().join(format!("contexture-save-{}", std::process::id()));
        let kept: Vec<_> = [b"a", b"b"].map(|bytes| keep(&folder, "x.png", bytes).expect("kept")).into();
        assert_eq!(kept, [folder.join("x.png"), folder.join("x-2.png")]);
        assert_eq!(std::fs::read(&kept[0]).expect("there"), b"a");
        std::fs::remove_dir_all(&folder).expect("it is ours");
    }
}
