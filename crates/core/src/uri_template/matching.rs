//! From a URI back to values, in one pass and without a second try.
//!
//! The template is cut into a head and, at its end, query and fragment. In the head at most one variable may
//! span segments (`{+path}`, `{/rest*}`): what stands before it is matched from the left, what stands behind
//! it from the right, every other variable taking the shortest text that lets its neighbour match. None of
//! those can contain a slash, so a longer choice could never succeed where the shortest fails.

use std::collections::{BTreeMap, BTreeSet};

use super::{Expression, Modifier, Operator, Part, TemplateError, TemplateValue, UriTemplate, Variable};
use crate::uri::{climbs, percent_decode};

/// The values of a template's variables, by name.
pub type Captures = BTreeMap<String, TemplateValue>;

/// A template made ready for matching.
#[derive(Debug, Clone)]
pub struct Matcher {
    /// Up to the variable that spans segments, or all.
    left: Vec<Atom>,
    /// The variable that spans segments, and what stands behind it.
    spanning: Option<(Capture, Vec<Atom>)>,
    query: Option<Query>,
    fragment: Option<String>,
}

#[derive(Debug, Clone)]
enum Atom {
    Literal(String),
    Capture(Capture),
}

#[derive(Debug, Clone)]
struct Capture {
    name: String,
    /// At most so many characters.
    prefix: Option<usize>,
    /// Taken apart here.
    split: Option<char>,
    /// May contain slashes.
    spans: bool,
    /// Stands directly behind a slash, so a slash at its start would make an absolute path of it.
    after_slash: bool,
}

#[derive(Debug, Clone)]
struct Query {
    /// The character that starts it, and how many of its kind stand before it in the template's own query.
    start: char,
    skip: usize,
    /// The names, and whether they are lists.
    variables: BTreeMap<String, bool>,
}

impl UriTemplate {
    /// Makes the template ready for matching. Fails where a URI could be read in more than one way.
    pub fn matcher(&self) -> Result<Matcher, TemplateError> {
        let mut plan = Plan::default();
        for part in &self.parts {
            match part {
                Part::Literal(text) => plan.literal(text)?,
                Part::Expression(expression) => plan.expression(expression)?,
            }
        }
        Ok(plan.finish())
    }
}

#[derive(Default)]
struct Plan {
    atoms: Vec<Atom>,
    spanning_at: Option<usize>,
    query: Option<Query>,
    fragment: Option<String>,
    names: BTreeSet<String>,
    at: usize,
}

impl Plan {
    fn refuse<T>(&self, reason: &'static str) -> Result<T, TemplateError> {
        Err(TemplateError::new(self.at, reason))
    }

    fn literal(&mut self, text: &str) -> Result<(), TemplateError> {
        if self.query.is_some() || self.fragment.is_some() {
            return self.refuse("to be matched, a query or fragment expression must come last");
        }
        match self.atoms.last_mut() {
            Some(Atom::Literal(before)) => before.push_str(text),
            _ => self.atoms.push(Atom::Literal(text.to_owned())),
        }
        Ok(())
    }

    fn expression(&mut self, expression: &Expression) -> Result<(), TemplateError> {
        self.at = expression.at;
        for variable in &expression.variables {
            if !self.names.insert(variable.name.clone()) {
                return self.refuse("to be matched, a variable must stand there only once");
            }
        }
        match expression.operator {
            Operator::Query | Operator::Continuation => self.query(expression),
            Operator::Fragment => self.fragment(expression),
            operator => {
                for (nth, variable) in expression.variables.iter().enumerate() {
                    let lead = if nth == 0 { operator.first() } else { operator.separator() };
                    self.variable(operator, variable, lead)?;
                }
                Ok(())
            }
        }
    }

