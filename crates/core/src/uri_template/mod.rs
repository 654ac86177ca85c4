//! URI templates (RFC 6570, level 4): parsing, expansion, and matching in linear time.
//!
//! Expansion is the RFC's, exactly. Matching is ours, because the RFC has none: it never tries a second way,
//! so its time is linear in the URI whatever the template, and templates that cannot be matched that way are
//! refused when the [`Matcher`] is made. A capture never climbs out of where it stands.

mod expand;
mod matching;
mod parse;

pub use expand::TemplateValue;
pub use matching::{Captures, Matcher};

use std::fmt;

/// A parsed template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UriTemplate {
    text: String,
    parts: Vec<Part>,
}

impl UriTemplate {
    /// The template as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The names of its variables, in the order in which they stand there.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.parts
            .iter()
            .flat_map(|part| match part {
                Part::Literal(_) => &[],
                Part::Expression(expression) => expression.variables.as_slice(),
            })
            .map(|variable| variable.name.as_str())
    }
}

/// Why a text is not a template, or not one that can be matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateError {
    /// The byte where it goes wrong.
    pub at: usize,
    /// What goes wrong there.
    pub reason: &'static str,
}

impl TemplateError {
    fn new(at: usize, reason: &'static str) -> Self {
        Self { at, reason }
    }
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "URI template, byte {}: {}", self.at, self.reason)
    }
}

impl std::error::Error for TemplateError {}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    /// Text, escaped as it will stand in the URI.
    Literal(String),
    Expression(Expression),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Expression {
    operator: Operator,
    variables: Vec<Variable>,
    /// Where it starts, for errors.
    at: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Variable {
    name: String,
    modifier: Modifier,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Modifier {
    Whole,
    /// Only so many characters.
    Prefix(usize),
    /// Lists and pairs are taken apart.
    Explode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Simple,
    Reserved,
    Fragment,
    Label,
    Path,
    Parameter,
    Query,
    Continuation,
}

impl Operator {
    /// What stands before the first value.
    const fn first(self) -> &'static str {
        match self {
            Self::Simple | Self::Reserved => "",
            Self::Fragment => "#",
            Self::Label => ".",
            Self::Path => "/",
            Self::Parameter => ";",
            Self::Query => "?",
            Self::Continuation => "&",
        }
    }

    /// What stands between two values.
    const fn separator(self) -> &'static str {
        match self {
            Self::Simple | Self::Reserved | Self::Fragment => ",",
            Self::Label => ".",
            Self::Path => "/",
            Self::Parameter => ";",
            Self::Query | Self::Continuation => "&",
        }
    }

    /// Values come as `name=value`.
    const fn is_named(self) -> bool {
        matches!(self, Self::Parameter | Self::Query | Self::Continuation)
    }

    /// Reserved characters and escapes stand as they are.
    const fn allows_reserved(self) -> bool {
        matches!(self, Self::Reserved | Self::Fragment)
    }
}
