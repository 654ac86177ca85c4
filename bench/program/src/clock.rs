//! A client's calls against the clock: warmed up, then timed with a window of them in flight. It speaks to
//! whoever started the program in two lines on stdout, so that CPU time can be read in between.

use crate::Outcome;
use crate::command::Client;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::task::{JoinSet, spawn_blocking};

const WARM_UP: usize = 1000;

/// What every call sends and must get back.
pub const MESSAGE: &str = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";

/// Makes the calls that the command line asks for; `call` makes one and gives the text of the answer. It
/// returns when stdin ends: until then the memory of a connected client can be looked at.
pub async fn run<F, Fut>(client: &Client, call: F) -> Outcome
where
    F: Fn() -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Outcome<String>> + Send,
{
    burst(WARM_UP, client.window, &call).await?;
    say("begin")?;
    let begun = Instant::now();
    let mut times = burst(client.calls, client.window, &call).await?;
    let elapsed = begun.elapsed().as_secs_f64();
    let (calls, p50, p99) = (times.len(), micros(&mut times, 50), micros(&mut times, 99));
    say(&format!(r#"end {{"calls":{calls},"elapsed_s":{elapsed:.6},"p50_us":{p50:.1},"p99_us":{p99:.1}}}"#))?;
    spawn_blocking(|| io::copy(&mut io::stdin(), &mut io::sink())).await??;
    Ok(())
}

/// As many tasks as the window is wide, each with one call in flight, until all calls are made.
async fn burst<F, Fut>(calls: usize, window: usize, call: &F) -> Outcome<Vec<Duration>>
where
    F: Fn() -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Outcome<String>> + Send,
{
    let begun = Arc::new(AtomicUsize::new(0));
    let mut callers = JoinSet::new();
    for _ in 0..window {
        let (begun, call) = (Arc::clone(&begun), call.clone());
        callers.spawn(async move {
            let mut times = Vec::with_capacity(calls / window + 1);
            while begun.fetch_add(1, Ordering::Relaxed) < calls {
                times.push(timed(&call).await?);
            }
            Outcome::Ok(times)
        });
    }
    let mut times = Vec::with_capacity(calls);
    while let Some(part) = callers.join_next().await {
        times.extend(part??);
    }
    Ok(times)
}

async fn timed<F, Fut>(call: &F) -> Outcome<Duration>
where
    F: Fn() -> Fut,
    Fut: Future<Output = Outcome<String>>,
{
    let begun = Instant::now();
    let text = call().await?;
    let time = begun.elapsed();
    if text != MESSAGE {
        Err(format!("the server's answer is not the echo: {text:?}").into())
    } else {
        Ok(time)
    }
}

/// A percentile. It sorts no more than it has to, because it is on the CPU time that is being read.
fn micros(times: &mut [Duration], percent: usize) -> f64 {
    let at = (times.len() - 1) * percent / 100;
    times.select_nth_unstable(at).1.as_nanos() as f64 / 1000.0
}

fn say(line: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{line}")?;
    stdout.flush()
}
