//! Markdown within a line: code, emphasis, links. What is not closed near by is not markup.

use crate::terminal::style::Style;

/// How far the end of something may be. Without a bound, a long line of openings would cost the square of its length.
const NEAR: usize = 256;

/// Sets a line. Text that is harmless stays so: only colours are added.
pub(super) fn set(line: &str, style: Style) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    let mut before = ' ';
    while let Some(char) = rest.chars().next() {
        let (set, after) = match markup(rest, before, style) {
            Some((set, length)) => (set, rest.get(length..).unwrap_or_default()),
            None => (char.to_string(), rest.get(char.len_utf8()..).unwrap_or_default()),
        };
        out += &set;
        before = char;
        rest = after;
    }
    out
}

/// What begins here, if anything does, and how long it is.
fn markup(rest: &str, before: char, style: Style) -> Option<(String, usize)> {
    match rest.as_bytes().first()? {
        b'\\' => {
            let escaped = rest[1..].chars().next().filter(char::is_ascii_punctuation)?;
            Some((escaped.to_string(), 2))
        }
        b'`' => {
            let ticks = rest.bytes().take(NEAR).take_while(|byte| *byte == b'`').count();
            let (code, length) = between(rest, &rest[..ticks], &rest[..ticks])?;
            Some((style.cyan(code.trim()), length))
        }
        b'!' if rest.starts_with("![") => {
            let (set, length) = link(&rest[1..], style)?;
            Some((format!("[picture] {set}"), length + 1))
        }
        b'[' => link(rest, style),
        b'*' | b'_' => stressed(rest, before, style),
        _ => None,
    }
}

/// `[text](address)`: both are shown, so that nobody is led where they do not see.
fn link(rest: &str, style: Style) -> Option<(String, usize)> {
    let (text, length) = between(rest, "[", "]")?;
    let (address, more) = between(rest.get(length..)?, "(", ")")?;
    let address = address.split(' ').next().unwrap_or_default();
    let shown = if text == address {
        style.underlined(text)
    } else {
        format!("{} ({address})", style.underlined(text))
    };
    Some((shown, length + more))
}

/// Emphasis begins after what is no letter, and neither begins nor ends with a space: `2 * 3 * 4` and `snake_case` are none.
fn stressed(rest: &str, before: char, style: Style) -> Option<(String, usize)> {
    if before.is_alphanumeric() {
        return None;
    }
    for (mark, is_strong) in [("**", true), ("__", true), ("*", false), ("_", false)] {
        if !rest.starts_with(mark) {
            continue;
        }
        let (inner, length) = between(rest, mark, mark)?;
        let is_word = !inner.starts_with(char::is_whitespace) && !inner.ends_with(char::is_whitespace);
        let ends = rest.get(length..)?.chars().next().is_none_or(|after| !after.is_alphanumeric());
        if !is_word || !ends {
            return None;
        }
        return Some((if is_strong { style.bold(inner) } else { style.italic(inner) }, length));
    }
    None
}

/// What stands between two marks, and how long all of it is.
fn between<'a>(rest: &'a str, open: &str, close: &str) -> Option<(&'a str, usize)> {
    let inner = rest.strip_prefix(open)?;
    let mut near = NEAR.min(inner.len());
    while !inner.is_char_boundary(near) {
        near -= 1;
    }
    let end = inner[..near].find(close).filter(|end| *end > 0)?;
    Some((&inner[..end], open.len() + end + close.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_meant_is_set() {
        let cases = [
            ("a **b** c", "a \u{1b}[1mb\u{1b}[0m c"),
            ("*x*, _y_", "\u{1b}[3mx\u{1b}[0m, \u{1b}[3my\u{1b}[0m"),
            ("`a*b*`", "\u{1b}[36ma*b*\u{1b}[0m"),
            ("[docs](https://example.org)", "\u{1b}[4mdocs\u{1b}[0m (https://example.org)"),
            ("2 * 3 * 4 and snake_case_name and \\*", "2 * 3 * 4 and snake_case_name and *"),
            ("**open and `open and [open](", "**open and `open and [open]("),
            ("** a **", "** a **"),
            ("***", "***"),
            ("", ""),
        ];
        for (line, wanted) in cases {
            assert_eq!(set(line, Style::coloured()), wanted);
        }
    }

    #[test]
    fn a_line_of_openings_costs_no_more_than_its_length() {
        for mark in ["**a ", "[", "`", "[a](", "![a](b", "_a ", "\\"] {
            let line = mark.repeat(100_000 / mark.len());
            assert!(set(&line, Style::coloured()).len() <= 2 * line.len(), "{mark}");
        }
    }
}
