//! The server behind a gateway that reaches it by HTTP: ours of the benchmark, on the other core.

use super::peers::Place;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A server that does not listen by then never will.
const START: Duration = Duration::from_secs(30);

/// A running server. Dropping it ends it.
pub(super) struct Upstream {
    child: Child,
    pub(super) address: SocketAddr,
}

impl Upstream {
    /// Starts one, with so many tools more than its own.
    pub(super) fn start(place: &Place, more: usize) -> Result<Self, String> {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
        let address = free.map_err(|error| format!("no free port: {error}"))?;
        let command = place.server(&["http", &address.port().to_string()], more);
        let mut taskset = Command::new("taskset");
        taskset
            .args(["-c", "1"])
            .args(command)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = taskset.spawn().map_err(|error| format!("taskset: {error}"))?;
        let mut upstream = Self { child, address };
        let end = Instant::now() + START;
        while TcpStream::connect(address).is_err() {
            let ended = upstream.child.try_wait().is_ok_and(|status| status.is_some());
            if ended || Instant::now() > end {
                return Err("the server behind the gateway does not listen".into());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(upstream)
    }

    pub(super) fn url(&self) -> String {
        url(self.address)
    }
}

/// Where the server at this address is spoken to.
pub(super) fn url(address: SocketAddr) -> String {
    format!("http://{address}/mcp")
}

impl Drop for Upstream {
    fn drop(&mut self) {
        // Both fail only when there is nothing left to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
