//! Which clients may use somebody's login at a server: what people have agreed to, and nothing else.
//!
//! The gateway is one client for all of its callers to an authorization server, which so asks nobody about them (the
//! confused deputy). It is our own page that asks, once for each person, client and server; this keeps the answers.

use std::collections::HashSet;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

/// Answers that are kept; the oldest goes first, and is asked for again.
const MOST: usize = 10_000;
/// Bytes of the file that are read.
const BYTES: u64 = 32 * 1024 * 1024;

/// A person agreed that a client uses their login at a server.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Approval {
    pub(super) person: String,
    pub(super) client: String,
    pub(super) server: String,
}

/// All that people agreed to.
pub(super) struct Approvals {
    file: PathBuf,
    known: Mutex<Known>,
    /// One writes at a time, and writes what is known then.
    writing: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Known {
    order: Vec<Approval>,
    set: HashSet<Approval>,
}

impl Approvals {
    /// Reads what was kept. A file that cannot be read is as good as none: people are asked again.
    pub(super) fn at(file: PathBuf) -> Self {
        let mut known = Known::default();
        match read(&file) {
            Ok(list) => list.into_iter().for_each(|approval| known.add(approval)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                tracing::warn!(file = %file.display(), %error, "what people agreed to cannot be read: they are asked again");
            }
        }
        Self { file, known: Mutex::new(known), writing: tokio::sync::Mutex::default() }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn has(&self, approval: &Approval) -> bool {
        self.known().set.contains(approval)
    }

    /// Counts from now on, and is kept if that can be.
    pub(super) async fn add(&self, approval: Approval) {
        self.known().add(approval);
        let _writing = self.writing.lock().await;
        let (file, list) = (self.file.clone(), self.known().order.clone());
        let written = tokio::task::spawn_blocking(move || write(&file, &list)).await;
        let written = written.unwrap_or_else(|error| Err(io::Error::other(error)));
        if let Err(error) = written {
            tracing::warn!(file = %self.file.display(), %error, "what people agreed to cannot be kept: they are asked again after a restart");
        }
    }
}

impl Known {
    fn add(&mut self, approval: Approval) {
        if !self.set.insert(approval.clone()) {
            return;
        }
        if self.order.len() >= MOST {
            let oldest = self.order.remove(0);
            self.set.remove(&oldest);
        }
        self.order.push(approval);
    }
}

fn read(file: &Path) -> io::Result<Vec<Approval>> {
    if std::fs::metadata(file)?.len() > BYTES {
        return Err(io::Error::other("it is too large to be ours"));
    }
    serde_json::from_slice(&std::fs::read(file)?).map_err(io::Error::other)
}

/// All or nothing, and for the owner's eyes.
fn write(file: &Path, list: &[Approval]) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let fresh = file.with_extension("fresh");
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut out = options.open(&fresh)?;
    out.write_all(&serde_json::to_vec(list).map_err(io::Error::other)?)?;
    out.sync_all()?;
    std::fs::rename(&fresh, file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_answers_make_room() {
        let mut known = Known::default();
        let approval = |number: usize| Approval {
            person: number.to_string(),
            client: String::new(),
            server: String::new(),
        };
        (0..MOST + 3).for_each(|number| known.add(approval(number)));
        known.add(approval(MOST));
        assert_eq!((known.order.len(), known.set.len()), (MOST, MOST));
        assert!(!known.set.contains(&approval(2)) && known.set.contains(&approval(3)));
    }
}
