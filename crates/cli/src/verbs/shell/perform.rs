//! What a line says is done: by the verbs of the command line, or by the few that only a shell has.

use clap::parser::ValueSource;
use clap::{Args as _, CommandFactory as _, FromArgMatches as _};
use contexture::Client;
use contexture::model::LoggingLevel;
use serde_json::Value;

use super::guide::VERBS;
use super::line::Line;
use super::{Next, Shell};
use crate::connect::connect;
use crate::exit::Failure;
use crate::nearest;
use crate::options::{Command, Format, Subscribing, Target, Verb};
use crate::terminal::text::{cut, safe_line};
use crate::terminal::{self, keyboard, note};
use crate::verbs::{call, complete, list, ping, prompt, raw, read, results, subscribe};

/// Verbs that only a shell has.
const OWN: &[&str] = &["log", "vars", "set", "reconnect", "exit", "quit"];

/// Of a result, so much is shown among others.
const SHOWN: usize = 70;

const HELP: &str = "\
tools, resources, prompts           what the server offers
call TOOL name=value name:=json     calls a tool; JSON may go over several lines
read URI                            reads a resource
prompt NAME name=text               fills in a prompt
complete PROMPT|TEMPLATE name=text  what the server proposes
subscribe [URI…]                    follows changes, until Ctrl-C
log LEVEL                           log messages from this level on
ping, raw METHOD JSON               whether it answers; a request as it is
name = call …                       keeps the result; otherwise it is $1, $2, …, and $_ is the last
$name.key[0]                        a result, or a part of it, in any later line; `vars` lists them
set format text|json|ndjson         how results are printed
reconnect                           begins again with the server
help [VERB], exit                   `help call` has every option
";

impl Shell<'_> {
    pub(super) async fn perform(&mut self, line: Line) -> Result<Next, Failure> {
        let words: Vec<&str> = line.words.iter().map(String::as_str).collect();
        let is_own = words.first().is_some_and(|verb| OWN.contains(verb));
        if let Some(name) = line.keep.as_ref().filter(|_| is_own || words.is_empty()) {
            return Err(Failure::usage(format!("{name}: only what a server answers can get a name")));
        }
        match words.as_slice() {
            ["exit" | "quit"] => return Ok(Next::End),
            ["help"] => print(HELP)?,
            ["help", own] if OWN.contains(own) => print(HELP)?,
            ["vars"] => self.show_variables()?,
            ["set", "format", format] => self.format = named(format)?,
            ["set", ..] => {
                return Err(Failure::usage("what can be set is `format`, to text, json or ndjson"));
            }
            ["log", level] => self.log(level).await?,
            ["reconnect"] => self.reconnect().await?,
            [own, ..] if OWN.contains(own) => {
                return Err(Failure::usage(format!("{own} is said otherwise; `help` shows how")));
            }
            _ => self.verb(line).await?,
        }
        Ok(Next::Line)
    }

    /// A verb as on the command line.
    async fn verb(&mut self, line: Line) -> Result<(), Failure> {
        let Line { keep, mut words } = line;
        let is_list = matches!(words.first().map(String::as_str), Some("tools" | "resources" | "prompts"));
        if is_list && words.get(1).is_none_or(|word| word.starts_with('-')) {
            words.insert(1, "list".to_owned());
        }
        let first = words.first().cloned().unwrap_or_default();
        if !VERBS.contains(&first.as_str()) {
            return Err(Failure::usage(format!("there is no {first:?} here"))
                .hint(nearest::proposal(&first, VERBS.iter().copied())));
        }
        if words.iter().any(|word| word == "-") {
            return Err(Failure::usage(
                "`-`: standard input is where lines come from; JSON can stand in the line",
            ));
        }
        // What was said once holds for every line that says nothing else.
        let says = words.iter().any(|word| word.starts_with("-o") || word.starts_with("--format"));
        let format = (first != "help" && !says).then(|| format!("--format={}", word(self.format)));
        match read(["contexture".to_owned()].into_iter().chain(words).chain(format))? {
            Read::Verb(verb) => self.carry_out(&verb, keep).await,
            Read::Help(text) => print(&text),
        }
    }

    /// Ctrl-C ends it, and not the shell.
    async fn carry_out(&mut self, verb: &Verb, keep: Option<String>) -> Result<(), Failure> {
        results::listen();
        let outcome = tokio::select! {
            biased;
            _ = tokio::signal::ctrl_c() => Err(Failure::interrupted()),
            outcome = within(self.client.clone(), verb) => outcome,
        };
        // A question that is still open is not asked any more.
        keyboard::free().await;
        let outcome = match verb {
            Verb::Subscribe(subscribing) => self.unfollowed(subscribing, outcome).await,
            _ => outcome,
        };
        if let Some(value) = results::taken() {
            let name = self.memory().keep(keep, value);
            if self.format == Format::Text && self.options.is_watched() {
                note(&format!("({name})"));
            }
        }
        outcome
    }

    /// To end is all that can become of following: nobody failed.
    async fn unfollowed(&self, followed: &Subscribing, outcome: Result<(), Failure>) -> Result<(), Failure> {
        for uri in followed.words() {
            // A server that is gone follows nothing.
            let _ = self.client.unsubscribe(&uri).await;
        }
        outcome.or_else(|failure| if failure.is_interrupted() { Ok(()) } else { Err(failure) })
    }

    fn show_variables(&self) -> Result<(), Failure> {
        let memory = self.memory();
        let lines = memory.all().map(|(name, value)| format!("{name:<12} {}\n", cut(&summary(value), SHOWN)));
        print(&lines.collect::<String>())
    }

    async fn log(&self, level: &str) -> Result<(), Failure> {
        let known = LoggingLevel::ALL.into_iter().find(|known| known.as_str() == level);
        let names = || LoggingLevel::ALL.map(LoggingLevel::as_str).join(", ");
        let level =
            known.ok_or_else(|| Failure::usage(format!("{level:?} is no level; there are {}", names())))?;
        Ok(self.client.set_log_level(level).await?)
    }

    async fn reconnect(&mut self) -> Result<(), Failure> {
        // That the old one is gone is no news.
        self.watching = None;
        let again = async {
            self.client.close().await;
            connect(self.place, &self.options.target).await
        };
        self.client = tokio::select! {
            biased;
            _ = tokio::signal::ctrl_c() => return Err(Failure::interrupted()),
            client = again => client?,
        };
        self.offer.now_of(self.client.clone());
        if self.is_typed {
            self.watch();
            self.greet();
        }
        Ok(())
    }
}

