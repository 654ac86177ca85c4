//! Proposals while a line is typed: verbs, names of what the server offers, arguments and their values.
//!
//! Names that would do something to a terminal are not proposed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use clap::CommandFactory as _;
use contexture::model::{JsonObject, LoggingLevel, Reference};
use rustyline::completion::{Completer, Pair};
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Helper, Highlighter, Hinter};
use serde_json::Value;

use super::line::{Line, is_open};
use super::memory::Memory;
use super::offer::Offer;
use super::perform::of_connection;
use crate::options::Command;
use crate::terminal::text::safe_line;

/// What can be said, in the order of its use.
pub(super) const VERBS: &[&str] = &[
    "tools",
    "call",
    "resources",
    "read",
    "prompts",
    "prompt",
    "complete",
    "subscribe",
    "log",
    "ping",
    "raw",
    "vars",
    "set",
    "reconnect",
    "help",
    "exit",
];

#[derive(Helper, Hinter, Highlighter)]
pub(super) struct Guide {
    pub(super) offer: Arc<Offer>,
    pub(super) memory: Arc<Mutex<Memory>>,
}

impl Validator for Guide {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(if is_open(context.input()) {
            ValidationResult::Incomplete
        } else {
            ValidationResult::Valid(None)
        })
    }
}

impl Completer for Guide {
    type Candidate = Pair;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let typed = &line[..at];
        let last = typed.char_indices().rfind(|(_, char)| char.is_whitespace());
        let start = last.map_or(0, |(at, space)| at + space.len_utf8());
        let word = &typed[start..];
        if let Some((head, reference)) = word.rsplit_once('$') {
            return Ok((start, self.variables(head, reference)));
        }
        // In the middle of a quote or a bracket nothing is known about what comes next.
        let Some(before) = Line::shape(&typed[..start]) else { return Ok((start, Vec::new())) };
        let fits = self.proposals(&before, word).into_iter().filter(|one| one.starts_with(word));
        let harmless = fits.filter(|one| safe_line(one) == *one);
        Ok((start, harmless.map(|one| Pair { replacement: finished(&one), display: one }).collect()))
    }
}

impl Guide {
    fn proposals(&self, before: &[String], word: &str) -> Vec<String> {
        let words: Vec<&str> = before.iter().map(String::as_str).collect();
        match words.as_slice() {
            [] | ["help"] => VERBS.iter().map(ToString::to_string).collect(),
            [verb, ..] if word.starts_with('-') => options(verb),
            ["call"] => self.offer.tools().into_iter().map(|tool| tool.name).collect(),
            ["call", tool, given @ ..] => self.of_tool(tool, given, word),
            ["prompt"] => self.offer.prompts().into_iter().map(|prompt| prompt.name).collect(),
            ["complete"] => {
                let prompts = self.offer.prompts().into_iter().map(|prompt| prompt.name);
                prompts.chain(self.offer.templates()).collect()
            }
            ["prompt" | "complete", name, given @ ..] => self.of_prompt(name, given, word),
            ["read" | "subscribe", ..] => {
                self.offer.uris().into_iter().chain(self.offer.templates()).collect()
            }
            ["log"] => LoggingLevel::ALL.map(|level| level.as_str().to_owned()).to_vec(),
            ["set"] => vec!["format".to_owned()],
            ["set", "format"] => ["text", "json", "ndjson"].map(str::to_owned).to_vec(),
            _ => Vec::new(),
        }
    }

    /// Names of results, and what is in them.
    fn variables(&self, head: &str, reference: &str) -> Vec<Pair> {
        let memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let members = memory.members(reference).into_iter().filter(|one| one.starts_with(reference));
        let harmless = members.filter(|one| safe_line(one) == *one && !one.contains(char::is_whitespace));
        harmless
            .map(|one| Pair { replacement: format!("{head}${one}"), display: format!("${one}") })
            .collect()
    }

    /// Arguments that are not given yet, or the values of the one that is being typed.
    fn of_tool(&self, tool: &str, given: &[&str], word: &str) -> Vec<String> {
        let Some(tool) = self.offer.tools().into_iter().find(|known| known.name == tool) else {
            return Vec::new();
        };
        let properties = tool.input_schema.get("properties").and_then(Value::as_object);
        let Some(properties) = properties else { return Vec::new() };
        match word.split_once('=') {
            Some((name, _)) => {
                let values = values(properties, name.trim_end_matches(':'), name.ends_with(':'));
                values.into_iter().map(|value| format!("{name}={value}")).collect()
            }
            None => missing(properties.keys().map(String::as_str), given),
        }
    }

    fn of_prompt(&self, name: &str, given: &[&str], word: &str) -> Vec<String> {
        let prompt = self.offer.prompts().into_iter().find(|known| known.name == name);
        if let Some((argument, typed)) = word.split_once('=') {
            let reference = match &prompt {
                Some(prompt) => Reference::prompt(&prompt.name),
                None => Reference::resource(name),
            };
            let others: BTreeMap<String, String> = given
                .iter()
                .filter_map(|word| word.split_once('='))
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect();
            let values = self.offer.values(reference, argument, typed, others);
            return values.into_iter().map(|value| format!("{argument}={value}")).collect();
        }
        let arguments = prompt.into_iter().flat_map(|prompt| prompt.arguments.unwrap_or_default());
        let names: Vec<String> = arguments.map(|argument| argument.name).collect();
        missing(names.iter().map(String::as_str), given)
    }
}

/// A word that needs nothing more is followed by a space. What it stands for is what was shown: nothing in it is read as a
/// quote or a result.
fn finished(word: &str) -> String {
    let is_special = |char: char| char.is_whitespace() || matches!(char, '\'' | '"' | '\\' | '$');
    if word.contains(is_special) || is_open(word) {
        let (name, value) = word.split_once('=').map_or(("", word), |(name, value)| (name, value));
        let equals = if name.is_empty() { "" } else { "=" };
        return format!("{name}{equals}'{}' ", value.replace('\'', "'\\''"));
    }
    let goes_on = word.ends_with('=') || word.contains('{');
    if goes_on { word.to_owned() } else { format!("{word} ") }
}

/// The options of a verb that a line can have.
fn options(verb: &str) -> Vec<String> {
    let command = Command::command();
    let Some(mut verb) = command.find_subcommand(verb) else { return Vec::new() };
    if let Some(list) = verb.find_subcommand("list") {
        verb = list;
    }
    let said_before: Vec<clap::Id> = of_connection().collect();
    let of_line = verb.get_arguments().filter(|one| !said_before.contains(one.get_id()));
    of_line.filter_map(|one| one.get_long()).map(|long| format!("--{long}")).collect()
}

fn missing<'a>(names: impl Iterator<Item = &'a str>, given: &[&str]) -> Vec<String> {
    let is_given = |name: &str| given.iter().any(|word| word.split([':', '=']).next() == Some(name));
    names.filter(|name| !is_given(name)).map(|name| format!("{name}=")).collect()
}

/// The values that a schema lists; as JSON, where JSON is wanted.
fn values(properties: &JsonObject, name: &str, as_json: bool) -> Vec<String> {
    let Some(property) = properties.get(name) else { return Vec::new() };
    let text = |value: &Value| match value.as_str() {
        Some(text) if !as_json => text.to_owned(),
        _ => value.to_string(),
    };
    match property.get("enum").and_then(Value::as_array) {
        Some(values) => values.iter().map(text).collect(),
        None if property.get("type").is_some_and(|kind| kind == "boolean") => {
            vec!["true".to_owned(), "false".to_owned()]
        }
        None => property.get("default").map(text).into_iter().collect(),
    }
}
