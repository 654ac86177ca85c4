//! The benchmark's client: one connection, shared by as many callers as there are calls in flight. It measures
//! only its callers' waiting; its own CPU time is read by whoever started it, between `begin` and `end`.

use contexture::revision::Revision;
use contexture::transport::ChildCommand;
use contexture::{Client, Error};
use std::error;
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const WARM_UP: usize = 1_000;
const PAYLOAD: usize = 64;

/// How many calls are made, and how many of them at once.
#[derive(Clone, Copy)]
pub struct Load {
    pub calls: usize,
    pub window: usize,
}

/// Connects, warms up, calls, and waits for its standard input to end.
pub async fn run(era: &str, kind: &str, target: &str, load: Load) -> Result<(), Box<dyn error::Error>> {
    let client = connect(era, kind, target).await?;
    make(&client, Load { calls: WARM_UP, ..load }).await?;
    say("begin")?;
    let start = Instant::now();
    let mut waits = make(&client, load).await?;
    let elapsed = start.elapsed().as_secs_f64();
    waits.sort_unstable();
    let (p50, p99) = (percentile(&waits, 50), percentile(&waits, 99));
    let calls = waits.len();
    say(&format!(r#"end {{"calls":{calls},"elapsed_s":{elapsed:.6},"p50_us":{p50:.2},"p99_us":{p99:.2}}}"#))?;
    tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new())).await??;
    client.close().await;
    Ok(())
}

async fn connect(era: &str, kind: &str, target: &str) -> Result<Client, Box<dyn error::Error>> {
    let revision = Revision::parse(era).ok_or("the era is not a revision of the protocol")?;
    let builder = Client::builder().name("bench", "1.0.0").revisions(&[revision]);
    let client = match kind {
        "stdio" => builder.spawn(ChildCommand::new(target).arg("stdio")).await?,
        "http" => builder.connect(target).await?,
        _ => return Err(crate::USAGE.into()),
    };
    // Older clients take what older servers offer; here that would be another benchmark.
    if client.revision() != revision {
        return Err(format!("the server speaks {} and not {era}", client.revision()).into());
    }
    Ok(client)
}

/// Makes the calls and returns how long each took.
async fn make(client: &Client, load: Load) -> Result<Vec<Duration>, Box<dyn error::Error>> {
    let begun = Arc::new(AtomicUsize::new(0));
    let callers: Vec<_> = (0..load.window.max(1))
        .map(|_| tokio::spawn(call(client.clone(), Arc::clone(&begun), load.calls)))
        .collect();
    let mut waits = Vec::with_capacity(load.calls);
    for caller in callers {
        waits.append(&mut caller.await??);
    }
    Ok(waits)
}

/// One caller: the next call as soon as the last is answered, until all are begun.
async fn call(client: Client, begun: Arc<AtomicUsize>, calls: usize) -> contexture::Result<Vec<Duration>> {
    let message = "x".repeat(PAYLOAD);
    let mut waits = Vec::new();
    while begun.fetch_add(1, Ordering::Relaxed) < calls {
        let start = Instant::now();
        let reply = client.call("echo", serde_json::json!({ "message": message })).await?.ok()?;
        waits.push(start.elapsed());
        if reply.text() != message {
            return Err(Error::PeerMisbehaved(format!("not an echo: {:?}", reply.text())));
        }
    }
    Ok(waits)
}

/// In microseconds, of waits in order; none of none.
fn percentile(waits: &[Duration], percent: usize) -> f64 {
    let at = (waits.len() * percent / 100).min(waits.len().saturating_sub(1));
    waits.get(at).map_or(0.0, |wait| wait.as_secs_f64() * 1e6)
}

/// Tells whoever started this, at once.
fn say(line: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}
