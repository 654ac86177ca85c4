//! The page of the documentation: every verb with its words, options and examples, as Markdown.

use std::fmt::Write as _;

use clap::Arg;

use super::{described, examples, groups};
use crate::exit;

/// Above the verbs.
const HEAD: &str = include_str!("reference.md");

/// The whole page.
pub(crate) fn reference() -> String {
    let mut command = described();
    command.build();
    let mut page = HEAD.to_owned();
    // Writing to a string does not fail.
    let _ = write!(page, "\n## Exit codes\n\n```text\n{}\n```\n", exit::HELP);
    for (title, verbs) in groups::verbs() {
        let _ = write!(page, "\n## {title}\n");
        for name in verbs.iter().filter(|name| **name != "help") {
            if let Some(verb) = command.find_subcommand_mut(name) {
                of_verb(&mut page, verb, &format!("contexture {name}"));
            }
        }
    }
    page
}

fn of_verb(page: &mut String, verb: &mut clap::Command, name: &str) {
    let about = verb.get_long_about().or(verb.get_about()).map(ToString::to_string).unwrap_or_default();
    let usage = verb.render_usage().to_string();
    let usage = usage.strip_prefix("Usage: ").unwrap_or(&usage).to_owned();
    let _ = write!(page, "\n### `{name}`\n\n{about}\n\n```text\n{}\n```\n", usage.trim());
    let shown: Vec<&Arg> =
        verb.get_arguments().filter(|one| !one.is_hide_set() && one.get_id() != "help").collect();
    if !shown.is_empty() {
        page.push('\n');
    }
    for argument in shown {
        let help =
            argument.get_long_help().or(argument.get_help()).map(ToString::to_string).unwrap_or_default();
        let _ = writeln!(page, "- `{}`: {}", label(argument), help.replace('\n', " "));
    }
    let examples = examples::of(verb.get_name());
    if !examples.is_empty() {
        page.push_str("\n```sh\n");
        for (line, what) in examples {
            let _ = writeln!(page, "{line}   # {what}");
        }
        page.push_str("```\n");
    }
    let inner: Vec<String> =
        verb.get_subcommands().map(|one| one.get_name().to_owned()).filter(|one| one != "help").collect();
    for one in inner {
        if let Some(verb) = verb.find_subcommand_mut(&one) {
            of_verb(page, verb, &format!("{name} {one}"));
        }
    }
}

/// An argument as it is typed.
fn label(argument: &Arg) -> String {
    let values = argument.get_value_names().unwrap_or_default();
    let takes = argument.get_action().takes_values();
    let values = if takes { values.iter().map(|value| format!(" {value}")).collect() } else { String::new() };
    let long = argument.get_long().map(|long| format!("--{long}"));
    let short = argument.get_short().map(|short| format!("-{short}"));
    match (short, long) {
        (Some(short), Some(long)) => format!("{short}, {long}{values}"),
        (Some(one), None) | (None, Some(one)) => format!("{one}{values}"),
        (None, None) if argument.is_last_set() => format!("--{values}…"),
        (None, None) => values.trim().to_owned(),
    }
}
