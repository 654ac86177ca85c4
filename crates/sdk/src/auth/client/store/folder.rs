//! A folder that only its owner can look into, with files that are replaced whole or not at all, and locks
//! that end with the process that holds them.
//!
//! What others could have read or written is refused with words that say what to do about it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::fault;
use crate::{Error, Result};

/// How long somebody else may hold a lock. A refresh is bounded by less.
const LOCK_TIME: Duration = Duration::from_secs(60);
/// How often a lock that is held is tried again.
const LOCK_PAUSE: Duration = Duration::from_millis(20);
/// Held while files change; short, and never together with another.
const WRITING: &str = "writing.lock";

/// A folder of ours.
#[derive(Debug, Clone)]
pub(super) struct Folder(PathBuf);

impl Folder {
    /// Makes it if it is not there.
    pub(super) fn open(path: &Path) -> Result<Self> {
        make(path).map_err(|error| unusable(path, "made", &error))?;
        match Self::existing(path)? {
            Some(folder) => Ok(folder),
            None => Err(storage(path, "is gone as soon as it is made: nothing can be kept there")),
        }
    }

    /// Leaves everything as it is if it is not there.
    pub(super) fn existing(path: &Path) -> Result<Option<Self>> {
        let found = match fs::symlink_metadata(path) {
            Ok(found) => found,
            // What is in its place is no hindrance for those who have nothing to keep.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(error) => return Err(unusable(path, "opened", &error)),
        };
        if !found.is_dir() {
            return Err(storage(path, "is no folder: move it away"));
        }
        system::own(path, &found)?;
        system::tighten(path, &found)?;
        Ok(Some(Self(path.to_owned())))
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A file, if it is there; of one that is too long only so much that this can be seen.
    pub(super) fn read(&self, name: &str, limit: usize) -> Result<Option<Vec<u8>>> {
        let path = self.path(name);
        let wrong = |error: &io::Error| unusable(&path, "read", error);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(wrong(&error)),
        };
        let found = file.metadata().map_err(|error| wrong(&error))?;
        system::own(&path, &found)?;
        system::private(&path, &found)?;
        let mut bytes = Vec::new();
        let most = limit as u64 + 1;
        file.take(most).read_to_end(&mut bytes).map_err(|error| wrong(&error))?;
        Ok(Some(bytes))
    }

    /// Puts a file in the place of what was there. Whoever reads meanwhile sees the one or the other, and so
    /// does the next process after a crash.
    pub(super) fn replace(&self, name: &str, bytes: &[u8], _writing: &Held) -> Result<()> {
        let (path, draft) = (self.path(name), self.path(&format!("{name}.draft")));
        let done = write_draft(&draft, bytes).and_then(|()| fs::rename(&draft, &path));
        if let Err(error) = done {
            // What is left of it is of no use, and may be what fills the disk.
            let _ = fs::remove_file(&draft);
            return Err(unusable(&path, "written", &error));
        }
        // The new name is there for everybody; whether it survives a power cut is not worth an error.
        let _ = File::open(&self.0).and_then(|folder| folder.sync_all());
        Ok(())
    }

    pub(super) fn remove(&self, name: &str, _writing: &Held) -> Result<()> {
        let path = self.path(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(unusable(&path, "deleted", &error)),
            _ => Ok(()),
        }
    }

    /// Names of files that end so, without that ending, in order.
    pub(super) fn names(&self, ending: &str) -> Result<Vec<String>> {
        let wrong = |error: &io::Error| unusable(&self.0, "listed", error);
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.0).map_err(|error| wrong(&error))? {
            let entry = entry.map_err(|error| wrong(&error))?;
            let name = entry.file_name();
            names.extend(name.to_str().and_then(|name| name.strip_suffix(ending)).map(str::to_owned));
        }
        names.sort();
        Ok(names)
    }

    /// Waits for its turn to change files.
    pub(super) async fn writing(&self) -> Result<Held> {
        self.lock(WRITING).await
    }

    /// Waits until no other process, and nobody else in this one, holds the lock of this name.
    pub(super) async fn lock(&self, name: &str) -> Result<Held> {
        let path = self.path(name);
        let end = Instant::now() + LOCK_TIME;
        loop {
            match attempt(&path, end)? {
                Some(held) => return Ok(held),
                None => tokio::time::sleep(LOCK_PAUSE).await,
            }
        }
    }

    /// The same for those who may block their thread.
    pub(super) fn writing_blocking(&self) -> Result<Held> {
        let path = self.path(WRITING);
        let end = Instant::now() + LOCK_TIME;
        loop {
            match attempt(&path, end)? {
                Some(held) => return Ok(held),
                None => std::thread::sleep(LOCK_PAUSE),
            }
        }
    }
}

