//! What a line says is done: by the verbs of the command line, or by the few that only a shell has.

use clap::Parser as _;
use contexture::model::LoggingLevel;

use super::guide::VERBS;
use super::line::Line;
use super::{Next, Shell};
use crate::connect::connect;
use crate::exit::Failure;
use crate::nearest;
use crate::options::{Command, Format, Verb};
use crate::terminal::text::{cut, safe_line};
use crate::terminal::{self, note};
use crate::verbs::{interrupted, results, within};

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
        match words.as_slice() {
            ["exit" | "quit"] => return Ok(Next::End),
            ["help"] => print(HELP)?,
            ["vars"] => self.show_variables()?,
            ["set", "format", format] => self.format = named(format)?,
            ["set", ..] => {
                return Err(Failure::usage("what can be set is `format`, to text, json or ndjson"));
            }
            ["log", level] => self.log(level).await?,
            ["reconnect"] => self.reconnect().await?,
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
        // What was said once holds for every line that says nothing else.
        let format = format!("--format={}", word(self.format));
        let spoken = ["contexture".to_owned(), words.remove(0)].into_iter().chain(words);
        let spoken: Vec<String> = spoken.collect();
        let says = spoken.iter().any(|word| word.starts_with("-o") || word.starts_with("--format"));
        let takes = spoken.get(1).is_some_and(|verb| verb != "help") && !says;
        let spoken = spoken.into_iter().chain(takes.then_some(format));
        let command = match Command::try_parse_from(spoken) {
            Ok(command) => command,
            Err(error) if !error.use_stderr() => return print(&error.render().to_string()),
            Err(error) => {
                return Err(Failure::usage(error.render().to_string().trim().trim_start_matches("error: ")));
            }
        };
        let Some(verb) = command.verb else { return Ok(()) };
        self.carry_out(&verb, keep).await
    }

    async fn carry_out(&mut self, verb: &Verb, keep: Option<String>) -> Result<(), Failure> {
        results::listen();
        let outcome = tokio::select! {
            biased;
            () = interrupted() => Err(Failure::interrupted()),
            outcome = within(self.client.clone(), verb) => outcome,
        };
        if let Some(value) = results::taken() {
            let name = self.memory().keep(keep, value);
            if self.format == Format::Text && self.options.is_watched() {
                note(&format!("({name})"));
            }
        }
        outcome
    }

    fn show_variables(&self) -> Result<(), Failure> {
        let memory = self.memory();
        let lines = memory
            .all()
            .map(|(name, value)| format!("{name:<12} {}\n", cut(&safe_line(&value.to_string()), SHOWN)));
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
        self.client.close().await;
        self.client = connect(self.place, &self.options.target).await?;
        self.offer.now_of(self.client.clone());
        self.watch().await;
        self.greet();
        Ok(())
    }
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
