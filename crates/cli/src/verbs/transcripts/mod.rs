//! The verbs around transcripts: `record`, `replay`, `mock`, `test`, `diff`.

mod calls;
mod compare;
mod diff;
mod offer;
mod proxy;
mod record;
mod replay;
mod schema;
mod session;
mod shape;

use std::process::ExitCode;

use contexture::Policy;
use contexture::transport::StdioTransport;

use super::{at, ended, together};
use crate::exit::Failure;
use crate::mock;
use crate::options::{Comparing, Format, Mocking, Recording, Replaying, Testing};

pub(super) fn record(recording: &Recording) -> ExitCode {
    ended(recording.target.format, record::run(recording))
}

pub(super) fn replay(replaying: &Replaying) -> ExitCode {
    let target = &replaying.target;
    let place = match target.place(&mut replaying.words()) {
        Ok(place) => place,
        Err(failure) => return failure.report(target.format),
    };
    at(target.format, replay::run(replaying, &place))
}

pub(super) fn mock(mocking: &Mocking) -> ExitCode {
    let serve = || {
        let book = mock::Book::open(&mocking.file)?;
        let serving = async {
            match &mocking.listen {
                Some(address) => mock::listen(book, address).await,
                None => {
                    let transport = StdioTransport::open(Policy::default().line_bytes)?;
                    Ok(mock::serve(book, transport).await?)
                }
            }
        };
        together(async {
            tokio::select! {
                biased;
                // Whoever serves is told to end, as any server is.
                () = super::interrupted() => Ok(()),
                served = serving => served,
            }
        })
    };
    ended(Format::Text, serve())
}

pub(super) fn test(testing: &Testing) -> ExitCode {
    match &testing.from {
        Some(transcript) => ended(testing.target.format, calls::skeleton(transcript)),
        None => at(testing.target.format, calls::run(testing)),
    }
}

pub(super) fn diff(comparing: &Comparing) -> ExitCode {
    at(comparing.target.format, diff::run(comparing))
}

/// Several differences, in words.
fn differences(count: usize) -> Failure {
    Failure::tool(if count == 1 { "1 difference".to_owned() } else { format!("{count} differences") })
}