/// `None` to try again in a while.
fn attempt(path: &Path, end: Instant) -> Result<Option<Held>> {
    match system::try_lock(path) {
        Ok(Some(file)) => Ok(Some(Held { _file: file })),
        Ok(None) if Instant::now() < end => Ok(None),
        Ok(None) => {
            let seconds = LOCK_TIME.as_secs();
            let words =
                format!("has been held by another process for {seconds} seconds: end that process, or wait");
            Err(storage(path, &words))
        }
        Err(error) => Err(unusable(path, "locked", &error)),
    }
}

/// A lock. The system takes it back when the process ends, however it ends.
#[derive(Debug)]
pub(super) struct Held {
    _file: File,
}

fn make(path: &Path) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    match system::private_folder(&mut DirBuilder::new()).create(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

fn write_draft(draft: &Path, bytes: &[u8]) -> io::Result<()> {
    // Only a process that died here can have left one: we hold the lock.
    match fs::remove_file(draft) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = system::private_file(OpenOptions::new().write(true).create_new(true)).open(draft)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// A fault of a file, and what to do about it.
pub(super) fn storage(path: &Path, what: &str) -> Error {
    fault(format!("{} {what}", path.display()))
}

fn unusable(path: &Path, verb: &str, error: &io::Error) -> Error {
    let advice = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            "make room there; what was stored before is still there"
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "make it writable for you, or name another folder in XDG_DATA_HOME"
        }
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => {
            "something else is in its place: move that away, or name another folder in XDG_DATA_HOME"
        }
        _ => "name another folder in XDG_DATA_HOME if that cannot be mended",
    };
    storage(path, &format!("cannot be {verb} ({error}): {advice}"))
}

#[cfg(unix)]
mod system {
    //! Owners, modes and locks of Unix.

    use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
    use std::io;
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
    use std::path::Path;

    use rustix::fs::{FlockOperation, flock};
    use rustix::io::Errno;

    use super::{storage, unusable};
    use crate::Result;

    /// Every bit that lets others in.
    const OTHERS: u32 = 0o077;

    pub(super) fn private_folder(builder: &mut DirBuilder) -> &mut DirBuilder {
        builder.mode(0o700)
    }

    pub(super) fn private_file(options: &mut OpenOptions) -> &mut OpenOptions {
        options.mode(0o600)
    }

    /// Another user's file may hold anything; and what root writes for a user, that user cannot change.
    pub(super) fn own(path: &Path, found: &Metadata) -> Result<()> {
        if found.uid() == rustix::process::geteuid().as_raw() {
            return Ok(());
        }
        Err(storage(path, "belongs to another user: run this as that user, or set XDG_DATA_HOME"))
    }

    /// A folder that others may list holds files that they may not read: closing it is enough.
    pub(super) fn tighten(path: &Path, found: &Metadata) -> Result<()> {
        if found.mode() & OTHERS == 0 {
            return Ok(());
        }
        fs::set_permissions(path, Permissions::from_mode(0o700))
            .map_err(|error| unusable(path, "closed to others", &error))
    }

    /// What others could read they may have read already, so closing it now is not enough.
    pub(super) fn private(path: &Path, found: &Metadata) -> Result<()> {
        let mode = found.mode() & 0o777;
        if mode & OTHERS == 0 {
            return Ok(());
        }
        let words = format!(
            "can be read or written by others (its mode is {mode:03o}): delete it and log in again, or, if \
             you know that nobody else has used it, set its mode to 600"
        );
        Err(storage(path, &words))
    }

    /// `None` while somebody else holds it. The file stays: removing it would let two hold it at once.
    pub(super) fn try_lock(path: &Path) -> io::Result<Option<File>> {
        let file = private_file(OpenOptions::new().write(true).create(true).truncate(false)).open(path)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(file)),
            Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(not(unix))]
mod system {
    //! Elsewhere a person's own folder is private by what it inherits, and an open file can be exclusive.

    use std::fs::{DirBuilder, File, Metadata, OpenOptions};
    use std::io;
    use std::path::Path;

    use crate::Result;

    pub(super) fn private_folder(builder: &mut DirBuilder) -> &mut DirBuilder {
        builder
    }

    pub(super) fn private_file(options: &mut OpenOptions) -> &mut OpenOptions {
        options
    }

    pub(super) fn own(_: &Path, _: &Metadata) -> Result<()> {
        Ok(())
    }

    pub(super) fn tighten(_: &Path, _: &Metadata) -> Result<()> {
        Ok(())
    }

    pub(super) fn private(_: &Path, _: &Metadata) -> Result<()> {
        Ok(())
    }

    /// `None` while somebody else has it open.
    pub(super) fn try_lock(path: &Path) -> io::Result<Option<File>> {
        /// What Windows says where another process has a file to itself.
        const SHARING_VIOLATION: i32 = 32;
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        #[cfg(windows)]
        std::os::windows::fs::OpenOptionsExt::share_mode(&mut options, 0);
        match options.open(path) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.raw_os_error() == Some(SHARING_VIOLATION) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
