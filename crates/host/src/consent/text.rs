//! Other people's text, so that nothing in it is hidden and nothing in it can pass for ours.
//!
//! Stricter than what is merely printed: whoever consents has to see every character, so joiners and selectors, which
//! scripts and emoji need, are shown as escapes, too.

use std::fmt::Write as _;

/// Text that stays on its line.
pub(super) fn safe_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    text.chars().for_each(|char| push(&mut out, char));
    out
}

/// At most so many characters, the last of which then says that there were more.
pub(super) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
    }
}

fn push(out: &mut String, char: char) {
    if is_hidden(char) { out.extend(char.escape_default()) } else { out.push(char) }
}

fn is_hidden(char: char) -> bool {
    char.is_control()
        || matches!(char,
            // Directions, joiners, spaces without width, separators of lines.
            '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            // Fillers, selectors, marks that are not seen.
            | '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{3164}' | '\u{ffa0}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            // Tags and more selectors: whole hidden alphabets.
            | '\u{e0000}'..='\u{e0fff}')
}

/// JSON text in lines, each behind a margin, every token as it stands; and how many bytes did not fit.
///
/// Only white space is changed, so that what is shown is what is sent: no number is rounded, no member reordered.
pub(super) fn laid_out(json: &str, most: usize, margin: &str) -> (String, usize) {
    /// Deeper than this, lines are no longer moved to the right.
    const DEEPEST: usize = 16;
    let mut out = margin.to_owned();
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    let break_line = |out: &mut String, depth: usize| {
        let _ = write!(out, "\n{margin}{:width$}", "", width = 2 * depth.min(DEEPEST));
    };
    for (at, char) in json.char_indices() {
        if out.len() >= most {
            return (out, json.len() - at);
        }
        if in_string {
            push(&mut out, char);
            (in_string, escaped) = (escaped || char != '"', !escaped && char == '\\');
            continue;
        }
        match char {
            '"' => {
                in_string = true;
                out.push(char);
            }
            '{' | '[' => {
                depth += 1;
                out.push(char);
                if !closes_at_once(&json[at + 1..]) {
                    break_line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                if !out.ends_with(['{', '[']) {
                    break_line(&mut out, depth);
                }
                out.push(char);
            }
            ',' => {
                out.push(char);
                break_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            ' ' | '\t' | '\n' | '\r' => {}
            other => push(&mut out, other),
        }
    }
    (out, 0)
}

fn closes_at_once(rest: &str) -> bool {
    rest.trim_start_matches([' ', '\t', '\n', '\r']).starts_with(['}', ']'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_stays_hidden() {
        let cases = [
            ("rm\u{202e}fdp.exe", "rm\\u{202e}fdp.exe"),
            ("a\u{200d}b\u{200b}c\u{fe0f}", "a\\u{200d}b\\u{200b}c\\u{fe0f}"),
            ("a\nb\r\u{1b}[2J", "a\\nb\\r\\u{1b}[2J"),
            ("\u{e0041}\u{e0100}", "\\u{e0041}\\u{e0100}"),
            ("zwölf", "zwölf"),
        ];
        for (given, wanted) in cases {
            assert_eq!(safe_line(given), wanted);
        }
    }

    #[test]
    fn json_is_laid_out_and_its_tokens_stay() {
        let json = r#"{"b":1e400,"a":[1, 2 ,{}],"s":"a\"b: {,}\\","n":[ ]}"#;
        let wanted = "> {\n>   \"b\": 1e400,\n>   \"a\": [\n>     1,\n>     2,\n>     {}\n>   ],\n>   \"s\": \"a\\\"b: {,}\\\\\",\n>   \"n\": []\n> }";
        assert_eq!(laid_out(json, 10_000, "> "), (wanted.to_owned(), 0));
        let (shown, left) = laid_out(json, 12, "");
        assert!(left > 0 && shown.len() < 40, "{shown} {left}");
    }
}
