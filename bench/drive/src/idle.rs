//! Memory of HTTP servers: what idle sessions and open streams take each, and how much more than before a
//! large payload takes at its highest. Nothing here is timed.

use crate::args::Args;
use crate::http::Connection;
use crate::proc;
use crate::served::Served;
use crate::work::{Kind, Work};
use serde_json::{Value, json};
use std::thread;
use std::time::Duration;

/// Opened before anything is measured, so that what is made once is made.
const FIRST: usize = 50;
/// The same for streams: many servers have room for 1,024 and no more.
const FIRST_STREAMS: usize = 20;
/// Calls with a large payload, one after the other.
const LARGE_CALLS: usize = 20;

/// What each of many idle sessions, or of many open streams, costs.
pub fn run(args: &Args) -> Result<Value, String> {
    let server = Served::start(&args.command, args.need("setting")?, "0")?;
    let count: usize = args.number("count", 1000)?;
    let kib = match args.need("what")? {
        "sessions" => {
            server.callers(FIRST)?;
            let before = resident(&server)?;
            server.callers(count)?;
            resident(&server)? - before
        }
        "streams" => streams(&server, count)?,
        what => return Err(format!("nobody counts `{what}`")),
    };
    Ok(json!({ "kib_each": kib / count as f64, "rss_mb": resident(&server)? / 1024.0 }))
}

/// Streams that wait for changes: in the modern era requests, in the legacy era one of each session's own.
fn streams(server: &Served, count: usize) -> Result<f64, String> {
    let modern = server.dialect.is_modern();
    let all = FIRST_STREAMS + count;
    let callers = if modern { vec![server.caller()?; all] } else { server.callers(all)? };
    let mut open = Vec::with_capacity(all);
    let mut before = 0.0;
    for (id, caller) in callers.iter().enumerate() {
        if id == FIRST_STREAMS {
            before = resident(server)?;
        }
        let mut connection = Connection::open(server.port)?;
        if modern {
            let listen = caller.post(&server.dialect.listen(id), Some(("subscriptions/listen", None)));
            connection.stream(&listen, false)?;
        } else {
            connection.stream(&caller.get(), true)?;
        }
        open.push(connection);
    }
    Ok(resident(server)? - before)
}

/// Resident KiB, when the server has come to rest.
fn resident(server: &Served) -> Result<f64, String> {
    thread::sleep(Duration::from_millis(200));
    proc::memory(server.pid, "VmRSS")
}

/// How far above its resident memory a server goes while it deals with a large payload, one at a time.
pub fn peak(args: &Args) -> Result<Value, String> {
    let work = Work::parse(args.need("work")?)?;
    let server = Served::start(&args.command, args.need("setting")?, "0")?;
    let address = server.caller()?;
    let mut connection = Connection::open(server.port)?;
    let mut call = |work: Work, id: usize| {
        let answer = connection.exchange(&address.work(work, id))?;
        address.dialect.check(work, id, &answer.messages)
    };
    let small = Work { kind: Kind::Echo, bytes: 64 };
    for id in 1..=FIRST {
        call(small, id)?;
    }
    proc::forget_peak(server.pid)?;
    let before = proc::memory(server.pid, "VmRSS")?;
    for id in 1..=LARGE_CALLS {
        call(work, FIRST + id)?;
    }
    let peak = (proc::memory(server.pid, "VmHWM")? - before).max(0.0);
    Ok(json!({ "peak_mb": peak / 1024.0, "payloads": peak * 1024.0 / work.bytes as f64 }))
}
