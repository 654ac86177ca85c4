//! `contexture run --listen` as a process, and what the kernel and its metrics say about it.

use std::fs;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use serde_json::Value;

/// A running gateway.
pub(crate) struct Gateway {
    child: Mutex<Child>,
    pid: u32,
    port: u16,
    /// Of its endpoint.
    pub(crate) url: String,
    folder: PathBuf,
}

/// What a process has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Possessions {
    pub(crate) children: usize,
    pub(crate) descriptors: usize,
    pub(crate) threads: usize,
    pub(crate) tasks: u64,
}

impl Possessions {
    fn is_more_than(&self, before: &Self) -> bool {
        self.children > before.children
            || self.descriptors > before.descriptors
            || self.tasks > before.tasks
            // The runtime keeps threads for blocking work for a while, and there are only so many.
            || self.threads > before.threads + 4
    }
}

impl Gateway {
    pub(crate) fn start(config: &Value) -> Self {
        let folder = std::env::temp_dir().join(format!("contexture-crowd-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let file = folder.join("contexture.json");
        fs::write(&file, config.to_string()).expect("a file");
        let mut child = Command::new(env!("CARGO_BIN_EXE_contexture"))
            .args(["run", "--listen", "127.0.0.1:0", "--config"])
            .arg(&file)
            .env("XDG_STATE_HOME", &folder)
            .env("XDG_DATA_HOME", &folder)
            .env("RUST_LOG", "error")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the gateway starts");
        let mut stderr = BufReader::new(child.stderr.take().expect("stderr is a pipe"));
        let port = loop {
            let mut line = String::new();
            assert!(stderr.read_line(&mut line).unwrap_or_default() > 0, "the gateway does not listen");
            if let Some(port) = line.split("listening on http://127.0.0.1:").nth(1) {
                break port.split('/').next().and_then(|port| port.trim().parse().ok()).expect("a port");
            }
        };
        // Whoever reads nothing would stop it sooner or later.
        std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
        let (pid, url) = (child.id(), format!("http://127.0.0.1:{port}/mcp"));
        Self { child: Mutex::new(child), pid, port, url, folder }
    }

    /// Kills the oldest child that is none of these, if there is one.
    pub(crate) fn kill_a_child(&self, others: &[i32]) {
        let oldest = self.children().into_iter().filter(|pid| !others.contains(pid)).min();
        let oldest = oldest.and_then(rustix::process::Pid::from_raw);
        if let Some(pid) = oldest {
            // It may be gone by itself.
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).ok();
        }
    }

    /// Long enough for a death to be noticed.
    pub(crate) async fn moment(&self) {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }

    pub(crate) fn children(&self) -> Vec<i32> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.pid)).expect("the gateway lives");
        let children =
            |task: fs::DirEntry| fs::read_to_string(task.path().join("children")).unwrap_or_default();
        let lists: Vec<String> = tasks.flatten().map(children).collect();
        lists.iter().flat_map(|list| list.split_whitespace()).filter_map(|pid| pid.parse().ok()).collect()
    }

    /// Waits until everybody has left: no session, call or child, and nothing more than there was before.
    pub(crate) async fn settles(&self, before: Option<Possessions>) {
        for _ in 0..600 {
            let metrics = self.metrics();
            let none = |name: &str| read(&metrics, name) == Some(0.0);
            let now = self.possessions();
            let grown = before.is_some_and(|before| now.is_more_than(&before));
            if now.children == 0
                && none("contexture_sessions")
                && none("contexture_calls_in_flight")
                && !grown
            {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("before: {before:?}, now: {:?}\n{}", self.possessions(), self.metrics());
    }

    pub(crate) fn possessions(&self) -> Possessions {
        // Connections that were only kept for later are none of a client's traces: those of the metrics close at once.
        let tasks = read(&self.metrics(), "contexture_tasks").expect("a count of tasks");
        let count =
            |what: &str| fs::read_dir(format!("/proc/{}/{what}", self.pid)).expect("it lives").count();
        Possessions {
            children: self.children().len(),
            descriptors: count("fd"),
            threads: count("task"),
            tasks: tasks as u64,
        }
    }

    fn metrics(&self) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        let head =
            format!("GET /metrics HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nconnection: close\r\n\r\n", self.port);
        stream.write_all(head.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        answer
    }

    /// Asks it to end.
    pub(crate) fn terminate(self) -> ExitStatus {
        let pid = rustix::process::Pid::from_raw(i32::try_from(self.pid).expect("small")).expect("a process");
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it lives");
        self.child.lock().expect("nobody panicked").wait().expect("it ends")
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let child = self.child.get_mut().expect("nobody panicked");
        // It may have ended, as it should.
        let _ = child.kill().and_then(|()| child.wait());
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The sum of a metric over its labels.
fn read(metrics: &str, name: &str) -> Option<f64> {
    let values = metrics.lines().filter_map(|line| {
        let rest = line.strip_prefix(name)?;
        let value = match rest.as_bytes().first()? {
            b' ' => rest,
            b'{' => rest.rsplit_once('}')?.1,
            _ => return None,
        };
        value.trim().parse::<f64>().ok()
    });
    let values: Vec<f64> = values.collect();
    if values.is_empty() { None } else { Some(values.iter().sum()) }
}
