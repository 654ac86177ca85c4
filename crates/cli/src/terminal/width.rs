//! How wide the page is, how wide text is on it, and text that is broken or cut to fit.

use std::io::{self, IsTerminal};

/// Where nothing else is known.
const ORDINARY: usize = 80;
/// Narrower pages are not worth the trouble: the terminal may break lines itself.
const LEAST: usize = 40;

/// Columns of standard output: of the terminal, or as `COLUMNS` says, or 80.
pub(crate) fn of_stdout() -> usize {
    let told = || std::env::var("COLUMNS").ok()?.parse().ok();
    of_terminal(io::stdout()).or_else(told).unwrap_or(ORDINARY).max(LEAST)
}

/// Columns of standard error, if that is a terminal, or 80.
pub(crate) fn of_stderr() -> usize {
    of_terminal(io::stderr()).unwrap_or(ORDINARY)
}

#[cfg(unix)]
fn of_terminal(stream: impl IsTerminal + std::os::fd::AsFd) -> Option<usize> {
    let size = stream.is_terminal().then(|| rustix::termios::tcgetwinsize(&stream).ok()).flatten()?;
    (size.ws_col > 0).then(|| size.ws_col.into())
}

#[cfg(not(unix))]
fn of_terminal(_: impl IsTerminal) -> Option<usize> {
    None
}

/// How many columns a text takes. Marks that stand upon others take none, and ideographs, kana, hangul and emoji two.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().map(of_char).sum()
}

fn of_char(char: char) -> usize {
    match char {
        '\u{300}'..='\u{36f}'
        | '\u{200c}'..='\u{200d}'
        | '\u{20d0}'..='\u{20ff}'
        | '\u{fe00}'..='\u{fe0f}' => 0,
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{303e}'
        | '\u{3041}'..='\u{33ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{a000}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe4f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{ffe0}'..='\u{ffe6}'
        | '\u{1f300}'..='\u{1f64f}'
        | '\u{1f680}'..='\u{1f6ff}'
        | '\u{1f900}'..='\u{1f9ff}'
        | '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    }
}

/// The text, or as much of its beginning as fits into so many columns, and a sign that there was more.
pub(crate) fn fit(text: &str, most: usize) -> String {
    let mut taken = 0;
    let mut end = 0;
    for (at, char) in text.char_indices() {
        if taken + of_char(char) > most {
            let kept = text.get(..end).unwrap_or_default();
            return if most == 0 { String::new() } else { format!("{kept}…") };
        }
        taken += of_char(char);
        // Room for the sign.
        if taken < most {
            end = at + char.len_utf8();
        }
    }
    text.to_owned()
}

/// Lines of at most so many characters, broken between words. A word that is too long stays whole.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut length = 0;
    for word in text.split(' ') {
        let more = word.chars().count();
        match lines.last_mut().filter(|_| length + 1 + more <= width) {
            Some(line) => {
                line.push(' ');
                line.push_str(word);
                length += 1 + more;
            }
            None => {
                lines.push(word.to_owned());
                length = more;
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::{columns, fit, wrap};

    #[test]
    fn text_is_cut_by_its_columns() {
        assert_eq!((columns("zwölf"), columns("日本"), columns("e\u{301}")), (5, 4, 1));
        let cases = [
            ("zwölf", 5, "zwölf"),
            ("zwölf", 4, "zwö…"),
            ("日本語", 5, "日本…"),
            ("日本語", 4, "日…"),
            ("a", 0, ""),
        ];
        for (text, most, wanted) in cases {
            assert_eq!(fit(text, most), wanted, "{text} in {most}");
            assert!(columns(&fit(text, most)) <= most);
        }
    }

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrap("zwölf Boxkämpfer jagen", 10), ["zwölf", "Boxkämpfer", "jagen"]);
        assert_eq!(wrap("a b c", 3), ["a b", "c"]);
        assert_eq!(wrap("unbreakable", 3), ["unbreakable"]);
        assert_eq!(wrap("", 3), [""]);
        assert_eq!(wrap(" 3 little", 9), [" 3 little"]);
    }
}
