//! A person at a machine: their own folder for data, a browser, perhaps a keyring.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::guarded::{Guarded, SECRET, visit};
use crate::{Run, command};

/// Only a test that fails waits for so long.
const PATIENCE: Duration = Duration::from_secs(30);

/// A person, with a browser that only writes down where it is sent.
pub(crate) struct Person {
    pub(crate) home: PathBuf,
    /// Where programs are looked for before anywhere else, and whom their keyring is asked from.
    keyring: Option<PathBuf>,
}

impl Person {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let home = std::env::temp_dir().join(format!("contexture-login-{}-{count}", std::process::id()));
        std::fs::create_dir(&home).expect("a new folder");
        let draft = "printf '%s' \"$*\" > \"$0.sent.draft\" && mv \"$0.sent.draft\" \"$0.sent\"";
        program(&home.join("browser"), draft);
        Self { home, keyring: None }
    }

    /// With a keyring that does this: `secret-tool` as a script.
    pub(crate) fn with_keyring(script: &str) -> Self {
        let mut person = Self::new();
        let folder = person.home.join("programs");
        std::fs::create_dir(&folder).expect("a new folder");
        program(&folder.join("secret-tool"), script);
        person.keyring = Some(folder);
        person
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.home.join("data")
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(arguments);
        command.env("XDG_DATA_HOME", self.data()).env("BROWSER", self.home.join("browser"));
        // Nobody's own keyring is touched.
        command.env_remove("DBUS_SESSION_BUS_ADDRESS").env_remove("XDG_RUNTIME_DIR");
        if let Some(folder) = &self.keyring {
            let path = std::env::var("PATH").unwrap_or_default();
            command.env("PATH", format!("{}:{path}", folder.display()));
            command.env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere");
        }
        command
    }

    /// Runs to the end. Whatever is done, no secret is ever shown.
    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        discreet(self.command(arguments).output().expect("the binary runs").into())
    }

    /// A verb on the server.
    pub(crate) fn on(&self, server: &Guarded, arguments: &[&str]) -> Run {
        self.run(&[arguments, &["--", &server.url()]].concat())
    }

    /// Where the browser was sent, as soon as it was.
    pub(crate) fn sent_to(&self) -> String {
        let begun = Instant::now();
        loop {
            if let Ok(url) = std::fs::read_to_string(self.home.join("browser.sent")) {
                std::fs::remove_file(self.home.join("browser.sent")).expect("it is ours");
                return url;
            }
            assert!(begun.elapsed() < PATIENCE, "the browser was not opened");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn was_sent(&self) -> bool {
        self.home.join("browser.sent").exists()
    }

    /// Logs in with the browser, as people do.
    pub(crate) fn log_in(&self, server: &Guarded) -> Run {
        self.log_in_with(server, &[])
    }

    pub(crate) fn log_in_with(&self, server: &Guarded, wishes: &[&str]) -> Run {
        let url = server.url();
        let arguments = [&["login", &url], wishes].concat();
        let login = self.command(&arguments).spawn().expect("the binary runs");
        come_back(&self.sent_to());
        ended(login)
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.home);
    }
}

/// A program of this person. Another process writes it: a file that is open for writing anywhere, if only in a
/// child of another test, cannot be run.
fn program(path: &Path, script: &str) {
    let mut writer = Command::new("sh");
    writer
        .args(["-c", "printf '#!/bin/sh\\n%s\\n' \"$1\" > \"$0\" && chmod 700 \"$0\""])
        .arg(path)
        .arg(script);
    assert!(writer.status().expect("there is a shell").success());
}

fn discreet(run: Run) -> Run {
    assert!(!run.stdout.contains(SECRET) && !run.stderr.contains(SECRET), "{} {}", run.stdout, run.stderr);
    run
}

/// How a process ends.
pub(crate) fn ended(child: Child) -> Run {
    discreet(child.wait_with_output().expect("it ends").into())
}

/// Follows the authorization server back to the program, and gives the last page.
pub(crate) fn come_back(url: &str) -> String {
    let (_, back) = visit(url);
    visit(&back.expect("the way back")).0
}

/// All files in a folder, and below.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}
