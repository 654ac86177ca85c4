//! Bare `contexture`: what the protocol does, told by a client and a server that really talk.
//!
//! Both are in this process; nothing is started, opened or listened on. What is shown in the margin is what
//! went over the wire.

mod page;
mod steps;

use std::process::ExitCode;
use std::sync::Arc;

use contexture::client::{ElicitAnswer, Elicitation};
use contexture::revision::Revision;
use contexture::testing::{Recording, Side, Transcript};
use contexture::transport::{PersonTime, memory};
use contexture::{Client, Policy};

use crate::demo;
use crate::events::Aside;
use crate::exit::Failure;
use crate::options::Format;
use crate::terminal::person::{self, Asking, Presence};
use crate::verbs::{alone, interrupted};
use page::{Page, Stop};

/// Tells the story.
pub(crate) fn tell() -> ExitCode {
    let told = alone(async {
        tokio::select! {
            biased;
            () = interrupted() => Err(Failure::interrupted()),
            told = story() => match told {
                Ok(()) | Err(Stop::Unread) => Ok(()),
                Err(Stop::Failed(failure)) => Err(failure),
            },
        }
    });
    match told {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(Format::Text),
    }
}

async fn story() -> Result<(), Stop> {
    let mut page = Page::new();
    let somebody = person::is_there(false);
    page.line(&page.style.bold(concat!("Contexture ", env!("CARGO_PKG_VERSION"))))?;
    page.words(
        "The Model Context Protocol: programs (servers) offer tools, data and prompts to applications with a \
         model (clients). Here are one of each, in this process, and what they say to each other \
         (→ client, ← server; long lines are cut).",
    )?;
    let client = steps::handshake(&mut page, somebody).await?;
    steps::lists(&mut page, &client).await?;
    steps::call(&mut page, &client).await?;
    steps::structure(&mut page, &client).await?;
    steps::progress(&mut page, &client).await?;
    steps::question(&mut page, &client, somebody).await?;
    steps::resource(&mut page, &client).await?;
    steps::prompt(&mut page, &client).await?;
    client.close().await;
    steps::yesterday(&mut page).await?;
    steps::outlook(&page)
}

/// A client that is connected to a demo of its own, on the record.
async fn meet(
    transcript: Transcript,
    revisions: &[Revision],
    elicitation: Elicitation,
) -> contexture::Result<Client> {
    let policy = Policy::default();
    let (ours, theirs) = memory(policy.line_bytes);
    tokio::spawn(demo::server(demo::Options { is_guest: true, ..demo::Options::default() }).serve(theirs));
    Client::builder()
        .name("contexture", env!("CARGO_PKG_VERSION"))
        .policy(policy)
        .revisions(revisions)
        .elicitation(elicitation)
        .connect(Recording::new(crate::tape::taped(ours), Side::Client, transcript))
        .await
}

/// Who answers when the server asks for a name.
fn somebody_or_the_world(somebody: bool) -> Elicitation {
    if somebody {
        let asking = Asking { presence: Presence::There, aside: Aside::Notes, time: PersonTime::new() };
        return person::elicitation(asking, page::MARGIN);
    }
    let world = Arc::new(ElicitAnswer::accept([("name", "world")]));
    Elicitation::new(move |_| std::future::ready(ElicitAnswer::clone(&world)))
}
