//! Other people's text, made harmless.
//!
//! Control characters, escape sequences, characters that turn the direction of writing around and
//! invisible ones are shown as escapes. Words are never judged.

use std::fmt::Write;

/// Text of several lines.
pub(crate) fn safe(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(char) = rest.next() {
        match char {
            '\n' | '\t' => out.push(char),
            '\r' if rest.peek() == Some(&'\n') => {}
            _ => push(&mut out, char),
        }
    }
    out
}

/// Text that must stay on its line.
pub(crate) fn safe_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    text.chars().for_each(|char| push(&mut out, char));
    out
}

/// JSON text that means the same and shows everything.
pub(crate) fn safe_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for char in json.chars() {
        if char == '\n' || !is_harmful(char) {
            out.push(char);
            continue;
        }
        for unit in char.encode_utf16(&mut [0; 2]) {
            // Writing to a string does not fail.
            let _ = write!(out, "\\u{unit:04x}");
        }
    }
    out
}

/// At most so many characters, the last of which then says that there were more.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

fn push(out: &mut String, char: char) {
    if is_harmful(char) { out.extend(char.escape_default()) } else { out.push(char) }
}

/// Whether a character moves a terminal, turns text around, or cannot be seen.
pub(crate) fn is_harmful(char: char) -> bool {
    char.is_control()
        || matches!(char,
            // Directions.
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
            // Line and paragraph separators.
            | '\u{2028}' | '\u{2029}'
            // Invisible ones; the joiners of scripts and emoji are left alone.
            | '\u{ad}' | '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            // Tags: a whole hidden alphabet.
            | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    // Row K12 of the threats.
    #[test]
    fn nothing_that_moves_a_terminal_passes() {
        let cases = [
            ("\u{1b}[31mred\u{1b}[0m", "\\u{1b}[31mred\\u{1b}[0m"),
            ("\u{1b}]8;;https://evil.example\u{7}click", "\\u{1b}]8;;https://evil.example\\u{7}click"),
            ("\u{1b}]52;c;aGk=\u{1b}\\", "\\u{1b}]52;c;aGk=\\u{1b}\\"),
            ("a\u{9b}2Jb", "a\\u{9b}2Jb"),
            ("safe\rEVIL", "safe\\rEVIL"),
            ("user\u{202e}gpj.exe", "user\\u{202e}gpj.exe"),
            ("a\u{e0041}b", "a\\u{e0041}b"),
            ("zwölf\n\tlines\r\n", "zwölf\n\tlines\n"),
        ];
        for (given, shown) in cases {
            assert_eq!(safe(given), shown);
        }
        assert_eq!(safe_line("two\nlines"), "two\\nlines");
    }

    #[test]
    fn long_text_is_cut() {
        assert_eq!(cut("zwölf", 5), "zwölf");
        assert_eq!(cut("zwölf", 4), "zwö…");
    }

    #[test]
    fn json_keeps_its_meaning() {
        let value = serde_json::json!("\u{1b}[2J \u{7f} \u{9b} \u{202e} \u{e0041} ü 🥊");
        let shown = safe_json(&value.to_string());
        assert!(!shown.chars().any(is_harmful), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).expect("still JSON"), value);
    }
}
