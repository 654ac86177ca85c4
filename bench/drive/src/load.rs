//! The two loads: one call at a time, and a window of calls in flight. Both count
//! every answer and refuse a run in which one is wrong, missing or doubled.

use crate::message::Dialect;
use crate::process::Server;
use std::io::Write;
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

/// What a pipelined run took, in seconds.
pub struct Burst {
    pub elapsed: f64,
    pub cpu: f64,
}

/// The median round trip in seconds, after a warm-up.
pub fn sequential(server: &mut Server, dialect: &Dialect, calls: usize) -> Result<f64, String> {
    let calls = calls.max(100);
    let mut times = Vec::with_capacity(calls);
    for id in 1..=calls + calls / 5 {
        let call = dialect.call(id);
        let clock = Instant::now();
        server.send(&call)?;
        let answer = server.receive()?;
        times.push(clock.elapsed().as_secs_f64());
        if dialect.answered(answer)? != Some(id) {
            return Err(format!("not the answer to {id}: {}", String::from_utf8_lossy(answer)));
        }
    }
    Ok(median(&mut times[calls / 5..]))
}

/// Keeps `window` calls in flight until `count` are answered. One thread writes
/// call by call, as a client does that has many callers; this one reads.
pub fn pipelined(
    server: &mut Server,
    dialect: &Dialect,
    count: usize,
    window: usize,
) -> Result<Burst, String> {
    let calls: Vec<_> = (0..count).map(|id| dialect.call(id)).collect();
    let mut input = server.input.take().ok_or("input is in use")?;
    let (slot, freed) = mpsc::sync_channel(window);
    let mut answered = vec![false; count];
    let before = server.cpu()?;
    let clock = Instant::now();
    // The thread ends by itself: `freed` is dropped on every way out of here.
    let writer = thread::spawn(move || {
        for call in calls {
            if slot.send(()).is_err() || input.write_all(&call).is_err() {
                break;
            }
        }
        input
    });
    for _ in 0..count {
        let id = next_answer(server, dialect)?;
        match answered.get_mut(id) {
            Some(seen) if !*seen => *seen = true,
            _ => return Err(format!("an answer to {id} that nobody waits for")),
        }
        freed.recv().map_err(|_| "the server closed its input")?;
    }
    let elapsed = clock.elapsed().as_secs_f64();
    let cpu = server.cpu()? - before;
    server.input = writer.join().ok();
    Ok(Burst { elapsed, cpu })
}

fn next_answer(server: &mut Server, dialect: &Dialect) -> Result<usize, String> {
    loop {
        if let Some(id) = dialect.answered(server.receive()?)? {
            return Ok(id);
        }
    }
}

/// The middle value, of a slice that it sorts.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
