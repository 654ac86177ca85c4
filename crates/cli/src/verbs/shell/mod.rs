//! `shell`: one connection, many lines.
//!
//! Lines are the verbs of the command line without their server; what comes out of them can be used in later ones. Ctrl-C
//! ends what a line began, Ctrl-D the shell. A script on standard input stops at the first line that fails.

mod guide;
mod line;
mod memory;
mod offer;
mod perform;
mod reader;

use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use contexture::Client;
use contexture::client::Event;
use contexture_host::config::Sources;
use tokio::task::JoinHandle;

use super::{alone, dismissed, ended, interrupted};
use crate::connect::connect;
use crate::exit::Failure;
use crate::options::{Format, Talking};
use crate::place::Place;
use crate::terminal::note;
use crate::terminal::text::{cut, safe_line};
use guide::Guide;
use line::Line;
use memory::Memory;
use offer::Offer;
use reader::{Reader, Typed};

/// Of a server's name, so much is before the line.
const NAME: usize = 40;

pub(super) fn run(options: &Talking) -> ExitCode {
    let mut words = options.words();
    let outcome = options.target.place(&mut words).and_then(|place| {
        words.end()?;
        alone(talk(&place, options))
    });
    ended(options.target.format, outcome)
}

/// What a shell knows.
struct Shell<'a> {
    place: &'a Place,
    options: &'a Talking,
    /// Whether a person types the lines.
    is_typed: bool,
    client: Client,
    offer: Arc<Offer>,
    memory: Arc<Mutex<Memory>>,
    /// How results are printed, until somebody says otherwise.
    format: Format,
    watching: Option<Watching>,
}

async fn talk(place: &Place, options: &Talking) -> Result<(), Failure> {
    let client = tokio::select! {
        biased;
        () = interrupted() => return Err(Failure::interrupted()),
        client = connect(place, &options.target) => client?,
    };
    let offer = Arc::new(Offer::new(client.clone(), tokio::runtime::Handle::current()));
    let (format, watching) = (options.target.format, None);
    let is_typed =
        std::io::stdin().is_terminal() && std::io::stdout().is_terminal() && !options.target.no_input;
    let mut shell =
        Shell { place, options, is_typed, client, offer, memory: Arc::default(), format, watching };
    let outcome = if is_typed {
        // Ctrl-C is for the line that runs; the system means all of it.
        tokio::select! {
            biased;
            () = dismissed() => Err(Failure::interrupted()),
            outcome = shell.with_person() => outcome,
        }
    } else {
        tokio::select! {
            biased;
            () = interrupted() => Err(Failure::interrupted()),
            outcome = shell.with_script() => outcome,
        }
    };
    shell.watching = None;
    // A second Ctrl-C is not to be waited for.
    tokio::select! {
        biased;
        () = interrupted() => {}
        () = shell.client.close() => {}
    }
    outcome
}

impl Shell<'_> {
    async fn with_person(&mut self) -> Result<(), Failure> {
        let guide = Guide { offer: Arc::clone(&self.offer), memory: Arc::clone(&self.memory) };
        let history = Sources::of_process().state_folder().join("shell-history");
        let reader = Reader::at_terminal(guide, history)
            .map_err(|error| Failure::usage(format!("the terminal cannot be used: {error}")))?;
        self.greet();
        self.watch();
        loop {
            let prompt = format!("{}> ", cut(&safe_line(self.client.server().display_name()), NAME));
            match reader.next(&prompt).await {
                Typed::End => return Ok(()),
                Typed::Nothing => {}
                Typed::Line(text) => match self.line(&text).await {
                    Ok(Next::Line) => {}
                    Ok(Next::End) => return Ok(()),
                    Err(failure) => {
                        failure.report(self.format);
                    }
                },
            }
        }
    }

    async fn with_script(&mut self) -> Result<(), Failure> {
        let reader = Reader::of_script();
        let mut failed = None;
        let mut number = 1;
        loop {
            let Typed::Line(text) = reader.next("").await else { break };
            let here = number;
            number += text.split('\n').count();
            match self.line(&text).await.map_err(|failure| failure.at(&format!("line {here}"))) {
                Ok(Next::Line) => {}
                Ok(Next::End) => break,
                Err(failure) if self.options.keep_going => {
                    failure.report(self.format);
                    failed = failed.or(Some(failure));
                }
                Err(failure) => return Err(failure),
            }
        }
        match failed {
            None => Ok(()),
            Some(failure) => Err(failure.said()),
        }
    }

    fn greet(&self) {
        let server = self.client.server_info();
        let version = server.map(|info| format!(" {}", safe_line(&info.version))).unwrap_or_default();
        note(&format!(
            "{}{version}, revision {}. `help` shows what can be said, Tab completes, Ctrl-D ends.",
            safe_line(self.client.server().display_name()),
            self.client.revision().as_str(),
        ));
    }

    /// Says what changes while nobody asks. A server that cannot tell of changes has none to tell of.
    fn watch(&mut self) {
        let (client, offer) = (self.client.clone(), Arc::clone(&self.offer));
        let mut events = client.events();
        let task = tokio::spawn(async move {
            let _ = client.watch_lists().await;
            while let Some(event) = events.next().await {
                let changed = match event {
                    Event::ToolsChanged => "the list of tools has changed",
                    Event::PromptsChanged => "the list of prompts has changed",
                    Event::ResourcesChanged => "the list of resources has changed",
                    Event::Closed(_) => "the server is gone; `reconnect` starts again",
                    _ => continue,
                };
                offer.forget();
                note(&format!("({changed})"));
            }
        });
        self.watching = Some(Watching(task));
    }

    async fn line(&mut self, text: &str) -> Result<Next, Failure> {
        let text = text.trim();
        if text.is_empty() || text.starts_with('#') {
            return Ok(Next::Line);
        }
        let line = Line::parse(text, &self.memory()).map_err(Failure::usage)?;
        self.perform(line).await
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is told of a connection, for as long as it is the one of the shell.
struct Watching(JoinHandle<()>);

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What comes after a line.
enum Next {
    Line,
    End,
}