    fn query(&mut self, expression: &Expression) -> Result<(), TemplateError> {
        if self.fragment.is_some() {
            return self.refuse("a query cannot follow a fragment");
        }
        let named = expression.variables.iter();
        let named = named.map(|variable| (variable.name.clone(), variable.modifier == Modifier::Explode));
        if let Some(query) = &mut self.query {
            query.variables.extend(named);
            return Ok(());
        }
        let start = if expression.operator == Operator::Query { '?' } else { '&' };
        let literals = self.atoms.iter().filter_map(|atom| match atom {
            Atom::Literal(text) => Some(text.matches(start).count()),
            Atom::Capture(_) => None,
        });
        self.query = Some(Query { start, skip: literals.sum(), variables: named.collect() });
        Ok(())
    }

    fn fragment(&mut self, expression: &Expression) -> Result<(), TemplateError> {
        match expression.variables.as_slice() {
            [Variable { name, modifier: Modifier::Whole }] if self.fragment.is_none() => {
                self.fragment = Some(name.clone());
                Ok(())
            }
            _ => self.refuse("to be matched, a fragment must be one whole variable"),
        }
    }

    fn variable(&mut self, operator: Operator, variable: &Variable, lead: &str) -> Result<(), TemplateError> {
        let explode = variable.modifier == Modifier::Explode;
        let named = operator == Operator::Parameter;
        if named && explode {
            return self.refuse("an exploded parameter cannot be matched");
        }
        if !lead.is_empty() {
            let name = if named { format!("{}=", variable.name) } else { String::new() };
            self.literal(&format!("{lead}{name}"))?;
        } else if self.query.is_some() || self.fragment.is_some() {
            return self.refuse("to be matched, a query or fragment expression must come last");
        }
        let after_slash = match self.atoms.last() {
            Some(Atom::Capture(_)) => {
                return self.refuse("two variables touch, so a URI could be split anywhere");
            }
            Some(Atom::Literal(text)) => text.ends_with('/'),
            None => false,
        };
        let spans = operator == Operator::Reserved || operator == Operator::Path && explode;
        if spans && self.spanning_at.replace(self.atoms.len()).is_some() {
            return self.refuse("only one variable can span segments");
        }
        let prefix = if let Modifier::Prefix(length) = variable.modifier { Some(length) } else { None };
        let split = if explode { operator.separator().chars().next() } else { None };
        let name = variable.name.clone();
        self.atoms.push(Atom::Capture(Capture { name, prefix, split, spans, after_slash }));
        Ok(())
    }

    fn finish(mut self) -> Matcher {
        let mut spanning = None;
        if let Some(at) = self.spanning_at {
            let right = self.atoms.split_off(at + 1);
            if let Some(Atom::Capture(capture)) = self.atoms.pop() {
                spanning = Some((capture, right));
            }
        }
        Matcher { left: self.atoms, spanning, query: self.query, fragment: self.fragment }
    }
}

impl Matcher {
    /// The values of the variables, decoded, if the URI is one that the template makes.
    ///
    /// What stands before query and fragment does not match if it climbs (`..` as a segment, however escaped)
    /// or, outside `{+x}` and `{/x*}`, contains a slash in any form. NUL matches nowhere. Values of a query
    /// are free text: they name nothing by their place.
    pub fn matches(&self, uri: &str) -> Option<Captures> {
        let mut captures = Captures::new();
        let mut head = uri;
        if let Some(name) = &self.fragment
            && let Some((before, fragment)) = head.split_once('#')
        {
            head = before;
            captures.insert(name.clone(), TemplateValue::Text(decode(fragment)?));
        }
        if let Some(query) = &self.query
            && let Some((at, _)) = head.match_indices(query.start).nth(query.skip)
        {
            query.read(&head[at + 1..], &mut captures)?;
            head = &head[..at];
        }
        match &self.spanning {
            None => match_all(&self.left, head, &mut captures)?,
            Some((capture, right)) => {
                let rest = match_start(&self.left, head, &mut captures)?;
                let middle = match_end(right, rest, &mut captures)?;
                capture.take(middle, &mut captures)?;
            }
        }
        Some(captures)
    }
}

