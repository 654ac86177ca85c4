//! Bringing a child down: closed input, SIGTERM, SIGKILL, each to the whole group.
//!
//! A task watches over the child. It is set off by dropping the guard; if the runtime dies first, the
//! group is killed on the spot.

use std::process::ExitStatus;
use std::time::Duration;

use tokio::process::Child;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use crate::Policy;

/// What is left of standard error may come a moment after the exit.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// How often a group without its leader is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// How far the end of a child has come.
#[derive(Debug, Default)]
pub(super) struct Exit {
    /// How it ended, in words.
    pub(super) how: Option<String>,
    /// Whether nothing that it started is left, either.
    pub(super) is_over: bool,
}

/// Releasing or dropping it begins the shutdown of the child.
#[derive(Debug)]
pub(super) struct Guard {
    id: Option<u32>,
    alive: Option<oneshot::Sender<()>>,
}

impl Guard {
    /// Hands the child to a task of its own. The receiver learns how it ended.
    pub(super) fn watch(
        child: Child,
        policy: &Policy,
        drained: Option<JoinHandle<()>>,
    ) -> (Self, watch::Receiver<Exit>) {
        let (alive, dropped) = oneshot::channel();
        let (status, exit) = watch::channel(Exit::default());
        let id = child.id();
        let group = Group { child, id, reaped: false };
        let (graceful, term) = (policy.child_exit, policy.child_term);
        tokio::spawn(watch_over(group, dropped, drained, (graceful, term), status));
        (Self { id, alive: Some(alive) }, exit)
    }

    /// Begins the shutdown now.
    pub(super) fn release(&mut self) {
        self.alive = None;
    }

    pub(super) fn id(&self) -> Option<u32> {
        self.id
    }
}

async fn watch_over(
    mut group: Group,
    dropped: oneshot::Receiver<()>,
    drained: Option<JoinHandle<()>>,
    patience: (Duration, Duration),
    status: watch::Sender<Exit>,
) {
    let exit = tokio::select! {
        exit = group.wait() => exit,
        _ = dropped => group.bring_down(patience).await,
    };
    if let Some(drained) = drained {
        // A grandchild may hold the pipe open for as long as it lives.
        let _ = tokio::time::timeout(LAST_WORDS, drained).await;
    }
    // Whoever waits for an answer need not wait for what the child has left behind.
    status.send_modify(|status| status.how = Some(exit));
    group.sweep(patience.1).await;
    status.send_modify(|status| status.is_over = true);
}

/// A child and whatever it started in its group.
struct Group {
    child: Child,
    /// Of the group, for as long as it may have members.
    id: Option<u32>,
    reaped: bool,
}

impl Group {
    async fn wait(&mut self) -> String {
        let exit = self.child.wait().await;
        self.reaped = true;
        match exit {
            Ok(status) => describe(status),
            Err(error) => format!("cannot be waited for: {error}"),
        }
    }

    /// Standard input is closed already.
    async fn bring_down(&mut self, (graceful, term): (Duration, Duration)) -> String {
        if let Ok(exit) = tokio::time::timeout(graceful, self.wait()).await {
            return exit;
        }
        self.terminate();
        if let Ok(exit) = tokio::time::timeout(term, self.wait()).await {
            return exit;
        }
        self.kill();
        self.wait().await
    }

    /// The leader is gone; what it left behind goes, too.
    async fn sweep(&mut self, term: Duration) {
        if self.has_members() {
            self.terminate();
            let gone = async {
                while self.has_members() {
                    tokio::time::sleep(LOOK).await;
                }
            };
            let _ = tokio::time::timeout(term, gone).await;
            self.kill();
        }
        self.id = None;
    }
}

#[cfg(unix)]
impl Group {
    fn pid(&self) -> Option<rustix::process::Pid> {
        self.id.and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw)
    }

    fn signal(&self, signal: rustix::process::Signal) {
        if let Some(pid) = self.pid() {
            // Nobody left to signal is what we want.
            let _ = rustix::process::kill_process_group(pid, signal);
        }
    }

    fn terminate(&mut self) {
        self.signal(rustix::process::Signal::TERM);
    }

    fn kill(&mut self) {
        self.signal(rustix::process::Signal::KILL);
    }

    fn has_members(&self) -> bool {
        self.pid().is_some_and(|pid| rustix::process::test_kill_process_group(pid).is_ok())
    }
}

#[cfg(not(unix))]
impl Group {
    fn terminate(&mut self) {
        self.kill();
    }

    fn kill(&mut self) {
        let _ = self.child.start_kill();
    }

    fn has_members(&self) -> bool {
        false
    }
}

/// The runtime is shutting down and nobody will wait: the group must not outlive us.
impl Drop for Group {
    fn drop(&mut self) {
        // The child may be gone while what it left behind is not.
        if self.id.is_none() {
            return;
        }
        self.kill();
        if self.reaped {
            return;
        }
        for _ in 0..50 {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

fn describe(status: ExitStatus) -> String {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt;
        if let Some(signal) = status.signal() {
            return format!("was ended by signal {signal}");
        }
    }
    match status.code() {
        Some(code) => format!("exited with {code}"),
        None => "exited".to_owned(),
    }
}
