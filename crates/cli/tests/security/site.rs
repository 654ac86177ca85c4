//! The demo server as a process that listens, with its defaults, and those who call it.
//!
//! Nothing here looks inside the server: what it did is seen from what it answers, from what it offers after a
//! call that must not have run, and from what the kernel says about its process.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use contexture_judge::{From, Watch};
use serde_json::Value;

use crate::child::wait;
use crate::stage::{Stage, initialize};
use crate::wire::{Answer, Message, Request, Stream, Wire};

/// The path of the endpoint.
pub(crate) const PATH: &str = "/mcp";

/// A running `contexture demo --listen`.
pub(crate) struct Site {
    child: Child,
    /// Where it listens.
    pub(crate) port: u16,
    log: Arc<Mutex<String>>,
    logging: Option<JoinHandle<()>>,
}

impl Site {
    /// Starts the server with its defaults.
    pub(crate) fn start() -> Self {
        Self::with(&[])
    }

    /// Starts the server with environment variables.
    pub(crate) fn with(environment: &[(&str, &str)]) -> Self {
        // Another program may stand in for ours, to see what it does, or that a row can fail.
        let program = std::env::var_os("CONTEXTURE_SITE").unwrap_or(env!("CARGO_BIN_EXE_contexture").into());
        let mut child = Command::new(program)
            .args(["demo", "--listen", "127.0.0.1:0"])
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the demo starts");
        let mut stderr = BufReader::new(child.stderr.take().expect("stderr is a pipe"));
        let mut text = String::new();
        let port = loop {
            let mut line = String::new();
            if stderr.read_line(&mut line).unwrap_or_default() == 0 {
                let status = wait(&mut child);
                panic!("the demo does not listen ({status}): {text}");
            }
            text.push_str(&line);
            if let Some(port) = line.split("http://127.0.0.1:").nth(1).and_then(|rest| rest.split('/').next())
            {
                break port.trim().parse().expect("a port");
            }
        };
        let log = Arc::new(Mutex::new(text));
        let sink = Arc::clone(&log);
        let logging = thread::spawn(move || {
            let mut line = String::new();
            while stderr.read_line(&mut line).unwrap_or_default() > 0 {
                sink.lock().expect("nobody panicked").push_str(&std::mem::take(&mut line));
            }
        });
        Self { child, port, log, logging: Some(logging) }
    }

    /// A new connection.
    pub(crate) fn wire(&self) -> Wire {
        Wire::open(self.port)
    }

    /// Asks on a connection of its own.
    #[track_caller]
    pub(crate) fn ask(&self, request: &Request) -> Answer {
        self.wire().ask(request)
    }

    /// The same, where the connection may end without an answer.
    #[track_caller]
    pub(crate) fn try_ask(&self, request: &Request) -> Option<Answer> {
        let mut wire = self.wire();
        let _ = wire.write(&request.bytes());
        wire.try_answer()
    }

    /// A POST of JSON to the endpoint, by nobody in particular.
    pub(crate) fn post(&self, body: impl AsRef<[u8]>) -> Request {
        Request::post(PATH, self.port, body)
    }

    /// A request without body to the endpoint.
    pub(crate) fn request(&self, method: &str) -> Request {
        Request::new(method, PATH, self.port)
    }

    /// The call that must not run, in all else as it should be: modern, so that nothing has to come before it.
    pub(crate) fn forbidden(&self) -> Request {
        let body = Stage::Modern.call("1", "toggle", "{}");
        Stage::Modern.dress(self.post(body), "tools/call", Some("toggle"))
    }

