//! Curves: CPU per call as payload, tools and sessions grow. Both axes are logarithmic, so that a straight line
//! upwards is a cost that grows with what is counted, and a level one is a cost that does not.

use super::super::figures::thousands;
use super::super::peers::PEERS;
use super::super::plan::{PAYLOADS, SESSIONS, TOOLS};
use super::super::results::Results;
use super::{COLUMN, Panel, short, text, text_end, text_middle};

const LEFT: f64 = 56.0;
const RIGHT: f64 = 112.0;
const TOP: f64 = 24.0;
const HEIGHT: f64 = 180.0;
/// Room for a number below a point.
const LABEL: f64 = 44.0;

/// Every curve that has at least two points.
pub(super) fn panels(results: &Results) -> Vec<Panel> {
    let curves: [(&str, &str, &str, &[usize]); 3] = [
        ("tools", "Cost of a call by tools", "tools of the server", &TOOLS),
        ("growth", "Cost of a call by sessions", "open sessions", &SESSIONS),
        ("payload", "Cost of a call by payload", "bytes echoed", &PAYLOADS),
    ];
    curves
        .into_iter()
        .filter_map(|(kind, title, axis, points)| panel(results, kind, title, axis, points))
        .collect()
}

type Series = (&'static str, Vec<(f64, f64)>);

fn panel(results: &Results, kind: &str, title: &str, axis: &str, points: &[usize]) -> Option<Panel> {
    let (first, last) = (*points.first()? as f64, *points.last()? as f64);
    let series: Vec<Series> = PEERS
        .iter()
        .filter_map(|peer| {
            let value = |point: &usize| {
                Some((*point as f64, results.get(&format!("{kind}/{point}"), peer.name, "cpu_us")?))
            };
            let found: Vec<_> = points.iter().filter_map(value).collect();
            (found.len() > 1).then_some((peer.name, found))
        })
        .collect();
    let values = || series.iter().flat_map(|(_, points)| points.iter().map(|(_, value)| *value));
    let low = 10f64.powf(values().reduce(f64::min)?.log10().floor());
    let high = 10f64.powf(values().reduce(f64::max)?.log10().ceil()).max(low * 10.0);
    let (wide, bottom) = (COLUMN - LEFT - RIGHT, TOP + HEIGHT);
    let x = |point: f64| LEFT + (point / first).ln() / (last / first).ln() * wide;
    let y = |value: f64| bottom - (value / low).ln() / (high / low).ln() * HEIGHT;
    let mut body = text(0.0, 10.0, "panel", title);
    let mut power = low;
    while power <= high * 1.01 {
        let at = y(power);
        body += &format!(
            "<line class=\"grid\" x1=\"{LEFT:.1}\" y1=\"{at:.1}\" x2=\"{:.1}\" y2=\"{at:.1}\"/>\n",
            LEFT + wide
        );
        body += &text_end(LEFT - 6.0, at + 4.0, "note", &short(power));
        power *= 10.0;
    }
    // From the right, so that the last point has its number; one that would touch its neighbour has none.
    let mut taken = f64::INFINITY;
    for point in points.iter().rev() {
        let at = x(*point as f64);
        if taken - at > LABEL {
            let label =
                if *point >= 1024 && kind == "payload" { binary(*point) } else { thousands(*point as f64) };
            body += &text_middle(at, bottom + 14.0, "note", &label);
            taken = at;
        }
    }
    body += &lines(&series, x, y);
    body += &text_middle(
        LEFT + wide / 2.0,
        bottom + 30.0,
        "note",
        &format!("{axis}; upwards: CPU µs per call (less is better)"),
    );
    Some(Panel { height: bottom + 34.0, body })
}

/// The lines, and at their ends the names, pushed apart where they would touch.
fn lines(series: &[Series], x: impl Fn(f64) -> f64, y: impl Fn(f64) -> f64) -> String {
    let mut body = String::new();
    let mut labels = Vec::new();
    for (index, (name, points)) in series.iter().enumerate() {
        let path: Vec<_> =
            points.iter().map(|(point, value)| format!("{:.1},{:.1}", x(*point), y(*value))).collect();
        body += &format!("<polyline class=\"line c{}\" points=\"{}\"/>\n", index % 5, path.join(" "));
        if let Some((point, value)) = points.last() {
            labels.push((y(*value), x(*point), *name, index));
        }
    }
    labels.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut above = f64::NEG_INFINITY;
    for (at, end, name, index) in labels {
        let at = at.max(above + 14.0);
        above = at;
        let class = if index == 0 { "ours-text" } else { "" };
        body += &format!(
            "<line class=\"line c{}\" x1=\"{:.1}\" y1=\"{at:.1}\" x2=\"{:.1}\" y2=\"{at:.1}\"/>\n",
            index % 5,
            end + 4.0,
            end + 12.0
        );
        body += &text(end + 16.0, at + 4.0, class, name);
    }
    body
}

fn binary(bytes: usize) -> String {
    if bytes >= 1 << 20 { format!("{} MiB", bytes >> 20) } else { format!("{} KiB", bytes >> 10) }
}
