//! `ping`: whether the server answers, and how soon.
//!
//! Where the revision has no `ping`, a discovery is asked for: the smallest thing that every server answers.

use std::time::{Duration, Instant};

use contexture::{Client, Error};
use serde::Serialize;
use serde_json::json;

use super::print;
use crate::events::emit;
use crate::exit::Failure;
use crate::options::{Format, Pinging, Words};
use crate::terminal::text::safe_line;
use crate::terminal::{self, Reader};

/// What came of it. Times are milliseconds.
#[derive(Serialize)]
struct Summary {
    server: String,
    revision: &'static str,
    sent: u32,
    answered: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    times: Vec<f64>,
}

pub(super) async fn ping(client: Client, words: Words, pinging: &Pinging) -> Result<(), Failure> {
    words.end()?;
    let format = pinging.target.format;
    let server = client.server();
    let mut summary = Summary {
        server: server.display_name().to_owned(),
        revision: server.revision.as_str(),
        sent: 0,
        answered: 0,
        times: Vec::new(),
    };
    if format == Format::Text {
        let line = format!("{} speaks {}\n", safe_line(&summary.server), summary.revision);
        terminal::print(line.as_bytes())?;
    }
    for number in 1..=pinging.count {
        if number > 1 {
            tokio::time::sleep(pinging.interval).await;
        }
        summary.sent = number;
        let begun = Instant::now();
        match client.ping().await {
            // A refusal is an answer, too.
            Ok(()) | Err(Error::Remote(_)) => {}
            Err(error) => return Err(error.into()),
        }
        let took = milliseconds(begun.elapsed());
        summary.answered += 1;
        summary.times.push(took);
        let reader = match format {
            Format::Text => terminal::print(format!("{number:>3}  {took:.2} ms\n").as_bytes())?,
            Format::Ndjson => emit("pong", &json!({ "number": number, "milliseconds": took }))?,
            Format::Json => Reader::Listening,
        };
        if reader == Reader::Gone {
            return Ok(());
        }
    }
    match format {
        Format::Json => print(format, &summary, String::new),
        Format::Text => print(format, &summary, || summary.text()),
        Format::Ndjson => Ok(()),
    }
}

impl Summary {
    fn text(&self) -> String {
        let least = self.times.iter().copied().fold(f64::INFINITY, f64::min);
        let most = self.times.iter().copied().fold(0.0, f64::max);
        let average = self.times.iter().sum::<f64>() / f64::from(self.answered.max(1));
        format!(
            "{} of {} answered: {least:.2} ms at least, {average:.2} ms on average, {most:.2} ms at most\n",
            self.answered, self.sent
        )
    }
}

/// To the microsecond.
fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}
