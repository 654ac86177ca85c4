//! A Rust file as the rules see it: every line split into code, literals and comments, and marked if it
//! belongs to a test.
//!
//! This is a lexer for rules of thumb, not a parser: it knows strings, characters, lifetimes and nested
//! comments, so that a word in a string or in a doc comment is never mistaken for code, and nothing more.

use crate::workspace::TextFile;

/// One line in its three readings, all as long as the line itself (what is left out is blanks).
#[derive(Debug, Default)]
pub struct Line {
    /// Code without the contents of strings and without comments.
    pub code: String,
    /// Code and strings without comments.
    pub literal: String,
    /// Comments only.
    pub comment: String,
    /// Whether the line belongs to a test: a file of tests or a `#[cfg(test)]` item.
    pub test: bool,
}

impl Line {
    /// Whether nothing is on the line.
    pub fn is_blank(&self) -> bool {
        self.literal.trim().is_empty() && self.comment.trim().is_empty()
    }
}

/// A Rust file of the project.
#[derive(Debug)]
pub struct Source {
    /// Relative to the root, with forward slashes.
    pub path: String,
    /// Its lines.
    pub lines: Vec<Line>,
}

impl Source {
    /// Reads one file.
    pub fn new(path: &str, text: &str) -> Self {
        let mut lines = split(text);
        if is_test_file(path) {
            lines.iter_mut().for_each(|line| line.test = true);
        } else {
            mark_tests(&mut lines);
        }
        Self { path: path.to_owned(), lines }
    }

    /// Every Rust file among the project's files.
    pub fn all(files: &[TextFile]) -> Vec<Self> {
        let rust = files.iter().filter(|file| file.path.ends_with(".rs"));
        rust.map(|file| Self::new(&file.path, &file.text)).collect()
    }

    /// The lines that are no tests, with their numbers.
    pub fn shipped(&self) -> impl Iterator<Item = (usize, &Line)> {
        self.lines.iter().enumerate().filter(|(_, line)| !line.test).map(|(index, line)| (index + 1, line))
    }

    /// The part after `crates/NAME/src/` if the file is of that crate.
    pub fn within(&self, krate: &str) -> Option<&str> {
        self.path.strip_prefix("crates/")?.strip_prefix(krate)?.strip_prefix("/src/")
    }

    /// The part after `crates/*/src/` if the file is of any of our crates.
    pub fn in_crates(&self) -> Option<&str> {
        let (_, rest) = self.path.strip_prefix("crates/")?.split_once('/')?;
        rest.strip_prefix("src/")
    }
}

fn is_test_file(path: &str) -> bool {
    path.split('/').any(|part| part == "tests") || path.ends_with("/tests.rs")
}

#[derive(Clone, Copy, PartialEq)]
enum Class {
    Code,
    Text,
    Comment,
}

fn split(text: &str) -> Vec<Line> {
    let chars: Vec<char> = text.chars().collect();
    let classes = classify(&chars);
    let mut lines = vec![Line::default()];
    for (&char, &class) in chars.iter().zip(&classes) {
        if char == '\n' {
            lines.push(Line::default());
            continue;
        }
        let Some(line) = lines.last_mut() else { continue };
        let pick = |wanted: bool| if wanted { char } else { ' ' };
        line.code.push(pick(class == Class::Code));
        line.literal.push(pick(class != Class::Comment));
        line.comment.push(pick(class == Class::Comment));
    }
    if lines.last().is_some_and(|line| line.literal.is_empty()) {
        lines.pop();
    }
    lines
}

fn classify(chars: &[char]) -> Vec<Class> {
    let mut classes = vec![Class::Code; chars.len()];
    let mut at = 0;
    while at < chars.len() {
        let (class, end) = match chars[at] {
            '/' if chars.get(at + 1) == Some(&'/') => (Class::Comment, find(chars, at, '\n')),
            '/' if chars.get(at + 1) == Some(&'*') => (Class::Comment, end_of_block(chars, at)),
            '"' => (Class::Text, end_of_string(chars, at)),
            'r' if starts_raw(chars, at) => (Class::Text, end_of_raw(chars, at)),
            '\'' => match end_of_char(chars, at) {
                Some(end) => (Class::Text, end),
                None => (Class::Code, at + 1),
            },
            _ => (Class::Code, at + 1),
        };
        let end = end.min(chars.len());
        classes[at..end].fill(class);
        at = end;
    }
    classes
}

fn find(chars: &[char], from: usize, wanted: char) -> usize {
    chars[from..].iter().position(|&char| char == wanted).map_or(chars.len(), |offset| from + offset)
}

