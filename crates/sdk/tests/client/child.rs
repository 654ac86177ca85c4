//! Servers as real child processes.

use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use contexture::client::Event;
use contexture::revision::Revision;
use contexture::transport::{ChildCommand, Stderr};
use contexture::{Client, Error, Policy};
use serde_json::{Value, json};

/// A server of the legacy era that is small enough to be read. What it does with the first message, and
/// at the end, depends on its arguments.
const SERVER: &str = r#"
import json, os, signal, sys, time
log = open(os.environ["LOG"], "a") if "LOG" in os.environ else None
def note(what):
    if log: log.write(what + "\n"); log.flush()
note("start %d" % os.getpid())
if "ignore-term" in sys.argv: signal.signal(signal.SIGTERM, lambda *_: note("term"))
if "note-term" in sys.argv:
    def term(*_): note("term"); sys.exit(0)
    signal.signal(signal.SIGTERM, term)
if "grandchild" in sys.argv:
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600); os._exit(0)
    note("grandchild %d" % pid)
def answer(id, **member):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": id, **member}) + "\n"); sys.stdout.flush()
sys.stderr.write("warming up\n"); sys.stderr.flush()
if "banner" in sys.argv: print("\x1b[1mWelcome!\x1b[0m", flush=True)
pings = 0
for line in sys.stdin:
    note("line " + line.strip())
    message = json.loads(line)
    method, id = message.get("method"), message.get("id")
    if method == "server/discover":
        if "die-on-probe" in sys.argv: sys.stderr.write("expected initialize\n"); sys.exit(3)
        answer(id, error={"code": -32601, "message": "unknown"})
    elif method == "initialize":
        answer(id, result={"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "tiny", "version": "1"}})
    elif method == "ping":
        pings += 1
        if "deaf" in sys.argv: time.sleep(600)
        answer(id, result={})
    elif method == "tools/list":
        answer(id, result={"tools": [], **({} if "cursor" in message.get("params", {}) else {"nextCursor": "page-2"})})
    elif method == "tools/call":
        name, arguments = message["params"]["name"], message["params"].get("arguments")
        if name == "exit": sys.stderr.write("boom: %s\n" % arguments["why"]); sys.stderr.flush(); os._exit(arguments["code"])
        if name == "kill": os.kill(os.getpid(), signal.SIGKILL)
        if name == "close": sys.stdout.close(); os.close(1); time.sleep(600)
        if name == "flood": sys.stderr.write("x" * 5_000_000 + "\nlast words\n"); sys.stderr.flush()
        if name == "stop-reading": time.sleep(600)
        value = {"env": dict(os.environ), "cwd": os.getcwd(), "argv": sys.argv[1:], "ppid": os.getppid(), "pgid": os.getpgid(0), "pid": os.getpid(), "fds": [os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{fd}") or os.path.islink(f"/proc/self/fd/{fd}")]}
        answer(id, result={"content": [{"type": "text", "text": json.dumps(value)}]})
note("eof")
if "ignore-eof" in sys.argv or "ignore-term" in sys.argv:
    while True: time.sleep(1)
"#;

pub(crate) fn server(arguments: &[&str]) -> ChildCommand {
    ChildCommand::new("python3").args(["-c", SERVER]).args(arguments.iter().copied())
}

/// A file in which the server notes what happens to it.
pub(crate) struct Log(PathBuf);

impl Log {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("contexture-child-{}-{number}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        Self(path)
    }

    pub(crate) fn of(&self, command: ChildCommand) -> ChildCommand {
        command.env("LOG", &self.0)
    }

    pub(crate) fn read(&self) -> Vec<String> {
        std::fs::read_to_string(&self.0).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    pub(crate) fn pids(&self, what: &str) -> Vec<i32> {
        let notes = self.read();
        let pids = notes.iter().filter_map(|note| note.strip_prefix(what)?.trim().parse().ok());
        pids.collect()
    }

    /// Without what was received: only what happened.
    fn events(&self) -> Vec<String> {
        self.read().into_iter().filter(|note| note == "eof" || note == "term").collect()
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Whether there is a process, dead or alive.
pub(crate) fn exists(pid: i32) -> bool {
    std::path::Path::new(&format!("/proc/{pid}")).exists()
}

pub(crate) async fn until(what: impl Fn() -> bool) {
    for _ in 0..1_000 {
        if what() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("it did not happen");
}

pub(crate) fn hasty() -> Policy {
    let mut policy = Policy::default();
    policy.child_exit = Duration::from_millis(1500);
    policy.child_term = Duration::from_millis(1500);
    policy
}

// covers: STDIO-LAUNCH-SUBPROCESS, STDIO-CLIENT-SUPPORT, STDIO-STDIN-CLEAN, STDIO-SINGLE-MESSAGE
// covers: STDIO-NEWLINE-DELIMITED, STDIO-NO-EMBEDDED-NEWLINE
#[tokio::test]
async fn a_server_is_spawned_and_spoken_to() {
    let log = Log::new();
    let nasty = ["; rm -rf /", "$(id)", "a b", "\"quoted\"", "line\nbreak", "-x", "&&"];
    let client = Client::spawn(log.of(server(&nasty)).current_dir("/")).await.expect("connected");
    assert_eq!(client.revision(), Revision::V2025_06_18);
    let seen: Value =
        client.call("look", json!({ "text": "a\r\nb" })).await.expect("ok").structured().expect("JSON");
    assert_eq!(seen["argv"], json!(nasty), "literally, without a shell");
    assert_eq!(seen["cwd"], "/");
    assert_eq!(seen["ppid"], std::process::id());
    assert_eq!(seen["pgid"], seen["pid"], "a group of its own");
    client.close().await;
    let mut judge = contexture_judge::Watch::new(contexture_judge::From::Client);
    let mut lines = 0;
    for note in log.read() {
        let Some(line) = note.strip_prefix("line ") else { continue };
        let message: Value = serde_json::from_str(line).expect("every line is a message");
        assert!(message.is_object());
        if message["method"] == "initialize" {
            judge.message(contexture_judge::From::Client, &message);
            let answer = json!({ "id": message["id"], "result": { "protocolVersion": "2025-06-18" } });
            judge.message(contexture_judge::From::Server, &answer);
        } else {
            judge.message(contexture_judge::From::Client, &message);
        }
        lines += 1;
    }
    assert_eq!(lines, 4, "probe, initialize, initialized, call");
}

/// Security rows H12 and H14.
#[tokio::test]
async fn a_child_gets_only_what_is_on_the_list() {
    let mut command = std::process::Command::new("python3");
    command.args(["-c", SERVER]).env("GIVEN", "yes").env_remove("HOME");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a socket");
    let client = Client::spawn(ChildCommand::from(&command).inherit_env("CARGO")).await.expect("connected");
    let seen: Value = client.call("look", ()).await.expect("ok").structured().expect("JSON");
    let environment = seen["env"].as_object().expect("variables");
    assert!(environment.contains_key("PATH"));
    assert_eq!(environment.contains_key("CARGO"), std::env::var_os("CARGO").is_some());
    assert_eq!(environment["GIVEN"], "yes");
    assert!(!environment.contains_key("HOME"));
    assert!(!environment.contains_key("CARGO_MANIFEST_DIR"), "everything else stays here");
    let own = std::fs::read_link(format!("/proc/self/fd/{}", listener.as_raw_fd())).expect("a socket");
    let descriptors = seen["fds"].as_array().expect("a list");
    assert!(!descriptors.contains(&json!(own)), "no sockets of ours");
    client.close().await;
}

// covers: STDIO-SHUTDOWN-CLOSE-STDIN, STDIO-SHUTDOWN-SIGTERM
#[tokio::test]
async fn a_server_that_leaves_at_the_end_of_its_input_gets_no_signal() {
    let log = Log::new();
    let client = Client::spawn(log.of(server(&["note-term"]))).await.expect("connected");
    client.close().await;
    assert_eq!(log.events(), ["eof"]);
    assert!(!exists(log.pids("start ")[0]), "gone and reaped");
}

// covers: STDIO-SHUTDOWN-CLOSE-STDIN, STDIO-SHUTDOWN-SIGTERM, LIFE-ERR-SHUTDOWN-TIMEOUT-2024
#[tokio::test]
async fn a_server_that_ignores_the_end_is_terminated() {
    let log = Log::new();
    let builder = Client::builder().policy(hasty());
    let client = builder.spawn(log.of(server(&["ignore-eof", "note-term"]))).await.expect("connected");
    client.close().await;
    assert_eq!(log.events(), ["eof", "term"], "in this order");
    assert!(!exists(log.pids("start ")[0]));
}

// covers: STDIO-SHUTDOWN-SIGKILL
/// Security row H04.
#[tokio::test]
async fn a_server_that_ignores_everything_is_killed_with_its_group() {
    let log = Log::new();
    let builder = Client::builder().policy(hasty());
    let client = builder.spawn(log.of(server(&["ignore-term", "grandchild"]))).await.expect("connected");
    client.close().await;
    assert_eq!(log.events(), ["eof", "term"]);
    assert!(!exists(log.pids("start ")[0]), "reaped");
    let grandchild = log.pids("grandchild ")[0];
    until(|| is_gone(grandchild)).await;
}

/// Gone, or a zombie that waits for a parent that is not us.
pub(crate) fn is_gone(pid: i32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    status.map_or(true, |status| status.contains(") Z"))
}

#[tokio::test]
async fn dropping_the_client_brings_the_server_down() {
    let log = Log::new();
    let builder = Client::builder().policy(hasty());
    let client = builder.spawn(log.of(server(&["ignore-term", "grandchild"]))).await.expect("connected");
    drop(client);
    let (child, grandchild) = (log.pids("start ")[0], log.pids("grandchild ")[0]);
    until(|| !exists(child) && is_gone(grandchild)).await;
}

#[test]
fn a_runtime_that_ends_takes_the_server_with_it() {
    let log = Log::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let client = runtime.block_on(async {
        let server = log.of(server(&["ignore-term", "grandchild"]));
        Client::spawn(server).await.expect("connected")
    });
    drop(runtime);
    let (child, grandchild) = (log.pids("start ")[0], log.pids("grandchild ")[0]);
    assert!(!exists(child), "killed and reaped on the spot");
    for _ in 0..500 {
        if is_gone(grandchild) {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(is_gone(grandchild));
    assert!(client.is_closed());
}

// covers: STDIO-SHUTDOWN-SERVER
/// Security rows H02 and H03.
#[tokio::test]
async fn a_server_that_ends_in_the_middle_fails_the_call_with_its_last_words() {
    let client = Client::spawn(server(&[])).await.expect("connected");
    let mut events = client.events();
    let error = client.call("exit", json!({ "why": "no disk", "code": 7 })).await.expect_err("gone");
    let Error::Closed(how) = &error else { panic!("{error}") };
    assert!(how.starts_with("server exited with 7: ") && how.ends_with("boom: no disk"), "{how}");
    let again = client.call("look", ()).await.expect_err("still gone");
    assert_eq!(again.to_string(), error.to_string());
    while !matches!(events.next().await.expect("an event"), Event::Closed(_)) {}

    let client = Client::spawn(server(&[])).await.expect("connected");
    let error = client.call("kill", ()).await.expect_err("gone").to_string();
    assert!(error.contains("signal 9"), "{error}");

    let log = Log::new();
    let client = Client::builder().policy(hasty()).spawn(log.of(server(&[]))).await.expect("connected");
    let error = client.call("close", ()).await.expect_err("closed").to_string();
    assert!(error.contains("closed its output"), "{error}");
    let child = log.pids("start ")[0];
    until(|| !exists(child)).await;
}

// covers: STDIO-STDERR-CLIENT
/// Security row H07.
#[tokio::test]
async fn standard_error_is_drained_kept_and_passed_on_but_never_a_failure() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&lines);
    let stderr = Stderr::lines(move |line| log.lock().expect("no panic").push(line.to_owned()));
    for stderr in [stderr, Stderr::Keep, Stderr::Null] {
        let client = Client::spawn(server(&[]).stderr(stderr)).await.expect("connected");
        client.call("flood", ()).await.expect("a flood does not hurt");
        client.close().await;
    }
    let lines = lines.lock().expect("no panic");
    assert_eq!(lines.first().map(String::as_str), Some("warming up"));
    assert_eq!(lines.last().map(String::as_str), Some("last words"));
}

/// Security row H01.
#[tokio::test]
async fn a_banner_on_standard_output_is_skipped() {
    let client = Client::spawn(server(&["banner"])).await.expect("connected");
    client.ping().await.expect("alive");
    assert_eq!(client.dropped().garbage, 1);
    client.close().await;
}

/// Security row H10.
#[tokio::test]
async fn what_cannot_be_started_says_so() {
    let commands = [
        (ChildCommand::new("/no/such/program"), "No such file"),
        (ChildCommand::new("/etc/passwd"), "denied"),
        (ChildCommand::new("no-such-program-anywhere"), "on the PATH"),
        (ChildCommand::new("python3").current_dir("/no/such/directory"), "no folder \"/no/such/directory\""),
    ];
    for (command, why) in commands {
        let name = command.program().to_string_lossy().into_owned();
        let error = Client::spawn(command).await.expect_err("cannot start");
        assert!(matches!(&error, Error::Transport(_)), "{error}");
        assert!(error.to_string().contains(&name) && error.to_string().contains(why), "{error}");
    }
}

/// Security row H06.
#[tokio::test]
async fn a_server_that_does_not_read_blocks_nobody() {
    let mut policy = hasty();
    policy.unsent_bytes = 64 * 1024;
    let client = Client::builder().policy(policy).spawn(server(&[])).await.expect("connected");
    let big = "x".repeat(200_000);
    let short = Duration::from_millis(300);
    let stop = client.call("stop-reading", ()).timeout(short).start();
    until(|| client.waiting() == 1).await;
    for _ in 0..10 {
        let call = client.call("look", json!({ "big": big })).timeout(short);
        assert!(matches!(call.await, Err(Error::Timeout(_))));
    }
    assert!(matches!(stop.await, Err(Error::Timeout(_))));
    client.close().await;
}

/// Security row H13, in small.
#[tokio::test]
async fn starting_and_stopping_leaves_nothing_behind() {
    let descriptors = || std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    let client = Client::spawn(server(&[])).await.expect("connected");
    client.close().await;
    drop(client);
    let before = descriptors();
    for _ in 0..10 {
        let client = Client::spawn(server(&[])).await.expect("connected");
        client.close().await;
    }
    // Other tests of this process come and go meanwhile.
    until(|| descriptors() <= before + 64).await;
}

#[tokio::test]
async fn a_callback_that_panics_harms_nobody() {
    let stderr = Stderr::lines(|_| panic!("a callback"));
    let client = Client::spawn(server(&[]).stderr(stderr)).await.expect("connected");
    client.call("flood", ()).await.expect("the pipe is still drained");
    client.close().await;
}

#[tokio::test]
async fn a_program_may_be_named_by_whatever_names_one() {
    let name = "/no/such/program";
    let path = std::path::Path::new(name);
    for command in [
        ChildCommand::from(name),
        ChildCommand::from(name.to_owned()),
        ChildCommand::from(&name.to_owned()),
        ChildCommand::from(path),
        ChildCommand::from(path.to_owned()),
        ChildCommand::from(path.as_os_str()),
        ChildCommand::from(path.as_os_str().to_owned()),
    ] {
        assert_eq!(command.program(), path.as_os_str());
    }
    assert!(Client::spawn(name.to_owned()).await.is_err());
}