/// What a line turns out to be.
enum Read {
    Verb(Box<Verb>),
    /// It asked for an explanation.
    Help(String),
}

/// Reads a line as the command line is read.
fn read(spoken: impl Iterator<Item = String>) -> Result<Read, Failure> {
    let misread = |error: clap::Error| {
        let text = error.render().to_string();
        let message = text.split("\n\nUsage:").next().unwrap_or(&text);
        Failure::usage(message.trim().trim_start_matches("error: "))
    };
    let matches = match Command::command().try_get_matches_from(spoken) {
        Ok(matches) => matches,
        Err(error) if !error.use_stderr() => return Ok(Read::Help(error.render().to_string())),
        Err(error) => return Err(misread(error)),
    };
    let mut innermost = &matches;
    while let Some((_, inner)) = innermost.subcommand() {
        innermost = inner;
    }
    let is_said = |id: &clap::Id| innermost.value_source(id.as_str()) == Some(ValueSource::CommandLine);
    if let Some(id) = of_connection().find(is_said) {
        let name = id.as_str().trim_end_matches('s').replace('_', "-");
        return Err(Failure::usage(format!(
            "`{name}` is about the connection: it is said when the shell begins"
        )));
    }
    let command = Command::from_arg_matches(&matches).map_err(misread)?;
    let verb = command.verb.ok_or_else(|| Failure::usage("there is no verb"))?;
    Ok(Read::Verb(Box::new(verb)))
}

/// Options that say how to connect, which has happened already.
pub(super) fn of_connection() -> impl Iterator<Item = clap::Id> {
    let target = Target::augment_args(clap::Command::new("shell"));
    let ids: Vec<clap::Id> = target.get_arguments().map(|argument| argument.get_id().clone()).collect();
    ids.into_iter().filter(|id| !["format", "raw"].contains(&id.as_str()))
}

/// Does what a verb says with a client that is connected: all its words are about what to do.
async fn within(client: Client, verb: &Verb) -> Result<(), Failure> {
    match verb {
        Verb::Tools(listing) => list::tools(client, &listing.whole().target).await,
        Verb::Resources(listing) => list::resources(client, &listing.whole().target).await,
        Verb::Prompts(listing) => list::prompts(client, &listing.whole().target).await,
        Verb::Call(calling) => call::call(client, calling.words(), calling).await,
        Verb::Read(reading) => read::read(client, reading.words(), reading).await,
        Verb::Prompt(prompting) => prompt::prompt(client, prompting.words(), prompting).await,
        Verb::Complete(completing) => complete::complete(client, completing.words(), completing).await,
        Verb::Subscribe(subscribing) => subscribe::subscribe(client, subscribing.words(), subscribing).await,
        Verb::Ping(pinging) => ping::ping(client, pinging.words(), pinging).await,
        Verb::Raw(raw) => raw::raw(client, raw.words(), raw).await,
        _ => Err(Failure::usage("that is not about the server of this shell")),
    }
}

/// A result in one line, without what every result has.
fn summary(value: &Value) -> String {
    let mut value = value.clone();
    if let Some(members) = value.as_object_mut() {
        members.retain(|name, _| !["_meta", "resultType"].contains(&name.as_str()));
    }
    safe_line(&value.to_string())
}

fn print(text: &str) -> Result<(), Failure> {
    terminal::print(text.as_bytes())?;
    Ok(())
}

fn named(word: &str) -> Result<Format, Failure> {
    clap::ValueEnum::from_str(word, true).map_err(|_| Failure::usage("the formats are text, json and ndjson"))
}

fn word(format: Format) -> String {
    clap::ValueEnum::to_possible_value(&format).map(|value| value.get_name().to_owned()).unwrap_or_default()
}
