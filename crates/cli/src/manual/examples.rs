//! Examples of every verb, for its help, its manual page and the documentation. A test runs each of them as it stands here.
//!
//! In them `notes` is a server that is configured, `./server` a program in this folder, `https://example.com/mcp` a server by its
//! URL, and `https://notes.example.com/mcp` one that wants to know who asks.

use std::fmt::Write as _;

/// What to type, and what it does.
type Example = (&'static str, &'static str);

/// By verb.
const EXAMPLES: &[(&str, &[Example])] = &[
    (
        "tools",
        &[
            ("contexture tools list demo", "the tools of the built-in server"),
            ("contexture tools list notes -o json", "as JSON, for programs"),
            ("contexture tools list https://example.com/mcp", "of a server by its URL"),
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
            ("contexture call demo kinds --save ./pictures", "keeps what is no text"),
            ("contexture call add a=1 b=2 -o json -- ./server --stdio", "a server that is started for it"),
        ],
    ),
    (
        "read",
        &[
            ("contexture read demo demo://readme", "the text of a resource"),
            ("contexture read demo demo://logo.png --raw > logo.png", "its bytes, exactly"),
        ],
    ),
    ("prompt", &[("contexture prompt demo greeting name=Ada style=pirate", "its messages")]),
    ("complete", &[("contexture complete demo greeting style=f", "what the server proposes after f")]),
    (
        "subscribe",
        &[
            ("contexture subscribe demo", "tells when lists change"),
            (
                "contexture subscribe demo demo://clock --read -o ndjson",
                "what a resource becomes, line by line",
            ),
        ],
    ),
    ("logs", &[("contexture logs notes --level warning", "warnings, and what is worse")]),
    ("ping", &[("contexture ping notes -n 1", "one answer is enough")]),
    (
        "raw",
        &[(
            "contexture raw demo tools/call '{\"name\": \"add\", \"arguments\": {\"a\": 1, \"b\": 2}}'",
            "nothing is checked on the way",
        )],
    ),
    (
        "shell",
        &[
            ("contexture shell demo", "`help` shows what can be said"),
            (
                "printf 'sum = call add a=1 b=2\\ncall echo message=$sum.structuredContent\\n' | contexture shell demo",
                "a script",
            ),
        ],
    ),
    (
        "doctor",
        &[
            ("contexture doctor notes", "from the entry in the configuration to a working connection"),
            ("contexture doctor", "everything that is configured"),
            ("contexture doctor demo --call add --arguments '{\"a\": 1, \"b\": 2}'", "and one call"),
            ("contexture doctor notes -o json", "for programs; `--strict` lets warnings fail, too"),
        ],
    ),
    (
        "record",
        &[
            ("contexture call demo add a=1 b=2 --record sum.jsonl", "what one verb says"),
            (
                "contexture call add a=1 b=2 -- contexture record notes --to session.jsonl",
                "what a client says: give it `contexture record …` in the place of the server's command",
            ),
        ],
    ),
    ("replay", &[("contexture replay session.jsonl notes", "what the server answers otherwise now")]),
    (
        "mock",
        &[
            (
                "contexture tools list -- contexture mock session.jsonl",
                "the same answers, without the server",
            ),
            (
                "contexture call sum.jsonl add a=1 b=2",
                "every verb takes a transcript in the place of a server",
            ),
        ],
    ),
    (
        "test",
        &[
            ("contexture test --from session.jsonl > calls.json", "a file of calls to begin with"),
            ("contexture test calls.json notes --junit report.xml", "makes them, and checks"),
        ],
    ),
    (
        "diff",
        &[
            ("contexture diff demo notes", "two servers"),
            (
                "contexture diff demo --revisions 2025-06-18,2025-11-25",
                "one server, for two kinds of clients",
            ),
        ],
    ),
    (
        "bench",
        &[
            ("contexture bench demo echo message=hi -n 100", "a hundred calls, one after the other"),
            ("contexture bench demo echo message=hi --rate 200 --duration 1", "200 a second, for a second"),
        ],
    ),
    ("list", &[("contexture list", "ours, and those of other hosts")]),
    (
        "add",
        &[
            ("contexture add files -- npx -y @modelcontextprotocol/server-filesystem .", "a command"),
            (
                "contexture add docs https://example.com/mcp -H 'Authorization: Bearer ${DOCS_TOKEN}'",
                "a URL; the token stays in the environment",
            ),
        ],
    ),
    ("get", &[("contexture get docs", "never shows a secret")]),
    ("disable", &[("contexture disable docs", "it stays in the file")]),
    ("enable", &[("contexture enable docs", "again")]),
    ("remove", &[("contexture remove docs --dry-run", "shows what would change")]),
    ("import", &[("contexture import vscode --dry-run", "what VS Code knows and we do not")]),
    ("export", &[("contexture export notes --to cursor --yes", "what was there is kept beside it")]),
    (
        "config",
        &[
            ("contexture config show", "which files, which servers, which mistakes"),
            ("contexture config schema > contexture.schema.json", "for editors"),
        ],
    ),
    (
        "trust",
        &[
            (
                "contexture trust --yes",
                "agrees to what the project in this folder starts; asks without `--yes`",
            ),
            ("contexture trust --list", "what was agreed to"),
        ],
    ),
    (
        "run",
        &[
            ("contexture run --listen 127.0.0.1:0", "all servers that are configured, as one, at a URL"),
            (
                "contexture run --from vscode --only vscode:files --stdio",
                "one of VS Code's, as a host starts it",
            ),
        ],
    ),
    (
        "bridge",
        &[
            ("contexture bridge https://example.com/mcp", "a URL, for hosts that only start commands"),
            (
                "contexture bridge --listen 127.0.0.1:0 -- ./server --stdio",
                "a command, for clients that only know URLs",
            ),
        ],
    ),
    (
        "demo",
        &[
            ("contexture demo", "over standard input and output"),
            ("contexture demo --listen 127.0.0.1:0 --protect", "over HTTP, only with a token"),
        ],
    ),
    (
        "policy",
        &[
            ("contexture policy explain notes add a=1 b=2", "whether it is allowed, and by which rule"),
            ("contexture policy answers", "what people have agreed to for good"),
        ],
    ),
    (
        "login",
        &[(
            "contexture login https://notes.example.com/mcp",
            "in the browser; `--headless` shows the address",
        )],
    ),
    ("auth", &[("contexture auth https://notes.example.com/mcp", "never shows a token")]),
    ("logout", &[("contexture logout https://notes.example.com/mcp", "forgets it")]),
    (
        "auth-server",
        &[("contexture auth-server --user ada --listen 127.0.0.1:0", "for the tests of your own server")],
    ),
    (
        "completions",
        &[
            ("contexture completions bash", "for bash: `source <(contexture completions bash)`"),
            ("contexture completions fish > contexture.fish", "for fish, to put into its completions folder"),
        ],
    ),
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
    let examples = of(verb.get_name());
    if examples.is_empty() {
        return verb;
    }
    let mut text = "Examples:\n".to_owned();
    for (line, what) in examples {
        // Writing to a string does not fail.
        let _ = write!(text, "  # {what}\n  {line}\n");
    }
    verb.after_long_help(text)
}

/// Those of one verb.
pub(super) fn of(verb: &str) -> &'static [Example] {
    EXAMPLES.iter().find(|(name, _)| *name == verb).map_or(&[], |(_, examples)| examples)
}

#[cfg(test)]
mod tests {
    use super::super::groups;

    #[test]
    fn every_verb_has_an_example() {
        let verbs = groups::verbs().flat_map(|(_, verbs)| verbs.iter());
        let without: Vec<_> = verbs.filter(|verb| super::of(verb).is_empty() && **verb != "help").collect();
        assert!(without.is_empty(), "{without:?}");
    }
}
