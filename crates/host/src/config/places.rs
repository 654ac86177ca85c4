//! Where hosts keep their files, on each system, as data. Looking for them starts nothing.

use std::path::{Path, PathBuf};

use contexture::auth::SecretStore;

use super::entry::{HostKind, Scope};
use super::expand::Environment;

/// The family of operating systems; the places differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Platform {
    /// Linux, and whatever else follows its customs.
    Linux,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
}

impl Platform {
    /// The one that this was built for.
    pub const fn here() -> Self {
        if cfg!(windows) {
            Self::Windows
        } else if cfg!(target_os = "macos") {
            Self::MacOs
        } else {
            Self::Linux
        }
    }
}

/// The home of those who have none: nothing is in it, and nothing can be put there.
const NOWHERE: &str = if cfg!(windows) { r"\\.\NUL" } else { "/dev/null" };

/// Where to read a configuration, and what to make of it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Sources {
    /// The user's folder.
    pub home: PathBuf,
    /// The folder that we were started in: the project's, if there is one.
    pub cwd: PathBuf,
    /// Which customs places follow.
    pub platform: Platform,
    /// What variables in files stand for.
    pub environment: Environment,
    /// Where secrets are that files refer to; nowhere, if nothing is said.
    pub secrets: Option<SecretStore>,
    /// Files that were named, each in the format that its name tells. If there are any, nothing else is read.
    pub files: Vec<PathBuf>,
    /// Hosts whose files are read beside our own.
    pub import: Vec<HostKind>,
    /// Only these servers, `name` or `host:name`; all, if it is empty.
    pub only: Vec<String>,
}

impl Sources {
    /// Those that a person at this home and in this folder has.
    pub fn new(
        home: impl Into<PathBuf>,
        cwd: impl Into<PathBuf>,
        platform: Platform,
        environment: Environment,
    ) -> Self {
        let (home, cwd) = (home.into(), cwd.into());
        Self {
            home,
            cwd,
            platform,
            environment,
            secrets: None,
            files: Vec::new(),
            import: Vec::new(),
            only: Vec::new(),
        }
    }

    /// Those of this process.
    pub fn of_process() -> Self {
        let environment = Environment::of_process();
        // Never the folder that we were started in: what a project brings is not the user's own.
        let home = std::env::home_dir().filter(|home| home.is_absolute()).unwrap_or_else(|| NOWHERE.into());
        let cwd = std::env::current_dir().unwrap_or_default();
        Self { secrets: Some(SecretStore::open()), ..Self::new(home, cwd, Platform::here(), environment) }
    }

    /// The folder in which we remember what we were told: trust, decisions.
    pub fn state_folder(&self) -> PathBuf {
        self.base(match self.platform {
            Platform::Linux => Base::State,
            Platform::MacOs => Base::Support,
            Platform::Windows => Base::LocalData,
        })
        .join("contexture")
    }

    /// Our own file for this user, whether it is there or not.
    pub fn user_file(&self) -> PathBuf {
        self.place(&OWN_USER)
    }

    /// Our own file of this project, whether it is there or not.
    pub fn project_file(&self) -> PathBuf {
        self.place(&OWN_PROJECT)
    }

    /// The file of a host that servers of the user, or of this project, belong in: the first that is there, or that could be.
    /// `None` if that host has none of this kind.
    pub fn file_of(&self, host: HostKind, scope: Scope) -> Option<ConfigFile> {
        let is_own = |place: &&Place| {
            let base = place.base(self.platform);
            place.host == host && place.scope == scope && !matches!(base, Base::System(_))
        };
        let files: Vec<ConfigFile> = PLACES
            .iter()
            .filter(is_own)
            .map(|place| ConfigFile { path: self.place(place), host, scope })
            .collect();
        files.iter().find(|file| file.path.is_file()).or(files.first()).cloned()
    }

    fn place(&self, place: &Place) -> PathBuf {
        place.path.split('/').fold(self.base(place.base(self.platform)), |path, part| path.join(part))
    }

