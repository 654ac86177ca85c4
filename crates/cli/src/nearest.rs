//! Names that somebody may have meant.
//!
//! Letters that were left out, added or mistaken are counted; meaning is not guessed at.

use crate::terminal::text::safe_line;

/// How many names are worth showing.
const SHOWN: usize = 8;

/// In words: those of the known names that are near, or else the first of all.
pub(crate) fn proposal<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let known: Vec<&str> = known.into_iter().collect();
    let mut near: Vec<(usize, &str)> = known
        .iter()
        .map(|name| (distance(&wanted.to_lowercase(), &name.to_lowercase()), *name))
        .filter(|(distance, _)| *distance * 2 <= wanted.chars().count().max(2))
        .collect();
    near.sort();
    if let Some((last, before)) =
        near.iter().map(|(_, name)| safe_line(name)).take(3).collect::<Vec<_>>().split_last()
    {
        let before: String = before.iter().map(|name| format!("{name}, ")).collect();
        return Some(format!("did you mean {before}{last}?"));
    }
    let more = if known.len() > SHOWN { ", …" } else { "" };
    let first = known.iter().take(SHOWN).map(|name| safe_line(name)).collect::<Vec<_>>().join(", ");
    (!known.is_empty()).then(|| format!("there are {first}{more}"))
}

/// How many letters have to change. Names of servers can be long: what is far apart is not measured.
fn distance(one: &str, other: &str) -> usize {
    const LONGEST: usize = 64;
    let other: Vec<char> = other.chars().take(LONGEST).collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, char) in one.chars().take(LONGEST).enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], at + 1);
        for (index, known) in other.iter().enumerate() {
            let swapped = diagonal + usize::from(char != *known);
            diagonal = row[index + 1];
            row[index + 1] = swapped.min(diagonal + 1).min(row[index] + 1);
        }
    }
    row.last().copied().unwrap_or_default()
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
        assert_eq!((distance("kitten", "sitting"), distance("", "abc"), distance("a", "a")), (3, 3, 0));
    }
}
