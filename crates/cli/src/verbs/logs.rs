//! `logs`: what a server has to report, until somebody ends it.
//!
//! Only the legacy era has log messages that belong to no request, so servers of both eras are spoken to in that one.

use std::process::ExitCode;

use contexture::client::Event;
use contexture::model::LoggingLevel;
use contexture::revision::Revision;
use contexture::{Client, Error};

use super::{Told, on_in};
use crate::connect::Manner;
use crate::events::{Aside, emit, log_line};
use crate::exit::Failure;
use crate::options::{Format, Logging, Wanted, Words};
use crate::terminal::{self, Reader, note};

pub(super) fn run(logging: &Logging) -> ExitCode {
    let target = &logging.target;
    let mut manner = Manner { aside: Aside::Nowhere, ..Manner::plain(target) };
    if target.revision.is_none() && target.era == Wanted::Auto {
        manner.revisions = Revision::LEGACY.to_vec();
    }
    on_in(&manner, Told::suffices, target, logging.words(), |client, words| logs(client, words, logging))
}

async fn logs(client: Client, words: Words, logging: &Logging) -> Result<(), Failure> {
    words.end()?;
    if !client.revision().rules().has_set_level {
        let what = "a server of the modern era reports only while it answers";
        return Err(Failure::usage(what).hint(Some("`contexture call … --log LEVEL` shows that".to_owned())));
    }
    let mut events = client.events();
    let level = logging.level.or(logging.target.log).unwrap_or(LoggingLevel::Debug);
    client.set_log_level(level).await?;
    note(&format!("log messages from {} on; Ctrl-C ends", level.as_str()));
    while let Some(event) = events.next().await {
        let reader = match (event, logging.target.format) {
            (Event::Log(message), Format::Text) => {
                terminal::print(format!("{}\n", log_line(&message)).as_bytes())?
            }
            (Event::Log(message), _) => emit("log", &message)?,
            (Event::Missed(count), _) => {
                note(&format!("contexture: {count} messages were missed"));
                Reader::Listening
            }
            (Event::Closed(why), _) => return Err(Error::Closed(why).into()),
            _ => Reader::Listening,
        };
        if reader == Reader::Gone {
            break;
        }
    }
    Ok(())
}
