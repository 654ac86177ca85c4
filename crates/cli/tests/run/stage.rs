//! A home of its own for every test, and gateways in it.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use contexture::Client;
use contexture::revision::Revision;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_contexture");
/// For what has to happen sooner or later, on a machine that has much to do.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A user's folder, with a project in it. Both are gone with this.
pub(crate) struct Home(PathBuf);

impl Home {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("contexture-run-{}-{number}", std::process::id()));
        std::fs::create_dir_all(path.join("project")).expect("a folder");
        // By this name the servers of this home can be told from all others.
        std::os::unix::fs::symlink(BINARY, path.join("server")).expect("a link");
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// The program that serves the demo.
    pub(crate) fn server(&self) -> String {
        self.0.join("server").to_str().expect("text").to_owned()
    }

    /// An entry that starts the demo.
    pub(crate) fn demo(&self) -> Value {
        json!({ "command": self.server(), "args": ["demo"] })
    }

    /// A program that counts as a server of this home, never answers and does not listen. It lives as long as this home does.
    pub(crate) fn mute(&self) -> String {
        use std::os::unix::fs::PermissionsExt as _;
        let path = format!("{}-mute", self.server());
        std::fs::write(&path, "#!/bin/sh\nwhile [ -e \"$0\" ]; do sleep 1; done\n")
            .expect("it can be written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).expect("it is ours");
        path
    }

    pub(crate) fn write(&self, path: &str, content: &Value) -> String {
        self.write_text(path, &content.to_string())
    }

    pub(crate) fn write_text(&self, path: &str, content: &str) -> String {
        let path = self.0.join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        // As editors do it: what is read is the old or the new.
        let beside = path.with_extension("new");
        std::fs::write(&beside, content).expect("it can be written");
        std::fs::rename(&beside, &path).expect("it can be renamed");
        path.to_str().expect("text").to_owned()
    }

    /// A configuration of ours with these servers, in which everything is allowed.
    pub(crate) fn config(&self, servers: &Value) -> String {
        self.write("config.json", &json!({ "servers": servers, "policy": { "default": "allow" } }))
    }

    /// The binary in this home, without a terminal.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(BINARY);
        command.args(arguments).env_clear().env("HOME", &self.0).env("PATH", "/usr/bin:/bin");
        command.current_dir(self.0.join("project"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// How many servers of this home are running.
    pub(crate) fn running(&self) -> usize {
        let name = self.server();
        let processes = std::fs::read_dir("/proc").expect("processes");
        let lines = processes.filter_map(|process| std::fs::read(process.ok()?.path().join("cmdline")).ok());
        lines.filter(|line| line.windows(name.len()).any(|part| part == name.as_bytes())).count()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A gateway that listens.
pub(crate) struct Gateway {
    child: Child,
    pub(crate) url: String,
    said: Arc<Mutex<Vec<String>>>,
}

impl Gateway {
    pub(crate) fn start(home: &Home, arguments: &[&str]) -> Self {
        Self::of(home.command(arguments))
    }

    pub(crate) fn of(mut command: Command) -> Self {
        let mut child = command.spawn().expect("the binary runs");
        let said: Arc<Mutex<Vec<String>>> = Arc::default();
        let (lines, kept) = (BufReader::new(child.stderr.take().expect("a pipe")).lines(), Arc::clone(&said));
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                kept.lock().expect("no panic").push(line);
            }
        });
        let mut gateway = Self { child, url: String::new(), said };
        let begun = Instant::now();
        while gateway.url.is_empty() {
            let said = gateway.said();
            assert!(begun.elapsed() < PATIENCE, "it does not listen: {said:?}");
            assert!(gateway.child.try_wait().expect("a child").is_none(), "it ended: {said:?}");
            let url = said.iter().find_map(|line| line.strip_prefix("listening on "));
            gateway.url = url.unwrap_or_default().to_owned();
            std::thread::sleep(Duration::from_millis(10));
        }
        gateway
    }

    /// Its standard error so far.
    pub(crate) fn said(&self) -> Vec<String> {
        self.said.lock().expect("no panic").clone()
    }

    pub(crate) async fn client(&self) -> Client {
        Client::connect(self.url.as_str()).await.expect("a client")
    }

    pub(crate) async fn client_of(&self, revisions: &[Revision]) -> Client {
        Client::builder().revisions(revisions).connect(self.url.as_str()).await.expect("a client")
    }

    /// The names of all tools, as a new client sees them.
    pub(crate) async fn tools(&self) -> Vec<String> {
        let client = self.client().await;
        let tools = client.tools().await.expect("tools");
        client.close().await;
        tools.into_iter().map(|tool| tool.name).collect()
    }

    /// GET, as a whole: head and body.
    pub(crate) fn get(&self, path: &str, host: Option<&str>) -> String {
        use std::io::{Read as _, Write as _};
        let rest = self.url.strip_prefix("http://").expect("http");
        let authority = rest.split('/').next().expect("an authority");
        let mut stream = std::net::TcpStream::connect(authority).expect("it listens");
        let host = host.unwrap_or(authority);
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("text");
        answer
    }

    pub(crate) fn terminate(&self) {
        terminate(&self.child);
    }

    /// How it ended.
    pub(crate) async fn ended(mut self) -> ExitStatus {
        ended(&mut self.child).await
    }
}

/// SIGTERM.
pub(crate) fn terminate(child: &Child) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a process");
    kill_process(pid, Signal::TERM).expect("it is ours");
}

/// How it ended, by itself.
pub(crate) async fn ended(child: &mut Child) -> ExitStatus {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("a child") {
            assert_eq!(status.signal(), None, "it ends by itself");
            return status;
        }
        assert!(begun.elapsed() < PATIENCE, "it does not end");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits for what has to become true.
pub(crate) async fn until(what: &str, is_so: impl AsyncFn() -> bool) {
    let begun = Instant::now();
    while !is_so().await {
        assert!(begun.elapsed() < PATIENCE, "never: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
