//! The known word that an unknown one may have been meant for.

/// Words longer than this are not compared.
const LONGEST: usize = 64;

/// The nearest of the known words, if it is near.
pub(super) fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let bound = wanted.chars().count().max(2) / 2;
    known
        .into_iter()
        .map(|word| (distance(&wanted.to_lowercase(), &word.to_lowercase()), word))
        .filter(|(distance, _)| *distance <= bound)
        .min()
        .map(|(_, word)| word)
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
