//! Names that somebody may have meant, in words.

use contexture_host::config::near;

use crate::terminal::text::safe_line;

/// How many names are worth showing.
const SHOWN: usize = 8;

/// In words: those of the known names that are near, or else the first of all.
pub(crate) fn proposal<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let known: Vec<&str> = known.into_iter().collect();
    let near: Vec<String> = near(wanted, known.iter().copied()).into_iter().take(3).map(safe_line).collect();
    if let Some((last, before)) = near.split_last() {
        let before: String = before.iter().map(|name| format!("{name}, ")).collect();
        return Some(format!("did you mean {before}{last}?"));
    }
    let more = if known.len() > SHOWN { ", …" } else { "" };
    let first = known.iter().take(SHOWN).map(|name| safe_line(name)).collect::<Vec<_>>().join(", ");
    (!known.is_empty()).then(|| format!("there are {first}{more}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_come_first() {
        let known = ["echo", "add", "list_roots", "log_lines"];
        assert_eq!(proposal("xyz", known).as_deref(), Some("there are echo, add, list_roots, log_lines"));
        assert_eq!(proposal("ecoh", known).as_deref(), Some("did you mean echo?"));
        assert_eq!(proposal("Echoo", known).as_deref(), Some("did you mean echo?"));
        assert_eq!(proposal("list_root", known).as_deref(), Some("did you mean list_roots?"));
        assert_eq!(proposal("x", []), None);
    }
}
