//! An HTTP server under test: started on a free port of the loopback address and on core 0, spoken to, and
//! ended. It has as many sessions as one asks for; it times nothing.

use crate::http::{Address, Connection};
use crate::message::{Dialect, LEGACY, MODERN};
use crate::proc;
use std::fs::File;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A server that does not listen by then never will.
const START: Duration = Duration::from_secs(30);
/// Connections that open sessions side by side: some servers keep each answer waiting for 40 ms.
const OPENERS: usize = 16;
/// What all sessions together can take: time, and resident KiB of the server.
const OPENING: Duration = Duration::from_secs(40);
const MEMORY: f64 = 8.0 * 1024.0 * 1024.0;

/// A running server. Dropping it ends the process.
pub struct Served {
    child: Child,
    /// The process.
    pub pid: u32,
    /// Where it listens.
    pub port: u16,
    /// How it is spoken to.
    pub dialect: Dialect,
    handshake: bool,
    complaints: PathBuf,
}

impl Served {
    /// Starts a server on a core; `{port}` in the command becomes the port.
    pub fn start(command: &[String], setting: &str, core: &str) -> Result<Self, String> {
        let (era, handshake) = match setting {
            "sessions" => (LEGACY, true),
            "stateless" => (LEGACY, false),
            "modern" => (MODERN, false),
            _ => return Err(format!("there is no setting `{setting}`")),
        };
        let port = free_port()?;
        let complaints = std::env::temp_dir().join(format!("drive-{}-{port}", std::process::id()));
        let stderr = File::create(&complaints).map_err(|e| format!("{}: {e}", complaints.display()))?;
        let child = Command::new("taskset")
            .args(["-c", core])
            .args(command.iter().map(|word| word.replace("{port}", &port.to_string())))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(stderr)
            .spawn()
            .map_err(|e| format!("taskset: {e}"))?;
        let pid = child.id();
        let mut server = Self { child, pid, port, dialect: Dialect::new(era), handshake, complaints };
        server.wait()?;
        Ok(server)
    }

    fn wait(&mut self) -> Result<(), String> {
        let end = Instant::now() + START;
        while Instant::now() < end {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(format!(
                    "the server ended with {status} before it listened{}",
                    self.last_words()
                ));
            }
            if TcpStream::connect(("127.0.0.1", self.port)).is_ok() {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(10));
        }
        Err("the server never listened".into())
    }

    fn last_words(&self) -> String {
        let said = std::fs::read_to_string(&self.complaints).unwrap_or_default();
        said.lines().rfind(|line| !line.trim().is_empty()).map_or(String::new(), |line| format!(": {line}"))
    }

    /// Where a caller's requests go: with a session of its own where the setting has sessions.
    pub fn caller(&self) -> Result<Address, String> {
        let mut connection = Connection::open(self.port)?;
        self.call_on(&mut connection)
    }

    fn call_on(&self, connection: &mut Connection) -> Result<Address, String> {
        let mut address = Address { port: self.port, dialect: self.dialect.clone(), session: None };
        if !self.handshake {
            return Ok(address);
        }
        let answer = connection.exchange(&address.post(&self.dialect.handshake(), None))?;
        self.dialect.check_handshake(answer.messages.last().unwrap_or(&serde_json::Value::Null))?;
        address.session = Some(answer.session.ok_or("the server opens no sessions")?);
        if let Some(notice) = self.dialect.opening() {
            let status = connection.exchange(&address.post(notice, Some(("", None))))?.status;
            if status != 202 {
                return Err(format!("`initialized` was answered with {status}"));
            }
        }
        Ok(address)
    }

    /// Opens `count` sessions, in bounded time and memory, and returns them all.
    pub fn callers(&self, count: usize) -> Result<Vec<Address>, String> {
        let end = Instant::now() + OPENING;
        let opener = |share: usize| -> Result<Vec<Address>, String> {
            let mut connection = Connection::open(self.port)?;
            let mut opened = Vec::with_capacity(share);
            while opened.len() < share {
                opened.push(self.call_on(&mut connection)?);
                if opened.len() % 64 == 0 && Instant::now() > end {
                    return Err(format!("{count} sessions take more than {} s", OPENING.as_secs()));
                }
                if opened.len() % 64 == 0 && proc::memory(self.pid, "VmRSS")? > MEMORY {
                    return Err(format!("{count} sessions take more than 8 GB"));
                }
            }
            Ok(opened)
        };
        let share = |index: usize| (count + index) / OPENERS;
        thread::scope(|scope| {
            let openers: Vec<_> =
                (0..OPENERS).map(|index| scope.spawn(move || opener(share(index)))).collect();
            let mut all = Vec::with_capacity(count);
            for opener in openers {
                all.extend(opener.join().map_err(|_| "an opener panicked")??);
            }
            Ok(all)
        })
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // All three fail only when there is nothing left to end or to remove.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_file(&self.complaints);
    }
}

fn free_port() -> Result<u16, String> {
    let probe = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
    probe.map(|address| address.port()).map_err(|e| format!("no free port: {e}"))
}
