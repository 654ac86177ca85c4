//! JSON with comments, changed in place: every change is a few ranges of bytes and what stands there instead, so that what it
//! does not touch cannot become different. What is new is written as the rest of the file is.

use std::ops::Range;

use serde_json::Value;

use super::Words;
use crate::config::node::{Member, Node, Tree};

/// Lists that fit into a line stay in one.
const LINE: usize = 72;

/// How a file is written.
struct Style {
    newline: &'static str,
    /// One step to the right.
    unit: String,
    /// Between a key and its value.
    colon: &'static str,
    /// Between two members on one line.
    comma: &'static str,
    /// Whether all of it is one line.
    flat: bool,
}

impl Style {
    fn of(text: &str, root: &Node) -> Self {
        let newline = match text.find('\n') {
            Some(at) if text[..at].ends_with('\r') => "\r\n",
            _ => "\n",
        };
        let members = root.members().unwrap_or_default();
        let tight =
            members.first().is_some_and(|first| text[first.start..first.node.range.start].ends_with(':'));
        Self {
            newline,
            unit: unit(text, members).unwrap_or_else(|| "  ".to_owned()),
            colon: if tight { ":" } else { ": " },
            comma: if tight { "," } else { ", " },
            flat: !members.is_empty() && !text[root.range.clone()].contains('\n'),
        }
    }

    fn lines(&self, words: &Words<'_>, indent: &str) -> String {
        match words {
            Words::Entry(members) => {
                self.object(members.iter().map(|(key, value)| (key.as_str(), value)), indent)
            }
            Words::One(Value::Object(members)) => {
                self.object(members.iter().map(|(key, value)| (key.as_str(), value)), indent)
            }
            Words::One(Value::Array(values)) => self.list(values, indent),
            Words::One(other) => other.to_string(),
        }
    }

    fn object<'a>(&self, members: impl Iterator<Item = (&'a str, &'a Value)>, indent: &str) -> String {
        let inner = format!("{indent}{}", self.unit);
        let members: Vec<String> = members
            .map(|(key, value)| {
                let value = self.lines(&Words::One(value), &inner);
                format!("{}{inner}{}{}{value}", self.newline, quoted(key), self.colon)
            })
            .collect();
        match members.as_slice() {
            [] => "{}".to_owned(),
            _ => format!("{{{}{}{indent}}}", members.join(","), self.newline),
        }
    }

    fn list(&self, values: &[Value], indent: &str) -> String {
        let short = self.flat_list(values);
        if short.len() <= LINE && !values.iter().any(|value| value.is_object() || value.is_array()) {
            return short;
        }
        let inner = format!("{indent}{}", self.unit);
        let values: Vec<String> = values
            .iter()
            .map(|value| format!("{}{inner}{}", self.newline, self.lines(&Words::One(value), &inner)))
            .collect();
        format!("[{}{}{indent}]", values.join(","), self.newline)
    }

    fn flat(&self, words: &Words<'_>) -> String {
        let object = |members: &mut dyn Iterator<Item = (&String, &Value)>| {
            let members: Vec<String> = members
                .map(|(key, value)| format!("{}{}{}", quoted(key), self.colon, self.flat(&Words::One(value))))
                .collect();
            format!("{{{}}}", members.join(self.comma))
        };
        match words {
            Words::Entry(members) => object(&mut members.iter().map(|(key, value)| (key, value))),
            Words::One(Value::Object(members)) => object(&mut members.iter()),
            Words::One(Value::Array(values)) => self.flat_list(values),
            Words::One(other) => other.to_string(),
        }
    }

    fn flat_list(&self, values: &[Value]) -> String {
        let values: Vec<String> = values.iter().map(|value| self.flat(&Words::One(value))).collect();
        format!("[{}]", values.join(self.comma))
    }
}

/// The text with this value at this path: in the place of what is there, or behind everything else. `None` if something on the
/// way is no object.
pub(super) fn set(text: &str, root: &Node, path: &[String], words: &Words<'_>) -> Option<String> {
    let style = Style::of(text, root);
    let (mut object, mut rest) = (root, path);
    while let [key, behind @ ..] = rest {
        let Some(member) = object.members()?.iter().find(|member| member.key == *key) else {
            return Some(insert(text, &style, object, key, behind, words));
        };
        if behind.is_empty() {
            return Some(replace(text, &style, member, words));
        }
        (object, rest) = (&member.node, behind);
    }
    None
}