    fn base(&self, base: Base) -> PathBuf {
        let variable = |name: &str| {
            // A relative path in these would mean another folder for every process.
            self.environment.get(name).map(PathBuf::from).filter(|path| path.is_absolute())
        };
        match base {
            Base::Home => self.home.clone(),
            Base::Project => self.cwd.clone(),
            Base::Config => variable("XDG_CONFIG_HOME").unwrap_or_else(|| self.home.join(".config")),
            Base::State => {
                variable("XDG_STATE_HOME").unwrap_or_else(|| self.home.join(".local").join("state"))
            }
            Base::Support => self.home.join("Library").join("Application Support"),
            Base::Roaming => variable("APPDATA").unwrap_or_else(|| self.home.join("AppData").join("Roaming")),
            Base::LocalData => {
                variable("LOCALAPPDATA").unwrap_or_else(|| self.home.join("AppData").join("Local"))
            }
            Base::Codex => variable("CODEX_HOME").unwrap_or_else(|| self.home.join(".codex")),
            Base::System(path) => PathBuf::from(path),
        }
    }

    /// All places of one host's files, nearest to the project first; whether something is there or not.
    pub fn places(&self, host: HostKind) -> impl Iterator<Item = ConfigFile> {
        let here = PLACES.iter().filter(move |place| place.host == host);
        here.map(move |place| {
            let path = self.place(place);
            // At home, the project's file and the user's can be one.
            let twin = |other: &&Place| {
                other.host == host && other.scope == Scope::User && self.place(other) == path
            };
            let scope = if PLACES.iter().any(|other| twin(&other)) { Scope::User } else { place.scope };
            ConfigFile { path, host, scope }
        })
    }
}

/// A file of a known format.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ConfigFile {
    /// Where it is.
    pub path: PathBuf,
    /// Whose format it is in.
    pub host: HostKind,
    /// Who is behind it.
    pub scope: Scope,
}

impl ConfigFile {
    /// A file that somebody named: its name tells whose it is; ours, if it does not.
    pub fn named(path: &Path) -> Self {
        Self { path: path.to_owned(), host: host_of(path), scope: Scope::CommandLine }
    }

    /// The folder that it speaks about: that of the project, or where it was named.
    pub(super) fn workspace(&self, sources: &Sources) -> PathBuf {
        if self.scope == Scope::User {
            return sources.cwd.clone();
        }
        let path = sources.cwd.join(&self.path);
        let folder = path.parent().unwrap_or(&sources.cwd);
        let hidden = [".vscode", ".cursor", ".gemini", ".codex", ".windsurf"];
        match folder.file_name().and_then(|name| name.to_str()) {
            Some(name) if hidden.contains(&name) => folder.parent().unwrap_or(folder).to_owned(),
            _ => folder.to_owned(),
        }
    }
}

/// Every file of every host that is there, ours first. Nothing is opened.
pub fn discover(sources: &Sources) -> Vec<ConfigFile> {
    let mut found: Vec<ConfigFile> = Vec::new();
    for file in HostKind::ALL.into_iter().flat_map(|host| sources.places(host)) {
        if file.path.is_file() && !found.contains(&file) {
            found.push(file);
        }
    }
    found
}