fn end_of_block(chars: &[char], from: usize) -> usize {
    let (mut depth, mut at) = (0_usize, from);
    while at + 1 < chars.len() {
        match (chars[at], chars[at + 1]) {
            ('/', '*') => (depth, at) = (depth + 1, at + 2),
            ('*', '/') if depth == 1 => return at + 2,
            ('*', '/') => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    chars.len()
}

fn end_of_string(chars: &[char], from: usize) -> usize {
    let mut at = from + 1;
    while at < chars.len() {
        match chars[at] {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    chars.len()
}

/// `r"`, `r#"`, also after a `b` or `c`; not an identifier that ends with r, and not `r#type`.
fn starts_raw(chars: &[char], at: usize) -> bool {
    let before = at.checked_sub(1).map_or(' ', |index| chars[index]);
    let prefixed = matches!(before, 'b' | 'c');
    let inside_a_word = is_word(before) && !(prefixed && (at < 2 || !is_word(chars[at - 2])));
    let quote = chars[at + 1..].iter().find(|&&char| char != '#');
    !inside_a_word && quote == Some(&'"')
}

fn end_of_raw(chars: &[char], from: usize) -> usize {
    let hashes = chars[from + 1..].iter().take_while(|&&char| char == '#').count();
    let mut at = from + hashes + 2;
    while at < chars.len() {
        let closing =
            chars[at] == '"' && chars[at + 1..].iter().take(hashes).filter(|&&c| c == '#').count() == hashes;
        if closing {
            return at + 1 + hashes;
        }
        at += 1;
    }
    chars.len()
}

/// `None` for a lifetime.
fn end_of_char(chars: &[char], at: usize) -> Option<usize> {
    match (chars.get(at + 1)?, chars.get(at + 2)) {
        ('\\', _) => Some(find(chars, at + 3, '\'') + 1),
        (_, Some('\'')) => Some(at + 3),
        _ => None,
    }
}

/// Whether the character can be part of an identifier.
pub fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

/// Where `word` stands in `text` as a whole word.
pub fn find_word(text: &str, word: &str) -> Option<usize> {
    let whole = |&(at, _): &(usize, &str)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    };
    text.match_indices(word).find(whole).map(|(at, _)| at)
}

/// Marks every `#[cfg(test)]` item, from its attribute to its closing brace or semicolon.
fn mark_tests(lines: &mut [Line]) {
    let mut at = 0;
    while at < lines.len() {
        let code = &lines[at].code;
        if code.contains("#[cfg(test)]") || code.contains("#[cfg(all(test,") {
            let end = end_of_item(lines, at);
            lines[at..=end].iter_mut().for_each(|line| line.test = true);
            at = end;
        }
        at += 1;
    }
}

fn end_of_item(lines: &[Line], from: usize) -> usize {
    let (mut braces, mut others) = (0_i32, 0_i32);
    for (index, line) in lines.iter().enumerate().skip(from) {
        for char in line.code.chars() {
            match char {
                '{' => braces += 1,
                '}' => braces -= 1,
                '(' | '[' => others += 1,
                ')' | ']' => others -= 1,
                _ => {}
            }
            if braces == 0 && others == 0 && matches!(char, '}' | ';') {
                return index;
            }
        }
    }
    lines.len() - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The code with every run of blanks as one.
    fn code(text: &str) -> String {
        let lines = Source::new("crates/core/src/a.rs", text).lines;
        let words = lines.iter().flat_map(|line| line.code.split_whitespace());
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn strings_and_comments_are_not_code() {
        assert_eq!(code("let a = \"un\\\"safe\"; // unsafe"), "let a = ;");
        assert_eq!(code("x /* a /* b */ unsafe */ y"), "x y");
        assert_eq!(code("f(r#\"a \" todo!\"#, br\"b\") r#type"), "f( , b ) r#type");
    }

    #[test]
    fn lifetimes_and_characters_are_told_apart() {
        assert_eq!(code("fn f<'a>(x: &'a str) {}"), "fn f<'a>(x: &'a str) {}");
        assert_eq!(code("['\"', '\\'', 'x', '\\u{41}']"), "[ , , , ]");
    }

    #[test]
    fn items_for_tests_are_marked() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n  fn b() {}\n}\nfn c() {}\n#[cfg(test)]\nuse x;\nfn d() {}";
        let marks: Vec<bool> =
            Source::new("crates/core/src/a.rs", text).lines.iter().map(|l| l.test).collect();
        assert_eq!(marks, [false, true, true, true, true, false, true, true, false]);
        assert!(Source::new("crates/core/tests/a.rs", "fn a() {}").lines[0].test);
    }

    #[test]
    fn words_are_whole() {
        assert_eq!(find_word("unsafe_code unsafe", "unsafe"), Some(12));
        assert_eq!(find_word("unsafely", "unsafe"), None);
    }
}
