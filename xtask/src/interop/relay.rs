//! A relay between a client and a server: passes every byte on, both ways, and keeps a copy.
//!
//! Knows nothing of HTTP and changes one thing, so that neither side can tell: where the client names the relay (in
//! `Host`), the server is shown its own address, because servers refuse to be taken for another. An end of one side's
//! bytes is passed on as such.
//!
//! One connection it breaks on purpose, to see it taken up again: the one on which the client counts down from
//! seven, in the middle of the third report. What the copies mean is read in `wire.rs`.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// What was said on one connection.
#[derive(Clone, Debug, Default)]
pub struct Heard {
    /// By the client.
    pub asked: Vec<u8>,
    /// By the server.
    pub answered: Vec<u8>,
    /// Whether the client closed it while it still had things to say on others.
    pub given_up: bool,
    /// When the client closed it.
    pub closed: Option<usize>,
    /// How much had been asked, and when; the same for what was answered. Moments are counted over all connections.
    pub asked_by: Vec<(usize, usize)>,
    /// See `asked_by`.
    pub answered_by: Vec<(usize, usize)>,
}

/// What the connections share.
#[derive(Default)]
struct Shared {
    connections: Mutex<Vec<Arc<Mutex<Heard>>>>,
    stopped: AtomicBool,
    /// Counts what happens, to tell what came before what.
    moment: AtomicUsize,
    /// When a client last said something.
    last_word: AtomicUsize,
    /// Whether a connection was broken on purpose.
    broken: AtomicBool,
}