/// The text without what is at this path.
pub(super) fn unset(text: &str, root: &Node, path: &[String]) -> Option<String> {
    let (last, way) = path.split_last()?;
    let object = way.iter().try_fold(root, |object, key| object.get(key))?;
    let index = object.members()?.iter().position(|member| member.key == *last)?;
    Some(remove(text, object, index))
}

fn replace(text: &str, style: &Style, member: &Member, words: &Words<'_>) -> String {
    let range = member.node.range.clone();
    let was_flat = member.node.members().is_some_and(|members| !members.is_empty())
        && !text[range.clone()].contains('\n');
    let new = if style.flat || was_flat {
        style.flat(words)
    } else {
        style.lines(words, indent_at(text, member.start))
    };
    cut(text, vec![(range, new)])
}

/// Adds a member; keys that are missing on the way to the value become objects around it.
fn insert(
    text: &str,
    style: &Style,
    object: &Node,
    key: &str,
    behind: &[String],
    words: &Words<'_>,
) -> String {
    let written = |indent: Option<&str>| {
        let steps = behind.len();
        let mut value = match indent {
            Some(indent) => style.lines(words, &format!("{indent}{}", style.unit.repeat(steps))),
            None => style.flat(words),
        };
        for (step, key) in behind.iter().enumerate().rev() {
            value = match indent {
                Some(indent) => {
                    let outer = format!("{indent}{}", style.unit.repeat(step));
                    let (newline, unit) = (style.newline, &style.unit);
                    format!("{{{newline}{outer}{unit}{}{}{value}{newline}{outer}}}", quoted(key), style.colon)
                }
                None => format!("{{{}{}{value}}}", quoted(key), style.colon),
            };
        }
        format!("{}{}{value}", quoted(key), style.colon)
    };
    let members = object.members().unwrap_or_default();
    let place = members
        .first()
        .zip(members.last())
        .map(|(first, last)| Place { first: first.start, last: last.start..last.node.range.end });
    append(text, style, object, place, &written)
}

/// The text with one more value at the end of the list at this path, which is made if it is not there.
pub(super) fn push(text: &str, root: &Node, path: &[String], value: &Value) -> Option<String> {
    let Some(list) = path.iter().try_fold(root, |node, key| node.get(key)) else {
        return set(text, root, path, &Words::One(&Value::Array(vec![value.clone()])));
    };
    let Tree::List(nodes) = &list.tree else { return None };
    let style = Style::of(text, root);
    let written = |indent: Option<&str>| match indent {
        Some(indent) => style.lines(&Words::One(value), indent),
        None => style.flat(&Words::One(value)),
    };
    let place = nodes
        .first()
        .zip(nodes.last())
        .map(|(first, last)| Place { first: first.range.start, last: last.range.clone() });
    Some(append(text, &style, list, place, &written))
}

/// Where the first and the last of several things are.
struct Place {
    first: usize,
    last: Range<usize>,
}

/// Puts something behind everything else in brackets: with an indentation, or on one line.
fn append(
    text: &str,
    style: &Style,
    outer: &Node,
    place: Option<Place>,
    written: &dyn Fn(Option<&str>) -> String,
) -> String {
    let Some(Place { first, last }) = place else { return fill(text, style, outer, written) };
    let comma = comma_after(text, last.end);
    if !text[outer.range.start..first].contains('\n') {
        let (gap, mark) =
            if comma.is_some() { (style.comma.trim_start_matches(','), ",") } else { (style.comma, "") };
        let at = comma.map_or(last.end, |comma| comma + 1);
        return cut(text, vec![(at..at, format!("{gap}{}{mark}", written(None)))]);
    }
    let indent = match begins_line(text, last.start) {
        true => indent_at(text, last.start).to_owned(),
        false => format!("{}{}", indent_at(text, outer.range.start), style.unit),
    };
    let new = format!("{}{indent}{}", style.newline, written(Some(&indent)));
    match comma {
        Some(comma) => {
            let at = after_comment(text, comma + 1);
            cut(text, vec![(at..at, format!("{new},"))])
        }
        None => {
            let at = after_comment(text, last.end);
            cut(text, vec![(last.end..last.end, ",".to_owned()), (at..at, new)])
        }
    }
}

/// The first member of an object; a comment that stands in it stays before it.
fn fill(text: &str, style: &Style, object: &Node, written: &dyn Fn(Option<&str>) -> String) -> String {
    let range = object.range.start + 1..object.range.end - 1;
    let inside = &text[range.clone()];
    let kept = inside.trim_end();
    if style.flat && kept.is_empty() {
        return cut(text, vec![(range, written(None))]);
    }
    let own = indent_at(text, object.range.start);
    let indent = format!("{own}{}", style.unit);
    let after = match &inside[kept.len()..] {
        blank if !kept.is_empty() && blank.contains('\n') => blank.to_owned(),
        _ => format!("{}{own}", style.newline),
    };
    let entry = format!("{}{indent}{}{after}", style.newline, written(Some(&indent)));
    cut(text, vec![(range.start + kept.len()..range.end, entry)])
}