fn host_of(path: &Path) -> HostKind {
    let part =
        |part: Option<&std::ffi::OsStr>| part.and_then(|part| part.to_str()).unwrap_or_default().to_owned();
    let (name, folder) = (part(path.file_name()), part(path.parent().and_then(Path::file_name)));
    match (folder.as_str(), name.as_str()) {
        (_, "claude_desktop_config.json") => HostKind::ClaudeDesktop,
        (_, ".mcp.json" | ".claude.json" | "managed-mcp.json") => HostKind::ClaudeCode,
        (".vscode" | "User", "mcp.json") => HostKind::VsCode,
        (".cursor", "mcp.json") => HostKind::Cursor,
        (_, "mcp_config.json") => HostKind::Windsurf,
        (".gemini", "settings.json") => HostKind::Gemini,
        (_, name) if name.ends_with(".toml") => HostKind::Codex,
        _ => HostKind::Contexture,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Base {
    Home,
    Project,
    Config,
    State,
    /// macOS.
    Support,
    /// Windows.
    Roaming,
    LocalData,
    Codex,
    System(&'static str),
}

/// Where a file is: for all systems alike, or for each of the three.
#[derive(Debug)]
enum Where {
    Everywhere(Base),
    /// Linux, macOS, Windows.
    Each(Base, Base, Base),
}

#[derive(Debug)]
struct Place {
    host: HostKind,
    scope: Scope,
    base: Where,
    path: &'static str,
}

impl Place {
    const fn project(host: HostKind, path: &'static str) -> Self {
        Self { host, scope: Scope::Project, base: Where::Everywhere(Base::Project), path }
    }

    const fn home(host: HostKind, path: &'static str) -> Self {
        Self { host, scope: Scope::User, base: Where::Everywhere(Base::Home), path }
    }

    /// In the folder for programs' settings.
    const fn settings(host: HostKind, path: &'static str) -> Self {
        let base = Where::Each(Base::Config, Base::Support, Base::Roaming);
        Self { host, scope: Scope::User, base, path }
    }

    /// Where only who runs the machine can write.
    const fn system(host: HostKind, folders: [&'static str; 3], path: &'static str) -> Self {
        let [linux, mac, windows] = folders;
        let base = Where::Each(Base::System(linux), Base::System(mac), Base::System(windows));
        Self { host, scope: Scope::User, base, path }
    }

    fn base(&self, platform: Platform) -> Base {
        match (&self.base, platform) {
            (Where::Everywhere(base), _)
            | (Where::Each(base, _, _), Platform::Linux)
            | (Where::Each(_, base, _), Platform::MacOs)
            | (Where::Each(_, _, base), Platform::Windows) => *base,
        }
    }
}

const OWN_PROJECT: Place = Place::project(HostKind::Contexture, "contexture.json");
const OWN_USER: Place = Place {
    host: HostKind::Contexture,
    scope: Scope::User,
    base: Where::Each(Base::Config, Base::Config, Base::Roaming),
    path: "contexture/contexture.json",
};

static PLACES: [Place; 18] = [
    OWN_PROJECT,
    OWN_USER,
    Place::settings(HostKind::ClaudeDesktop, "Claude/claude_desktop_config.json"),
    Place::project(HostKind::ClaudeCode, ".mcp.json"),
    Place::home(HostKind::ClaudeCode, ".claude.json"),
    Place::system(
        HostKind::ClaudeCode,
        ["/etc/claude-code", "/Library/Application Support/ClaudeCode", r"C:\Program Files\ClaudeCode"],
        "managed-mcp.json",
    ),
    Place::project(HostKind::VsCode, ".vscode/mcp.json"),
    Place::settings(HostKind::VsCode, "Code/User/mcp.json"),
    Place::settings(HostKind::VsCode, "Code - Insiders/User/mcp.json"),
    Place::project(HostKind::Cursor, ".cursor/mcp.json"),
    Place::home(HostKind::Cursor, ".cursor/mcp.json"),
    Place::home(HostKind::Windsurf, ".codeium/windsurf/mcp_config.json"),
    Place::home(HostKind::Windsurf, ".codeium/mcp_config.json"),
    Place::project(HostKind::Gemini, ".gemini/settings.json"),
    Place::home(HostKind::Gemini, ".gemini/settings.json"),
    Place::system(
        HostKind::Gemini,
        ["/etc/gemini-cli", "/Library/Application Support/GeminiCli", r"C:\ProgramData\gemini-cli"],
        "settings.json",
    ),
    Place::project(HostKind::Codex, ".codex/config.toml"),
    Place {
        host: HostKind::Codex,
        scope: Scope::User,
        base: Where::Everywhere(Base::Codex),
        path: "config.toml",
    },
];
