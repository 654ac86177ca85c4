//! What these tests need: a folder of their own, the binary, servers beside it, and a client without manners.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_contexture");
/// Only a test that fails waits for so long.
const PATIENCE: Duration = Duration::from_secs(60);

/// A folder that is gone with the test.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!(
            "contexture-transcripts-{}-{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn name(&self, name: &str) -> String {
        self.path(name).to_str().expect("a plain name").to_owned()
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        std::fs::write(self.path(name), text).expect("a file");
        self.name(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect("the file")
    }

    /// The lines of a transcript, as values.
    pub(crate) fn lines(&self, name: &str) -> Vec<Value> {
        self.read(name).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}{}", self.stdout, self.stderr))
    }

    /// All that was said.
    pub(crate) fn all(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }

    pub(crate) fn succeeds(self) -> Self {
        assert_eq!(self.code, Some(0), "{}", self.all());
        self
    }

    pub(crate) fn fails(self, code: i32, with: &str) -> Self {
        assert_eq!(self.code, Some(code), "{}", self.all());
        assert!(self.all().contains(with), "{with:?}: {}", self.all());
        self
    }
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("text");
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(BINARY);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env_remove("RUST_LOG").env_remove("NO_COLOR").env_remove("CONTEXTURE_TRANSCRIPT");
    command
}

pub(crate) fn run(arguments: &[&str]) -> Run {
    command(arguments).output().expect("the binary runs").into()
}

/// A program that listens, and says where.
pub(crate) struct Listening {
    child: Child,
    pub(crate) url: String,
}

impl Listening {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut child = command(arguments).stdout(Stdio::null()).spawn().expect("it starts");
        let mut said = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let url = loop {
            let line = said.next().expect("it listens").expect("text");
            if let Some(url) = line.strip_prefix("listening on ") {
                break url.to_owned();
            }
        };
        std::thread::spawn(move || said.for_each(drop));
        Self { child, url }
    }

    /// Ends it as a person would.
    pub(crate) fn end(mut self) {
        #[cfg(unix)]
        {
            let id = self.child.id().to_string();
            Command::new("kill").args(["-TERM", &id]).status().expect("kill");
            self.child.wait().expect("it ends");
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A client that says whatever it is told to say.
pub(crate) struct Talk {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Value>,
    seen: Vec<Value>,
}

impl Talk {
    pub(crate) fn with(arguments: &[&str]) -> Self {
        let mut child =
            command(arguments).stdin(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().expect("a pipe"));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let value = serde_json::from_str(&line).unwrap_or_else(|_| Value::from(line));
                if sender.send(value).is_err() {
                    return;
                }
            }
        });
        Self { child, stdin, lines, seen: Vec::new() }
    }

    pub(crate) fn say(&mut self, message: &Value) {
        self.line(&message.to_string());
    }

    pub(crate) fn line(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("still open");
        writeln!(stdin, "{line}").and_then(|()| stdin.flush()).expect("it reads");
    }

    /// Waits for the first message that is so.
    pub(crate) fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.seen.iter().position(&wanted) {
            return self.seen.remove(at);
        }
        loop {
            let message = self.lines.recv_timeout(PATIENCE).expect("it says something");
            if wanted(&message) {
                return message;
            }
            self.seen.push(message);
        }
    }

    /// Asks, and waits for the answer.
    pub(crate) fn ask(&mut self, id: u64, method: &str, params: &Value) -> Value {
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        self.answer(id)
    }

    pub(crate) fn answer(&mut self, id: u64) -> Value {
        self.until(|message| message["id"] == id && message.get("method").is_none())
    }

    pub(crate) fn heard(&mut self, method: &str) -> Value {
        self.until(|message| message["method"] == method)
    }

    /// Closes its input, and waits until it is gone.
    pub(crate) fn end(mut self) -> Option<i32> {
        drop(self.stdin.take());
        self.child.wait().expect("it ends").code()
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The file, as the server in all its forms: nothing may differ.
pub(crate) fn replays_everywhere(file: &Path, servers: &[&[&str]]) {
    let file = file.to_str().expect("a plain name");
    let listening = Listening::start(&["mock", file, "--listen", "127.0.0.1:0"]);
    let mocks: [&[&str]; 3] = [&[file], &["--", BINARY, "mock", file], &[&listening.url]];
    for server in mocks.iter().chain(servers) {
        let run = run(&[&["replay", file][..], server].concat());
        assert_eq!(run.code, Some(0), "{file} with {server:?}:\n{}", run.all());
        assert!(run.stdout.contains("no difference"), "{}", run.all());
    }
}
