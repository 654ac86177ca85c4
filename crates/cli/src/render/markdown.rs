//! Markdown as a terminal can show it: headings, lists, quotes, code, tables, and what stands within lines.
//!
//! Every word stays. Without colours the text is left as it was written, which is readable too; only tables are put in
//! order. Lines are not joined or broken.

use super::{inline, table};
use crate::terminal::style::Style;

/// How many lines say whether a text is Markdown.
const LOOKED_AT: usize = 200;
/// What has more columns is no table that anybody could read.
const MOST_COLUMNS: usize = 64;

/// Whether a text looks like Markdown, where nobody says so.
pub(super) fn is_likely(text: &str) -> bool {
    let mut lines = text.lines().take(LOOKED_AT).peekable();
    while let Some(line) = lines.next() {
        let is_table = row(line).is_some() && lines.peek().is_some_and(|next| is_rule_of_table(next));
        if is_table
            || heading(line).is_some()
            || is_fence(line)
            || line.contains("**")
            || line.contains("](http")
        {
            return true;
        }
    }
    false
}

/// Sets a text, which must be harmless.
pub(super) fn set(text: &str, width: usize, style: Style) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    let mut lines = text.lines().peekable();
    let mut in_code = false;
    while let Some(line) = lines.next() {
        if is_fence(line) {
            in_code = !in_code;
            if !style.has_colours() {
                out += line;
                out.push('\n');
            }
            continue;
        }
        let head = row(line).filter(|head| {
            let is_narrow = head.len() <= MOST_COLUMNS;
            is_narrow && !in_code && lines.peek().is_some_and(|next| is_rule_of_table(next))
        });
        if let Some(head) = head {
            lines.next();
            let mut rows = Vec::new();
            while let Some(cells) = lines.peek().copied().and_then(row) {
                rows.push(cells);
                lines.next();
            }
            out += &table::set(&head, &rows, width, style);
            continue;
        }
        match (style.has_colours(), in_code) {
            (false, _) => out += line,
            (true, true) => out += &style.cyan(line),
            (true, false) => out += &set_line(line, width, style),
        }
        out.push('\n');
    }
    out
}

fn set_line(line: &str, width: usize, style: Style) -> String {
    if let Some(text) = heading(line) {
        return style.bold(&inline::set(text, Style::plain()));
    }
    let trimmed = line.trim_start();
    let indent = &line[..line.len() - trimmed.len()];
    if is_rule(trimmed) {
        return style.dim(&"─".repeat(width.min(40)));
    }
    if let Some(quoted) = trimmed.strip_prefix('>') {
        return format!("{indent}{} {}", style.dim("│"), inline::set(quoted.trim_start(), style));
    }
    match ["- ", "* ", "+ "].iter().find_map(|mark| trimmed.strip_prefix(mark)) {
        Some(item) => format!("{indent}• {}", inline::set(item, style)),
        None => format!("{indent}{}", inline::set(trimmed, style)),
    }
}

/// The text of a heading.
fn heading(line: &str) -> Option<&str> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let text = line.get(level..)?.strip_prefix(' ')?;
    (1..=6).contains(&level).then(|| text.trim_end_matches('#').trim())
}

fn is_fence(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("```") || line.starts_with("~~~")
}

fn is_rule(line: &str) -> bool {
    let line = line.trim_end();
    line.len() >= 3 && ['-', '*', '_'].iter().any(|mark| line.chars().all(|char| char == *mark))
}

/// The cells of a line between bars.
fn row(line: &str) -> Option<Vec<String>> {
    let inner = line.trim().strip_prefix('|')?;
    let inner = inner.strip_suffix('|').unwrap_or(inner);
    Some(inner.split('|').map(|cell| cell.trim().to_owned()).collect())
}

fn is_rule_of_table(line: &str) -> bool {
    let is_cell = |cell: &String| {
        let cell = cell.trim_matches(':');
        !cell.is_empty() && cell.chars().all(|char| char == '-')
    };
    row(line).is_some_and(|cells| cells.iter().all(is_cell))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Title **x**\n\n- one\n  * two `c`\n> quoted\n\n```rust\nlet *a* = 1;\n```\n---\n\
        | a | b |\n|---|:-:|\n| 1 | two |\nend";

    #[test]
    fn blocks_are_set_in_colours() {
        let set = set(PAGE, 80, Style::coloured());
        let wanted = "\u{1b}[1mTitle x\u{1b}[0m\n\n• one\n  • two \u{1b}[36mc\u{1b}[0m\n\u{1b}[2m│\u{1b}[0m quoted\n\n\
            \u{1b}[36mlet *a* = 1;\u{1b}[0m\n";
        assert!(set.starts_with(wanted), "{set:?}");
        assert!(set.ends_with("\u{1b}[1ma  b\u{1b}[0m\n1  two\nend\n"), "{set:?}");
    }

    #[test]
    fn without_colours_only_tables_change() {
        let set = set(PAGE, 80, Style::plain());
        assert!(
            !set.contains('\u{1b}') && set.contains("# Title **x**") && set.contains("```rust\nlet"),
            "{set}"
        );
        assert!(set.contains("a  b\n1  two\n"), "{set}");
    }

    #[test]
    fn ordinary_text_is_not_taken_for_markdown() {
        for text in
            ["hello", "#hashtag\n- a list", "2 * 3", "a | b", "{\"a\": [1]}", "error: x_y_z\n  at main.rs:3"]
        {
            assert!(!is_likely(text), "{text}");
        }
        for text in ["# Title", "see [it](https://x.org)", "**no**", "```\nx\n```", "|a|b|\n|-|-|\n"] {
            assert!(is_likely(text), "{text}");
        }
    }
}
