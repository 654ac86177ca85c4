//! What is being asked while somebody waits: one line on a terminal's standard error, gone as soon as there is something to tell.

use std::cell::Cell;
use std::io::{self, IsTerminal as _, Write as _};
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::step::Step;
use crate::terminal::text::{cut, safe_line};

/// How often the line is drawn; what takes no longer is not worth one.
const PULSE: Duration = Duration::from_millis(500);
/// The line is no longer: terminals are wider.
const WIDTH: usize = 76;

/// What a walk is at.
pub(super) type Now = Rc<Cell<Option<Step>>>;

/// All walks that are under way.
pub(super) struct Live {
    walks: Vec<(String, Now)>,
    begun: Instant,
    is_seen: bool,
}

impl Live {
    pub(super) fn new(walks: Vec<(String, Now)>) -> Self {
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        Self { walks, begun: Instant::now(), is_seen: io::stderr().is_terminal() && !is_dumb }
    }

    /// Draws for ever.
    pub(super) async fn draw(&self) -> std::convert::Infallible {
        loop {
            tokio::time::sleep(PULSE).await;
            let at =
                |(name, now): &(String, Now)| Some(format!("{}: {}", safe_line(name), now.get()?.title()));
            let words: Vec<String> = self.walks.iter().filter_map(at).collect();
            if !words.is_empty() {
                let line = format!("{} s, at {}", self.begun.elapsed().as_secs(), words.join("; "));
                self.write(&cut(&line, WIDTH));
            }
        }
    }

    /// Takes the line away.
    pub(super) fn clear(&self) {
        self.write("");
    }

    fn write(&self, line: &str) {
        if self.is_seen {
            // Whoever cannot be told needs no line.
            let mut out = io::stderr().lock();
            let _ = write!(out, "\r\u{1b}[K{line}").and_then(|()| out.flush());
        }
    }
}
