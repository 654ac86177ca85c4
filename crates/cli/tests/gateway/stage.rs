//! The gateway as a process, in a home of its own.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use contexture::client::{Builder, ToolReply};
use contexture::revision::Revision;
use contexture::{Client, Error};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// A net, not a measure: nothing in these tests is expected to take this long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// One revision of each era.
pub(crate) const ERAS: [Revision; 2] = [Revision::V2025_11_25, Revision::V2026_07_28];

/// Waits, but not for ever.
pub(crate) async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.unwrap_or_else(|_| panic!("{what}: nothing comes of it"))
}

/// Waits until something is so.
pub(crate) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    within(what, async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}

/// A folder of the test's own, gone with it.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("contexture-gateway-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A configuration that allows everything, with these servers.
pub(crate) fn allowing(servers: Value) -> Value {
    json!({ "servers": servers, "policy": { "default": "allow" } })
}

fn command(folder: &Folder, config: &Value, arguments: &[&str], environment: &[(&str, &str)]) -> Command {
    let file = folder.path("contexture.json");
    std::fs::write(&file, config.to_string()).expect("written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_contexture"));
    command.arg("run").arg("--config").arg(&file).args(arguments);
    for name in ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"] {
        command.env(name, &folder.0);
    }
    command
        .envs(environment.iter().copied())
        .current_dir(&folder.0)
        .kill_on_drop(true)
        .stderr(Stdio::piped());
    command
}

/// What a process writes to its standard error, as far as it has come.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<String>>);

impl Log {
    fn of(child: &mut Child) -> Self {
        let log = Self::default();
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let sink = log.clone();
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                let mut text = sink.0.lock().unwrap_or_else(PoisonError::into_inner);
                text.push_str(&line);
                text.push('\n');
            }
        });
        log
    }

    pub(crate) fn text(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A gateway that listens.
pub(crate) struct Gateway {
    child: Child,
    pub(crate) pid: u32,
    pub(crate) url: String,
    pub(crate) port: u16,
    pub(crate) log: Log,
    _folder: Folder,
}

impl Gateway {
    pub(crate) async fn start(config: Value) -> Self {
        Self::with(Folder::new(), config, &[], &[]).await
    }

    /// With more arguments and variables, in a folder that is there already.
    pub(crate) async fn with(
        folder: Folder,
        config: Value,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Self {
        let arguments = [&["--listen", "127.0.0.1:0"], arguments].concat();
        let mut command = command(&folder, &config, &arguments, environment);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("it starts");
        let pid = child.id().expect("it runs");
        let log = Log::of(&mut child);
        let listening = || {
            let text = log.text();
            let rest = text.split_once("listening on ")?.1.split_once('\n')?.0.to_owned();
            Some(rest)
        };
        let started = within("the gateway listens", async {
            loop {
                if let Some(url) = listening() {
                    return Ok(url);
                }
                if let Ok(Some(status)) = child.try_wait() {
                    return Err(status);
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        });
        let url = started.await.unwrap_or_else(|status| panic!("it ended with {status}: {}", log.text()));
        let port =
            url.split(':').nth(2).and_then(|rest| rest.split('/').next()?.parse().ok()).expect("a port");
        Self { child, pid, url, port, log, _folder: folder }
    }

    pub(crate) async fn client(&self, revision: Revision) -> Client {
        self.connect(Client::builder().revisions(&[revision])).await
    }

    pub(crate) async fn connect(&self, builder: Builder) -> Client {
        let connected = within("a client connects", builder.connect(&self.url)).await;
        connected.unwrap_or_else(|error| panic!("{error}\n{}", self.log.text()))
    }

    pub(crate) fn signal(&self, name: &str) {
        signal(self.pid, name);
    }

    pub(crate) async fn ended(&mut self) -> ExitStatus {
        within("the gateway ends", self.child.wait()).await.expect("a status")
    }

    /// The most memory that it ever had, in MiB.
    pub(crate) fn peak(&self) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid)).expect("it lives");
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("the kernel counts");
        let kib: usize =
            line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number");
        kib / 1024
    }

    /// How many descriptors it has open.
    pub(crate) fn descriptors(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.pid)).expect("it lives").count()
    }
}

/// A gateway at the other end of a pipe: lines as they are.
pub(crate) struct Pipe {
    pub(crate) child: Child,
    pub(crate) stdin: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
    pub(crate) log: Log,
    _folder: Folder,
}

impl Pipe {
    pub(crate) fn start(folder: Folder, config: &Value) -> Self {
        let mut command = command(&folder, config, &["--stdio"], &[]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let log = Log::of(&mut child);
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        Self { stdin: child.stdin.take(), child, lines, log, _folder: folder }
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        use tokio::io::AsyncWriteExt as _;
        let stdin = self.stdin.as_mut().expect("it is open");
        stdin.write_all(bytes).await.expect("it reads");
        stdin.flush().await.expect("it reads");
    }

    /// The next line, or nothing at the end.
    pub(crate) async fn line(&mut self) -> Option<Value> {
        let line = within("a line", self.lines.next_line()).await.expect("readable")?;
        Some(serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}")))
    }

    /// The response to this id; what comes before it is passed over.
    pub(crate) async fn answer(&mut self, id: &Value) -> Value {
        loop {
            let line = self.line().await.unwrap_or_else(|| panic!("no answer to {id}\n{}", self.log.text()));
            if line.get("id") == Some(id) && line.get("method").is_none() {
                return line;
            }
        }
    }
}

/// What a modern request says about itself.
pub(crate) fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "stranger", "version": "0" },
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

pub(crate) fn signal(pid: u32, name: &str) {
    let sent = std::process::Command::new("kill").arg(format!("-{name}")).arg(pid.to_string()).status();
    assert!(sent.expect("a shell's kill").success(), "{name} to {pid}");
}

/// Whether a process is there, and is no corpse.
pub(crate) fn is_alive(pid: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

/// Children of a process that died and were not looked after.
pub(crate) fn corpses_of(pid: u32) -> usize {
    let all = std::fs::read_dir("/proc").expect("processes").flatten();
    let stats = all.filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok());
    let theirs = stats.filter(|stat| {
        let mut words = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
        words.next() == Some("Z") && words.next() == Some(&pid.to_string())
    });
    theirs.count()
}

/// What a tool answers.
pub(crate) async fn call(client: &Client, tool: &str, arguments: Value) -> Result<ToolReply, Error> {
    within(tool, client.call(tool, arguments).max_time(PATIENCE).into_future()).await
}

/// The text of an answer that must come.
pub(crate) async fn text(client: &Client, tool: &str, arguments: Value) -> String {
    match call(client, tool, arguments.clone()).await {
        Ok(reply) if !reply.is_error() => reply.text(),
        other => panic!("{tool} {arguments}: {other:?}"),
    }
}

/// The names of all tools, asked for anew.
pub(crate) async fn tools(client: &Client) -> Vec<String> {
    let (mut names, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let page = within("tools", client.tools_page(cursor.as_deref()).into_future()).await.expect("a list");
        names.extend(page.tools.iter().map(|tool| tool.name.clone()));
        cursor = page.next_cursor;
        if cursor.is_none() {
            return names;
        }
    }
}

/// A file's text, or nothing.
pub(crate) fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}
