//! What nobody is to see: values in configurations that are, or may be, secrets.
//!
//! Variables of servers and headers are hidden whatever they are called, unless they only refer to something; elsewhere, what
//! its name or its look gives away.

use std::ops::Range;

use super::json::cut;
use crate::config::node::{Member, Node, Tree};

/// What is shown instead.
const HIDDEN: &str = "•••";
/// Whose members are hidden.
const SECTIONS: &[&str] = &["env", "headers", "http_headers"];
/// Whose members are names of variables.
const NAMES: &[&str] = &["bearer_token_env_var", "env_http_headers", "env_vars"];
/// Parts of names that secrets have.
const WORDS: &[&str] = &[
    "token",
    "secret",
    "password",
    "passwd",
    "apikey",
    "api_key",
    "api-key",
    "authorization",
    "credential",
    "private",
];
/// What tokens in use begin with.
const MARKS: &[&str] = &[
    "sk-",
    "sk_",
    "pk_",
    "rk_",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "glpat-",
    "xox",
    "AKIA",
    "AIza",
    "eyJ",
    "npm_",
    "hf_",
];

/// Whether a value that is written out, under this name, is likely a secret.
pub fn is_secret(name: &str, value: &str) -> bool {
    let written = without_references(value);
    let bare = written.trim_start_matches("Bearer").trim_start_matches("Basic").trim();
    !bare.is_empty() && (is_named(name) || looks_secret(bare))
}

/// Whether one of these arguments is likely a secret; which.
pub fn secret_argument(args: &[String]) -> Option<usize> {
    (0..args.len()).find(|at| is_hidden_argument(args, *at))
}

/// The text, with secrets hidden.
pub(super) fn masked(text: &str, root: &Node) -> String {
    let mut masks = Vec::new();
    walk(root, "", &mut masks);
    masks.retain(|(range, _)| !range.is_empty());
    masks.sort_by_key(|(range, _)| range.start);
    cut(text, masks)
}

type Masks = Vec<(Range<usize>, String)>;

fn walk(node: &Node, key: &str, masks: &mut Masks) {
    match &node.tree {
        Tree::Map(members) if SECTIONS.contains(&key) => {
            members.iter().for_each(|member| section(member, masks));
        }
        Tree::Map(members) => members.iter().for_each(|member| {
            if !NAMES.contains(&member.key.as_str()) {
                walk(&member.node, &member.key, masks);
            }
        }),
        Tree::List(nodes) => {
            let texts: Vec<String> = nodes
                .iter()
                .map(|node| match &node.tree {
                    Tree::Text(text) => text.clone(),
                    _ => String::new(),
                })
                .collect();
            for (at, node) in nodes.iter().enumerate() {
                match &node.tree {
                    Tree::Text(_) if is_hidden_argument(&texts, at) => hide(node, HIDDEN, masks),
                    _ => walk(node, key, masks),
                }
            }
        }
        Tree::Text(text) => match public_part(text) {
            Some(part) => hide(node, &format!("{part}{HIDDEN}"), masks),
            None if is_secret(key, text) => hide(node, HIDDEN, masks),
            None => {}
        },
        _ => {}
    }
}

/// A variable or a header.
fn section(member: &Member, masks: &mut Masks) {
    let shown = match &member.node.tree {
        Tree::Text(text) => {
            let written = without_references(text);
            let bare = written.trim_start_matches("Bearer").trim_start_matches("Basic").trim();
            bare.is_empty()
        }
        Tree::Bool(_) => true,
        _ => false,
    };
    if !shown {
        hide(&member.node, HIDDEN, masks);
    }
}

fn hide(node: &Node, shown: &str, masks: &mut Masks) {
    masks.push((node.range.clone(), format!("\"{shown}\"")));
}

/// Of an address with something behind a `?` or before an `@`, what may be seen.
fn public_part(text: &str) -> Option<String> {
    let at = text.find("://")? + 3;
    let place = text[at..].find(['/', '?', '#']).map_or(text.len(), |end| at + end);
    if text[at..place].contains('@') {
        return Some(text[..at].to_owned());
    }
    let end = text.find('?')?;
    Some(text[..=end].to_owned())
}

fn is_hidden_argument(args: &[String], at: usize) -> bool {
    let arg = &args[at];
    if let Some((name, value)) = arg.split_once(['=', ':'])
        && !name.contains('/')
        && !value.starts_with("//")
        && is_secret(name, value)
    {
        return true;
    }
    let before =
        at.checked_sub(1).map(|before| args[before].as_str()).filter(|before| before.starts_with('-'));
    let is_value =
        !arg.starts_with('-') && before.is_some_and(|before| !before.contains('=') && is_named(before));
    (is_value || looks_secret(arg)) && !without_references(arg).trim().is_empty()
}

fn is_named(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_key = name.split(['_', '-', '.']).any(|part| part == "key" || part == "auth" || part == "pat");
    // Names of files and of variables are not what is in them.
    let is_place = name.ends_with("_file")
        || name.ends_with("-file")
        || name.ends_with("_path")
        || name.ends_with("_env_var");
    !is_place && (is_key || WORDS.iter().any(|word| name.contains(word)))
}

/// Long, of one piece, and of letters and digits that nobody typed.
fn looks_secret(text: &str) -> bool {
    let is_one = !text.contains([' ', '/', '\\', '@']) && text.is_ascii();
    let marked = MARKS.iter().any(|mark| text.starts_with(mark)) && text.len() >= 16;
    let digits = text.chars().filter(char::is_ascii_digit).count();
    let letters = text.chars().filter(char::is_ascii_alphabetic).count();
    let plain = text.chars().all(|char| char.is_ascii_alphanumeric() || "_-+=.".contains(char));
    is_one && (marked || (plain && text.len() >= 32 && digits >= 6 && letters >= 6 && !text.contains('.')))
}

/// What is written out, without `${…}` and `$NAME`.
fn without_references(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        rest = match after.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
            Some((inner, behind)) => {
                // A default is written out, too.
                out.push_str(inner.split_once(":-").map_or("", |(_, default)| default));
                behind
            }
            None => {
                let name = after.find(|char: char| !char.is_ascii_alphanumeric() && char != '_');
                &after[name.unwrap_or(after.len())..]
            }
        };
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_told_from_words() {
        for (name, value, secret) in [
            ("GITHUB_TOKEN", "abc", true),
            ("GITHUB_TOKEN", "${GITHUB_TOKEN}", false),
            ("GITHUB_TOKEN", "${GITHUB_TOKEN:-abc}", true),
            ("Authorization", "Bearer ${keyring:a/TOKEN}", false),
            ("Authorization", "Bearer abc", true),
            ("TOKEN_FILE", "/run/token", false),
            ("MONKEY", "banana", false),
            ("LOG", "debug", false),
            ("X", "ghp_0123456789abcdefghij", true),
            ("X", "0123456789abcdef0123456789abcdef", true),
            ("url", "https://example.com/mcp", false),
        ] {
            assert_eq!(is_secret(name, value), secret, "{name}={value}");
        }
        let args = |words: &[&str]| {
            secret_argument(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(args(&["-y", "@modelcontextprotocol/server-everything"]), None);
        assert_eq!(args(&["--api-key", "abc"]), Some(1));
        assert_eq!(args(&["--api-key=abc"]), Some(0));
        assert_eq!(args(&["--api-key", "${KEY}"]), None);
        assert_eq!(args(&["--header", "Authorization: Bearer abc"]), Some(1));
        assert_eq!(args(&["--url", "http://localhost:8000"]), None);
    }
}
