//! A program with pipes: what is written to it, what it says line by line, and its end. It gives up on a
//! program that stays silent, so that no read waits for ever.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// No run of a sane program is longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// One running program. Dropping it ends the process.
pub struct Piped {
    child: Arc<Mutex<Child>>,
    /// The process.
    pub pid: u32,
    /// `None` while another thread writes.
    pub input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    line: Vec<u8>,
}

impl Piped {
    /// Starts the command.
    pub fn spawn(command: &[String]) -> Result<Self, String> {
        let mut child = Command::new(&command[0])
            .args(&command[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(if std::env::var_os("DRIVE_LOUD").is_some() { Stdio::inherit() } else { Stdio::null() })
            .spawn()
            .map_err(|e| format!("{}: {e}", command[0]))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let output = BufReader::with_capacity(1 << 20, output.ok_or("no stdout")?);
        let pid = child.id();
        let child = Arc::new(Mutex::new(child));
        let watched = Arc::downgrade(&child);
        thread::spawn(move || {
            thread::sleep(PATIENCE);
            if let Some(child) = watched.upgrade() {
                end(&child);
            }
        });
        Ok(Self { child, pid, input, output, line: Vec::new() })
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

    /// The next line; an error when the program has ended.
    pub fn receive(&mut self) -> Result<&[u8], String> {
        self.line.clear();
        match self.output.read_until(b'\n', &mut self.line) {
            Ok(0) => Err("it ended or stayed silent".into()),
            Ok(_) => Ok(&self.line),
            Err(error) => Err(format!("cannot read: {error}")),
        }
    }
}

impl Drop for Piped {
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
