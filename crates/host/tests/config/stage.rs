//! A home and a project in a folder of their own, gone when the test is.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use contexture_host::config::{
    Config, ConfigError, Environment, Platform, ServerEntry, Sources, TransportSpec, Trust, load, proposals,
};

pub(crate) struct Stage {
    folder: PathBuf,
    variables: Vec<(String, String)>,
}

impl Stage {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("contexture-config-{}-{number}", std::process::id()));
        fs::create_dir_all(folder.join("home")).expect("the folder can be made");
        fs::create_dir_all(folder.join("project")).expect("the folder can be made");
        // Systems whose folder for temporary things is a link would make other paths of it.
        let folder = folder.canonicalize().expect("the folder is there");
        Self { folder, variables: Vec::new() }
    }

    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.join(path)
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.path("home")
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.path("project")
    }

    /// Writes a file, with the folders above it, that only its owner can read.
    pub(crate) fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("there is a folder")).expect("folders can be made");
        fs::write(&path, text).expect("the file can be written");
        restrict(&path, 0o600);
        path
    }

    /// Our own file of the user.
    pub(crate) fn user(&self, text: &str) -> PathBuf {
        self.write("home/.config/contexture/contexture.json", text)
    }

    pub(crate) fn sources(&self) -> Sources {
        let environment: Environment = self.variables.iter().cloned().collect();
        Sources::new(self.home(), self.project(), Platform::Linux, environment)
    }

    pub(crate) fn load(&self) -> Config {
        load(&self.sources()).unwrap_or_else(|error| panic!("{error}"))
    }

    /// What one named file says.
    pub(crate) fn load_file(&self, path: &Path) -> Result<Config, ConfigError> {
        let mut sources = self.sources();
        sources.files = vec![path.to_owned()];
        load(&sources)
    }

    pub(crate) fn trust(&self) -> Trust {
        Trust::at(&self.sources().state_folder())
    }

    /// Agrees to all that is in a file now.
    pub(crate) fn agree(&self, file: &Path) {
        for proposal in proposals(&self.sources(), Some(file)).unwrap_or_else(|error| panic!("{error}")) {
            let items = proposal.items.iter().map(|item| (item.server.as_deref(), item.definition));
            self.trust().give(file, items).expect("trust can be remembered");
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[cfg(unix)]
pub(crate) fn restrict(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("permissions can be set");
}

#[cfg(not(unix))]
pub(crate) fn restrict(_path: &Path, _mode: u32) {}

pub(crate) fn server<'a>(config: &'a Config, name: &str) -> &'a ServerEntry {
    config.server(name).unwrap_or_else(|| panic!("{name} is missing; faults: {}", faults(config)))
}

pub(crate) fn faults(config: &Config) -> String {
    config.faults.iter().map(|fault| format!("{fault}\n")).collect()
}

/// Command, arguments and variables of a server that is started.
pub(crate) fn process(entry: &ServerEntry) -> (String, Vec<String>, Vec<(String, String)>) {
    match &entry.transport {
        TransportSpec::Stdio { command, args, env, .. } => {
            let env = env.iter().map(|(name, value)| (name.clone(), value.expose().to_owned()));
            (command.clone(), args.clone(), env.collect())
        }
        other => panic!("{other:?} starts nothing"),
    }
}

/// Address, headers, and whether it is HTTP+SSE.
pub(crate) fn address(entry: &ServerEntry) -> (String, Vec<(String, String)>, bool) {
    match &entry.transport {
        TransportSpec::Http { url, headers, sse, .. } => {
            let headers = headers.iter().map(|(name, value)| (name.clone(), value.expose().to_owned()));
            (url.clone(), headers.collect(), *sse)
        }
        other => panic!("{other:?} has no address"),
    }
}
