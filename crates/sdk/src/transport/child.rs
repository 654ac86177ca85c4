//! A server as a child process, spoken to over its standard streams.
//!
//! The child leads a process group of its own and gets only those environment variables that are on a
//! list. Whatever happens to this end, the group is brought down: standard input is closed, then SIGTERM,
//! then SIGKILL. There is no shell: arguments arrive as they are.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::watch;

use super::{Incoming, LineTransport, Transport};
use crate::{Error, Policy, Result};

mod guard;
mod stderr;

use guard::{Exit, Guard};
use stderr::Ring;
pub use stderr::Stderr;

/// What a child needs to find its way, and nothing that could be a secret.
#[cfg(not(windows))]
const INHERITED: &[&str] =
    &["PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "SHELL", "TERM", "TMPDIR", "TZ", "USER"];
/// What a child needs to find its way, and nothing that could be a secret.
#[cfg(windows)]
const INHERITED: &[&str] = &[
    "PATH",
    "PATHEXT",
    "APPDATA",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMFILES",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERNAME",
    "USERPROFILE",
];

/// How long the report on a child that has ended its output may wait for its exit.
const REPORT: Duration = Duration::from_secs(1);

/// How to start a server.
#[derive(Debug, Clone)]
pub struct ChildCommand {
    program: OsString,
    arguments: Vec<OsString>,
    inherited: Vec<OsString>,
    variables: Vec<(OsString, OsString)>,
    directory: Option<PathBuf>,
    stderr: Stderr,
}

impl ChildCommand {
    /// A program, looked up in `PATH` if it is a bare name.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            inherited: INHERITED.iter().map(OsString::from).collect(),
            variables: Vec::new(),
            directory: None,
            stderr: Stderr::default(),
        }
    }

    /// Adds an argument, which reaches the program as it is.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args(mut self, arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// Lets the child have one more variable of this process's environment.
    #[must_use]
    pub fn inherit_env(mut self, name: impl Into<OsString>) -> Self {
        self.inherited.push(name.into());
        self
    }

    /// Replaces the list of variables that the child gets from this process's environment.
    #[must_use]
    pub fn inherit_only(mut self, names: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.inherited = names.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the working directory.
    #[must_use]
    pub fn current_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// What happens to what the child writes to standard error; kept for error messages by default.
    #[must_use]
    pub fn stderr(mut self, stderr: Stderr) -> Self {
        self.stderr = stderr;
        self
    }

    /// The program.
    pub fn program(&self) -> &OsStr {
        &self.program
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).env_clear();
        for name in &self.inherited {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(self.stderr.stdio());
        command.kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        command
    }
}

/// The environment of the command is not taken over, except for what was set on it: children get the
/// listed variables only. Redirections are the library's.
impl From<&std::process::Command> for ChildCommand {
    fn from(command: &std::process::Command) -> Self {
        let mut child = Self::new(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => child.variables.push((name.into(), value.into())),
                None => child.inherited.retain(|inherited| inherited != name),
            }
        }
        child.directory = command.get_current_dir().map(Into::into);
        child
    }
}

impl From<std::process::Command> for ChildCommand {
    fn from(command: std::process::Command) -> Self {
        Self::from(&command)
    }
}

impl From<Command> for ChildCommand {
    fn from(command: Command) -> Self {
        Self::from(command.as_std())
    }
}

macro_rules! program {
    ($($kind:ty),*) => {$(
        /// A program without arguments.
        impl From<$kind> for ChildCommand {
            fn from(program: $kind) -> Self {
                Self::new(program)
            }
        }
    )*};
}

program!(&str, &String, String, &OsStr, OsString, &Path, PathBuf);

impl<P, A> From<(P, A)> for ChildCommand
where
    P: Into<OsString>,
    A: IntoIterator,
    A::Item: Into<OsString>,
{
    fn from((program, arguments): (P, A)) -> Self {
        Self::new(program).args(arguments)
    }
}

