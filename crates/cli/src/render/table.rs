//! Rows below each other, in columns that fit the page.

use crate::terminal::style::Style;
use crate::terminal::width::{columns, fit};

/// What stands between two columns.
const GAP: &str = "  ";
/// No column is made narrower than this.
const LEAST: usize = 4;

/// Sets a table. Rows may be shorter than the head; what is longer is left out.
pub(super) fn set(head: &[String], rows: &[Vec<String>], width: usize, style: Style) -> String {
    let wanted: Vec<usize> = (0..head.len())
        .map(|column| {
            let cells = rows.iter().filter_map(|row| row.get(column)).chain(head.get(column));
            cells.map(|cell| columns(cell)).max().unwrap_or_default()
        })
        .collect();
    let widths = narrowed(wanted, width);
    let mut out = style.bold(&line(head, &widths)) + "\n";
    for row in rows {
        out += &line(row, &widths);
        out.push('\n');
    }
    out
}

/// The widest give way first, until all fit or none can.
fn narrowed(mut widths: Vec<usize>, width: usize) -> Vec<usize> {
    let gaps = GAP.len() * widths.len().saturating_sub(1);
    let mut over = (widths.iter().sum::<usize>() + gaps).saturating_sub(width);
    while over > 0 {
        let Some(widest) = widths.iter().copied().max().filter(|widest| *widest > LEAST) else { break };
        let next = widths.iter().copied().filter(|one| *one < widest).max().unwrap_or(0).max(LEAST);
        let count = widths.iter().filter(|one| **one == widest).count();
        // All of the widest at once: a column of ten million is as quick as one of ten.
        let step = (widest - next).min(over.div_ceil(count)).max(1);
        for one in widths.iter_mut().filter(|one| **one == widest) {
            *one -= step.min(over);
            over -= step.min(over);
        }
    }
    widths
}

fn line(cells: &[String], widths: &[usize]) -> String {
    let cells = widths.iter().enumerate().map(|(column, width)| {
        let cell = fit(cells.get(column).map_or("", String::as_str), *width);
        let room = width.saturating_sub(columns(&cell));
        format!("{cell}{}", " ".repeat(room))
    });
    cells.collect::<Vec<_>>().join(GAP).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[[&str; 3]], width: usize) -> String {
        let mut rows: Vec<Vec<String>> =
            rows.iter().map(|row| row.iter().map(ToString::to_string).collect()).collect();
        let head = rows.remove(0);
        set(&head, &rows, width, Style::plain())
    }

    #[test]
    fn columns_stand_below_each_other_and_fit() {
        let wide = table(&[["id", "name", "note"], ["1", "日本", ""], ["22", "x", "fine"]], 80);
        assert_eq!(wide, "id  name  note\n1   日本\n22  x     fine\n");
        let long = "w".repeat(1_000_000);
        let narrow = table(&[["id", "name", "note"], ["1", &long, "a note of some length"]], 40);
        assert!(narrow.lines().all(|line| columns(line) <= 40), "{narrow}");
        assert!(narrow.contains("1   www"), "{narrow}");
        let hopeless = table(&[["aaaaaa", "bbbbbb", "cccccc"], ["1", "2", "3"]], 3);
        assert_eq!(hopeless.lines().next(), Some("aaa…  bbb…  ccc…"));
    }
}
