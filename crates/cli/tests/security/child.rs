//! The demo server as a child process: bytes in, lines out, nothing assumed about either.
//!
//! It does not parse more than a test asks for, and never repairs what the server wrote. Every message that a
//! test reads is judged by the schema of its revision; what the tests write is not, that is their business.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use contexture_judge::{From, Watch};
use serde_json::Value;
use serde_json::value::RawValue;

/// A net, not a measure: nothing in these tests is expected to take this long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Longer lines are not shown to the judge.
const NOTED: usize = 64 * 1024;

/// One line that the server wrote, with its ids and values still as written.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// The line itself, without its end.
    pub(crate) text: String,
    /// The same, parsed.
    pub(crate) json: Value,
}

impl Line {
    fn parse(bytes: Vec<u8>) -> Self {
        let text = String::from_utf8(bytes).expect("the server writes UTF-8");
        assert!(!text.contains('\r'), "the server ends lines with a bare newline: {text:?}");
        let json = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text:?}"));
        Self { text, json }
    }

    /// The `id` exactly as written, if there is one.
    pub(crate) fn raw_id(&self) -> Option<String> {
        let keys: BTreeMap<String, Box<RawValue>> = serde_json::from_str(&self.text).ok()?;
        keys.get("id").map(|raw| raw.get().to_owned())
    }

    /// The error's code, if this is an error.
    pub(crate) fn code(&self) -> Option<i64> {
        self.json["error"]["code"].as_i64()
    }

    /// Whether this is a response: an answer, or a complaint about something unreadable.
    pub(crate) fn is_response(&self) -> bool {
        self.json.is_array() || self.json.get("result").is_some() || self.json.get("error").is_some()
    }

    /// The method, if this is a request or a notification.
    pub(crate) fn method(&self) -> Option<&str> {
        self.json["method"].as_str()
    }
}

/// Whether a batch uses an id twice: nobody can tell what an answer to it answers.
pub(crate) fn repeats_an_id(message: &Value) -> bool {
    let ids = message.as_array().into_iter().flatten().filter_map(|request| request.get("id"));
    let ids: Vec<String> = ids.map(Value::to_string).collect();
    ids.iter().collect::<BTreeSet<_>>().len() < ids.len()
}

/// A running `contexture demo`.
pub(crate) struct Demo {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
    /// Judges what the server says.
    watch: Watch,
    /// What was written of a line that has no end yet.
    unfinished: Vec<u8>,
    stderr: Option<JoinHandle<Vec<u8>>>,
}

impl Demo {
    /// Starts the server with its defaults.
    pub(crate) fn start() -> Self {
        Self::with(&[], &[])
    }

    /// Starts the server with arguments and environment variables.
    pub(crate) fn with(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_contexture"))
            .arg("demo")
            .args(arguments)
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the demo starts");
        let stdin = child.stdin.take();
        let mut stdout = BufReader::new(child.stdout.take().expect("stdout is a pipe"));
        let mut stderr = child.stderr.take().expect("stderr is a pipe");
        let (sender, lines) = channel();
        thread::spawn(move || {
            loop {
                let mut line = Vec::new();
                match stdout.read_until(b'\n', &mut line) {
                    Ok(0) | Err(_) => return,
                    Ok(_) => assert_eq!(line.pop(), Some(b'\n'), "a line without an end"),
                }
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let stderr = thread::spawn(move || {
            let mut all = Vec::new();
            let _ = stderr.read_to_end(&mut all);
            all
        });
        let watch = Watch::new(From::Server);
        Self { child, stdin, lines, watch, unfinished: Vec::new(), stderr: Some(stderr) }
    }

    /// Writes bytes as they are.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("stdin is still open");
        stdin.write_all(bytes).expect("the server reads");
        stdin.flush().expect("the server reads");
        self.note(bytes);
    }

    /// Tells the judge what was asked, as far as it can be read and is of a reasonable size. It has to know
    /// what an answer answers, and in which revision.
    fn note(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            let room = NOTED.saturating_sub(self.unfinished.len());
            self.unfinished.extend_from_slice(&piece[..piece.len().min(room)]);
            if piece.ends_with(b"\n") {
                let line = std::mem::take(&mut self.unfinished);
                if let Ok(message) = serde_json::from_slice(&line)
                    && !repeats_an_id(&message)
                {
                    self.watch.message(From::Client, &message);
                }
            }
        }
    }

    fn judged(&mut self, line: Vec<u8>) -> Line {
        let line = Line::parse(line);
        self.watch.message(From::Server, &line.json);
        line
    }

    /// Writes one line.
    pub(crate) fn send(&mut self, line: impl AsRef<[u8]>) {
        let mut bytes = line.as_ref().to_vec();
        bytes.push(b'\n');
        self.write(&bytes);
    }

    /// The writing end, for tests that write from a thread.
    pub(crate) fn take_stdin(&mut self) -> ChildStdin {
        self.stdin.take().expect("stdin is still open")
    }

    /// The next line, which must come.
    pub(crate) fn next(&mut self) -> Line {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => self.judged(line),
            Err(RecvTimeoutError::Timeout) => panic!("the server says nothing"),
            Err(RecvTimeoutError::Disconnected) => panic!("the server closed its output"),
        }
    }

    /// The next line of interest; what comes before it is dropped.
    pub(crate) fn until(&mut self, wanted: impl Fn(&Line) -> bool) -> Line {
        loop {
            let line = self.next();
            if wanted(&line) {
                return line;
            }
        }
    }

    /// The response to the request with this id (as written).
    pub(crate) fn answer(&mut self, id: &str) -> Line {
        self.until(|line| line.is_response() && line.raw_id().as_deref() == Some(id))
    }

    /// Sends a request and waits for its response.
    pub(crate) fn ask(&mut self, line: impl AsRef<[u8]>, id: &str) -> Line {
        self.send(line);
        self.answer(id)
    }

    /// The process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Closes the server's input.
    pub(crate) fn close_input(&mut self) {
        self.stdin = None;
    }

    /// Everything that the server still writes before it closes its output.
    pub(crate) fn rest(&mut self) -> Vec<Line> {
        let end = Instant::now() + PATIENCE;
        let mut rest = Vec::new();
        loop {
            match self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => rest.push(self.judged(line)),
                Err(RecvTimeoutError::Disconnected) => return rest,
                Err(RecvTimeoutError::Timeout) => panic!("the server does not end"),
            }
        }
    }

    /// Waits for the end of the process.
    pub(crate) fn exit(&mut self) -> ExitStatus {
        wait(&mut self.child)
    }

    /// Closes the input, waits for the end, and returns what was written to stderr.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.close_input();
        let status = self.exit();
        assert!(status.success(), "after the end of its input the server left with {status}");
        let stderr = self.stderr.take().expect("finished once");
        stderr.join().expect("stderr was read")
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits for a process, but not for ever.
pub(crate) fn wait(child: &mut Child) -> ExitStatus {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().expect("the child can be waited for") {
            return status;
        }
        assert!(Instant::now() < end, "the process does not end");
        // There is no portable wait with a limit; this is polling, not synchronisation.
        thread::sleep(Duration::from_millis(5));
    }
}
