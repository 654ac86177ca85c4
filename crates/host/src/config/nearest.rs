//! Known words that an unknown one may have been meant for.
//!
//! Letters that were left out, added or mistaken are counted; meaning is not guessed at.

/// Words longer than this are not compared to their end.
const LONGEST: usize = 64;

/// Those of the known words that are near, the nearest first.
pub fn near<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let bound = wanted.chars().count().max(2) / 2;
    let wanted = wanted.to_lowercase();
    let measured = known.into_iter().map(|word| (distance(&wanted, &word.to_lowercase()), word));
    let mut near: Vec<(usize, &str)> = measured.filter(|(distance, _)| *distance <= bound).collect();
    near.sort_unstable();
    near.into_iter().map(|(_, word)| word).collect()
}

/// The nearest of the known words, if it is near.
pub(super) fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    near(wanted, known).into_iter().next()
}

/// How many letters have to change.
fn distance(one: &str, other: &str) -> usize {
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
    use super::distance;

    #[test]
    fn letters_are_counted() {
        assert_eq!((distance("kitten", "sitting"), distance("", "abc"), distance("a", "a")), (3, 3, 0));
    }
}
