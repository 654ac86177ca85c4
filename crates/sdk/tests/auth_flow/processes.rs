//! Two processes and one expired token: one refresh on the wire.
//!
//! Every refresh gives out another token, so that two processes which end with the same one have shared it. A second
//! refresh with the first one's refresh token would be worse: reuse revokes them all, and one of the calls fails.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use contexture::Client;
use contexture::auth::{Authorization, FileStore, TokenStore};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};

use crate::person::Person;
use crate::stage::{access, issuer, kept, protected, refresh};

/// Set where this binary is to be a client instead of testing: its store, and the server's URL.
const STORE: &str = "CONTEXTURE_TEST_STORE";
const URL: &str = "CONTEXTURE_TEST_URL";
/// More than two, so that they meet.
const PROCESSES: usize = 4;

/// In a process of its own this is a client; among the other tests it does nothing.
#[tokio::test]
async fn the_client_itself() {
    let (Some(folder), Ok(url)) = (std::env::var_os(STORE).map(PathBuf::from), std::env::var(URL)) else {
        return;
    };
    let mut line = String::new();
    eprintln!("ready");
    BufReader::new(tokio::io::stdin()).read_line(&mut line).await.expect("told to begin");
    let authorization = Authorization::stored().store(store(&folder));
    let client = Client::builder().authorization(authorization).connect(&url).await.expect("connected");
    let who = client.call("who", ()).await.expect("an answer");
    eprintln!("called as {}", who.text());
    client.close().await;
    let (_, stored) = kept(&store(&folder)).await;
    eprintln!("with {}", access(&stored));
}

fn store(folder: &Path) -> FileStore {
    FileStore::at(folder)
}

// covers: AUTH-TOKEN-STORAGE
#[tokio::test]
async fn processes_share_one_refresh() {
    let issuer = issuer(Duration::from_secs(300)).await;
    let (url, _) = protected(&issuer).await;
    let folder = std::env::temp_dir().join(format!("contexture-auth-flow-{}", std::process::id()));
    let person = Person::default();
    let authorization = Authorization::visitor(person.clone()).store(store(&folder));
    Client::builder().authorization(authorization).connect(&url).await.expect("logged in").close().await;

    let (key, mut stored) = kept(&store(&folder)).await;
    let before = (access(&stored), refresh(&stored));
    stored.tokens.as_mut().expect("tokens").expires_at = Some(1);
    store(&folder).save(&key, &stored).await.expect("kept");

    let mut processes: Vec<Process> = (0..PROCESSES).map(|_| Process::start(&folder, &url)).collect();
    for process in &mut processes {
        process.hear("ready").await;
    }
    for process in &mut processes {
        process.begin().await;
    }
    let mut tokens = Vec::new();
    for process in &mut processes {
        assert_eq!(process.hear("called as ").await, "ada");
        tokens.push(process.hear("with ").await);
        assert!(process.child.wait().await.expect("an end").success());
    }
    let (_, stored) = kept(&store(&folder)).await;
    assert_ne!(before, (access(&stored), refresh(&stored)), "it was refreshed");
    assert!(tokens.iter().all(|token| *token == access(&stored)), "more than once");
    assert_eq!(person.visits(), 1);
    std::fs::remove_dir_all(&folder).expect("tidied up");
}

struct Process {
    child: Child,
    lines: tokio::io::Lines<BufReader<tokio::process::ChildStderr>>,
}

impl Process {
    fn start(folder: &Path, url: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().expect("this binary"))
            .args(["--exact", "processes::the_client_itself", "--nocapture", "--test-threads=1"])
            .envs([(STORE, folder.as_os_str()), (URL, url.as_ref())])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("it starts");
        let lines = BufReader::new(child.stderr.take().expect("piped")).lines();
        Self { child, lines }
    }

    async fn begin(&mut self) {
        self.child.stdin.as_mut().expect("piped").write_all(b"\n").await.expect("it listens");
    }

    /// The rest of the next line that begins so.
    async fn hear(&mut self, beginning: &str) -> String {
        let mut said = Vec::new();
        while let Some(line) = self.lines.next_line().await.expect("readable") {
            if let Some(rest) = line.strip_prefix(beginning) {
                return rest.to_owned();
            }
            said.push(line);
        }
        panic!("it ended without `{beginning}`: {said:?}");
    }
}
