//! Examples of every verb, for its help and its manual page. A test runs each of them as it stands here.
//!
//! `notes` stands for a server that is configured, `./server` for a program in this folder.

use std::fmt::Write as _;

/// By verb: what to type, and what it does.
const EXAMPLES: &[(&str, &[(&str, &str)])] = &[
    (
        "tools",
        &[
            ("contexture tools list demo", "the tools of the built-in server"),
            ("contexture tools list notes -o json", "as JSON, for programs"),
            ("contexture tools list -- ./server --stdio", "of a server that is started for it"),
        ],
    ),
    ("resources", &[("contexture resources list notes", "resources, and templates of resources")]),
    ("prompts", &[("contexture prompts list notes", "prompts, and what they want to know")]),
    (
        "call",
        &[
            ("contexture call demo add a=1 b=2", "values are read as the tool's schema says"),
            ("contexture call demo echo message:='\"two words\"'", "a value as JSON"),
            (
                "echo '{\"message\": \"hi\"}' | contexture call demo echo --json -",
                "all arguments from standard input",
            ),
            ("contexture call add a=1 b=2 -o json -- ./server --stdio", "a server that is started for it"),
        ],
    ),
    ("read", &[("contexture read demo demo://readme", "the text of a resource")]),
    ("completions", &[("contexture completions bash", "what `source <(contexture completions bash)` reads")]),
    (
        "man",
        &[
            ("contexture man", "the page of this program"),
            ("contexture man --to ./man", "one page for each verb"),
        ],
    ),
];

/// Adds the examples of a verb to its help.
pub(super) fn described(verb: clap::Command) -> clap::Command {
    let Some((_, examples)) = EXAMPLES.iter().find(|(name, _)| *name == verb.get_name()) else { return verb };
    let mut text = "Examples:\n".to_owned();
    for (line, what) in *examples {
        // Writing to a string does not fail.
        let _ = write!(text, "  # {what}\n  {line}\n");
    }
    verb.after_long_help(text)
}

/// Those of one verb.
pub(super) fn of(verb: &str) -> &'static [(&'static str, &'static str)] {
    EXAMPLES.iter().find(|(name, _)| *name == verb).map_or(&[], |(_, examples)| examples)
}
