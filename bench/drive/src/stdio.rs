//! A stdio server: how fast it starts, one call at a time, and a window of calls in flight. Every answer is
//! counted, and a run in which one is wrong, missing or doubled is refused; but under load only the id and
//! the payload are looked for, so that the driver stays cheaper than what it measures.

use crate::args::Args;
use crate::message::Dialect;
use crate::pipe::Piped;
use crate::proc::{self, Cpu};
use crate::work::{Kind, Work};
use serde_json::{Value, json};
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// Starts of which the median counts; one alone is mostly the machine's noise. Fewer of a slow starter.
const STARTS: usize = 7;
const FEWEST_STARTS: usize = 3;
const STARTING: Duration = Duration::from_secs(2);
const ECHO: Work = Work { kind: Kind::Echo, bytes: 64 };
/// Calls by which the rate is guessed, and that nobody counts.
const FIRST: usize = 2_000;
const MOST: usize = 2_000_000;
/// Of so many calls in flight one is timed: looking at the clock is not free.
const SAMPLE: usize = 16;

struct Driver {
    dialect: Dialect,
    payload: Vec<u8>,
}

/// Runs the verb.
pub fn run(args: &Args) -> Result<Value, String> {
    let driver = Driver { dialect: Dialect::new(args.need("era")?), payload: vec![b'x'; ECHO.bytes] };
    if args.has("check") {
        driver.started(&args.command)?;
        return Ok(json!({}));
    }
    let seconds: f64 = args.number("seconds", 1.0)?;
    proc::wait_for_quiet(args.number("wait", 20)?)?;
    let (mut starts, mut trips, mut cpu, mut count) = (Vec::new(), Vec::new(), 0.0, 0.0);
    let mut server = None;
    let clock = Instant::now();
    while starts.len() < STARTS && (starts.len() < FEWEST_STARTS || clock.elapsed() < STARTING) {
        let (mut started, took) = driver.started(&args.command)?;
        starts.push(took);
        // Where the scheduler puts two processes decides much of a round trip: each start is one throw.
        let mut trip = driver.sequential(&mut started, seconds / STARTS as f64)?;
        cpu += trip.cpu;
        count += trip.times.len() as f64;
        trips.append(&mut trip.times);
        server = Some(started);
    }
    let mut server = server.ok_or("it was never started")?;
    let rss = proc::memory(server.pid, "VmRSS")? / 1024.0;
    let mean = trips.iter().sum::<f64>() / count;
    let mut figures = json!({
        "start": { "start_ms": percentile(&mut starts, 50) * 1e3, "rss_mb": rss },
        "sequential": {
            "rps": 1.0 / mean,
            "p50_us": percentile(&mut trips, 50) * 1e6,
            "p99_us": percentile(&mut trips, 99) * 1e6,
            "cpu_us": cpu / count * 1e6,
            "rss_mb": rss,
        },
    });
    if !args.has("sequential") {
        figures["pipelined"] = driver.window(&mut server, seconds, args.number("window", 64)?)?;
    }
    Ok(figures)
}

/// Calls one after the other.
struct Trips {
    times: Vec<f64>,
    cpu: f64,
}

/// Calls side by side, in seconds.
struct Burst {
    elapsed: f64,
    cpu: f64,
    samples: Vec<f64>,
}

impl Driver {
    /// A server that has answered its handshake and one call correctly, and how long the first answer took.
    fn started(&self, command: &[String]) -> Result<(Piped, f64), String> {
        let parse = |line: &[u8]| serde_json::from_slice(line).map_err(|e| format!("not JSON: {e}"));
        let clock = Instant::now();
        let mut server = Piped::spawn(command)?;
        let answer = server.exchange(&line(&self.dialect.handshake()))?;
        let took = clock.elapsed().as_secs_f64();
        self.dialect.check_handshake(&parse(&answer)?)?;
        if let Some(notice) = self.dialect.opening() {
            server.send(&line(notice))?;
        }
        let answer = server.exchange(&self.call(1))?;
        self.dialect.check(ECHO, 1, &[parse(&answer)?])?;
        Ok((server, took))
    }

    fn call(&self, id: usize) -> Vec<u8> {
        line(&self.dialect.request(ECHO, id))
    }

    /// One call at a time for so many seconds, the first fifth not counted.
    fn sequential(&self, server: &mut Piped, seconds: f64) -> Result<Trips, String> {
        let mut times = Vec::new();
        let mut before = None;
        let (begin, mut id) = (Instant::now(), 1);
        while begin.elapsed().as_secs_f64() < seconds * 1.2 || times.len() < 20 {
            id += 1;
            let call = self.call(id);
            let clock = Instant::now();
            server.send(&call)?;
            let answer = server.receive()?;
            let took = clock.elapsed().as_secs_f64();
            if self.answered(answer)? != Some(id) {
                return Err(format!("not the answer to {id}: {}", String::from_utf8_lossy(answer)));
            }
            if before.is_some() {
                times.push(took);
            } else if begin.elapsed().as_secs_f64() > seconds * 0.2 {
                before = Some(Cpu::of(server.pid)?);
            }
        }
        let before = before.ok_or("nothing was measured")?;
        Ok(Trips { times, cpu: Cpu::of(server.pid)?.since(&before) })
    }

