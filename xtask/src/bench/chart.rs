//! `bench/results.svg`: bar charts and curves of the same figures as the tables. Written by hand, without
//! a drawing library; it follows the reader's light or dark theme.

mod bars;
mod curves;

use super::results::Results;

const WIDTH: f64 = 980.0;
const MARGIN: f64 = 24.0;
const GAP: f64 = 32.0;
const HEAD: f64 = 92.0;
/// The width of one of two columns.
const COLUMN: f64 = (WIDTH - 2.0 * MARGIN - GAP) / 2.0;

const STYLE: &str = "\
text { font: 12px system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif; fill: #1f2328 }
.title { font-size: 20px; font-weight: 600 } .panel { font-size: 14px; font-weight: 600 }
.note { fill: #59636e; font-size: 11px } .ours-text { font-weight: 700 }
.back { fill: #ffffff } .grid { stroke: #d1d9e0; stroke-width: 1 }
.ours { fill: #0969da; stroke: #0969da } .peer { fill: #afb8c1; stroke: #818b98 } .limit { fill: #ffffff; stroke: #818b98; stroke-dasharray: 3 2 }
.line { fill: none; stroke-width: 2 } .c0 { stroke: #0969da } .c1 { stroke: #818b98 } .c2 { stroke: #bc4c00 } .c3 { stroke: #8250df } .c4 { stroke: #1a7f37 }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc } .note { fill: #9198a1 } .back { fill: #0d1117 } .grid { stroke: #3d444d }
.ours { fill: #4493f8; stroke: #4493f8 } .peer { fill: #656c76; stroke: #9198a1 } .limit { fill: #0d1117; stroke: #9198a1 }
.c0 { stroke: #4493f8 } .c1 { stroke: #9198a1 } .c2 { stroke: #f0883e } .c3 { stroke: #ab7df8 } .c4 { stroke: #3fb950 }
}";

/// A drawn panel, whose upper left corner is at the origin.
struct Panel {
    height: f64,
    body: String,
}

/// The whole picture.
pub(super) fn picture(results: &Results) -> String {
    let panels: Vec<Panel> = bars::panels(results).into_iter().chain(curves::panels(results)).collect();
    let mut body = String::new();
    let mut top = HEAD;
    for pair in panels.chunks(2) {
        for (index, panel) in pair.iter().enumerate() {
            let left = MARGIN + index as f64 * (COLUMN + GAP);
            body += &format!("<g transform=\"translate({left:.0} {top:.0})\">\n{}</g>\n", panel.body);
        }
        top += pair.iter().map(|panel| panel.height).fold(0.0, f64::max) + GAP;
    }
    let told =
        |name: &str| results.about.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value);
    let note = format!("{}. {}. {}.", told("Machine"), told("Date"), told("Measured"));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH:.0}\" height=\"{top:.0}\" viewBox=\"0 0 {WIDTH:.0} {top:.0}\" role=\"img\">\n\
         <title>Contexture beside its peers</title>\n<style>\n{STYLE}\n</style>\n\
         <rect class=\"back\" width=\"100%\" height=\"100%\"/>\n{}{}{}{body}</svg>\n",
        text(MARGIN, 36.0, "title", "Contexture beside its peers and the limits of the transports"),
        text(MARGIN, 58.0, "note", &note),
        text(
            MARGIN,
            74.0,
            "note",
            "Blue: ours. Dashed: the bare transport, the limit. One server core, all from one run."
        ),
    )
}

/// One line of text.
fn text(x: f64, y: f64, class: &str, words: &str) -> String {
    let words = words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{class}\">{words}</text>\n")
}

/// The same, ending at `x`.
fn text_end(x: f64, y: f64, class: &str, words: &str) -> String {
    text(x, y, class, words).replacen("<text", "<text text-anchor=\"end\"", 1)
}

/// The same, around `x`.
fn text_middle(x: f64, y: f64, class: &str, words: &str) -> String {
    text(x, y, class, words).replacen("<text", "<text text-anchor=\"middle\"", 1)
}

/// The next round number, of which half is one too.
fn round_up(value: f64) -> f64 {
    if value <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powf(value.log10().floor());
    let steps = [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    steps.into_iter().map(|step| step * power).find(|step| *step >= value).unwrap_or(10.0 * power)
}

/// A number for a chart: short.
fn short(value: f64) -> String {
    match value {
        v if v >= 1e6 => format!("{:.2} M", v / 1e6),
        v if v >= 1e4 => format!("{:.0} k", v / 1e3),
        v if v >= 1e3 => format!("{:.1} k", v / 1e3),
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_round_numbers() {
        assert_eq!([101_885.0, 1.71, 0.04].map(round_up), [150_000.0, 2.0, 0.04]);
        assert_eq!(short(101_885.0), "102 k");
    }

    #[test]
    fn words_cannot_end_the_picture() {
        assert!(text(0.0, 0.0, "note", "a < b & c").contains("a &lt; b &amp; c"));
        assert!(picture(&Results::default()).ends_with("</svg>\n"));
    }
}
