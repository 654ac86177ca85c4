//! Rules about words: what code must not say, and names that say nothing.

use super::Finding;
use super::source::{Line, Source, find_word, is_word};

/// Checks one file.
pub fn check(source: &Source) -> Vec<Finding> {
    let mut findings = forbidden(source);
    findings.extend(names(source));
    if source.in_crates().is_some() {
        findings.extend(panics(source));
    }
    findings
}

/// Macros and attributes that leave work undone; also in tests.
const FORBIDDEN: [(&str, &str); 4] = [
    ("todo!", "finish it or leave it out"),
    ("unimplemented!", "finish it or leave it out"),
    ("dbg!", "remove it"),
    ("#[ignore", "a test that does not run is no test: fix it, or drop it and say so"),
];

fn forbidden(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    // Peers and drivers outside the workspace may have to call the system; what we ship must not.
    let ours = source.path.starts_with("crates/") || source.path.starts_with("xtask/");
    for (index, line) in source.lines.iter().enumerate() {
        let mut add = |word: &str, advice: &str| {
            let message = format!("`{word}`: {advice}");
            findings.push(Finding::new("forbidden", &source.path, index + 1, message));
        };
        for (word, advice) in FORBIDDEN {
            if at_word_start(&line.code, word) {
                add(word, advice);
            }
        }
        if ours && find_word(&line.code, "unsafe").is_some() {
            add("unsafe", "there is none in this project");
        }
        for word in ["FIXME", "XXX"] {
            if find_word(&line.comment, word).is_some() {
                add(word, "fix it, or write it down in ROUGH_EDGES.md");
            }
        }
    }
    findings
}

fn at_word_start(code: &str, word: &str) -> bool {
    code.match_indices(word).any(|(at, _)| !code[..at].chars().next_back().is_some_and(is_word))
}

/// `unwrap()` and `expect(…)` only with a reason why they cannot fail.
fn panics(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    let reasoned =
        |line: &Line| line.comment.split_once("ok:").is_some_and(|(_, reason)| !reason.trim().is_empty());
    for (number, line) in source.shipped() {
        let Some(call) = [".unwrap()", ".expect("].iter().find(|call| line.code.contains(**call)) else {
            continue;
        };
        let above = number.checked_sub(2).and_then(|index| source.lines.get(index));
        if !reasoned(line) && !above.is_some_and(reasoned) {
            let message =
                format!("`{call}`: return an error, or say why it cannot fail with `// ok: reason`");
            findings.push(Finding::new("unwrap", &source.path, number, message));
        }
    }
    findings
}

/// Words that name a thing after nothing that it does.
const EMPTY: [&str; 9] =
    ["manager", "managers", "worker", "workers", "helper", "helpers", "common", "util", "utils"];

/// Files and types are not called manager, worker, helper, common or util.
fn names(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut judge = |line: usize, name: &str| {
        if let Some(word) = words(name).into_iter().find(|word| EMPTY.contains(&word.as_str())) {
            let message = format!("`{name}`: `{word}` says nothing; name it after what it does");
            findings.push(Finding::new("name", &source.path, line, message));
        }
    };
    for part in source.path.trim_end_matches(".rs").split('/') {
        judge(0, part);
    }
    for (index, line) in source.lines.iter().enumerate() {
        if let Some(name) = declared(&line.code) {
            judge(index + 1, name);
        }
    }
    findings
}

/// The name of the module or type that the line declares.
fn declared(code: &str) -> Option<&str> {
    let mut words = code.split_whitespace();
    let keyword = |word: &str| matches!(word, "struct" | "enum" | "trait" | "type" | "mod" | "union");
    let visible = |word: &str| word == "pub" || word.starts_with("pub(") || word.ends_with(')');
    let first = words.by_ref().find(|word| !visible(word))?;
    if !keyword(first) {
        return None;
    }
    let name = words.next()?;
    let end = name.find(|char| !is_word(char)).unwrap_or(name.len());
    Some(&name[..end])
}

/// `TaskManager` and `task_manager` are `task` and `manager`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for char in name.chars() {
        if char.is_uppercase() || !char.is_alphanumeric() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| char.is_alphanumeric()) {
            word.extend(char.to_lowercase());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<(&'static str, usize)> {
        check(&Source::new(path, text)).into_iter().map(|finding| (finding.rule, finding.line)).collect()
    }

    #[test]
    fn undone_work_is_found() {
        let text = "todo!();\n// XXX later\n#[ignore]\nlet a = \"todo!()\"; // todo! in words";
        assert_eq!(
            found("crates/core/src/a.rs", text),
            [("forbidden", 1), ("forbidden", 2), ("forbidden", 3)]
        );
        assert_eq!(found("crates/core/src/a.rs", "unsafe { f() }"), [("forbidden", 1)]);
        assert!(found("bench/drive/src/main.rs", "unsafe { f() }").is_empty());
    }

    #[test]
    fn panics_need_a_reason() {
        let text = "a.unwrap();\nb.unwrap(); // ok: checked above\n// ok: a constant\nc.expect(\"d\");\ne.unwrap_or(1);";
        assert_eq!(found("crates/sdk/src/a.rs", text), [("unwrap", 1)]);
        assert_eq!(found("crates/sdk/src/a.rs", "a.unwrap(); // ok:"), [("unwrap", 1)]);
        assert!(found("crates/sdk/src/a.rs", "#[cfg(test)]\nmod tests { a.unwrap(); }").is_empty());
        assert!(found("xtask/src/a.rs", "a.unwrap();").is_empty());
    }

    #[test]
    fn empty_names_are_found() {
        assert_eq!(found("crates/sdk/src/a.rs", "pub(crate) struct TaskManager<T>;"), [("name", 1)]);
        assert_eq!(found("crates/sdk/src/a.rs", "mod utils;"), [("name", 1)]);
        assert_eq!(found("crates/sdk/src/common/mod.rs", ""), [("name", 0)]);
        assert!(found("crates/sdk/src/a.rs", "struct Commonality; let worker = 1;").is_empty());
    }
}
