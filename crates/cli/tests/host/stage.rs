//! `contexture run` with a configuration and a home of its own, over a pipe or listening.

use std::fs;
use std::io::{BufRead, BufReader};
use std::ops::Deref;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use contexture::client::{Builder, Client};
use contexture::revision::Era;
use contexture::testing::{RawPeer, Recording, Side, Transcript};
use contexture::transport::{ChildCommand, ChildTransport, Stderr};
use contexture::{Error, Policy};
use serde_json::{Value, json};

use crate::upstream::revisions;

const BINARY: &str = env!("CARGO_BIN_EXE_contexture");
/// Where a process looks for what is its user's.
const HOMES: [&str; 4] = ["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"];
/// Only a test that fails waits for so long.
const PATIENCE: Duration = Duration::from_secs(30);
/// The code of what was not allowed.
pub(crate) const DENIED: i64 = -31403;

/// Looks again and again, until it is so.
pub(crate) async fn until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "never: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// What a gateway writes to standard error.
#[derive(Clone, Default)]
struct Said(Arc<Mutex<String>>);

impl Said {
    fn note(&self, line: &str) {
        let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        said.push_str(line);
        said.push('\n');
    }

    fn text(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A configuration, and a folder in which the gateway keeps what it remembers.
pub(crate) struct Stage {
    folder: PathBuf,
    said: Said,
}

impl Stage {
    /// Servers by name, and what else the file has to say. Decisions and calls are always written down.
    pub(crate) fn new(servers: Value, more: Value) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("contexture-host-{}-{number}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let stage = Self { folder, said: Said::default() };
        stage.configure(servers, more);
        stage
    }

    /// Another configuration in place of the one that was there.
    pub(crate) fn configure(&self, servers: Value, more: Value) {
        let mut config = json!({ "servers": servers, "audit": "audit.jsonl" });
        for (key, value) in more.as_object().expect("an object") {
            config[key] = value.clone();
        }
        let new = self.folder.join("new.json");
        fs::write(&new, config.to_string()).expect("a file");
        // At once, as careful people do it.
        fs::rename(new, self.file()).expect("a file");
    }

    fn file(&self) -> PathBuf {
        self.folder.join("contexture.json")
    }

    fn command(&self, more: &[&str]) -> ChildCommand {
        let said = self.said.clone();
        let command = ChildCommand::new(BINARY).arg("run").arg("--config").arg(self.file()).args(more);
        let command = HOMES.iter().fold(command, |command, home| command.env(*home, &self.folder));
        command.current_dir(&self.folder).stderr(Stderr::lines(move |line| said.note(line)))
    }

    fn pipe(&self, more: &[&str]) -> ChildTransport {
        ChildTransport::spawn(&self.command(more), &Policy::default()).expect("the gateway starts")
    }

    /// A client without manners, over a pipe.
    pub(crate) fn raw(&self) -> RawPeer<ChildTransport> {
        RawPeer::over(self.pipe(&["--stdio"]))
    }

    /// A client over a pipe, and what passes there.
    pub(crate) async fn client(&self, era: Era, builder: Builder) -> Front {
        self.client_with(era, builder, &["--stdio"]).await
    }

    pub(crate) async fn client_with(&self, era: Era, builder: Builder, arguments: &[&str]) -> Front {
        let wire = Transcript::new();
        let pipe = Recording::new(self.pipe(arguments), Side::Client, wire.clone());
        let connected = builder.revisions(revisions(era)).connect(pipe).await;
        let client = connected.unwrap_or_else(|error| panic!("{error}\n{}", self.said()));
        Front { client, wire }
    }

    /// The gateway without any pipe to it.
    fn alone(&self, more: &[&str]) -> Command {
        let mut command = Command::new(BINARY);
        command.arg("run").arg("--config").arg(self.file()).args(more);
        command.envs(HOMES.iter().map(|home| (home, &self.folder)));
        command.current_dir(&self.folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }

    /// How one ends that must not begin, and what it says.
    pub(crate) fn fails(&self, more: &[&str]) -> (ExitStatus, String) {
        let output = self.alone(more).output().expect("the gateway starts");
        (output.status, String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// A gateway that listens.
    pub(crate) fn listen(&self, more: &[&str]) -> Listening {
        let more: Vec<&str> = ["--listen", "127.0.0.1:0"].iter().chain(more).copied().collect();
        let mut child = self.alone(&more).spawn().expect("the gateway starts");
        let mut stderr = BufReader::new(child.stderr.take().expect("a pipe"));
        let url = loop {
            let mut line = String::new();
            let read = stderr.read_line(&mut line).unwrap_or_default();
            assert!(read > 0, "the gateway does not listen: {}", self.said());
            self.said.note(line.trim_end());
            if let Some(rest) = line.split("listening on ").nth(1) {
                break rest.split_whitespace().next().expect("a URL").to_owned();
            }
        };
        let said = self.said.clone();
        std::thread::spawn(move || stderr.lines().map_while(Result::ok).for_each(|line| said.note(&line)));
        Listening { child, url }
    }

    /// All that gateways of this stage wrote to standard error.
    pub(crate) fn said(&self) -> String {
        self.said.text()
    }

    /// The lines of the audit so far.
    pub(crate) fn audit(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.folder.join("audit.jsonl")).unwrap_or_default();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
            .collect()
    }

    /// Lines of the audit about one thing of a server.
    pub(crate) fn audited(&self, event: &str, server: &str, name: &str) -> Vec<Value> {
        let is_it = |line: &Value| line["event"] == event && line["server"] == server && line["name"] == name;
        self.audit().into_iter().filter(is_it).collect()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A client, and its wire.
pub(crate) struct Front {
    client: Client,
    pub(crate) wire: Transcript,
}

impl Front {
    /// The text of an answer.
    pub(crate) async fn text(&self, tool: &str, arguments: Value) -> String {
        let reply = self.client.call(tool, arguments).await;
        reply.unwrap_or_else(|error| panic!("{tool}: {error}\n{:?}", self.wire)).text()
    }

    /// What the gateway was sent and has sent.
    pub(crate) fn received(&self) -> String {
        self.wire.sent_by(Side::Server).iter().map(|message| format!("{message}\n")).collect()
    }
}

impl Deref for Front {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

/// A gateway that listens until it is dropped.
pub(crate) struct Listening {
    child: Child,
    pub(crate) url: String,
}

impl Drop for Listening {
    fn drop(&mut self) {
        // It may have ended already, which the test has noticed in other ways.
        let _ = self.child.kill().and_then(|()| self.child.wait());
    }
}

/// The code and the words of a refusal.
#[track_caller]
pub(crate) fn refused<T: std::fmt::Debug>(result: Result<T, Error>) -> (i64, String) {
    match result {
        Err(Error::Remote(error)) => (error.code, error.message.to_string()),
        other => panic!("not refused: {other:?}"),
    }
}
