//! The page of the documentation: every verb with its words, options and examples, as Markdown.

use std::fmt::Write as _;

use clap::{Arg, Args as _, Id};

use super::{described, examples, groups};
use crate::exit;
use crate::options::Target;

/// Above the verbs.
const HEAD: &str = include_str!("reference.md");
/// Options that most verbs have are explained once, under this title.
const SHARED: &str = "Options of every verb on a server";

/// Verbs that can be seen at work.
const RECORDINGS: [&str; 5] = ["tools", "call", "doctor", "shell", "run"];

/// The whole page.
pub(crate) fn reference() -> String {
    let mut command = described();
    command.build();
    let target = Target::augment_args(clap::Command::new("target"));
    let shared: Vec<&Arg> = target.get_arguments().collect();
    let mut page = HEAD.to_owned();
    // Writing to a string does not fail.
    let codes = exit::HELP.trim_start_matches("Exit codes:\n");
    let _ = write!(page, "\n## Exit codes\n\n```text\n{codes}\n```\n");
    let _ = write!(page, "\n## {SHARED}\n\n");
    shared.iter().for_each(|argument| of_argument(&mut page, argument));
    let shared: Vec<Id> = shared.iter().map(|argument| argument.get_id().clone()).collect();
    for (title, verbs) in groups::verbs() {
        let _ = write!(page, "\n## {title}\n");
        for name in verbs.iter().filter(|name| **name != "help") {
            if let Some(verb) = command.find_subcommand_mut(name) {
                of_verb(&mut page, verb, &format!("contexture {name}"), &shared);
            }
        }
    }
    page
}

fn of_verb(page: &mut String, verb: &mut clap::Command, name: &str, shared: &[Id]) {
    let about = verb.get_long_about().or(verb.get_about()).map(ToString::to_string).unwrap_or_default();
    let usage = verb.render_usage().to_string();
    let usage = usage.strip_prefix("Usage: ").unwrap_or(&usage).to_owned();
    let about = sentence(&about);
    let _ = write!(page, "\n### `{name}`\n\n{about}\n\n```text\n{}\n```\n", usage.trim());
    of_arguments(page, verb, shared);
    let examples = examples::of(verb.get_name());
    // A verb within another has the name of a third, perhaps.
    if !examples.is_empty() && name.matches(' ').count() == 1 {
        page.push_str("\n```sh\n");
        for (line, what) in examples {
            let _ = write!(page, "# {what}\n{line}\n");
        }
        page.push_str("```\n");
    }
    if let Some(name) = RECORDINGS.iter().find(|recorded| name == format!("contexture {recorded}")) {
        let _ = write!(page, "\n![contexture {name}, in a terminal](recordings/{name}.svg)\n");
    }
    let inner: Vec<String> =
        verb.get_subcommands().map(|one| one.get_name().to_owned()).filter(|one| one != "help").collect();
    for one in inner {
        if let Some(verb) = verb.find_subcommand_mut(&one) {
            of_verb(page, verb, &format!("{name} {one}"), shared);
        }
    }
}

/// What a verb alone has, and that it has the others, too.
fn of_arguments(page: &mut String, verb: &clap::Command, shared: &[Id]) {
    let has = |id: &Id| verb.get_arguments().any(|argument| argument.get_id() == id);
    let is_on_server = shared.iter().all(has);
    let is_own = |argument: &&Arg| {
        let is_shared = is_on_server && shared.contains(argument.get_id());
        !is_shared && !argument.is_hide_set() && !["help", "version"].contains(&argument.get_id().as_str())
    };
    let own: Vec<&Arg> = verb.get_arguments().filter(is_own).collect();
    if !own.is_empty() || is_on_server {
        page.push('\n');
    }
    own.into_iter().for_each(|argument| of_argument(page, argument));
    if is_on_server {
        let anchor = SHARED.to_lowercase().replace(' ', "-");
        let _ = writeln!(page, "- the [{}](#{anchor})", SHARED.to_lowercase());
    }
}

fn of_argument(page: &mut String, argument: &Arg) {
    // Which server is meant is said once, and the same for all.
    if argument.get_id() == "server" && argument.get_value_names().is_some_and(|names| names == ["TARGET"]) {
        let _ = writeln!(page, "- `TARGET`: [which server](#which-server).");
        return;
    }
    let help = argument.get_long_help().or(argument.get_help()).map(ToString::to_string).unwrap_or_default();
    let help = sentence(&help.replace('\n', " "));
    let values = argument.get_possible_values();
    let values: Vec<&str> =
        values.iter().filter(|one| !one.is_hide_set()).map(|one| one.get_name()).collect();
    let takes = argument.get_action().takes_values() && !values.is_empty();
    let values = if takes { format!(" One of {}.", values.join(", ")) } else { String::new() };
    let _ = writeln!(page, "- `{}`: {help}{values}", label(argument));
}

/// Help leaves the last full stop out.
fn sentence(text: &str) -> String {
    let text = text.trim_end();
    if text.ends_with(['.', ':', '…']) || text.is_empty() { text.to_owned() } else { format!("{text}.") }
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