fn remove(text: &str, object: &Node, index: usize) -> String {
    let members = object.members().unwrap_or_default();
    let member = &members[index];
    let (start, end) = (member.start, member.node.range.end);
    let comma = comma_after(text, end);
    let tail = after_comment(text, comma.map_or(end, |comma| comma + 1));
    let mut cuts = Vec::new();
    // The comma before the last one would be too many.
    let before = members.get(index.wrapping_sub(1)).filter(|_| index + 1 == members.len() && comma.is_none());
    if let Some(at) = before.and_then(|before| comma_after(text, before.node.range.end)) {
        cuts.push((at..at + 1, String::new()));
    }
    let spaces = |at: usize| at + (text[at..].len() - text[at..].trim_start_matches([' ', '\t']).len());
    match line_end(text, tail) {
        Some(after) if begins_line(text, start) => cuts.push((line_start(text, start)..after, String::new())),
        _ if comma.is_some() => cuts.push((start..spaces(tail), String::new())),
        _ => {
            let blank = text[..start].len() - text[..start].trim_end_matches([' ', '\t']).len();
            cuts.push((start - blank..end, String::new()));
        }
    }
    let whole = cuts.iter().map(|(range, _)| range.len()).sum::<usize>();
    let done = cut(text, cuts);
    let inside = object.range.start + 1..object.range.end - 1 - whole;
    match done.get(inside.clone()) {
        Some(blank) if members.len() == 1 && blank.trim().is_empty() => {
            cut(&done, vec![(inside, String::new())])
        }
        _ => done,
    }
}

/// Puts something else into these places, which are in order.
pub(super) fn cut(text: &str, cuts: Vec<(Range<usize>, String)>) -> String {
    let mut out = String::with_capacity(text.len() + cuts.iter().map(|(_, new)| new.len()).sum::<usize>());
    let mut at = 0;
    for (range, new) in cuts {
        out.push_str(&text[at..range.start]);
        out.push_str(&new);
        at = range.end;
    }
    out.push_str(&text[at..]);
    out
}

/// The indentation that most people see: of the first member that begins a line.
fn unit(text: &str, members: &[Member]) -> Option<String> {
    let first = members.iter().find(|member| begins_line(text, member.start))?;
    Some(indent_at(text, first.start).to_owned()).filter(|indent| !indent.is_empty())
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

fn begins_line(text: &str, at: usize) -> bool {
    text[line_start(text, at)..at].trim().is_empty() && text[..at].contains('\n')
}

/// What the line of this place begins with.
fn indent_at(text: &str, at: usize) -> &str {
    let line = &text[line_start(text, at)..at];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// Where the next line begins, if nothing else is on this one.
fn line_end(text: &str, at: usize) -> Option<usize> {
    let rest = &text[at..];
    let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\r']).len();
    rest[blank..].starts_with('\n').then_some(at + blank + 1)
}

/// Behind comments that belong to this line.
fn after_comment(text: &str, from: usize) -> usize {
    let mut at = from;
    loop {
        let rest = text[at..].trim_start_matches([' ', '\t']);
        let start = text.len() - rest.len();
        if rest.starts_with("//") {
            let length = rest.find('\n').unwrap_or(rest.len());
            return start + rest[..length].trim_end_matches('\r').len();
        }
        match rest.strip_prefix("/*").and_then(|inner| inner.find("*/")) {
            Some(length) if !rest[..length].contains('\n') => at = start + length + 4,
            _ => return at,
        }
    }
}

/// The next thing that is neither blank nor a comment, if it is a comma.
fn comma_after(text: &str, from: usize) -> Option<usize> {
    let mut rest = &text[from..];
    loop {
        rest = rest.trim_start();
        if let Some(comment) = rest.strip_prefix("//") {
            rest = &comment[comment.find('\n').unwrap_or(comment.len())..];
        } else if let Some(comment) = rest.strip_prefix("/*") {
            rest = &comment[comment.find("*/").map_or(comment.len(), |end| end + 2)..];
        } else {
            return rest.starts_with(',').then(|| text.len() - rest.len());
        }
    }
}

fn quoted(key: &str) -> String {
    Value::from(key).to_string()
}