    /// A window of calls in flight for about so many seconds.
    fn window(&self, server: &mut Piped, seconds: f64, window: usize) -> Result<Value, String> {
        let guess = self.pipelined(server, FIRST, window)?;
        // A second guess: the first calls of a server are not its fastest.
        let more = (FIRST as f64 / guess.elapsed * seconds / 5.0) as usize;
        let guess =
            self.pipelined(server, more.clamp(FIRST, MOST), window)?.elapsed / more.clamp(FIRST, MOST) as f64;
        let count = ((seconds / guess) as usize).clamp(FIRST, MOST);
        let mut burst = self.pipelined(server, count, window)?;
        Ok(json!({
            "rps": count as f64 / burst.elapsed,
            "p50_us": percentile(&mut burst.samples, 50) * 1e6,
            "p99_us": percentile(&mut burst.samples, 99) * 1e6,
            "cpu_us": burst.cpu * 1e6 / count as f64,
            "rss_mb": proc::memory(server.pid, "VmRSS")? / 1024.0,
        }))
    }

    /// Keeps `window` calls in flight until `count` are answered. One thread writes call by call, as a client
    /// does that has many callers; this one reads.
    fn pipelined(&self, server: &mut Piped, count: usize, window: usize) -> Result<Burst, String> {
        let calls: Vec<_> = (0..count).map(|id| self.call(id)).collect();
        let mut input = server.input.take().ok_or("input is in use")?;
        let (slot, freed) = mpsc::sync_channel(window);
        let mut answered = vec![false; count];
        let mut samples = Vec::with_capacity(count / SAMPLE + 1);
        let sent: Arc<Vec<AtomicU64>> = Arc::new((0..=count / SAMPLE).map(|_| AtomicU64::new(0)).collect());
        let sending = Arc::clone(&sent);
        let before = Cpu::of(server.pid)?;
        let clock = Instant::now();
        let now = move || clock.elapsed().as_nanos() as u64;
        // The thread ends by itself: `freed` is dropped on every way out of here.
        let writer = thread::spawn(move || {
            for (id, call) in calls.iter().enumerate() {
                if slot.send(()).is_err() {
                    break;
                }
                if id % SAMPLE == 0 {
                    sending[id / SAMPLE].store(now(), Ordering::Relaxed);
                }
                if input.write_all(call).is_err() {
                    break;
                }
            }
            input
        });
        for _ in 0..count {
            let id = self.next_answer(server)?;
            match answered.get_mut(id) {
                Some(seen) if !*seen => *seen = true,
                _ => return Err(format!("an answer to {id} that nobody waits for")),
            }
            if id % SAMPLE == 0 {
                samples.push((now() - sent[id / SAMPLE].load(Ordering::Relaxed)) as f64 / 1e9);
            }
            freed.recv().map_err(|_| "the server closed its input")?;
        }
        let elapsed = clock.elapsed().as_secs_f64();
        let cpu = Cpu::of(server.pid)?.since(&before);
        server.input = writer.join().ok();
        Ok(Burst { elapsed, cpu, samples })
    }

    fn next_answer(&self, server: &mut Piped) -> Result<usize, String> {
        loop {
            if let Some(id) = self.answered(server.receive()?)? {
                return Ok(id);
            }
        }
    }

    /// The id of an answer under load. `None` for a notification; an error for anything that does not carry
    /// the payload back.
    fn answered(&self, answer: &[u8]) -> Result<Option<usize>, String> {
        let Some(at) = find(answer, b"\"id\":") else { return Ok(None) };
        let digits = answer[at + 5..].iter().skip_while(|b| **b == b' ').take_while(|b| b.is_ascii_digit());
        let id = digits.fold(0, |id, digit| id * 10 + usize::from(digit - b'0'));
        if find(answer, &self.payload).is_none() {
            return Err(format!("not an echo: {}", String::from_utf8_lossy(answer)));
        }
        Ok(Some(id))
    }
}

fn line(text: &str) -> Vec<u8> {
    [text.as_bytes(), b"\n"].concat()
}

/// Jumps from first byte to first byte; answers are short and matches are early.
fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some(step) = text[at..].iter().position(|b| *b == wanted[0]) {
        at += step;
        if text[at..].starts_with(wanted) {
            return Some(at);
        }
        at += 1;
    }
    None
}

/// The value below which so many percent are, of a slice that it sorts.
fn percentile(values: &mut [f64], percent: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    values
        .get((values.len() * percent / 100).min(values.len().saturating_sub(1)))
        .copied()
        .unwrap_or(f64::NAN)
}
