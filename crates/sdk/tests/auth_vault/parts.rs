//! The parts that a process of its own can play, and how a test holds such a process.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use contexture::auth::{FileStore, TokenStore};

use crate::{access, key, stored};

/// Set where this binary is to play a part instead of testing: which one, and in which folder.
const PART: &str = "CONTEXTURE_TEST_VAULT_PART";
const FOLDER: &str = "CONTEXTURE_TEST_VAULT_FOLDER";
/// How often a counter is counted up by each process.
pub(crate) const COUNTS: u32 = 25;
/// What all processes write to.
pub(crate) const SHARED: &str = "https://shared.example";

/// In a process of its own this plays the part. Among the other tests it has nothing to do.
#[test]
fn the_part_itself() {
    let (Some(part), Some(folder)) = (std::env::var(PART).ok(), std::env::var_os(FOLDER)) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let store = FileStore::at(folder);
        match part.as_str() {
            "count" => count(&store).await,
            "write" => write_for_ever(&store).await,
            "hold" => hold(&store).await,
            "save" => save(&store).await,
            "no room" => no_room(&store).await,
            part => panic!("there is no part {part}"),
        }
    });
}

/// Counts up under the lock.
async fn count(store: &FileStore) {
    let key = key(SHARED);
    for _ in 0..COUNTS {
        let _lock = store.lock(&key).await.expect("a lock");
        let found = access(store.load(&key).await.expect("it loads")).expect("it is there");
        let next = found.parse::<u32>().expect("a number") + 1;
        store.save(&key, &stored(&next.to_string())).await.expect("it saves");
    }
}

/// Writes without a lock, over and over, two lengths in turn, until it is killed.
async fn write_for_ever(store: &FileStore) {
    say("writing");
    for round in 0_u64.. {
        let text = if round % 2 == 0 { "a".repeat(10) } else { "b".repeat(50_000) };
        store.save(&key(SHARED), &stored(&text)).await.expect("it saves");
    }
}

/// Holds the lock until it is killed.
async fn hold(store: &FileStore) {
    let _lock = store.lock(&key(SHARED)).await.expect("a lock");
    say("holding");
    std::future::pending::<()>().await;
}

/// Saves an entry of its own.
async fn save(store: &FileStore) {
    let key = key(&format!("https://{}.example", std::process::id()));
    store.save(&key, &stored("mine")).await.expect("it saves");
}

/// Saves where no byte can be written.
async fn no_room(store: &FileStore) {
    let error = store.save(&key(SHARED), &stored("new")).await.expect_err("there is no room");
    say(&format!("said {error}"));
    let kept = access(store.load(&key(SHARED)).await.expect("it loads")).expect("it is there");
    say(&format!("kept {kept}"));
}

/// To the test that holds this process.
fn say(line: &str) {
    writeln!(std::io::stdout(), "{line}").expect("it listens");
}

/// A process that plays a part; it is gone with this.
pub(crate) struct Player {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Player {
    pub(crate) fn start(part: &str, folder: &Path) -> Self {
        Self::launch(Command::new(std::env::current_exe().expect("this binary")), part, folder)
    }

    /// In a process that may not make any file longer.
    pub(crate) fn without_room(part: &str, folder: &Path) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\""]);
        command.arg(std::env::current_exe().expect("this binary"));
        Self::launch(command, part, folder)
    }

    fn launch(mut command: Command, part: &str, folder: &Path) -> Self {
        command.args(["--exact", "parts::the_part_itself", "--nocapture", "--test-threads=1"]);
        command.env(PART, part).env(FOLDER, folder).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("this binary runs");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        Self { child, output }
    }

    /// Waits for a line that begins so, and gives the rest of it.
    pub(crate) fn says(&mut self, beginning: &str) -> String {
        let mut line = String::new();
        loop {
            line.clear();
            let read = self.output.read_line(&mut line).expect("text");
            assert!(read > 0, "it ended without {beginning:?}");
            // The harness writes the name of the test without ending its line.
            if let Some((_, rest)) = line.split_once(beginning) {
                return rest.trim().to_owned();
            }
        }
    }

    /// Waits until it is done, which it was without a fault.
    pub(crate) fn ends_well(mut self) {
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut self.output, &mut rest).expect("text");
        assert!(self.child.wait().expect("it ends").success(), "{rest}");
    }

    /// SIGKILL.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("it lives");
        self.child.wait().expect("it is gone");
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
