//! The server process, from both sides: what runs in it, and how a test holds it.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use contexture::model::LoggingLevel;
use contexture::{Args, Context, Policy, Server, prompt, resource, tool};
use contexture_judge::From;
use serde_json::{Value, json};

/// Set where this binary is to serve instead of testing.
const ROLE: &str = "CONTEXTURE_TEST_SERVES_STDIO";
/// The longest line that the server takes.
pub(crate) const LINE_LIMIT: usize = 64 * 1024;
/// What the tool `flood` writes: many times what a pipe holds.
pub(crate) const FLOOD: usize = 1024 * 1024;
/// Only a test that fails waits for so long.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Echo {
    message: String,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Until {
    file: PathBuf,
}

/// In a process of its own this is the server. Among the other tests it makes sure that there is one to run.
#[test]
fn the_server_itself() {
    if std::env::var_os(ROLE).is_none() {
        server().build().expect("it is put together correctly");
        return;
    }
    tracing::subscriber::set_global_default(Careless).expect("the only one");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let served = runtime.block_on(server().serve_stdio());
    std::process::exit(i32::from(served.is_err()));
}

fn server() -> Server {
    let mut policy = Policy::default();
    policy.line_bytes = LINE_LIMIT;
    Server::new("process", "1")
        .policy(policy)
        .tool(tool("echo").handler(|Args(echo): Args<Echo>| async move { echo.message }))
        .tool(tool("until").handler(until))
        .tool(tool("print").handler(|| async { print_everywhere() }))
        .tool(tool("child").handler(|| async { run_child() }))
        .tool(tool("flood").handler(|| async {
            eprintln!("{}", "x".repeat(FLOOD));
            "flooded"
        }))
        .tool(tool("panic").handler(|| async {
            if true {
                panic!("as planned")
            }
        }))
        .tool(tool("noisy").handler(|context: Context| async move {
            context.progress(1.0, Some(1.0));
            context.log(LoggingLevel::Warning, json!({ "careful": ["\n", "\r\n"] }));
            "done"
        }))
        .prompt(prompt("greet").handler(|| async { "hello" }))
        .resource(resource("demo://note").text("a note"))
        .resource(resource("demo://{name}").handler(|| async { "a name" }))
}

/// Says that it is at work, and works until there is such a file.
async fn until(context: Context, Args(until): Args<Until>) -> &'static str {
    context.progress(1.0, None);
    while !until.file.exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    "finished"
}

#[allow(clippy::print_stdout, reason = "that is what must do no harm")]
fn print_everywhere() -> &'static str {
    println!("stray line");
    print!("{{\"jsonrpc\":\"2.0\"");
    std::io::stdout().write_all(b"\n\xff\n").ok();
    std::io::stdout().flush().ok();
    "printed"
}

/// A child inherits standard input and output, and must get neither.
fn run_child() -> String {
    let spoke = Command::new("sh").args(["-c", "echo from a child; wc -c >&2"]).status();
    let read = Command::new("cat").stdout(Stdio::piped()).output().map(|output| output.stdout.len());
    match (spoke, read) {
        (Ok(status), Ok(0)) if status.success() => "the child read nothing".to_owned(),
        other => format!("{other:?}"),
    }
}

/// Prints every event of the library where it should not.
struct Careless;

impl tracing::Subscriber for Careless {
    fn enabled(&self, _metadata: &tracing::Metadata<'_>) -> bool {
        true
    }

    #[allow(clippy::print_stdout, reason = "that is what must do no harm")]
    fn event(&self, event: &tracing::Event<'_>) {
        println!("careless subscriber: {}", event.metadata().target());
    }

    fn new_span(&self, _attributes: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _span: &tracing::span::Id, _values: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _span: &tracing::span::Id, _follows: &tracing::span::Id) {}
    fn enter(&self, _span: &tracing::span::Id) {}
    fn exit(&self, _span: &tracing::span::Id) {}
}

/// This binary, as a server. Two threads, because with one the harness announces the test on the same line.
pub(crate) fn command() -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this binary"));
    command.args(["process::the_server_itself", "--exact", "--nocapture", "--test-threads=2"]);
    command.env(ROLE, "1").env("RUST_BACKTRACE", "0");
    command
}

/// A path of this run's own, where nothing is.
pub(crate) fn finished_file(name: &str) -> PathBuf {
    let path =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("stdio-{}-{name}", std::process::id()));
    std::fs::remove_file(&path).ok();
    path
}

/// A call as a line.
pub(crate) fn line_of(id: i64, tool: &str, arguments: Value) -> String {
    let params = json!({ "name": tool, "arguments": arguments, "_meta": { "progressToken": id } });
    format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }))
}

/// The first line of a client.
pub(crate) fn initialize_line(revision: &str) -> String {
    let info = json!({ "name": "raw", "version": "0" });
    let params = json!({ "protocolVersion": revision, "capabilities": {}, "clientInfo": info });
    format!("{}\n", json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }))
}

/// A server process.
pub(crate) struct Process {
    child: Child,
    input: Option<ChildStdin>,
    lines: Option<Receiver<String>>,
    reader: Option<JoinHandle<()>>,
    errors: Option<JoinHandle<String>>,
    next_id: i64,
    output: Vec<String>,
    conversation: Vec<(From, Value)>,
}

