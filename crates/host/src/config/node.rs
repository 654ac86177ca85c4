//! A file's text as a tree in which everything knows its line: JSON with comments, or TOML.
//!
//! Trees are as deep as the parsers allow, and values are text, numbers, truths, lists and maps; nothing is interpreted here.

use std::ops::Range;

use jsonc_parser::ast;
use jsonc_parser::common::Ranged as _;
use jsonc_parser::errors::{ParseError, ParseErrorKind};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use ring::digest::{Context, SHA256};
use serde_json::{Map, Number, Value};
use toml_edit::{Document, Item, TableLike};

/// A value, and the line that it begins in.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) line: usize,
    /// Its bytes in the text, not counting a mark before it; empty where TOML has it in several places.
    pub(super) range: Range<usize>,
    pub(super) tree: Tree,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Tree {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Member>),
}

/// One member of a map. A key can be there twice; who reads the map decides what that means.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Member {
    pub(super) key: String,
    pub(super) line: usize,
    /// Where its key begins.
    pub(super) start: usize,
    pub(super) node: Node,
}

/// Why a text is no tree.
pub(super) struct NoTree {
    pub(super) line: Option<usize>,
    pub(super) what: String,
}

impl Node {
    pub(super) fn members(&self) -> Option<&[Member]> {
        match &self.tree {
            Tree::Map(members) => Some(members),
            _ => None,
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        Some(&self.members()?.iter().find(|member| member.key == key)?.node)
    }

    /// What kind of value it is, for people.
    pub(super) fn kind(&self) -> &'static str {
        match &self.tree {
            Tree::Null => "null",
            Tree::Bool(_) => "true or false",
            Tree::Number(_) => "a number",
            Tree::Text(_) => "text",
            Tree::List(_) => "a list",
            Tree::Map(_) => "an object",
        }
    }

    /// The same as JSON; of a key that is there twice, the last.
    pub(super) fn to_value(&self) -> Value {
        match &self.tree {
            Tree::Null => Value::Null,
            Tree::Bool(truth) => Value::Bool(*truth),
            Tree::Number(number) => Value::Number(number.clone()),
            Tree::Text(text) => Value::String(text.clone()),
            Tree::List(nodes) => nodes.iter().map(Self::to_value).collect(),
            Tree::Map(members) => {
                let members = members.iter().map(|member| (member.key.clone(), member.node.to_value()));
                Value::Object(members.collect::<Map<_, _>>())
            }
        }
    }

    /// Feeds all of it to a digest, so that two trees that mean different things are fed as different bytes. The order of
    /// members means nothing.
    pub(super) fn digest(&self, digest: &mut Context) {
        match &self.tree {
            Tree::Null => digest.update(b"n"),
            Tree::Bool(truth) => digest.update(if *truth { b"t" } else { b"f" }),
            Tree::Number(number) => feed(digest, b'#', &number.to_string()),
            Tree::Text(text) => feed(digest, b'"', text),
            Tree::List(nodes) => {
                feed(digest, b'[', &nodes.len().to_string());
                nodes.iter().for_each(|node| node.digest(digest));
            }
            Tree::Map(members) => {
                feed(digest, b'{', &members.len().to_string());
                let mut members: Vec<&Member> = members.iter().collect();
                members.sort_by(|one, other| one.key.cmp(&other.key));
                for member in members {
                    feed(digest, b':', &member.key);
                    member.node.digest(digest);
                }
            }
        }
    }
}

/// Marks, measures and feeds a text.
pub(super) fn feed(digest: &mut Context, mark: u8, text: &str) {
    digest.update(&[mark]);
    digest.update(&(text.len() as u64).to_be_bytes());
    digest.update(text.as_bytes());
}

/// A digest that nothing was fed to yet.
pub(super) fn begin() -> Context {
    Context::new(&SHA256)
}

pub(super) fn finish(digest: Context) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes.copy_from_slice(digest.finish().as_ref());
    bytes
}

/// JSON; comments and trailing commas are fine.
pub(super) fn json(text: &str) -> Result<Node, NoTree> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let text = without_mark(text);
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options).map_err(|error| NoTree {
        line: Some(error.line_display()),
        what: format!("this is no JSON: {}{}", lower(&error.kind().to_string()), mend(text, &error)),
    })?;
    let Some(value) = parsed.value else {
        return Err(NoTree { line: None, what: "the file is empty; `{}` says nothing in JSON".to_owned() });
    };
    Ok(from_json(value, &Lines::of(text)))
}

