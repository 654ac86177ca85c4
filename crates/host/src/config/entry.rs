//! One server's entry: how it is reached, and what it may do here.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use contexture::auth::Secret;
use contexture::model::Root;
use contexture::revision::Era;

use super::Filter;

/// A server that somebody configured.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ServerEntry {
    /// What it is called in the configuration.
    pub name: String,
    /// How it is reached.
    pub transport: TransportSpec,
    /// Whether it may be started now, and why not.
    pub standing: Standing,
    /// Whether what it offers is renamed to `server__tool`.
    pub prefix: bool,
    /// Which of its tools are offered.
    pub tools: Filter,
    /// Which of its prompts are offered.
    pub prompts: Filter,
    /// Which of its resources (by URI) and templates are offered.
    pub resources: Filter,
    /// Whether what it says about its own tools (their annotations) is believed.
    pub trusted: bool,
    /// How long it may take to be ready.
    pub startup_time: Duration,
    /// How long a call may be silent.
    pub call_time: Duration,
    /// How long it is kept running without anything to do.
    pub idle_time: Duration,
    /// Which roots it is told.
    pub roots: RootsFor,
    /// Who logs in to it.
    pub login: LoginFor,
    /// Which era it is known to speak; found out, if nothing is said.
    pub era: Option<Era>,
    /// Where this was read.
    pub origin: Origin,
    /// Who shares a connection to it.
    pub sharing: Sharing,
    /// A digest of its definition as it was written, variables not filled in: what [trust](super::Trust) is given to.
    pub definition: [u8; 32],
}

impl ServerEntry {
    /// An entry in which everything that can be left out is.
    pub fn new(name: impl Into<String>, transport: TransportSpec, origin: Origin) -> Self {
        let login = match transport {
            TransportSpec::Http { .. } => LoginFor::User(Login::default()),
            TransportSpec::Stdio { .. } => LoginFor::None,
        };
        Self {
            name: name.into(),
            transport,
            standing: Standing::Enabled,
            prefix: true,
            tools: Filter::default(),
            prompts: Filter::default(),
            resources: Filter::default(),
            trusted: false,
            startup_time: Duration::from_secs(30),
            call_time: Duration::from_secs(60),
            idle_time: Duration::from_secs(300),
            roots: RootsFor::None,
            login,
            era: None,
            origin,
            sharing: Sharing::Principal,
            definition: [0; 32],
        }
    }

    /// Whether it may be started now.
    pub fn enabled(&self) -> bool {
        self.standing == Standing::Enabled
    }

    /// `host:name`, by which it can be selected whatever other files say.
    pub fn full_name(&self) -> String {
        format!("{}:{}", self.origin.host, self.name)
    }
}

/// Whether a server may be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It may.
    Enabled,
    /// Its entry says that it is not wanted.
    Disabled,
    /// It waits for a person's word.
    Held {
        /// What for, and how to give it.
        why: String,
    },
}

/// How a server is reached.
///
/// `Debug` shows neither arguments nor what follows a `?`: variables may have been filled in there.
#[derive(Clone, PartialEq)]
pub enum TransportSpec {
    /// A program that is started, and spoken to over its standard input and output.
    Stdio {
        /// The program. No shell is involved.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables that it gets beside those that every child gets.
        env: BTreeMap<String, Secret>,
        /// Where it runs.
        cwd: Option<PathBuf>,
    },
    /// A server at an address.
    Http {
        /// Its address, `http` or `https`.
        url: String,
        /// Headers of every request.
        headers: Vec<(String, Secret)>,
        /// HTTP+SSE, the transport of 2024-11-05, and nothing else.
        sse: bool,
        /// The socket in the file system that it listens at, in place of the address in its URL.
        socket: Option<PathBuf>,
    },
}

impl fmt::Debug for TransportSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio { command, args, env, cwd } => f
                .debug_struct("Stdio")
                .field("command", command)
                .field("args", &args.len())
                .field("env", env)
                .field("cwd", cwd)
                .finish(),
            Self::Http { url, headers, sse, socket } => f
                .debug_struct("Http")
                .field("url", &url.split('?').next())
                .field("headers", headers)
                .field("sse", sse)
                .field("socket", socket)
                .finish(),
        }
    }
}

/// Which roots a server is told.
#[derive(Debug, Clone, PartialEq)]
pub enum RootsFor {
    /// It is not told that there are such things.
    None,
    /// These.
    Fixed(Vec<Root>),
    /// Those of the client whose call it is, as far as consent goes.
    Client,
}

/// Who logs in to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoginFor {
    /// Nobody: a refusal stays one.
    None,
    /// Each caller, in his own name.
    User(Login),
    /// Whoever runs the gateway, for all callers.
    Shared(Login),
}

/// What is known about the login at a server before it is tried.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Login {
    /// The client id that the authorization server knows, where it takes no registrations.
    pub client_id: Option<String>,
    /// The secret that belongs to it.
    pub client_secret: Option<Secret>,
    /// Scopes to ask for beside those that the server asks for.
    pub scopes: Vec<String>,
    /// The one port of this machine that the way back may lead to.
    pub callback_port: Option<u16>,
}

/// Who shares a connection to a server. None of these ever lets two principals meet whose login differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Sharing {
    /// All calls of one principal.
    #[default]
    Principal,
    /// All calls of one session.
    Session,
    /// All calls.
    Everybody,
}

/// Where something was configured.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Origin {
    /// The file.
    pub file: PathBuf,
    /// Whose file that is.
    pub host: HostKind,
    /// Who is behind it.
    pub scope: Scope,
    /// The line, counted from one.
    pub line: Option<usize>,
}

impl Origin {
    /// What was said on the command line, in no file.
    pub fn command_line() -> Self {
        Self { file: PathBuf::new(), host: HostKind::Contexture, scope: Scope::CommandLine, line: None }
    }
}

/// Who is behind a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Named on the command line.
    CommandLine,
    /// In a place that only the user, or who runs the machine, can write to.
    User,
    /// In a project's folder: whoever wrote the project.
    Project,
}

/// Whose format a file is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum HostKind {
    /// Ours.
    Contexture,
    /// Claude Desktop.
    ClaudeDesktop,
    /// Claude Code.
    ClaudeCode,
    /// Visual Studio Code.
    VsCode,
    /// Cursor.
    Cursor,
    /// Windsurf.
    Windsurf,
    /// Gemini CLI.
    Gemini,
    /// Codex CLI.
    Codex,
}

impl HostKind {
    /// All hosts whose files can be read, ours first.
    pub const ALL: [Self; 8] = [
        Self::Contexture,
        Self::ClaudeDesktop,
        Self::ClaudeCode,
        Self::VsCode,
        Self::Cursor,
        Self::Windsurf,
        Self::Gemini,
        Self::Codex,
    ];

    /// The word for it, as in `host:name`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Contexture => "contexture",
            Self::ClaudeDesktop => "claude-desktop",
            Self::ClaudeCode => "claude-code",
            Self::VsCode => "vscode",
            Self::Cursor => "cursor",
            Self::Windsurf => "windsurf",
            Self::Gemini => "gemini",
            Self::Codex => "codex",
        }
    }

    /// The host that this word is for.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|host| host.word() == word)
    }
}

impl fmt::Display for HostKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
