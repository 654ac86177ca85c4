//! The calls themselves: so many at a time, or so many a second.
//!
//! Lanes make one call after the other. At a rate, a thread of its own says when a call is due, because the runtime's
//! clock is coarse; a call that finds no lane free waits, and its time runs.

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use contexture::Client;
use contexture::model::Method;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::super::Told;
use super::tally::{Outcome, Tally};
use crate::options::Benching;

/// Calls at a rate that one connection may leave unanswered before the others wait: well below what a client allows.
const WAITING: usize = 500;

/// When calls are made.
#[derive(Debug, Clone, Copy)]
pub(super) enum Pace {
    AtATime(usize),
    ASecond(f64),
}

/// When it is enough.
#[derive(Debug, Clone, Copy)]
pub(super) enum Extent {
    Time(Duration),
    Count(NonZeroU64),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    pub(super) pace: Pace,
    pub(super) extent: Extent,
}

/// How it came to an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Planned,
    Interrupted,
    Lost,
}

impl Load {
    pub(super) fn of(benching: &Benching) -> Self {
        let pace = benching.rate.map_or_else(|| Pace::AtATime(benching.concurrency.into()), Pace::ASecond);
        let count = benching.count.and_then(NonZeroU64::new);
        Self { pace, extent: count.map_or(Extent::Time(benching.duration), Extent::Count) }
    }

    fn lanes(&self, connections: usize) -> usize {
        match (self.pace, self.extent) {
            (Pace::AtATime(lanes), _) => lanes,
            (Pace::ASecond(_), Extent::Count(count)) => {
                usize::try_from(count.get()).map_or(usize::MAX, |count| count.min(WAITING * connections))
            }
            (Pace::ASecond(_), Extent::Time(_)) => WAITING * connections,
        }
    }

    /// Calls that are to be made, where that is known.
    pub(super) fn planned(&self) -> Option<u64> {
        match (self.extent, self.pace) {
            (Extent::Count(count), _) => Some(count.get()),
            (Extent::Time(time), Pace::ASecond(rate)) => Some((time.as_secs_f64() * rate).ceil() as u64),
            (Extent::Time(_), Pace::AtATime(_)) => None,
        }
    }
}

/// What all lanes share.
pub(super) struct Work {
    pub(super) request: Box<RawValue>,
    tally: Mutex<Tally>,
}

impl Work {
    pub(super) fn new(request: Box<RawValue>) -> Self {
        Self { request, tally: Mutex::new(Tally::new()) }
    }

    pub(super) fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes the calls until it is enough.
pub(super) async fn run(clients: &[Client], load: Load, work: &Arc<Work>, told: &Told) -> Ended {
    let starts = Arc::new(Starts::new(load));
    let mut lanes = JoinSet::new();
    for client in clients.iter().cycle().take(load.lanes(clients.len())) {
        lanes.spawn(lane(client.clone(), Arc::clone(work), Arc::clone(&starts)));
    }
    loop {
        tokio::select! {
            biased;
            // Whoever is still waiting for an answer is dropped with the lanes, which cancels the call at the server.
            () = told.times(1) => return Ended::Interrupted,
            lane = lanes.join_next() => match lane {
                Some(Ok(End::Enough)) => {}
                Some(Ok(End::Lost) | Err(_)) => return Ended::Lost,
                None => return Ended::Planned,
            }
        }
    }
}

/// Why a lane stopped.
enum End {
    Enough,
    Lost,
}

async fn lane(client: Client, work: Arc<Work>, starts: Arc<Starts>) -> End {
    while let Some(due) = starts.next().await {
        work.tally().begun += 1;
        let answer = client.forward(Method::ToolsCall, Some(&work.request)).await;
        let took = due.elapsed();
        let outcome = Outcome::of(answer);
        let mut tally = work.tally();
        tally.add(took, outcome);
        if tally.is_lost() || client.is_closed() {
            return End::Lost;
        }
    }
    End::Enough
}

/// When the next call begins, or should have.
enum Starts {
    AtOnce { left: AtomicU64, until: Option<Instant> },
    Due { moments: tokio::sync::Mutex<mpsc::Receiver<Instant>>, until: Option<Instant> },
}

impl Starts {
    fn new(load: Load) -> Self {
        let begun = Instant::now();
        let (left, until) = match load.extent {
            Extent::Time(time) => (u64::MAX, begun.checked_add(time)),
            Extent::Count(count) => (count.get(), None),
        };
        let Pace::ASecond(rate) = load.pace else {
            return Self::AtOnce { left: left.into(), until };
        };
        let (sender, moments) = mpsc::channel(WAITING);
        let most = load.planned().unwrap_or(left);
        std::thread::spawn(move || tell_time(begun, rate, most, &sender));
        Self::Due { moments: moments.into(), until }
    }

    async fn next(&self) -> Option<Instant> {
        match self {
            Self::AtOnce { left, until } => {
                let now = Instant::now();
                if until.is_some_and(|until| now >= until) {
                    return None;
                }
                let taken =
                    left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
                taken.is_ok().then_some(now)
            }
            Self::Due { moments, until } => {
                let due = moments.lock().await.recv().await?;
                // What could not be begun in time is not begun: it is counted as such.
                until.is_none_or(|until| Instant::now() < until).then_some(due)
            }
        }
    }
}

/// Says of each call when it is due, as soon as it is, until nobody wants to know.
fn tell_time(begun: Instant, rate: f64, most: u64, sender: &mpsc::Sender<Instant>) {
    for number in 0..most {
        let due = begun + Duration::from_secs_f64(number as f64 / rate);
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        if sender.blocking_send(due).is_err() {
            return;
        }
    }
}
