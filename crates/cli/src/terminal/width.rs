//! How wide the page is, and text that is broken to fit it.

use std::io::{self, IsTerminal};

/// Where nothing else is known.
const ORDINARY: usize = 80;
/// Narrower pages are not worth the trouble: the terminal may break lines itself.
const LEAST: usize = 40;

/// Columns of standard output: of the terminal, or as `COLUMNS` says, or 80.
pub(crate) fn of_stdout() -> usize {
    let told = || std::env::var("COLUMNS").ok()?.parse().ok();
    of_terminal().or_else(told).unwrap_or(ORDINARY).max(LEAST)
}

#[cfg(unix)]
fn of_terminal() -> Option<usize> {
    let stdout = io::stdout();
    let size = stdout.is_terminal().then(|| rustix::termios::tcgetwinsize(&stdout).ok()).flatten()?;
    (size.ws_col > 0).then(|| size.ws_col.into())
}

#[cfg(not(unix))]
fn of_terminal() -> Option<usize> {
    None
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
    use super::wrap;

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrap("zwölf Boxkämpfer jagen", 10), ["zwölf", "Boxkämpfer", "jagen"]);
        assert_eq!(wrap("a b c", 3), ["a b", "c"]);
        assert_eq!(wrap("unbreakable", 3), ["unbreakable"]);
        assert_eq!(wrap("", 3), [""]);
        assert_eq!(wrap(" 3 little", 9), [" 3 little"]);
    }
}
