//! From values to a URI, as RFC 6570 section 3.2 has it.

use super::{Expression, Modifier, Operator, Part, UriTemplate, Variable};
use crate::uri::escape_at;

/// The value of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplateValue {
    /// Text.
    Text(String),
    /// Several texts. An empty list is the same as no value.
    List(Vec<String>),
    /// Pairs of key and text. No pairs are the same as no value.
    Pairs(Vec<(String, String)>),
}

impl From<&str> for TemplateValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl TemplateValue {
    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    fn is_undefined(&self) -> bool {
        match self {
            Self::Text(_) => false,
            Self::List(items) => items.is_empty(),
            Self::Pairs(pairs) => pairs.is_empty(),
        }
    }
}

impl UriTemplate {
    /// Fills in the variables; those without a value are left out.
    pub fn expand<'v>(&self, value_of: impl Fn(&str) -> Option<&'v TemplateValue>) -> String {
        let mut uri = String::with_capacity(self.text.len());
        for part in &self.parts {
            match part {
                Part::Literal(text) => uri.push_str(text),
                Part::Expression(expression) => expression.expand(&mut uri, &value_of),
            }
        }
        uri
    }
}

impl Expression {
    fn expand<'v>(&self, uri: &mut String, value_of: &impl Fn(&str) -> Option<&'v TemplateValue>) {
        let mut before = self.operator.first();
        for variable in &self.variables {
            let Some(value) = value_of(&variable.name).filter(|value| !value.is_undefined()) else {
                continue;
            };
            uri.push_str(before);
            before = self.operator.separator();
            match (variable.modifier, value) {
                (_, TemplateValue::Text(text)) => self.push_text(uri, variable, text),
                (Modifier::Explode, TemplateValue::List(items)) => self.push_each(uri, variable, items),
                (Modifier::Explode, TemplateValue::Pairs(pairs)) => self.push_pairs(uri, pairs),
                (_, TemplateValue::List(items)) => {
                    self.push_joined(uri, variable, items.iter().map(String::as_str));
                }
                (_, TemplateValue::Pairs(pairs)) => {
                    self.push_joined(uri, variable, pairs.iter().flat_map(|(key, text)| [&**key, &**text]));
                }
            }
        }
    }

    fn push_text(&self, uri: &mut String, variable: &Variable, text: &str) {
        self.push_name(uri, &variable.name, text.is_empty());
        match variable.modifier {
            Modifier::Prefix(length) => {
                let end = text.char_indices().nth(length).map_or(text.len(), |(at, _)| at);
                self.push_value(uri, &text[..end]);
            }
            _ => self.push_value(uri, text),
        }
    }

    fn push_joined<'t>(&self, uri: &mut String, variable: &Variable, texts: impl Iterator<Item = &'t str>) {
        self.push_name(uri, &variable.name, false);
        for (at, text) in texts.enumerate() {
            if at > 0 {
                uri.push(',');
            }
            self.push_value(uri, text);
        }
    }

    fn push_each(&self, uri: &mut String, variable: &Variable, items: &[String]) {
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                uri.push_str(self.operator.separator());
            }
            self.push_name(uri, &variable.name, item.is_empty());
            self.push_value(uri, item);
        }
    }

    fn push_pairs(&self, uri: &mut String, pairs: &[(String, String)]) {
        for (at, (key, text)) in pairs.iter().enumerate() {
            if at > 0 {
                uri.push_str(self.operator.separator());
            }
            self.push_value(uri, key);
            if !(text.is_empty() && self.operator == Operator::Parameter) {
                uri.push('=');
            }
            self.push_value(uri, text);
        }
    }

    /// The name and the equals sign, where the operator has them.
    fn push_name(&self, uri: &mut String, name: &str, is_empty: bool) {
        if self.operator.is_named() {
            uri.push_str(name);
            if !(is_empty && self.operator == Operator::Parameter) {
                uri.push('=');
            }
        }
    }

    fn push_value(&self, uri: &mut String, text: &str) {
        push_escaped(uri, text, self.operator.allows_reserved());
    }
}

/// Appends text, escaping what is not unreserved, nor (if allowed) reserved or an escape already.
pub(super) fn push_escaped(uri: &mut String, text: &str, reserved: bool) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        let plain = byte.is_ascii_alphanumeric()
            || b"-._~".contains(byte)
            || reserved && (b":/?#[]@!$&'()*+,;=".contains(byte) || escape_at(bytes, at));
        if plain {
            uri.push(char::from(*byte));
        } else {
            uri.push('%');
            uri.push(char::from(DIGITS[usize::from(byte >> 4)]));
            uri.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
    }
}
