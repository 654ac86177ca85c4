//! A home in which every example works: a server that is configured, one in the folder, two by URL, and a browser.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

const BINARY: &str = env!("CARGO_BIN_EXE_contexture");

pub(crate) struct House {
    root: PathBuf,
    children: Vec<Child>,
    /// What stands in examples, and what it is here.
    addresses: Vec<(&'static str, String)>,
}

impl House {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let root = std::env::temp_dir().join(format!("contexture-help-{}-{count}", std::process::id()));
        let mut house = Self { root, children: Vec::new(), addresses: Vec::new() };
        house.furnish();
        house
    }

    /// With servers by URL: one for everybody, and one that wants to know who asks.
    pub(crate) fn with_servers(mut self) -> Self {
        let open = self.serve(&["demo", "--listen", "127.0.0.1:0"]);
        let issuer = self.serve(&["auth-server", "--listen", "127.0.0.1:0", "--approve-all", "ada"]);
        let guarded = self.serve(&["demo", "--listen", "127.0.0.1:0", &format!("--protect={issuer}")]);
        self.addresses = vec![("https://example.com/mcp", open), ("https://notes.example.com/mcp", guarded)];
        self
    }

    fn furnish(&mut self) {
        for folder in ["bin", "work", "home/.config/contexture", "home/.config/Code/User"] {
            fs::create_dir_all(self.root.join(folder)).expect("a new folder");
        }
        let notes = r#"{"mcpServers": {"notes": {"command": "contexture", "args": ["demo"]}}}"#;
        self.write("home/.config/contexture/contexture.json", notes);
        let files = r#"{"servers": {"files": {"command": "contexture", "args": ["demo"]}}}"#;
        self.write("home/.config/Code/User/mcp.json", files);
        let project = r#"{"mcpServers": {"here": {"command": "contexture", "args": ["demo"]}}}"#;
        self.write("work/contexture.json", project);
        self.program("work/server", "#!/bin/sh\nexec contexture demo\n");
        // A browser that agrees to everything.
        self.program("bin/browser", "#!/bin/sh\ncurl -sSL -o /dev/null \"$1\"\n");
        std::os::unix::fs::symlink(BINARY, self.root.join("bin/contexture")).expect("a name for it");
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.root.join(path), text).expect("it can be written");
    }

    fn program(&self, path: &str, text: &str) {
        self.write(path, text);
        fs::set_permissions(self.root.join(path), fs::Permissions::from_mode(0o700)).expect("it is ours");
    }

    /// Where commands are typed.
    pub(crate) fn folder(&self) -> PathBuf {
        self.root.join("work")
    }

    /// A program that knows nothing of the person who runs the tests.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let home = self.root.join("home");
        let path = std::env::var("PATH").unwrap_or_default();
        command.env_clear().env("PATH", format!("{}:{path}", self.root.join("bin").display()));
        command.env("HOME", &home).env("BROWSER", self.root.join("bin/browser")).env("LANG", "C.UTF-8");
        command.env("DOCS_TOKEN", "a-token").current_dir(self.folder());
        command
    }

    /// A line with the addresses that are here.
    pub(crate) fn line(&self, text: &str) -> String {
        self.addresses.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
    }

    /// Starts a server, and waits for its address.
    fn serve(&mut self, arguments: &[&str]) -> String {
        let mut command = self.command(BINARY);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program runs");
        let stderr = BufReader::new(child.stderr.take().expect("a pipe"));
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        self.children.push(child);
        let address =
            |line: &str| line.split_whitespace().find(|word| word.starts_with("http://")).map(str::to_owned);
        let (tell, told) = std::sync::mpsc::channel();
        let also = tell.clone();
        // Both are read to the end, so that nobody waits for room in a pipe.
        std::thread::spawn(move || {
            stdout
                .lines()
                .map_while(Result::ok)
                .filter_map(|line| address(&line))
                .for_each(|found| drop(tell.send(found)));
        });
        std::thread::spawn(move || {
            stderr
                .lines()
                .map_while(Result::ok)
                .filter_map(|line| address(&line))
                .for_each(|found| drop(also.send(found)));
        });
        told.recv().expect("it says where it is")
    }
}

impl Drop for House {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// Everything in a folder, by name.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<String> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