/// Matches a whole text. No variable touches another, so literals and variables alternate.
fn match_all(atoms: &[Atom], text: &str, captures: &mut Captures) -> Option<()> {
    match atoms {
        [before @ .., Atom::Capture(last), Atom::Literal(end)] => {
            let rest = match_start(before, text.strip_suffix(end.as_str())?, captures)?;
            last.take(rest, captures)
        }
        [before @ .., Atom::Capture(last)] => last.take(match_start(before, text, captures)?, captures),
        _ => match_start(atoms, text, captures)?.is_empty().then_some(()),
    }
}

/// Matches from the left a row that ends with a literal; returns what is left over on the right.
fn match_start<'t>(atoms: &[Atom], mut text: &'t str, captures: &mut Captures) -> Option<&'t str> {
    let mut open: Option<&Capture> = None;
    for atom in atoms {
        match (atom, open.take()) {
            (Atom::Literal(literal), None) => text = text.strip_prefix(literal.as_str())?,
            (Atom::Literal(literal), Some(capture)) => {
                let at = text.find(literal.as_str())?;
                capture.take(&text[..at], captures)?;
                text = &text[at + literal.len()..];
            }
            (Atom::Capture(capture), _) => open = Some(capture),
        }
    }
    Some(text)
}

/// Matches from the right a row that starts with a literal; returns what is left over on the left.
fn match_end<'t>(atoms: &[Atom], mut text: &'t str, captures: &mut Captures) -> Option<&'t str> {
    let mut open: Option<&Capture> = None;
    for atom in atoms.iter().rev() {
        match (atom, open.take()) {
            (Atom::Literal(literal), None) => text = text.strip_suffix(literal.as_str())?,
            (Atom::Literal(literal), Some(capture)) => {
                let at = text.rfind(literal.as_str())?;
                capture.take(&text[at + literal.len()..], captures)?;
                text = &text[..at];
            }
            (Atom::Capture(capture), _) => open = Some(capture),
        }
    }
    Some(text)
}

impl Capture {
    /// Decodes a text and keeps it, if it is one that may stand here.
    fn take(&self, raw: &str, captures: &mut Captures) -> Option<()> {
        if raw.is_empty() || raw.contains(['?', '#']) || climbs(raw) {
            return None;
        }
        let text = decode(raw)?;
        let slashes = ['/', '\\'];
        if !self.spans && text.contains(slashes) || self.after_slash && text.starts_with(slashes) {
            return None;
        }
        if self.prefix.is_some_and(|length| text.chars().count() > length) {
            return None;
        }
        let value = match self.split {
            // Split before decoding: an escaped separator belongs to its item.
            Some(separator) => {
                let items: Vec<String> = raw.split(separator).map(decode).collect::<Option<_>>()?;
                if separator == '/' && items.iter().any(|item| item.contains(slashes)) {
                    return None;
                }
                TemplateValue::List(items)
            }
            None => TemplateValue::Text(text),
        };
        captures.insert(self.name.clone(), value);
        Some(())
    }
}

impl Query {
    /// Reads `name=value` pairs in any order. A name that the template does not have, or a second value of
    /// one that is no list, does not match.
    fn read(&self, text: &str, captures: &mut Captures) -> Option<()> {
        for pair in text.split('&') {
            let (name, raw) = pair.split_once('=')?;
            let is_list = *self.variables.get(name)?;
            let value = decode(raw)?;
            match (is_list, captures.get_mut(name)) {
                (true, Some(TemplateValue::List(items))) => items.push(value),
                (true, None) => {
                    captures.insert(name.to_owned(), TemplateValue::List(vec![value]));
                }
                (false, None) => {
                    captures.insert(name.to_owned(), TemplateValue::Text(value));
                }
                _ => return None,
            }
        }
        Some(())
    }
}

/// Undoes escapes; what is not text or contains NUL is refused.
fn decode(raw: &str) -> Option<String> {
    let text = String::from_utf8(percent_decode(raw).into_owned()).ok()?;
    (!text.contains('\0')).then_some(text)
}
