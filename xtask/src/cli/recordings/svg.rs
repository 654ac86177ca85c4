//! A terminal's text with its colours, as a picture: one line of SVG for each line of text.

use std::fmt::Write as _;

const ADVANCE: f32 = 8.4;
const LINE: usize = 19;
const MARGIN: usize = 14;

/// Above the text: how each class looks, on a dark ground.
const STYLE: &str = "text{font:14px ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;fill:#d8dee9;white-space:pre}\
.b{font-weight:bold}.d{fill:#8a94a6}.i{font-style:italic}.u{text-decoration:underline}\
.c30{fill:#4c566a}.c31{fill:#e06c75}.c32{fill:#98c379}.c33{fill:#e5c07b}.c34{fill:#61afef}.c35{fill:#c678dd}.c36{fill:#56b6c2}.c37{fill:#d8dee9}";

/// What is on a screen of so many columns, drawn: lines that are longer are broken, as the terminal did. Lines at the end that are
/// empty are left out, and so is the last prompt.
pub fn picture(text: &str, columns: u16) -> String {
    let mut look = Look::default();
    let mut lines: Vec<Vec<Cell>> = text.lines().map(|line| cells(line, &mut look)).collect();
    while lines.last().is_some_and(|line| matches!(plain(line).trim(), "" | "$")) {
        lines.pop();
    }
    let broken =
        lines.iter().flat_map(|line| line.chunks(columns.into()).chain(line.is_empty().then_some(&[][..])));
    let rows: Vec<String> = broken.map(spans).collect();
    let width = (f32::from(columns) * ADVANCE) as usize + 2 * MARGIN;
    let height = rows.len() * LINE + 2 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n\
         <style>{STYLE}</style>\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#1f2430\"/>\n"
    );
    for (number, row) in rows.iter().enumerate() {
        let y = MARGIN + (number + 1) * LINE - 5;
        // Writing to a string does not fail.
        let _ = writeln!(svg, "<text x=\"{MARGIN}\" y=\"{y}\" xml:space=\"preserve\">{row}</text>");
    }
    svg + "</svg>\n"
}

/// A character, and how it looks.
type Cell = (char, Look);

/// How text looks until something else is said.
#[derive(Default, Clone, PartialEq)]
struct Look {
    bold: bool,
    dim: bool,
    italic: bool,
    underlined: bool,
    colour: Option<u8>,
}

impl Look {
    /// The codes between `ESC [` and `m`.
    fn change(&mut self, codes: &str) {
        for code in codes.split(';').map(|code| code.parse().unwrap_or(0)) {
            match code {
                0 => *self = Self::default(),
                1 => self.bold = true,
                2 => self.dim = true,
                3 => self.italic = true,
                4 => self.underlined = true,
                22 => (self.bold, self.dim) = (false, false),
                23 => self.italic = false,
                24 => self.underlined = false,
                30..=37 => self.colour = Some(code),
                90..=97 => self.colour = Some(code - 60),
                39 => self.colour = None,
                _ => {}
            }
        }
    }

    fn classes(&self) -> String {
        let flags = [(self.bold, "b"), (self.dim, "d"), (self.italic, "i"), (self.underlined, "u")];
        let mut classes: Vec<String> =
            flags.iter().filter(|(is_on, _)| *is_on).map(|(_, name)| (*name).to_owned()).collect();
        classes.extend(self.colour.map(|colour| format!("c{colour}")));
        classes.join(" ")
    }
}

/// The characters of a line. Sequences that are no colours are left out.
fn cells(line: &str, look: &mut Look) -> Vec<Cell> {
    let mut all = Vec::new();
    for (number, part) in line.split('\u{1b}').enumerate() {
        let text = match part.strip_prefix('[').and_then(|rest| rest.split_once('m')) {
            _ if number == 0 => part,
            Some((codes, text)) => {
                look.change(codes);
                text
            }
            None => "",
        };
        all.extend(text.chars().map(|char| (char, look.clone())));
    }
    all
}

/// A line in parts that look alike.
fn spans(line: &[Cell]) -> String {
    let parts = line.chunk_by(|(_, one), (_, other)| one == other);
    let spans = parts.map(|part| {
        let text = plain(part).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let classes = part.first().map(|(_, look)| look.classes()).unwrap_or_default();
        if classes.is_empty() { text } else { format!("<tspan class=\"{classes}\">{text}</tspan>") }
    });
    spans.collect()
}

/// Without colours.
fn plain(cells: &[Cell]) -> String {
    cells.iter().map(|(char, _)| *char).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn colours_become_classes_and_text_stays_text() {
        let svg = super::picture("\u{1b}[1mbold\u{1b}[0m <a> & \u{1b}[32mgreen\u{1b}[39m\n$ \n\n", 40);
        assert!(
            svg.contains(
                "<tspan class=\"b\">bold</tspan> &lt;a&gt; &amp; <tspan class=\"c32\">green</tspan></text>"
            ),
            "{svg}"
        );
        assert_eq!(svg.matches("<text").count(), 1, "{svg}");
        assert_eq!(super::picture("one two", 4).matches("<text").count(), 2, "lines are broken");
    }
}
