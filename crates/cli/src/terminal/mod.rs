//! The person's side: text that is safe to show, colours, and questions.
//!
//! Nothing that a server says reaches a terminal as it came, unless the person asked for exactly that.

pub(crate) mod bar;
mod choice;
pub(crate) mod consent;
pub(crate) mod form;
pub(crate) mod keyboard;
pub(crate) mod person;
pub(crate) mod sampling;
pub(crate) mod secret;
pub(crate) mod style;
pub(crate) mod text;
pub(crate) mod typing;
pub(crate) mod width;

use std::io::{self, Write};

/// Writes to standard output. Whoever reads it may have seen enough: a closed pipe is no failure, but
/// there is no point in going on, either.
pub(crate) fn print(bytes: &[u8]) -> io::Result<Reader> {
    let written = bar::above(|| {
        let mut out = io::stdout().lock();
        out.write_all(bytes).and_then(|()| out.flush())
    });
    match written {
        Ok(()) => Ok(Reader::Listening),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Reader::Gone),
        Err(error) => Err(error),
    }
}

/// Whether anybody still reads what we print.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    Listening,
    Gone,
}

/// Writes a line to standard error; if nobody reads that, so be it.
pub(crate) fn note(line: &str) {
    if typing::said(line) {
        return;
    }
    bar::above(|| {
        let _ = writeln!(io::stderr().lock(), "{line}");
    });
}
