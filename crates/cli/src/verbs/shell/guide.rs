//! Proposals while a line is typed: verbs, names of what the server offers, arguments and their values.
//!
//! Names that would do something to a terminal are not proposed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use contexture::model::{JsonObject, LoggingLevel, Reference};
use rustyline::completion::{Completer, Pair};
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Helper, Highlighter, Hinter};
use serde_json::Value;

use super::line::{Line, is_open};
use super::memory::Memory;
use super::offer::Offer;
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
        let start = typed.rfind(char::is_whitespace).map_or(0, |space| space + 1);
        let word = &typed[start..];
        let before =
            Line::parse(&typed[..start], &Memory::default()).map(|line| line.words).unwrap_or_default();
        let fits = self.proposals(&before, word).into_iter().filter(|one| one.starts_with(word));
        let harmless = fits.filter(|one| safe_line(one) == *one && !one.contains(char::is_whitespace));
        Ok((start, harmless.map(|one| Pair { replacement: finished(&one), display: one }).collect()))
    }
}

impl Guide {
    fn proposals(&self, before: &[String], word: &str) -> Vec<String> {
        if let Some((head, reference)) = word.rsplit_once('$') {
            return self.variables(head, reference);
        }
        let words: Vec<&str> = before.iter().map(String::as_str).collect();
        match words.as_slice() {
            [] | ["help"] => VERBS.iter().map(ToString::to_string).collect(),
            ["call"] => self.offer.tools().into_iter().map(|tool| tool.name).collect(),
            ["call", tool, given @ ..] => self.of_tool(tool, given, word),
            ["prompt" | "complete", ..] if words.len() == 1 => {
                let prompts = self.offer.prompts().into_iter().map(|prompt| prompt.name);
                let templates = if words[0] == "complete" { self.offer.templates() } else { Vec::new() };
                prompts.chain(templates).collect()
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

    fn variables(&self, head: &str, reference: &str) -> Vec<String> {
        let memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((name, _)) = reference.split_once('.') else {
            return memory.all().map(|(name, _)| format!("{head}{name}")).collect();
        };
        let members = memory.get(name).and_then(Value::as_object);
        members
            .into_iter()
            .flat_map(|members| members.keys())
            .map(|key| format!("{head}${name}.{key}"))
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
            Some((name, _)) => values(properties, name.trim_end_matches(':'))
                .into_iter()
                .map(|value| format!("{name}={value}"))
                .collect(),
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

/// A word that needs nothing more is followed by a space.
fn finished(word: &str) -> String {
    let goes_on = word.ends_with('=') || word.contains('$') || word.contains('{');
    if goes_on { word.to_owned() } else { format!("{word} ") }
}

fn missing<'a>(names: impl Iterator<Item = &'a str>, given: &[&str]) -> Vec<String> {
    let is_given = |name: &str| given.iter().any(|word| word.split([':', '=']).next() == Some(name));
    names.filter(|name| !is_given(name)).map(|name| format!("{name}=")).collect()
}

/// The values that a schema lists.
fn values(properties: &JsonObject, name: &str) -> Vec<String> {
    let Some(property) = properties.get(name) else { return Vec::new() };
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match property.get("enum").and_then(Value::as_array) {
        Some(values) => values.iter().map(text).collect(),
        None if property.get("type").is_some_and(|kind| kind == "boolean") => {
            vec!["true".to_owned(), "false".to_owned()]
        }
        None => property.get("default").map(text).into_iter().collect(),
    }
}
