//! The server process, and the one connection over which it is looked at.

use std::path::PathBuf;
use std::process::Stdio;

use rustix::process::{Resource, getrlimit, setrlimit};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};

use crate::raw::Connection;

/// A running server.
pub(crate) struct Process {
    pub(crate) address: String,
    child: Child,
    input: ChildStdin,
    /// Kept, so that its own task is there at the start as at the end.
    control: Connection,
}

/// What there is in the process.
#[derive(Debug, Clone)]
pub(crate) struct State {
    pub(crate) sessions: usize,
    pub(crate) tasks: usize,
    /// What the server holds.
    pub(crate) heap_kib: i64,
    /// What the process has: more, because allocators keep what they were given back.
    pub(crate) rss_kib: i64,
}

/// As many descriptors as may be had; says how many.
pub(crate) fn raise_limit() -> u64 {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Examples are built beside the tests.
fn path() -> PathBuf {
    let test = std::env::current_exe().expect("the test has a path");
    let profile = test.parent().and_then(|deps| deps.parent()).expect("target/PROFILE/deps");
    profile.join("examples").join("crowd")
}

impl Process {
    pub(crate) async fn start() -> Self {
        let mut child = Command::new(path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the example starts; `cargo test -p contexture` builds all of them");
        let input = child.stdin.take().expect("piped");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let line = lines.next_line().await.expect("it writes").expect("it says where it listens");
        let url = line.strip_prefix("listening on http://").expect("a URL");
        let address = url.strip_suffix("/mcp").expect("the usual path").to_owned();
        let control = Connection::open(&address).await.expect("it listens");
        Self { address, child, input, control }
    }

    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        let answer = self.control.modern("tools/call", Some(tool), params).await.expect("an answer");
        assert!(answer["result"]["isError"] != true && answer["result"].is_object(), "{tool}: {answer}");
        answer["result"]["structuredContent"].clone()
    }

    pub(crate) async fn state(&mut self) -> State {
        let state = self.call("state", json!({})).await;
        let number = |name: &str| state[name].as_i64().unwrap_or_else(|| panic!("{name} in {state}"));
        State {
            sessions: number("sessions") as usize,
            tasks: number("tasks") as usize,
            heap_kib: number("heap_kib"),
            rss_kib: number("rss_kib"),
        }
    }

    /// Looks until it is so. What was last seen is in the failure if it never is.
    pub(crate) async fn until(&mut self, is_so: impl Fn(&State) -> bool) -> State {
        for _ in 0..6_000 {
            let state = self.state().await;
            if is_so(&state) {
                return state;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        panic!("it stays so: {:?}", self.state().await);
    }

    /// It has to end by itself.
    pub(crate) async fn stop(self) {
        let Self { mut child, input, control, .. } = self;
        drop((input, control));
        assert!(child.wait().await.expect("it ends").success());
    }
}