/// A connection to a child.
#[derive(Debug)]
pub struct ChildTransport {
    lines: LineTransport<ChildStdout, ChildStdin>,
    exit: ChildExit,
    // Dropped after the pipes, so that the child sees the end of its input before any signal.
    guard: Guard,
}

impl ChildTransport {
    /// Starts a child. Must be called inside a tokio runtime.
    pub fn spawn(command: &ChildCommand, policy: &Policy) -> Result<Self> {
        let mut child = command.command().spawn().map_err(|error| not_started(command, &error))?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Error::Transport(io::Error::other("the child has no standard streams")));
        };
        let ring = Arc::new(Mutex::new(Ring::new(policy.stderr_bytes)));
        let drained = child.stderr.take().map(|pipe| drain(pipe, &ring, &command.stderr));
        let (guard, status) = Guard::watch(child, policy, drained);
        Ok(Self {
            lines: LineTransport::new(stdout, stdin, policy.line_bytes),
            exit: ChildExit { status, ring },
            guard,
        })
    }

    /// What can be known about the end of the child, also after this transport is gone.
    pub fn exit(&self) -> ChildExit {
        self.exit.clone()
    }

    /// The process id.
    pub fn id(&self) -> Option<u32> {
        self.guard.id()
    }
}

fn drain(pipe: ChildStderr, ring: &Arc<Mutex<Ring>>, mode: &Stderr) -> tokio::task::JoinHandle<()> {
    tokio::spawn(stderr::drain(pipe, Arc::clone(ring), mode.callback()))
}

/// The system has the same words for a program and for a folder that are not there.
fn not_started(command: &ChildCommand, error: &io::Error) -> Error {
    let program = command.program.to_string_lossy();
    let is_missing = error.kind() == io::ErrorKind::NotFound;
    let why = match &command.directory {
        Some(folder) if is_missing && !folder.is_dir() => {
            format!("there is no folder {folder:?} to run it in")
        }
        _ if is_missing && !program.contains(std::path::is_separator) => {
            "there is no such program on the PATH".to_owned()
        }
        _ => error.to_string(),
    };
    Error::Transport(io::Error::new(error.kind(), format!("cannot start {program:?}: {why}")))
}

impl Transport for ChildTransport {
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Incoming>> {
        self.lines.poll_receive(cx)
    }

    fn send(&mut self, lines: &mut Vec<u8>) {
        self.lines.send(lines);
    }

    fn unsent(&self) -> usize {
        self.lines.unsent()
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.lines.poll_flush(cx)
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.lines.poll_close(cx))?;
        // Its input is closed: from here on the child has so much time to leave.
        self.guard.release();
        Poll::Ready(Ok(()))
    }
}

/// How a child ended, and what it said last.
#[derive(Clone)]
pub struct ChildExit {
    status: watch::Receiver<Exit>,
    ring: Arc<Mutex<Ring>>,
}

impl ChildExit {
    /// In words: `server exited with 1: last lines`. Waits a moment for an exit that is under way.
    pub async fn describe(&self) -> String {
        let mut status = self.status.clone();
        let exited = tokio::time::timeout(REPORT, status.wait_for(|exit| exit.how.is_some())).await;
        let how = match exited {
            Ok(Ok(exit)) => exit.how.clone().unwrap_or_default(),
            _ => "closed its output".to_owned(),
        };
        let said = self.last_lines();
        if said.is_empty() { format!("server {how}") } else { format!("server {how}: {said}") }
    }

    /// Waits until the child is gone and reaped.
    pub async fn gone(&self) {
        // An error means that whoever watches over the child is gone, and so is the child.
        let _ = self.status.clone().wait_for(|exit| exit.is_over).await;
    }

    /// What is left of standard error.
    pub fn last_lines(&self) -> String {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner).text()
    }
}

impl fmt::Debug for ChildExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChildExit").field("status", &*self.status.borrow()).finish_non_exhaustive()
    }
}
