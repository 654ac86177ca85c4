//! Counted work: allocations of one call, from the bytes that arrive to the bytes that leave, held to
//! `bench/budget.toml`. `cargo xtask budget` runs it too, and renews the file.
//!
//! It counts what the library does. What hyper and the socket need is not in it: the service is called with requests
//! that are in memory. One at a time, as from a client that waits for each answer.

#[path = "allocations/budget.rs"]
mod budget;
#[path = "allocations/http.rs"]
mod http;
#[path = "allocations/messages.rs"]
mod messages;
#[path = "allocations/stdio.rs"]
mod stdio;

use contexture::{Context, Server, tool};
use messages::{Era, Work};

/// Every answer is judged by its schema, which takes longer than all the calls.
const CALLS: u64 = 200;

/// Says back what it is told.
#[tool]
async fn echo(message: String) -> String {
    message
}

/// Takes ten steps and reports each.
#[tool]
async fn steps(context: Context) -> &'static str {
    for step in 1..=10u8 {
        context.progress(step.into(), Some(10.0));
    }
    "done"
}

fn server() -> Server {
    Server::new("count", "1.0.0").tool(echo).tool(steps)
}

/// Allocations of one call, given those of any number of them.
fn each(of: impl Fn(u64) -> u64) -> f64 {
    let exactly = |count| f64::from(u32::try_from(count).expect("some thousands"));
    exactly(of(CALLS) - of(0)) / exactly(CALLS)
}

#[test]
fn calls_over_stdio_stay_within_their_budgets() {
    let work = |era| each(|calls| stdio::allocations(era, calls));
    budget::check(&[
        ("stdio, 2025-06-18, echo", work(Era::Legacy)),
        ("stdio, 2026-07-28, echo", work(Era::Modern)),
    ]);
}

#[test]
fn calls_over_http_stay_within_their_budgets() {
    let work = |era, work| each(|calls| http::allocations(era, work, calls));
    budget::check(&[
        ("http, 2025-06-18 with a session, echo", work(Era::Session, Work::Echo(64))),
        ("http, 2025-06-18 without sessions, echo", work(Era::Legacy, Work::Echo(64))),
        ("http, 2026-07-28, echo", work(Era::Modern, Work::Echo(64))),
        ("http, 2026-07-28, echo of 64 KiB", work(Era::Modern, Work::Echo(64 * 1024))),
        ("http, 2026-07-28, ten steps as events", work(Era::Modern, Work::Steps)),
    ]);
}