    /// A list of tools, as it should be.
    pub(crate) fn list(&self) -> Request {
        let body = Stage::Modern.request(r#""alive""#, "tools/list", "");
        Stage::Modern.dress(self.post(body), "tools/list", None)
    }

    /// The server answers the next client, and has not run what it must not run.
    #[track_caller]
    pub(crate) fn unharmed(&self, row: &str) {
        let harm = self.harm();
        assert!(harm.is_none(), "{row}: {}", harm.unwrap_or_default());
    }

    /// What has become of the server, unless all is well. If the tool was run, that is undone.
    #[track_caller]
    pub(crate) fn harm(&self) -> Option<String> {
        let answer = self.ask(&self.list());
        if answer.status() != 200 {
            return Some(format!("the next request failed: {}", answer.text()));
        }
        let response = answer.response();
        let Some(tools) = response.json["result"]["tools"].as_array() else {
            return Some(format!("the next request failed: {}", response.text));
        };
        if tools.iter().all(|tool| tool["name"] != "extra") {
            return None;
        }
        self.ask(&self.forbidden());
        Some("the tool was run".to_owned())
    }

    /// The most memory that the process has held at once.
    #[cfg(target_os = "linux")]
    pub(crate) fn peak(&self) -> usize {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(path).expect("the process lives");
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("the kernel counts memory");
        let kibibytes: usize =
            line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number");
        kibibytes << 10
    }

    /// Asks the process to end.
    pub(crate) fn terminate(&self) {
        let status = Command::new("kill").arg("-TERM").arg(self.child.id().to_string()).status();
        assert!(status.expect("kill exists").success());
    }

    /// Waits for the end of the process.
    pub(crate) fn exit(&mut self) -> ExitStatus {
        wait(&mut self.child)
    }

    /// Ends the process, and returns what it wrote to standard error.
    pub(crate) fn log(mut self) -> String {
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.logging.take().expect("taken once").join().expect("standard error was read");
        std::mem::take(&mut *self.log.lock().expect("nobody panicked"))
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Stage {
    /// Whether requests name their revision in a header.
    pub(crate) fn has_version_header(self) -> bool {
        matches!(self, Self::Modern | Self::Session("2025-06-18" | "2025-11-25"))
    }

    /// The date.
    pub(crate) fn revision(self) -> &'static str {
        match self {
            Self::Session(revision) => revision,
            Self::Modern => "2026-07-28",
        }
    }

    /// Adds the headers that the revision wants with a request.
    pub(crate) fn dress(self, request: Request, method: &str, name: Option<&str>) -> Request {
        let request = match self.has_version_header() {
            true => request.header("MCP-Protocol-Version", self.revision()),
            false => request,
        };
        if self != Self::Modern {
            return request;
        }
        let request = request.header("Mcp-Method", method);
        match name {
            Some(name) => request.header("Mcp-Name", name),
            None => request,
        }
    }
}

/// Somebody who calls the server in one revision, with a session if it has sessions.
pub(crate) struct Caller<'a> {
    /// The server.
    pub(crate) site: &'a Site,
    /// The revision.
    pub(crate) stage: Stage,
    /// The session.
    pub(crate) session: Option<String>,
    watch: Watch,
    wire: Option<Wire>,
}

impl<'a> Caller<'a> {
    /// Opens a session, where there are any.
    #[track_caller]
    pub(crate) fn open(site: &'a Site, stage: Stage) -> Self {
        let mut caller = Self { site, stage, session: None, watch: Watch::new(From::Server), wire: None };
        if let Stage::Session(revision) = stage {
            let answer = caller.ask(initialize(revision));
            assert_eq!(answer.status(), 200, "{stage:?}: {}", answer.text());
            assert_eq!(answer.response().json["result"]["protocolVersion"], revision, "{stage:?}");
            caller.session = answer.head.header("mcp-session-id").map(str::to_owned);
            assert!(caller.session.is_some(), "{stage:?}: no session");
            let answer = caller.ask(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
            assert_eq!(answer.status(), 202, "{stage:?}: {}", answer.text());
        }
        caller
    }

    /// A POST of this body with everything that belongs to it. Headers repeat what can be read of the body;
    /// where nothing can be read, they announce the call that must not run.
    pub(crate) fn request(&self, body: impl AsRef<[u8]>) -> Request {
        let read = serde_json::from_slice::<Value>(body.as_ref()).unwrap_or_default();
        let method: String = read["method"].as_str().unwrap_or("tools/call").to_owned();
        // Some methods cannot stand in a header; what can of them, does.
        let method: String = method.chars().filter(|letter| letter.is_ascii_graphic()).take(1024).collect();
        let key = if method == "resources/read" { "uri" } else { "name" };
        let named = ["tools/call", "prompts/get", "resources/read"].contains(&method.as_str());
        let name = read["params"][key].as_str().unwrap_or("toggle").to_owned();
        let request = Request::post(PATH, self.site.port, body);
        let request = if method == "initialize" {
            request
        } else {
            self.stage.dress(request, &method, named.then_some(name.as_str()))
        };
        self.in_session(request)
    }

    /// A request without body, in the session.
    pub(crate) fn bare(&self, method: &str) -> Request {
        let request = self.site.request(method);
        let request = match self.stage.has_version_header() {
            true => request.header("MCP-Protocol-Version", self.stage.revision()),
            false => request,
        };
        self.in_session(request)
    }

    fn in_session(&self, request: Request) -> Request {
        match &self.session {
            Some(session) => request.header("Mcp-Session-Id", session),
            None => request,
        }
    }

    /// Sends a message and reads the answer, which is judged.
    #[track_caller]
    pub(crate) fn ask(&mut self, body: impl AsRef<[u8]>) -> Answer {
        let request = self.request(&body);
        self.note(body.as_ref());
        let mut wire = self.wire.take().unwrap_or_else(|| self.site.wire());
        let answer = wire.ask(&request);
        if !answer.head.lists("connection", "close") {
            self.wire = Some(wire);
        }
        for message in answer.messages() {
            self.judge(&message);
        }
        answer
    }

    /// Calls a tool and returns the response.
    #[track_caller]
    pub(crate) fn call(&mut self, tool: &str, arguments: &str) -> Message {
        let answer = self.ask(self.stage.call("1", tool, arguments));
        assert_eq!(answer.status(), 200, "{}", answer.text());
        answer.response()
    }

    /// Sends a message on a connection of its own and reads only the beginning of the answer.
    #[track_caller]
    pub(crate) fn begin(&mut self, body: impl AsRef<[u8]>) -> Stream {
        let request = self.request(&body);
        self.note(body.as_ref());
        self.site.wire().begin(&request)
    }

    /// Opens the session's own stream.
    #[track_caller]
    pub(crate) fn listen(&self) -> Stream {
        self.site.wire().begin(&self.bare("GET").header("Accept", "text/event-stream"))
    }

    /// Opens it again after an event.
    #[track_caller]
    pub(crate) fn resume(&self, after: &str) -> Stream {
        let request = self.bare("GET").header("Accept", "text/event-stream").header("Last-Event-ID", after);
        self.site.wire().begin(&request)
    }

    /// Tells the judge what is asked, as far as it can be read.
    fn note(&mut self, body: &[u8]) {
        if let Ok(message) = serde_json::from_slice::<Value>(body)
            && !crate::child::repeats_an_id(&message)
        {
            self.watch.message(From::Client, &message);
        }
    }

    /// Shows the judge what came.
    #[track_caller]
    pub(crate) fn judge(&mut self, message: &Message) {
        self.watch.message(From::Server, &message.json);
    }
}
