//! A changed file on its way to the disk: all of it or nothing, with what was there kept beside it.
//!
//! A file that is read-only, was changed by somebody else meanwhile, or cannot be written whole is left as it was.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use crate::config::fault::Fault;

/// How what was there is called: the file's name, and this.
const BACKUP: &str = ".contexture-backup";

/// Where a file was written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Saved {
    /// The file itself, links followed.
    pub file: PathBuf,
    /// What was there before, if something was.
    pub backup: Option<PathBuf>,
}

/// Where a path leads to, links followed. One that is not there leads to itself.
pub(super) fn real(path: &Path) -> Result<PathBuf, Fault> {
    match path.canonicalize() {
        Ok(real) => Ok(real),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            if path.is_symlink() {
                let what = "is a link to a file that is not there: make that file, or remove the link";
                return Err(Fault::error(path, None, what));
            }
            Ok(path.to_owned())
        }
        Err(error) => Err(unusable(path, &error)),
    }
}

/// Writes the new text where the old one was, and is still.
pub(super) fn save(path: &Path, old: Option<&[u8]>, new: &[u8]) -> Result<Saved, Fault> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if old.is_none() {
        fs::create_dir_all(folder).map_err(|error| unusable(folder, &error))?;
    }
    let _turn = system::turn(folder);
    unchanged(path, old)?;
    let about = old.map(|_| fs::metadata(path)).transpose().map_err(|error| unusable(path, &error))?;
    if let Some(about) = &about
        && about.permissions().readonly()
    {
        let what = "is read-only: make it writable for you (chmod u+w) if it is to be changed";
        return Err(Fault::error(path, None, what));
    }
    let backup = match (old, &about) {
        (Some(old), Some(about)) => {
            let backup = beside(path, "", BACKUP);
            replace(&backup, old, Some(about)).map_err(|error| unusable(&backup, &error))?;
            Some(backup)
        }
        _ => None,
    };
    replace(path, new, about.as_ref()).map_err(|error| unusable(path, &error))?;
    Ok(Saved { file: path.to_owned(), backup })
}

/// Whoever wrote it meanwhile did not know of us.
fn unchanged(path: &Path, old: Option<&[u8]>) -> Result<(), Fault> {
    let now = match fs::read(path) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(unusable(path, &error)),
    };
    if now.as_deref() == old {
        return Ok(());
    }
    let what = "was changed by somebody else while this was at work, and is left as it is now: try again";
    Err(Fault::error(path, None, what))
}

fn replace(path: &Path, bytes: &[u8], like: Option<&fs::Metadata>) -> io::Result<()> {
    let draft = beside(path, ".", &format!(".{}.draft", std::process::id()));
    let done = write(&draft, bytes, like).and_then(|()| fs::rename(&draft, path));
    if done.is_err() {
        // What is left of it is of no use, and may be what fills the disk.
        let _ = fs::remove_file(&draft);
        return done;
    }
    // Whether the new name survives a power cut is not worth an error.
    let _ = path.parent().map(|folder| File::open(folder).and_then(|folder| folder.sync_all()));
    Ok(())
}

fn write(draft: &Path, bytes: &[u8], like: Option<&fs::Metadata>) -> io::Result<()> {
    let mut file = system::private(OpenOptions::new().write(true).create_new(true)).open(draft)?;
    file.write_all(bytes)?;
    if let Some(like) = like {
        system::same_owner(draft, &file.metadata()?, like)?;
        file.set_permissions(like.permissions())?;
    }
    file.sync_all()
}

fn beside(path: &Path, before: &str, after: &str) -> PathBuf {
    let mut name = std::ffi::OsString::from(before);
    name.push(path.file_name().unwrap_or_default());
    name.push(after);
    path.with_file_name(name)
}

fn unusable(path: &Path, error: &io::Error) -> Fault {
    let advice = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            "make room there; the file is as it was"
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "make it and its folder writable for you; the file is as it was"
        }
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists | ErrorKind::IsADirectory => {
            "something else is in its place: move that away"
        }
        _ => "the file is as it was",
    };
    Fault::error(path, None, format!("cannot be written ({error}): {advice}"))
}

#[cfg(unix)]
mod system {
    use std::fs::{File, Metadata, OpenOptions};
    use std::io;
    use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, chown};
    use std::path::Path;

    use rustix::fs::{FlockOperation, flock};

    /// Two of us change files of one folder one after the other. Where that cannot be had, the file is compared all the same.
    pub(super) fn turn(folder: &Path) -> Option<File> {
        let file = File::open(folder).ok()?;
        flock(&file, FlockOperation::LockExclusive).ok()?;
        Some(file)
    }

    pub(super) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
        options.mode(0o600)
    }

    /// Who changes another's file (root does) leaves it to its owner.
    pub(super) fn same_owner(path: &Path, ours: &Metadata, like: &Metadata) -> io::Result<()> {
        if (ours.uid(), ours.gid()) == (like.uid(), like.gid()) {
            return Ok(());
        }
        let gid = (ours.gid() != like.gid()).then(|| like.gid());
        let uid = (ours.uid() != like.uid()).then(|| like.uid());
        chown(path, uid, gid)
    }
}

#[cfg(not(unix))]
mod system {
    use std::fs::{Metadata, OpenOptions};
    use std::io;
    use std::path::Path;

    pub(super) fn turn(_: &Path) {}

    pub(super) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
        options
    }

    pub(super) fn same_owner(_: &Path, _: &Metadata, _: &Metadata) -> io::Result<()> {
        Ok(())
    }
}
