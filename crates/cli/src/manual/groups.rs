//! The verbs in groups, as people look for them: there are too many for one list.

use std::fmt::Write as _;

/// Each verb is in one of these.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "Use a server",
        &[
            "tools",
            "resources",
            "prompts",
            "call",
            "read",
            "prompt",
            "complete",
            "subscribe",
            "logs",
            "ping",
            "raw",
            "shell",
        ],
    ),
    (
        "Find out what is wrong, and keep it from coming back",
        &["doctor", "record", "replay", "mock", "test", "diff", "bench"],
    ),
    (
        "Manage what is configured",
        &["list", "add", "get", "disable", "enable", "remove", "import", "export", "config", "trust"],
    ),
    ("Serve", &["run", "bridge", "demo", "policy"]),
    ("Log in", &["login", "auth", "logout", "auth-server"]),
    ("About this program", &["completions", "man", "help"]),
];

const TEMPLATE: (&str, &str) =
    ("{about-with-newline}\n{usage-heading} {usage}\n\n", "Options:\n{options}\n\n{before-help}{after-help}");

/// Shows the verbs in their groups.
pub(super) fn described(mut command: clap::Command) -> clap::Command {
    command.build();
    let mut verbs = String::new();
    for (title, names) in GROUPS {
        // Writing to a string does not fail.
        let _ = writeln!(verbs, "{title}:");
        for name in *names {
            let about = command.find_subcommand(name).and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(verbs, "  {name:<12} {}", first_sentence(&about));
        }
        verbs.push('\n');
    }
    command.help_template(format!("{}{verbs}{}", TEMPLATE.0, TEMPLATE.1))
}

fn first_sentence(about: &str) -> &str {
    about.split_once(". ").map_or(about, |(first, _)| first).trim_end_matches('.')
}

/// All verbs, in the order of their groups.
pub(super) fn verbs() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    GROUPS.iter().copied()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn every_verb_is_in_one_group() {
        let mut grouped: Vec<&str> =
            super::GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        grouped.sort_unstable();
        let mut command = crate::options::Command::command();
        command.build();
        let shown = command.get_subcommands().filter(|verb| !verb.is_hide_set());
        let mut verbs: Vec<&str> = shown.map(clap::Command::get_name).collect();
        verbs.sort_unstable();
        assert_eq!(grouped, verbs);
    }
}
