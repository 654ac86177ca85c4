//! The paths that a piece of code names, with `use` groups spelled out.
//!
//! It follows no re-exports and no aliases: rules that use it catch what people write, not what they could
//! hide.

use super::source::{Source, is_word};

/// A path such as `std::io::stdin` and the line on which its last part stands.
#[derive(Debug, PartialEq)]
pub struct Path {
    /// 1-based.
    pub line: usize,
    /// The parts, joined with `::`.
    pub text: String,
}

impl Path {
    /// Whether the path is `prefix` or something inside it.
    pub fn starts_with(&self, prefix: &str) -> bool {
        self.text.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    }
}

/// Every path of two or more parts in the code that is no test.
pub fn paths(source: &Source) -> Vec<Path> {
    let mut reader = Reader { chars: Vec::new(), at: 0, found: Vec::new() };
    for (number, line) in source.shipped() {
        reader.chars.extend(line.code.chars().map(|char| (number, char)));
        reader.chars.push((number, '\n'));
    }
    while reader.at < reader.chars.len() {
        if is_word(reader.peek()) {
            reader.path("");
        } else {
            reader.at += 1;
        }
    }
    reader.found
}

struct Reader {
    chars: Vec<(usize, char)>,
    at: usize,
    found: Vec<Path>,
}

impl Reader {
    fn peek(&self) -> char {
        self.chars.get(self.at).map_or('\0', |&(_, char)| char)
    }

    fn skip_blanks(&mut self) {
        while self.peek().is_whitespace() {
            self.at += 1;
        }
    }

    fn word(&mut self) -> String {
        let mut word = String::new();
        while is_word(self.peek()) {
            word.push(self.peek());
            self.at += 1;
        }
        word
    }

    fn separator(&mut self) -> bool {
        let start = self.at;
        self.skip_blanks();
        let found = self.peek() == ':' && self.chars.get(self.at + 1).is_some_and(|&(_, char)| char == ':');
        self.at = if found { self.at + 2 } else { start };
        found
    }

    /// Reads one path from its first word on, and the groups that it opens.
    fn path(&mut self, prefix: &str) {
        let mut text = prefix.to_owned();
        loop {
            let line = self.chars.get(self.at).map_or(0, |&(number, _)| number);
            let word = self.word();
            if word.is_empty() {
                return;
            }
            if !text.is_empty() {
                text.push_str("::");
            }
            text.push_str(&word);
            let more = self.separator();
            if more {
                self.skip_blanks();
            }
            if more && self.peek() == '{' {
                self.at += 1;
                return self.group(&text);
            }
            if !more || !is_word(self.peek()) {
                if text.contains("::") {
                    self.found.push(Path { line, text });
                }
                return;
            }
        }
    }

    fn group(&mut self, prefix: &str) {
        loop {
            self.skip_blanks();
            match self.peek() {
                '}' | '\0' => {
                    self.at += 1;
                    return;
                }
                char if is_word(char) => {
                    self.path(prefix);
                    self.skip_alias();
                }
                _ => self.at += 1,
            }
        }
    }

    /// In a group, `a as b` names `a` only.
    fn skip_alias(&mut self) {
        while !matches!(self.peek(), ',' | '}' | '\0') {
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        paths(&Source::new("crates/core/src/a.rs", text)).into_iter().map(|path| path.text).collect()
    }

    #[test]
    fn groups_are_spelled_out() {
        assert_eq!(
            names("use std::{fs, io::{stdin as s, Read}, time::Duration};"),
            ["std::fs", "std::io::stdin", "std::io::Read", "std::time::Duration"]
        );
    }

    #[test]
    fn paths_in_code_are_found_and_strings_are_not() {
        assert_eq!(names("let t = std::time::Instant::now(); \"std::fs\""), ["std::time::Instant::now"]);
        assert_eq!(names("Vec::<u8>::new(); a.b"), ["Vec"; 0]);
    }

    #[test]
    fn lines_are_those_of_the_last_part() {
        let source = Source::new("crates/core/src/a.rs", "use std::{\n  fs,\n  net,\n};");
        assert_eq!(paths(&source).iter().map(|path| path.line).collect::<Vec<_>>(), [2, 3]);
    }

    #[test]
    fn prefixes_end_at_separators() {
        let path = Path { line: 1, text: "std::fs::File".into() };
        assert!(path.starts_with("std::fs") && !path.starts_with("std::f"));
    }
}
