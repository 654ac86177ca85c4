//! The server under test as a child process: its pipes, its CPU time, its memory.
//! Linux only: the figures come from `/proc`.

use crate::message::Dialect;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// One running server. Dropping it ends the process.
pub struct Server {
    child: Arc<Mutex<Child>>,
    pid: u32,
    /// `None` while another thread writes.
    pub input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    line: Vec<u8>,
}

impl Server {
    /// Starts the command; after `patience` it is killed, so that no read waits for ever.
    pub fn spawn(command: &[String], patience: Duration) -> Result<Self, String> {
        let mut child = Command::new(&command[0])
            .args(&command[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| format!("{}: {e}", command[0]))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let output = output.ok_or("no stdout")?;
        let pid = child.id();
        let child = Arc::new(Mutex::new(child));
        let watched = Arc::downgrade(&child);
        thread::spawn(move || {
            thread::sleep(patience);
            if let Some(child) = watched.upgrade() {
                end(&child);
            }
        });
        let output = BufReader::with_capacity(1 << 20, output);
        Ok(Self { child, pid, input, output, line: Vec::new() })
    }

    /// Sends what the client owes after the handshake.
    pub fn open(&mut self, dialect: &Dialect) -> Result<(), String> {
        dialect.opening().map_or(Ok(()), |notice| self.send(&notice))
    }

    /// Sends one line and returns the next line that comes back.
    pub fn exchange(&mut self, message: &[u8]) -> Result<Vec<u8>, String> {
        self.send(message)?;
        self.receive().map(<[u8]>::to_vec)
    }

    /// Sends one line.
    pub fn send(&mut self, message: &[u8]) -> Result<(), String> {
        let input = self.input.as_mut().ok_or("input is in use")?;
        input.write_all(message).map_err(|e| format!("cannot write: {e}"))
    }

    /// The next line; an error when the server has ended.
    pub fn receive(&mut self) -> Result<&[u8], String> {
        self.line.clear();
        match self.output.read_until(b'\n', &mut self.line) {
            Ok(0) => Err("the server ended or stayed silent".into()),
            Ok(_) => Ok(&self.line),
            Err(error) => Err(format!("cannot read: {error}")),
        }
    }

    /// CPU seconds so far. The threads' own counters are in nanoseconds; the
    /// process's, in ticks of 10 ms, is too coarse for a call of a microsecond.
    pub fn cpu(&self) -> Result<f64, String> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.pid)).map_err(|e| e.to_string())?;
        let mut nanoseconds = 0;
        for task in tasks.flatten() {
            // A thread may end between being listed and being read.
            let Ok(text) = fs::read_to_string(task.path().join("schedstat")) else { continue };
            let first = text.split_whitespace().next().and_then(|n| n.parse::<u64>().ok());
            nanoseconds += first.ok_or("no schedstat")?;
        }
        Ok(nanoseconds as f64 / 1e9)
    }

    /// Resident memory in KiB.
    pub fn resident_kb(&self) -> Result<u64, String> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid)).map_err(|e| e.to_string())?;
        let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
        line.trim().trim_end_matches(" kB").parse().map_err(|_| format!("odd VmRSS:{line}"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        end(&self.child);
    }
}

fn end(child: &Mutex<Child>) {
    let mut child = child.lock().unwrap_or_else(PoisonError::into_inner);
    // Both fail only when the process is gone already.
    let _ = child.kill();
    let _ = child.wait();
}
