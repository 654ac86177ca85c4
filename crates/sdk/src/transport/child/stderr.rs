//! What a child writes to standard error: always drained, kept only up to a bound.
//!
//! Nothing that appears there is taken for a failure.

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::AsyncReadExt;
use tokio::process::ChildStderr;

/// How much of the last lines goes into an error message.
const SHOWN: usize = 2 * 1024;
/// A line longer than this reaches a callback in pieces.
const LINE: usize = 8 * 1024;

pub(super) type Callback = Arc<dyn Fn(&str) + Send + Sync>;

/// What happens to what a child writes to standard error.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum Stderr {
    /// The last of it is kept, for error messages.
    #[default]
    Keep,
    /// It goes where ours goes, and is not kept.
    Inherit,
    /// It is thrown away.
    Null,
    /// Every line is passed on, and the last ones are kept.
    Lines(Arc<dyn Fn(&str) + Send + Sync>),
}

impl Stderr {
    /// Passes every line on.
    pub fn lines(callback: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self::Lines(Arc::new(callback))
    }

    pub(super) fn stdio(&self) -> Stdio {
        match self {
            Self::Keep | Self::Lines(_) => Stdio::piped(),
            Self::Inherit => Stdio::inherit(),
            Self::Null => Stdio::null(),
        }
    }

    pub(super) fn callback(&self) -> Option<Callback> {
        match self {
            Self::Lines(callback) => Some(Arc::clone(callback)),
            _ => None,
        }
    }
}

impl fmt::Debug for Stderr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Keep => "Keep",
            Self::Inherit => "Inherit",
            Self::Null => "Null",
            Self::Lines(_) => "Lines",
        })
    }
}

/// The last bytes of a stream.
#[derive(Debug)]
pub(super) struct Ring {
    bytes: VecDeque<u8>,
    limit: usize,
}

impl Ring {
    pub(super) fn new(limit: usize) -> Self {
        Self { bytes: VecDeque::new(), limit }
    }

    fn push(&mut self, bytes: &[u8]) {
        let bytes = &bytes[bytes.len().saturating_sub(self.limit)..];
        let over = (self.bytes.len() + bytes.len()).saturating_sub(self.limit);
        self.bytes.drain(..over);
        self.bytes.extend(bytes);
    }

    /// The last lines, without control characters that could play tricks on a terminal.
    pub(super) fn text(&self) -> String {
        let skip = self.bytes.len().saturating_sub(SHOWN);
        let tail: Vec<u8> = self.bytes.iter().skip(skip).copied().collect();
        let text = String::from_utf8_lossy(&tail);
        text.trim().chars().map(|c| if c.is_control() && c != '\n' { ' ' } else { c }).collect()
    }
}

/// Reads until the end of the stream.
pub(super) async fn drain(mut pipe: ChildStderr, ring: Arc<Mutex<Ring>>, mut callback: Option<Callback>) {
    let mut chunk = vec![0; 4 * 1024];
    let mut line = Vec::new();
    while let Ok(read @ 1..) = pipe.read(&mut chunk).await {
        ring.lock().unwrap_or_else(PoisonError::into_inner).push(&chunk[..read]);
        if callback.is_none() {
            continue;
        }
        for &byte in &chunk[..read] {
            if byte == b'\n' || line.len() == LINE {
                pass_on(&mut callback, &line);
                line.clear();
            }
            if byte != b'\n' {
                line.push(byte);
            }
        }
    }
    if !line.is_empty() {
        pass_on(&mut callback, &line);
    }
}

/// A callback that panics is not called again; the pipe is drained all the same.
fn pass_on(callback: &mut Option<Callback>, line: &[u8]) {
    let Some(call) = callback else { return };
    let line = String::from_utf8_lossy(line);
    if catch_unwind(AssertUnwindSafe(|| call(&line))).is_err() {
        tracing::error!("the callback for standard error panicked");
        *callback = None;
    }
}

#[cfg(test)]
mod tests {
    use super::Ring;

    #[test]
    fn a_flood_leaves_only_its_end() {
        let mut ring = Ring::new(8);
        ring.push(b"0123456789");
        ring.push(b"ab\x1b");
        assert_eq!(ring.bytes.len(), 8);
        assert_eq!(ring.text(), "56789ab ");
    }
}