/// What the client of a connection to be broken says, and what the server's last words on it are.
const TO_BREAK: (&[u8], &[u8]) = (br#""steps":7"#, b"3 of 7");

/// What to pass on, and whether there is to be more.
struct Passed {
    bytes: Vec<u8>,
    more: bool,
}

/// A port that leads to a server.
pub struct Relay {
    /// Where clients connect to.
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

impl Relay {
    /// Opens a port of its own for the server.
    pub fn to(server: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let relay = Self { address: listener.local_addr()?, shared: Arc::default() };
        let shared = Arc::clone(&relay.shared);
        thread::spawn(move || {
            for client in listener.incoming() {
                if shared.stopped.load(Ordering::SeqCst) {
                    return;
                }
                let heard = Arc::default();
                lock(&shared.connections).push(Arc::clone(&heard));
                // A server that is gone shows as a connection that ends at once.
                let _ = client.and_then(|client| join(client, server, heard, &shared));
            }
        });
        Ok(relay)
    }

    /// Closes the port and hands out the copies, in the order of the connections.
    pub fn stop(self) -> Vec<Heard> {
        self.shared.stopped.store(true, Ordering::SeqCst);
        // Wakes the thread that waits for connections.
        let _ = TcpStream::connect(self.address);
        let last_word = self.shared.last_word.load(Ordering::SeqCst);
        let copy = |heard: &Arc<Mutex<Heard>>| {
            let heard = lock(heard).clone();
            Heard { given_up: heard.closed.is_some_and(|closed| closed < last_word), ..heard }
        };
        lock(&self.shared.connections).iter().map(copy).collect()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Connects the two; each direction has a thread.
fn join(
    client: TcpStream,
    server: SocketAddr,
    heard: Arc<Mutex<Heard>>,
    shared: &Arc<Shared>,
) -> io::Result<()> {
    let server = TcpStream::connect(server)?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (to_client, to_server) = (client.try_clone()?, server.try_clone()?);
    let (answers, shared, also) = (Arc::clone(&heard), Arc::clone(shared), Arc::clone(shared));
    let (ours, theirs) = (client.local_addr()?.to_string(), server.peer_addr()?.to_string());
    thread::spawn(move || {
        let now = || shared.moment.fetch_add(1, Ordering::SeqCst);
        pass(client, to_server, |bytes| {
            let (mut heard, moment) = (lock(&heard), now());
            shared.last_word.store(moment, Ordering::SeqCst);
            heard.asked.extend_from_slice(bytes);
            let length = heard.asked.len();
            heard.asked_by.push((length, moment));
            Passed { bytes: renamed(bytes, ours.as_bytes(), theirs.as_bytes()), more: true }
        });
        lock(&heard).closed = Some(now());
    });
    thread::spawn(move || {
        pass(server, to_client, |bytes| {
            let mut heard = lock(&answers);
            let kept = last_words(&heard.asked, bytes).filter(|_| !also.broken.swap(true, Ordering::SeqCst));
            let said = &bytes[..kept.unwrap_or(bytes.len())];
            heard.answered.extend_from_slice(said);
            let length = heard.answered.len();
            heard.answered_by.push((length, also.moment.fetch_add(1, Ordering::SeqCst)));
            Passed { bytes: said.to_vec(), more: kept.is_none() }
        });
    });
    Ok(())
}

/// How much of the bytes to pass on, if the connection is to be broken there.
fn last_words(asked: &[u8], answered: &[u8]) -> Option<usize> {
    let (of_client, of_server) = TO_BREAK;
    asked.windows(of_client.len()).any(|window| window == of_client).then_some(())?;
    let at = answered.windows(of_server.len()).position(|window| window == of_server)?;
    Some(at + of_server.len())
}

/// The bytes with one address in the place of another.
fn renamed(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let (mut renamed, mut rest) = (Vec::with_capacity(bytes.len()), bytes);
    while let Some(at) = rest.windows(from.len()).position(|window| window == from) {
        renamed.extend_from_slice(&rest[..at]);
        renamed.extend_from_slice(to);
        rest = &rest[at + from.len()..];
    }
    renamed.extend_from_slice(rest);
    renamed
}

/// Passes bytes on, as `note` gives them back, until there are no more, then the end itself.
fn pass(mut from: TcpStream, mut to: TcpStream, note: impl Fn(&[u8]) -> Passed) {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => {
                let _ = to.shutdown(Shutdown::Write);
                return;
            }
            Ok(read) => {
                let passed = note(&buffer[..read]);
                if to.write_all(&passed.bytes).is_err() || !passed.more {
                    break;
                }
            }
            Err(_) => break,
        }
    }
    // One side broke off: so does the other.
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_is_shown_its_own_address() {
        assert_eq!(
            renamed(b"Host: a:1\r\nOrigin: http://a:1\r\n", b"a:1", b"b:22"),
            b"Host: b:22\r\nOrigin: http://b:22\r\n"
        );
        assert_eq!(renamed(b"", b"a:1", b"b"), b"");
    }

    #[test]
    fn a_countdown_from_seven_ends_in_its_third_report() {
        assert_eq!(last_words(br#"{"steps":7}"#, b"2 of 7, 3 of 7, 4 of 7"), Some(14));
        assert_eq!(last_words(br#"{"steps":7}"#, b"2 of 7"), None);
        assert_eq!(last_words(br#"{"steps":5}"#, b"3 of 7"), None);
    }

    #[test]
    fn bytes_and_ends_pass_both_ways_and_are_kept() {
        let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let relay = Relay::to(server.local_addr().expect("an address")).expect("a relay");
        let mut client = TcpStream::connect(relay.address).expect("a connection");
        let (mut accepted, _) = server.accept().expect("the relay's connection");
        client.write_all(b"ask").expect("written");
        client.shutdown(Shutdown::Write).expect("half closed");
        let (mut asked, mut answered) = (String::new(), String::new());
        accepted.read_to_string(&mut asked).expect("read to the end");
        accepted.write_all(b"answer").expect("written");
        drop(accepted);
        client.read_to_string(&mut answered).expect("read to the end");
        assert_eq!((asked.as_str(), answered.as_str()), ("ask", "answer"));
        let heard = relay.stop();
        assert_eq!(heard.len(), 1);
        assert_eq!((heard[0].asked.as_slice(), heard[0].answered.as_slice()), (&b"ask"[..], &b"answer"[..]));
    }
}
