//! A server that listens: started on a free port of loopback, asked for its URL, and ended when it is no longer
//! needed, however the run went.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// How long a server may take to listen.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server at work; dropping it ends it.
pub struct Served {
    child: Child,
    /// Where it listens.
    pub address: SocketAddr,
}

impl Served {
    /// Starts it and waits for its line `listening on URL`; all that it says on stderr goes to the file.
    ///
    /// It is told where to listen at the end of its options.
    pub fn start(root: &Path, line: &[String], stderr: &Path) -> Result<Self, String> {
        let (options, rest) = line.split_at(line.iter().position(|word| word == "--").unwrap_or(line.len()));
        let mut child = command(root, options)?
            .args(["--listen", "127.0.0.1:0"])
            .args(rest)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{}: {error}", line[0]))?;
        let said = child.stderr.take();
        let log = File::create(stderr).map_err(|error| format!("{}: {error}", stderr.display()))?;
        let (found, listening) = mpsc::channel();
        std::thread::spawn(move || copy(said, log, &found));
        match listening.recv_timeout(PATIENCE) {
            Ok(address) => Ok(Self { child, address }),
            Err(_) => {
                let _ = child.kill().and_then(|()| child.wait());
                let log = stderr.file_name().unwrap_or_default().display();
                Err(format!("the server did not say `listening on URL`; see {log}"))
            }
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill().and_then(|()| self.child.wait());
    }
}

/// The command line, with a program of the project found from anywhere.
pub fn command(root: &Path, line: &[String]) -> Result<Command, String> {
    let (program, args) = line.split_first().ok_or("no program")?;
    let mut command =
        if program.contains('/') { Command::new(root.join(program)) } else { Command::new(program) };
    command.args(args).current_dir(root);
    Ok(command)
}

/// Keeps what the server says, and tells its address when that comes by.
fn copy(said: Option<impl std::io::Read>, mut log: File, found: &mpsc::Sender<SocketAddr>) {
    let lines = said.into_iter().flat_map(|said| BufReader::new(said).split(b'\n')).map_while(Result::ok);
    for line in lines {
        if let Some(address) = listening(&String::from_utf8_lossy(&line)) {
            let _ = found.send(address);
        }
        let _ = log.write_all(&line).and_then(|()| log.write_all(b"\n"));
    }
}

fn listening(line: &str) -> Option<SocketAddr> {
    let (_, url) = line.split_once("listening on http://")?;
    url.split(['/', ' ']).next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_read_off_the_line() {
        let expected: SocketAddr = "127.0.0.1:4711".parse().expect("an address");
        assert_eq!(listening("listening on http://127.0.0.1:4711/mcp"), Some(expected));
        assert_eq!(listening("INFO demo: listening on http://127.0.0.1:4711/mcp (demo)"), Some(expected));
        assert_eq!(listening("listening"), None);
    }
}
