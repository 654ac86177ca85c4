//! A home for every test, servers made of shell scripts, and what `doctor` says of them.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_contexture");

/// For what has to happen sooner or later, on a machine that has much to do.
const PATIENCE: Duration = Duration::from_secs(20);

/// A user's folder with a project in it, gone with this.
pub(crate) struct Home(PathBuf);

impl Home {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("contexture-doctor-{}-{number}", std::process::id()));
        std::fs::create_dir_all(path.join("project")).expect("a folder");
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(&path, text).expect("it can be written");
        path.to_str().expect("text").to_owned()
    }

    /// A program of this name.
    pub(crate) fn program(&self, name: &str, text: &str) -> String {
        let path = self.write(name, text);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).expect("it is ours");
        path
    }

    /// The user's own configuration.
    pub(crate) fn configured(&self, text: &str) {
        self.write(".config/contexture/contexture.json", text);
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(BINARY);
        command.args(arguments).env_clear().env("HOME", &self.0).env("PATH", "/usr/bin:/bin");
        command.current_dir(self.0.join("project"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// What `doctor` says, as a document; it has left no process behind.
    pub(crate) fn doctor(&self, arguments: &[&str]) -> Verdict {
        let verdict = Verdict::of(self.command(&[&["doctor", "-o", "json"], arguments].concat()));
        // Whoever was told to end together with its parent may take a moment longer; whoever was forgotten stays.
        let patience = Instant::now() + PATIENCE;
        while self.running() > 0 {
            assert!(Instant::now() < patience, "a server is left behind: {}", verdict.document);
            std::thread::sleep(Duration::from_millis(20));
        }
        verdict
    }

    /// How many processes have this home in their command line.
    pub(crate) fn running(&self) -> usize {
        let name = format!("{}/", self.0.display());
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

/// One run.
pub(crate) struct Verdict {
    pub(crate) code: i32,
    pub(crate) document: Value,
    pub(crate) stderr: String,
}

impl Verdict {
    pub(crate) fn of(mut command: Command) -> Self {
        let output: Output = command.output().expect("the binary runs");
        let stdout = String::from_utf8(output.stdout).expect("text");
        let stderr = String::from_utf8(output.stderr).expect("text");
        let document =
            serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}{stderr}"));
        Self { code: output.status.code().unwrap_or(-1), document, stderr }
    }

    /// The steps of a server, the first if there are several.
    pub(crate) fn steps(&self) -> &[Value] {
        self.document["servers"][0]["steps"].as_array().map(Vec::as_slice).unwrap_or_default()
    }

    pub(crate) fn step(&self, id: &str) -> &Value {
        let found = self.steps().iter().find(|step| step["id"] == id);
        found.unwrap_or_else(|| panic!("there is no step {id}: {:#}", self.document))
    }

    /// The first step that failed.
    pub(crate) fn failed(&self) -> &Value {
        let failed = self.steps().iter().find(|step| step["state"] == "failed");
        failed.unwrap_or_else(|| panic!("nothing failed: {:#}", self.document))
    }

    /// All of a step, as text.
    pub(crate) fn words(step: &Value) -> String {
        let details: Vec<&str> =
            step["details"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        format!("{} {}", step["seen"].as_str().unwrap_or_default(), details.join(" "))
    }
}

/// What is broken, and what has to be said about it.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// The step that fails, and how the program ends.
    pub(crate) step: &'static str,
    pub(crate) exit: i32,
    /// What is said to be wrong, and what to do next.
    pub(crate) seen: &'static [&'static str],
    pub(crate) next: &'static str,
}

impl Case {
    pub(crate) fn holds(&self, verdict: &Verdict) {
        let failed = verdict.failed();
        let all = format!("{}: {:#}", self.name, verdict.document);
        assert_eq!(failed["id"], self.step, "{all}");
        assert_eq!(verdict.code, self.exit, "{all}");
        assert_eq!(verdict.document["exit"], self.exit, "{all}");
        let words = Verdict::words(failed);
        for wanted in self.seen {
            assert!(words.contains(wanted), "{wanted:?} is not said: {all}");
        }
        let next = failed["next"].as_str().unwrap_or_default();
        assert!(next.contains(self.next), "{:?} is not what to do next: {all}", self.next);
        // The same in one line for scripts.
        let line: Value =
            serde_json::from_str(verdict.stderr.lines().last().unwrap_or_default()).expect("a line of JSON");
        assert_eq!(line["error"]["exit"], self.exit, "{all}");
    }
}

/// A server of the legacy era out of a shell script: what it answers by method, and what it does first.
pub(crate) fn server(first: &str, capabilities: &str, answers: &[(&str, &str)]) -> String {
    let mut script = format!(
        r#"#!/bin/sh
reply() {{ printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "$id" "$1"; }}
refuse() {{ printf '{{"jsonrpc":"2.0","id":%s,"error":{{"code":-32601,"message":"Method not found"}}}}\n' "$id"; }}
{first}
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
"#
    );
    for (method, does) in answers {
        script.push_str(&format!("    *'\"{method}\"'*) {does} ;;\n"));
    }
    script.push_str(&format!(
        r#"    *'"notifications/'*) ;;
    *'"initialize"'*) reply '{{"protocolVersion":"2025-06-18","capabilities":{capabilities},"serverInfo":{{"name":"broken","version":"1"}}}}' ;;
    *'"ping"'*) reply '{{}}' ;;
    *) refuse ;;
  esac
done
"#
    ));
    script
}