/// What is left of a process.
pub(crate) struct Ended {
    /// Its exit status; none if a signal killed it.
    pub(crate) code: Option<i32>,
    /// All of its standard output, by line.
    pub(crate) output: Vec<String>,
    /// All of its standard error.
    pub(crate) errors: String,
    /// All messages, from both sides.
    pub(crate) conversation: Vec<(From, Value)>,
}

impl Process {
    /// Over pipes.
    pub(crate) fn start() -> Self {
        Self::start_with(Stdio::piped())
    }

    /// With another standard input.
    pub(crate) fn start_with(input: Stdio) -> Self {
        let mut child =
            command().stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
        let (stdout, mut stderr) = (child.stdout.take().expect("piped"), child.stderr.take().expect("piped"));
        let (sender, lines) = channel();
        let reader = std::thread::spawn(move || {
            let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
            // The harness speaks before the server does; that line is not the server's.
            lines.by_ref().find(|line| line.starts_with("running 1 test"));
            for line in lines {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let errors = std::thread::spawn(move || {
            let mut all = Vec::new();
            stderr.read_to_end(&mut all).ok();
            String::from_utf8_lossy(&all).into_owned()
        });
        let (input, lines, reader, errors) = (child.stdin.take(), Some(lines), Some(reader), Some(errors));
        Self {
            child,
            input,
            lines,
            reader,
            errors,
            next_id: 1000,
            output: Vec::new(),
            conversation: Vec::new(),
        }
    }

    /// Writes bytes, in one write, and whole lines of JSON into the record.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.input.as_mut().expect("open").write_all(bytes).expect("written");
        let lines = bytes.split(|&byte| byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
        self.conversation.extend(lines.map(|message| (From::Client, message)));
    }

    /// The next message of the server.
    pub(crate) fn next(&mut self) -> Value {
        let line = match self.lines.as_ref().expect("reading").recv_timeout(PATIENCE) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => panic!("nothing comes; so far {:#?}", self.output),
            Err(RecvTimeoutError::Disconnected) => panic!("standard output ended; so far {:#?}", self.output),
        };
        let message: Value =
            serde_json::from_str(&line).unwrap_or_else(|_| panic!("not a message: {line:?}"));
        self.output.push(line);
        self.conversation.push((From::Server, message.clone()));
        message
    }

    /// The answer to this request; what comes before it is only recorded.
    pub(crate) fn answer(&mut self, id: i64) -> Value {
        loop {
            let message = self.next();
            if message.get("method").is_none() && message["id"] == id {
                return message;
            }
        }
    }

    /// Opens a session.
    pub(crate) fn initialize(&mut self, revision: &str) -> Value {
        self.write(initialize_line(revision).as_bytes());
        let answer = self.answer(1);
        self.write(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
        answer
    }

    /// A request and its response.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        self.next_id += 1;
        let message = json!({ "jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params });
        self.write(format!("{message}\n").as_bytes());
        self.answer(self.next_id)
    }

    /// Calls a tool.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    /// Begins a call of a tool. A server that has gone already is none of its concern.
    pub(crate) fn begin(&mut self, id: i64, tool: &str, arguments: Value) {
        self.input.as_mut().expect("open").write_all(line_of(id, tool, arguments).as_bytes()).ok();
    }

    /// Says that nothing more will come.
    pub(crate) fn close_input(&mut self) {
        self.input = None;
    }

    /// Reads one more line, and then closes the other end of standard output.
    pub(crate) fn stop_reading(&mut self) {
        self.lines = None;
        self.begin(2, "echo", json!({ "message": "the last that is read" }));
        self.reader.take().expect("reading").join().expect("no panic");
    }

    /// Sends SIGTERM.
    pub(crate) fn terminate(&self) {
        rustix::process::kill_process(
            rustix::process::Pid::from_child(&self.child),
            rustix::process::Signal::TERM,
        )
        .expect("it is there");
    }

    /// Closes standard input and waits for the end.
    pub(crate) fn finish(mut self) -> Ended {
        self.close_input();
        self.wait()
    }

    /// Waits for the end.
    pub(crate) fn wait(self) -> Ended {
        self.wait_while(|_| {})
    }

    /// Does something again and again until the end.
    pub(crate) fn wait_while(mut self, mut doing: impl FnMut(&mut Self)) -> Ended {
        let began = Instant::now();
        let status = loop {
            match self.child.try_wait().expect("it can be waited for") {
                Some(status) => break status,
                None => doing(&mut self),
            }
            std::thread::sleep(Duration::from_millis(2));
            assert!(began.elapsed() < PATIENCE, "it does not end");
        };
        if let Some(lines) = &self.lines {
            self.output.extend(lines.iter());
        }
        let errors = self.errors.take().and_then(|errors| errors.join().ok()).unwrap_or_default();
        let (output, conversation) =
            (std::mem::take(&mut self.output), std::mem::take(&mut self.conversation));
        Ended { code: status.code(), output, errors, conversation }
    }
}

/// A test that fails leaves no process behind.
impl Drop for Process {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