fn from_json(value: ast::Value<'_>, lines: &Lines) -> Node {
    let (line, range) = (lines.at(value.start()), value.start()..value.end());
    let tree = match value {
        ast::Value::NullKeyword(_) => Tree::Null,
        ast::Value::BooleanLit(truth) => Tree::Bool(truth.value),
        // A number that JSON's own reader has no place for stays what was written.
        ast::Value::NumberLit(number) => {
            number.value.parse().map_or_else(|_| Tree::Text(number.value.to_owned()), Tree::Number)
        }
        ast::Value::StringLit(text) => Tree::Text(text.value.into_owned()),
        ast::Value::Array(list) => {
            Tree::List(list.elements.into_iter().map(|value| from_json(value, lines)).collect())
        }
        ast::Value::Object(map) => {
            let members = map.properties.into_iter().map(|property| Member {
                line: lines.at(property.range.start),
                start: property.range.start,
                key: property.name.into_string(),
                node: from_json(property.value, lines),
            });
            Tree::Map(members.collect())
        }
    };
    Node { line, range, tree }
}

/// What to do about a mistake that people make often.
fn mend(text: &str, error: &ParseError) -> &'static str {
    let at = text.get(error.range().start..).and_then(|rest| rest.chars().next());
    match (at, error.kind()) {
        (Some('\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{2018}' | '\u{2019}'), _) => {
            " (these are a text program's quotes: write plain ones)"
        }
        (_, ParseErrorKind::SingleQuotedStringsNotAllowed) => " (write double quotes)",
        (_, ParseErrorKind::ExpectedComma) => " (one is missing behind what stands here)",
        (_, ParseErrorKind::UnexpectedWord | ParseErrorKind::ExpectedStringObjectProperty) => {
            " (names and texts stand in double quotes)"
        }
        (_, ParseErrorKind::UnterminatedObject | ParseErrorKind::UnterminatedArray) => {
            " (a closing bracket is missing)"
        }
        _ => "",
    }
}

/// TOML.
pub(super) fn toml(text: &str) -> Result<Node, NoTree> {
    let text = without_mark(text);
    let lines = Lines::of(text);
    let document = Document::parse(text).map_err(|error| NoTree {
        line: error.span().map(|span| lines.at(span.start)),
        what: format!("this is no TOML: {}", lower(error.message().lines().next().unwrap_or_default())),
    })?;
    Ok(from_toml(document.as_item(), 1, &lines))
}

fn from_toml(item: &Item, near: usize, lines: &Lines) -> Node {
    let range = item.span().unwrap_or_default();
    let line = item.span().map_or(near, |span| lines.at(span.start));
    let tree = match item {
        Item::None => Tree::Null,
        Item::Value(value) => return toml_value(value, line, lines),
        Item::Table(table) => toml_map(table, line, lines),
        Item::ArrayOfTables(tables) => {
            let nodes =
                tables.iter().map(|table| Node { line, range: 0..0, tree: toml_map(table, line, lines) });
            Tree::List(nodes.collect())
        }
    };
    Node { line, range, tree }
}

fn toml_value(value: &toml_edit::Value, line: usize, lines: &Lines) -> Node {
    use toml_edit::Value as Toml;
    let tree = match value {
        Toml::String(text) => Tree::Text(text.value().clone()),
        Toml::Integer(number) => Tree::Number((*number.value()).into()),
        Toml::Float(number) => Number::from_f64(*number.value())
            .map_or_else(|| Tree::Text(number.value().to_string()), Tree::Number),
        Toml::Boolean(truth) => Tree::Bool(*truth.value()),
        Toml::Datetime(time) => Tree::Text(time.value().to_string()),
        Toml::Array(list) => {
            let nodes = list.iter().map(|value| {
                toml_value(value, value.span().map_or(line, |span| lines.at(span.start)), lines)
            });
            Tree::List(nodes.collect())
        }
        Toml::InlineTable(table) => toml_map(table, line, lines),
    };
    Node { line, range: value.span().unwrap_or_default(), tree }
}

fn toml_map(table: &dyn TableLike, near: usize, lines: &Lines) -> Tree {
    let members = table.iter().map(|(key, item)| {
        let span = table.key(key).and_then(toml_edit::Key::span);
        let start = span.as_ref().map_or(0, |span| span.start);
        let line = span.map_or(near, |span| lines.at(span.start));
        Member { key: key.to_owned(), line, start, node: from_toml(item, line, lines) }
    });
    Tree::Map(members.collect())
}

/// Where lines begin, so that a place is found without counting from the top each time.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        Self(memchr::memchr_iter(b'\n', text.as_bytes()).collect())
    }

    /// Counted from one.
    fn at(&self, offset: usize) -> usize {
        self.0.partition_point(|end| *end < offset) + 1
    }
}

/// Editors of one system put a mark before the text.
pub(super) fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

fn lower(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}
