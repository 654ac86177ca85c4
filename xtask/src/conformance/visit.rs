//! The browser of somebody who agrees to everything: follows the address that the suite prints to where it leads.
//!
//! Plain HTTP on this machine, which is all that happens here.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

/// Steps from the address to the suite's own listener, and some more.
const STEPS: usize = 4;
const PATIENCE: Duration = Duration::from_secs(10);

/// A port that nobody listens on at the moment.
pub fn free_port() -> Result<String, String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    Ok(listener.local_addr().map_err(|error| error.to_string())?.port().to_string())
}

/// Waits for an address in what the suite prints.
pub struct Visitor {
    printed: PathBuf,
    done: bool,
}

impl Visitor {
    /// `printed` is the file that the suite prints to.
    pub fn new(printed: PathBuf) -> Self {
        Self { printed, done: false }
    }

    /// Visits the address once it is there. The suite itself says whether it was visited.
    pub fn look(&mut self) {
        if self.done {
            return;
        }
        let text = std::fs::read_to_string(&self.printed).unwrap_or_default();
        if let Some(url) = address(&text) {
            // Its listener may not be there yet: then it is tried again.
            self.done = follow(url).is_some();
        }
    }
}

/// A whole line with a request for a code.
fn address(text: &str) -> Option<&str> {
    let whole = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
    let mut lines = whole.map(str::trim);
    lines.find(|line| line.starts_with("http://") && line.contains("response_type=code"))
}

fn follow(url: &str) -> Option<()> {
    let mut url = url.to_owned();
    for _ in 0..STEPS {
        match get(&url)? {
            Some(next) => url = next,
            None => return Some(()),
        }
    }
    None
}

/// Where the answer leads, if it leads anywhere; `None` if there is no answer.
fn get(url: &str) -> Option<Option<String>> {
    let rest = url.strip_prefix("http://")?;
    let (host, path) = rest.split_at(rest.find(['/', '?'])?);
    let mut stream = TcpStream::connect(host).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n").ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok()?;
    let answer = String::from_utf8_lossy(&answer);
    let mut lines = answer.lines().take_while(|line| !line.is_empty());
    let status = lines.next()?.split(' ').nth(1)?.to_owned();
    let location =
        lines.filter_map(|line| line.split_once(':')).find(|(name, _)| name.eq_ignore_ascii_case("location"));
    match (status.starts_with('3'), location) {
        (true, Some((_, target))) => Some(Some(target.trim().to_owned())),
        _ => Some(None),
    }
}

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn the_address_is_a_whole_line_of_its_own() {
        let text = "Running\nhttp://a/authorize?response_type=code&x=1\n";
        assert_eq!(address(text), Some("http://a/authorize?response_type=code&x=1"));
        assert_eq!(address(text.trim_end()), None, "there may be more of it to come");
        assert_eq!(address("http://a/callback\n"), None);
    }
}
