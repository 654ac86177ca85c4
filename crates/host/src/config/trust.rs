//! Which definitions in projects' files a person has agreed to.
//!
//! One record for each file, under its real path, so that a link to a project is that project; in it a digest of each
//! definition as it was written, so that one that was changed is asked about again. Records that others could have written
//! count for nothing.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};

use super::files;

/// What settings that belong to no server are called in a record. No server is: its name is not empty.
const SETTINGS: &str = "";

/// How a definition stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trusted {
    /// A person agreed to it.
    Yes,
    /// A person agreed to another one of this name.
    Changed,
    /// Nobody agreed to any.
    No,
}

/// The records, in a folder of the user's own.
#[derive(Debug, Clone)]
pub struct Trust {
    folder: PathBuf,
}

/// What was agreed to in one file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Agreed {
    /// The file.
    pub file: PathBuf,
    /// The names of the servers, in order.
    pub servers: Vec<String>,
    /// Whether the settings beside the servers were agreed to: rules above all.
    pub settings: bool,
}

/// One file's record.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Record {
    file: PathBuf,
    definitions: BTreeMap<String, String>,
}

impl Trust {
    /// The records below the folder for state. It need not be there.
    pub fn at(state: &Path) -> Self {
        Self { folder: state.join("trust") }
    }

    /// Where the records are: who watches this folder sees what was agreed to.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// How the definition of a server (of all settings, without a name) in a file stands.
    pub fn of(&self, file: &Path, server: Option<&str>, definition: &[u8; 32]) -> Trusted {
        let record = real(file).and_then(|file| Ok((self.record(&file)?, file)));
        let Ok((Some(record), file)) = record else { return Trusted::No };
        match record.definitions.get(server.unwrap_or(SETTINGS)) {
            _ if record.file != file => Trusted::No,
            Some(known) if *known == hex(definition) => Trusted::Yes,
            Some(_) => Trusted::Changed,
            None => Trusted::No,
        }
    }

    /// Remembers that a person agreed to these, beside what was agreed to before.
    pub fn give<'a>(
        &self,
        file: &Path,
        definitions: impl IntoIterator<Item = (Option<&'a str>, [u8; 32])>,
    ) -> io::Result<()> {
        let file = real(file)?;
        let before = self.record(&file)?.filter(|before| before.file == file);
        let mut record = before.unwrap_or_else(|| Record { file, definitions: BTreeMap::new() });
        for (server, digest) in definitions {
            record.definitions.insert(server.unwrap_or(SETTINGS).to_owned(), hex(&digest));
        }
        make_folder(&self.folder)?;
        let path = self.path(&record.file);
        let draft = path.with_extension(format!("{}.draft", std::process::id()));
        let text = serde_json::to_vec_pretty(&record).map_err(io::Error::other)?;
        let written = write(&draft, &text).and_then(|()| fs::rename(&draft, &path));
        if written.is_err() {
            // What is left of it is of no use.
            let _ = fs::remove_file(&draft);
        }
        written
    }

    /// Forgets all about a file. Whether there was anything to forget.
    pub fn withdraw(&self, file: &Path) -> io::Result<bool> {
        // A project that is gone can be forgotten, too.
        let file = real(file).unwrap_or_else(|_| file.to_owned());
        match fs::remove_file(self.path(&file)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The files of which something was agreed to, in order, and what that was.
    pub fn list(&self) -> io::Result<Vec<Agreed>> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut all = Vec::new();
        for entry in entries {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "json")
                && let Ok(Some(record)) = read(&path)
            {
                let Record { file, mut definitions } = record;
                let settings = definitions.remove(SETTINGS).is_some();
                all.push(Agreed { file, servers: definitions.into_keys().collect(), settings });
            }
        }
        all.sort();
        Ok(all)
    }

    fn record(&self, file: &Path) -> io::Result<Option<Record>> {
        read(&self.path(file))
    }

    fn path(&self, file: &Path) -> PathBuf {
        let name = digest(&SHA256, file.as_os_str().as_encoded_bytes());
        self.folder.join(format!("{}.json", hex(name.as_ref())))
    }
}

fn real(file: &Path) -> io::Result<PathBuf> {
    file.canonicalize()
}

/// A record that cannot be read, or that others can write, is none.
fn read(path: &Path) -> io::Result<Option<Record>> {
    if !system::is_ours_alone(path)? {
        return Ok(None);
    }
    let text = files::text(path).map_err(io::Error::other)?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}

fn make_folder(folder: &Path) -> io::Result<()> {
    if let Some(parent) = folder.parent() {
        system::make_private(parent)?;
    }
    system::make_private(folder)
}

fn write(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut file = system::private_file(path)?;
    file.write_all(text)?;
    file.sync_all()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(unix)]
mod system {
    use std::fs::{self, DirBuilder, File, OpenOptions};
    use std::io::{self, ErrorKind};
    use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
    use std::path::Path;

    /// Makes a folder, and those above it, for one person.
    pub(super) fn make_private(folder: &Path) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let mode = fs::metadata(folder)?.permissions().mode();
        match mode & 0o022 {
            0 => Ok(()),
            _ => fs::set_permissions(folder, fs::Permissions::from_mode(0o700)),
        }
    }

    pub(super) fn private_file(path: &Path) -> io::Result<File> {
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
    }

    /// Whether nobody else can have written a file: neither it nor the folder is open to others, and they have one owner.
    pub(super) fn is_ours_alone(path: &Path) -> io::Result<bool> {
        let file = match fs::symlink_metadata(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        let folder = fs::metadata(path.parent().unwrap_or(path))?;
        let closed = |mode: u32| mode & 0o022 == 0;
        Ok(file.is_file() && closed(file.mode()) && closed(folder.mode()) && file.uid() == folder.uid())
    }
}

#[cfg(not(unix))]
mod system {
    use std::fs::{self, File};
    use std::io;
    use std::path::Path;

    /// The folder for state is in the user's own profile, which others cannot write to.
    pub(super) fn make_private(folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)
    }

    pub(super) fn private_file(path: &Path) -> io::Result<File> {
        File::create(path)
    }

    pub(super) fn is_ours_alone(path: &Path) -> io::Result<bool> {
        Ok(path.is_file())
    }
}
