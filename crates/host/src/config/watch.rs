//! Files that change while we run.
//!
//! Folders are watched, not files: editors replace a file by another of its name. Nothing is read before it has been quiet
//! for a moment. A file that has become unusable counts as it was, with a fault that says so; so does one that
//! is gone if it was named or is the user's own, because what it forbade must not become allowed. Any other that is gone is gone.
//! Records of [trust](super::Trust) are watched, too: who agrees to a project's servers sees them start.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::load::Loader;
use super::{Config, ConfigError, Fault, Sources, Trust};

/// How long files must have been left alone.
const QUIET: Duration = Duration::from_millis(100);
/// After so long they are read even if somebody never leaves them alone.
const PATIENCE: Duration = Duration::from_secs(2);

/// Watches the files that a configuration comes from.
pub struct Watcher {
    sources: Arc<Sources>,
    loader: Arc<Mutex<Loader>>,
    last: Config,
    /// Something happened that was not read yet.
    due: bool,
    system: RecommendedWatcher,
    events: mpsc::Receiver<()>,
    wanted: Arc<Mutex<Wanted>>,
    folders: BTreeSet<PathBuf>,
}

/// What an event must be about: these files, folders above them, or anything in these folders.
#[derive(Debug, Default)]
struct Wanted {
    files: BTreeSet<PathBuf>,
    folders: Vec<PathBuf>,
}

impl Wanted {
    fn is_about(&self, path: &Path) -> bool {
        // A folder above one of the files can appear or go with all that is in it.
        let mut all = self.files.iter().chain(&self.folders);
        all.any(|wanted| wanted.starts_with(path))
            || self.folders.iter().any(|folder| path.starts_with(folder))
    }
}

impl Watcher {
    /// Reads the configuration, and watches from now on.
    ///
    /// # Errors
    ///
    /// As [`load`](super::load), and if the system has no way to watch folders.
    pub fn new(sources: Sources) -> Result<(Config, Self), ConfigError> {
        let (sender, events) = mpsc::channel(1);
        let wanted = Arc::new(Mutex::new(Wanted::default()));
        let filter = Arc::clone(&wanted);
        let system = notify::recommended_watcher(move |event: notify::Result<Event>| {
            let wanted = filter.lock().unwrap_or_else(PoisonError::into_inner);
            if event.is_ok_and(|event| !changes(&event, &wanted)) {
                return;
            }
            // One that waits says as much as many.
            let _ = sender.try_send(());
        });
        let system = system.map_err(|error| ConfigError {
            faults: vec![Fault::error(
                &sources.cwd,
                None,
                format!("files cannot be watched for changes: {error}"),
            )],
        })?;
        let mut loader = Loader::default();
        let first = loader.load(&sources)?;
        let mut watcher = Self {
            sources: Arc::new(sources),
            loader: Arc::new(Mutex::new(loader)),
            last: first.clone(),
            // What changed between reading and watching would be missed.
            due: true,
            system,
            events,
            wanted,
            folders: BTreeSet::new(),
        };
        watcher.arm();
        Ok((first, watcher))
    }

    /// The next configuration that is another than the last.
    ///
    /// Can be dropped and called again; nothing is lost.
    pub async fn changed(&mut self) -> Config {
        loop {
            self.settled().await;
            // Before anything is read: what changes meanwhile is an event.
            self.arm();
            let next = self.read().await;
            self.due = false;
            if next != self.last {
                // Files that were not watched yet are read once more when they are.
                self.due = next.files != self.last.files;
                self.last = next.clone();
                self.arm();
                return next;
            }
        }
    }

    /// Waits for an event, and then for a while without any.
    async fn settled(&mut self) {
        if !self.due {
            if self.events.recv().await.is_none() {
                // The sender lives in the watcher that we hold: this does not happen. If it did, nothing would change again.
                std::future::pending::<()>().await;
            }
            self.due = true;
        }
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            let quiet = (Instant::now() + QUIET).min(end);
            if timeout_at(quiet, self.events.recv()).await.is_err() {
                return;
            }
        }
    }

    /// Files may be on a slow disk: they are read where waiting hurts nobody. If there is no configuration, the last one
    /// goes on, with the reasons.
    async fn read(&self) -> Config {
        let (sources, loader) = (Arc::clone(&self.sources), Arc::clone(&self.loader));
        let read = tokio::task::spawn_blocking(move || {
            loader.lock().unwrap_or_else(PoisonError::into_inner).load(&sources)
        });
        match read.await {
            Ok(Ok(config)) => config,
            Ok(Err(error)) => Config { faults: error.faults, ..self.last.clone() },
            // Only if the runtime ends.
            Err(_) => self.last.clone(),
        }
    }

    /// Watches the folders of all files, and of what links lead to; where there is none, the nearest above it.
    fn arm(&mut self) {
        let trust = Trust::at(&self.sources.state_folder());
        let mut files: BTreeSet<PathBuf> = self.last.files.iter().cloned().collect();
        let real: Vec<PathBuf> = files.iter().filter_map(|file| real_place(file)).collect();
        files.extend(real);
        let inside = [trust.folder().join("record")];
        let folders =
            files.iter().chain(&inside).filter_map(|file| nearest_folder(file)).collect::<BTreeSet<_>>();
        // Not held while folders are watched: events may be waiting for it.
        *self.wanted.lock().unwrap_or_else(PoisonError::into_inner) = Wanted {
            files,
            folders: trust.folder().canonicalize().into_iter().chain([trust.folder().to_owned()]).collect(),
        };
        for gone in self.folders.difference(&folders) {
            let _ = self.system.unwatch(gone);
        }
        // Watched anew each time, because a folder can have been replaced by another of its name. What cannot be watched
        // is read again when something else changes.
        let watch = |folder: &PathBuf| self.system.watch(folder, RecursiveMode::NonRecursive).is_ok();
        self.folders = folders.into_iter().filter(watch).collect();
    }
}

impl std::fmt::Debug for Watcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watcher").field("folders", &self.folders).finish_non_exhaustive()
    }
}

/// Whether something of ours may be different. That somebody reads changes nothing, and we read ourselves.
fn changes(event: &Event, wanted: &Wanted) -> bool {
    let reads = match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => false,
        EventKind::Access(_) => true,
        _ => false,
    };
    !reads && (event.paths.is_empty() || event.paths.iter().any(|path| wanted.is_about(path)))
}

fn nearest_folder(file: &Path) -> Option<PathBuf> {
    file.ancestors().skip(1).find(|folder| folder.is_dir()).map(Path::to_owned)
}

/// Where a file is, or would be, without links on the way.
fn real_place(file: &Path) -> Option<PathBuf> {
    let beside = || Some(file.parent()?.canonicalize().ok()?.join(file.file_name()?));
    file.canonicalize().ok().or_else(beside)
}
