//! How far a call is: one line at the bottom of the terminal, drawn again and again.
//!
//! Whatever else is written goes above it, and while a person is asked it is not there. Only terminals have it: a
//! file or a pipe gets lines.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use contexture::model::ProgressParams;

use super::text::safe_line;
use super::width;

/// Back to the left, and nothing is there.
const ERASE: &str = "\r\u{1b}[K";
/// More often nobody can read it.
const PAUSE: Duration = Duration::from_millis(40);
/// The part that grows.
const CELLS: usize = 24;

static BOTTOM: Mutex<Bottom> = Mutex::new(Bottom { line: None, hidden: 0 });

/// What is at the bottom of the terminal.
struct Bottom {
    line: Option<String>,
    /// How many want it away.
    hidden: usize,
}

impl Bottom {
    fn get() -> MutexGuard<'static, Self> {
        BOTTOM.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// If nobody reads it, so be it.
    fn erase(&self) {
        if self.line.is_some() && self.hidden == 0 {
            let _ = write!(io::stderr().lock(), "{ERASE}");
        }
    }

    fn draw(&self) {
        if let Some(line) = self.line.as_ref().filter(|_| self.hidden == 0) {
            let mut out = io::stderr().lock();
            let _ = write!(out, "{ERASE}{line}").and_then(|()| out.flush());
        }
    }
}

/// Writes above the line.
pub(super) fn above<T>(write: impl FnOnce() -> T) -> T {
    let bottom = Bottom::get();
    bottom.erase();
    let written = write();
    bottom.draw();
    written
}

/// Keeps the line away for as long as this is there.
pub(crate) struct Hidden(());

impl Hidden {
    pub(crate) fn new() -> Self {
        let mut bottom = Bottom::get();
        bottom.erase();
        bottom.hidden += 1;
        Self(())
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        let mut bottom = Bottom::get();
        bottom.hidden -= 1;
        bottom.draw();
    }
}

/// The progress of one call.
#[derive(Debug, Default)]
pub(crate) struct Bar {
    drawn: Option<Instant>,
}

impl Bar {
    /// Whether there is a terminal to draw on.
    pub(crate) fn is_possible() -> bool {
        io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
    }

    pub(crate) fn show(&mut self, progress: &ProgressParams) {
        if self.drawn.is_some_and(|drawn| drawn.elapsed() < PAUSE) {
            return;
        }
        self.drawn = Some(Instant::now());
        let mut bottom = Bottom::get();
        // The last column is left free: a terminal may go on to the next line by itself.
        bottom.line = Some(width::fit(&line(progress), width::of_stderr().saturating_sub(1)));
        bottom.draw();
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        let mut bottom = Bottom::get();
        bottom.erase();
        bottom.line = None;
    }
}

fn line(progress: &ProgressParams) -> String {
    let message = progress.message.as_deref().map(|text| format!("  {}", safe_line(text)));
    let message = message.unwrap_or_default();
    let share = progress.total.map(|total| progress.progress / total).filter(|share| share.is_finite());
    match (share, progress.total) {
        (Some(share), Some(total)) => {
            let share = share.clamp(0.0, 1.0);
            // Within 0 and CELLS, and within 0 and 100.
            let (full, percent) = ((share * CELLS as f64) as usize, (share * 100.0) as usize);
            let cells = format!("{}{}", "━".repeat(full), "╌".repeat(CELLS - full));
            format!("{cells} {percent:>3}%  {}/{total}{message}", progress.progress)
        }
        _ => format!("… {}{message}", progress.progress),
    }
}

/// The same as a line of its own.
pub(crate) fn as_line(progress: &ProgressParams) -> String {
    let total = progress.total.map(|total| format!("/{total}")).unwrap_or_default();
    let message = progress.message.as_deref().map(|text| format!("  {}", safe_line(text)));
    format!("… {}{total}{}", progress.progress, message.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn progress(params: serde_json::Value) -> ProgressParams {
        let mut params = params;
        params["progressToken"] = 1.into();
        serde_json::from_value(params).expect("progress")
    }

    #[test]
    fn the_bar_is_as_long_as_it_is_whatever_servers_say() {
        let half = line(&progress(json!({"progress": 1, "total": 2, "message": "a\u{1b}[2Jb\nc"})));
        assert_eq!(half, "━━━━━━━━━━━━╌╌╌╌╌╌╌╌╌╌╌╌  50%  1/2  a\\u{1b}[2Jb\\nc");
        for (done, total) in [(-5.0, 2.0), (7.0, 2.0), (1.0, -1.0), (1e300, 1e-300), (0.0, 1.0)] {
            let line = line(&progress(json!({"progress": done, "total": total})));
            let cells = line.chars().filter(|char| "━╌".contains(*char)).count();
            assert!(cells == CELLS || line.starts_with('…'), "{done} of {total}: {line}");
        }
        assert_eq!(line(&progress(json!({"progress": 3}))), "… 3");
        assert_eq!(line(&progress(json!({"progress": 0, "total": 0}))), "… 0");
    }
}
