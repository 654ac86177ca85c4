//! `subscribe`: changes of resources, or of the lists, as they happen, until somebody ends it.
//!
//! What the client survives is survived: a session that is opened anew, a stream that the server ends and takes up again. What
//! it does not survive is told, with the code of a server that cannot be reached.

use std::process::ExitCode;

use contexture::client::{Event, Events};
use contexture::{Client, Error};
use serde_json::{Value, json};

use super::{Told, on_in};
use crate::connect::Manner;
use crate::events::emit;
use crate::exit::Failure;
use crate::options::{Format, Subscribing, Words};
use crate::render::Page;
use crate::terminal::text::safe_line;
use crate::terminal::{self, Reader, note};

pub(super) fn run(subscribing: &Subscribing) -> ExitCode {
    let target = &subscribing.target;
    on_in(&Manner::with_events(target), Told::suffices, target, subscribing.words(), |client, words| {
        subscribe(client, words, subscribing)
    })
}

pub(super) async fn subscribe(
    client: Client,
    words: Words,
    subscribing: &Subscribing,
) -> Result<(), Failure> {
    let uris = words.rest();
    let mut events = client.events();
    begin(&client, &uris).await?;
    let what = match uris.as_slice() {
        [] => "the lists".to_owned(),
        [only] => safe_line(only),
        several => format!("{} resources", several.len()),
    };
    note(&format!("following {what}; Ctrl-C ends"));
    Followed { client: &client, uris: &uris, subscribing }.follow(&mut events).await
}

async fn begin(client: &Client, uris: &[String]) -> Result<(), Failure> {
    if uris.is_empty() {
        return Ok(client.watch_lists().await?);
    }
    for uri in uris {
        client.subscribe(uri).await?;
    }
    Ok(())
}

/// What is followed, and how it is shown.
struct Followed<'a> {
    client: &'a Client,
    uris: &'a [String],
    subscribing: &'a Subscribing,
}

impl Followed<'_> {
    /// Until nobody reads it any more, or there is no more to come.
    async fn follow(&self, events: &mut Events) -> Result<(), Failure> {
        while let Some(event) = events.next().await {
            let reader = match event {
                Event::ToolsChanged => self.changed("tools")?,
                Event::PromptsChanged => self.changed("prompts")?,
                Event::ResourcesChanged => self.changed("resources")?,
                Event::ResourceUpdated(uri) => self.updated(&uri).await?,
                Event::SubscriptionLost(uri) => {
                    let words = format!("lost {}: the server no longer watches it", safe_line(&uri));
                    self.tell("lost", &json!({ "uri": uri }), &words)?
                }
                Event::Reconnected => self.tell("reconnected", &json!({}), "connected anew")?,
                Event::Missed(count) => {
                    self.tell("missed", &json!({ "count": count }), &format!("missed {count} changes"))?
                }
                Event::SubscriptionEnded => {
                    begin(self.client, self.uris).await?;
                    Reader::Listening
                }
                Event::Closed(why) => return Err(Error::Closed(why).into()),
                _ => Reader::Listening,
            };
            if reader == Reader::Gone {
                return Ok(());
            }
        }
        Ok(())
    }

    fn changed(&self, list: &str) -> Result<Reader, Failure> {
        if !self.uris.is_empty() {
            return Ok(Reader::Listening);
        }
        self.tell("changed", &json!({ "list": list }), &format!("changed: {list}"))
    }

    async fn updated(&self, uri: &str) -> Result<Reader, Failure> {
        let words = format!("updated {}", safe_line(uri));
        if !self.subscribing.read {
            return self.tell("updated", &json!({ "uri": uri }), &words);
        }
        let read = match self.client.read(uri).await {
            Ok(read) => read,
            // It may be gone by now; what comes next is still of interest.
            Err(error @ (Error::NotFound | Error::Remote(_))) => {
                let why = Failure::from(error).words();
                let about = json!({ "uri": uri, "error": why });
                return self.tell("updated", &about, &format!("{words}: {}", safe_line(&why)));
            }
            Err(error) => return Err(error.into()),
        };
        let mut page = Page::of_stdout(self.subscribing.target.raw, None);
        let shown = page.resources(&read.contents)?;
        self.tell(
            "updated",
            &json!({ "uri": uri, "contents": read.contents }),
            &format!("{words}\n{}", shown.trim_end()),
        )
    }

    fn tell(&self, event: &str, about: &Value, words: &str) -> Result<Reader, Failure> {
        Ok(match self.subscribing.target.format {
            Format::Text => terminal::print(format!("{words}\n").as_bytes())?,
            Format::Json | Format::Ndjson => emit(event, about)?,
        })
    }
}
