//! From text to parts. Errors say at which byte.

use super::expand::push_escaped;
use super::{Expression, Modifier, Operator, Part, TemplateError, UriTemplate, Variable};
use crate::uri::escape_at;

impl UriTemplate {
    /// Parses a template.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let mut parts = Vec::new();
        let mut at = 0;
        while at < text.len() {
            let rest = &text[at..];
            if let Some(inside) = rest.strip_prefix('{') {
                let end = inside.find('}').ok_or(TemplateError::new(at, "this brace is never closed"))?;
                parts.push(Part::Expression(expression(&inside[..end], at)?));
                at += end + 2;
            } else {
                let end = rest.find('{').unwrap_or(rest.len());
                parts.push(Part::Literal(literal(&rest[..end], at)?));
                at += end;
            }
        }
        Ok(Self { text: text.to_owned(), parts })
    }
}

impl std::str::FromStr for UriTemplate {
    type Err = TemplateError;

    fn from_str(text: &str) -> Result<Self, TemplateError> {
        Self::parse(text)
    }
}

fn literal(text: &str, start: usize) -> Result<String, TemplateError> {
    for (at, character) in text.char_indices() {
        let reason = match character {
            '%' if !escape_at(text.as_bytes(), at) => "% is not followed by two hexadecimal digits",
            '}' => "this brace was never opened",
            ' ' | '"' | '<' | '>' | '\\' | '^' | '`' | '|' => "this character cannot stand in a URI",
            _ if character.is_control() => "control characters cannot stand in a URI",
            _ => continue,
        };
        return Err(TemplateError::new(start + at, reason));
    }
    let mut escaped = String::with_capacity(text.len());
    push_escaped(&mut escaped, text, true);
    Ok(escaped)
}

fn expression(inside: &str, at: usize) -> Result<Expression, TemplateError> {
    let operator = match inside.as_bytes().first() {
        None => return Err(TemplateError::new(at, "this expression is empty")),
        Some(b'+') => Operator::Reserved,
        Some(b'#') => Operator::Fragment,
        Some(b'.') => Operator::Label,
        Some(b'/') => Operator::Path,
        Some(b';') => Operator::Parameter,
        Some(b'?') => Operator::Query,
        Some(b'&') => Operator::Continuation,
        Some(b'=' | b',' | b'!' | b'@' | b'|') => {
            return Err(TemplateError::new(at + 1, "this operator is reserved and has no meaning"));
        }
        Some(_) => Operator::Simple,
    };
    let skipped = usize::from(operator != Operator::Simple);
    let mut start = at + 1 + skipped;
    let mut variables = Vec::new();
    for text in inside[skipped..].split(',') {
        variables.push(variable(text, start)?);
        start += text.len() + 1;
    }
    Ok(Expression { operator, variables, at })
}

fn variable(text: &str, start: usize) -> Result<Variable, TemplateError> {
    let (name, modifier) = if let Some(name) = text.strip_suffix('*') {
        (name, Modifier::Explode)
    } else if let Some((name, length)) = text.split_once(':') {
        (name, prefix(length, start + name.len() + 1)?)
    } else {
        (text, Modifier::Whole)
    };
    check_name(name, start)?;
    Ok(Variable { name: name.to_owned(), modifier })
}

fn prefix(digits: &str, start: usize) -> Result<Modifier, TemplateError> {
    let error = TemplateError::new(start, "a prefix is a number from 1 to 9999");
    let is_number = (1..=4).contains(&digits.len())
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && !digits.starts_with('0');
    match digits.parse() {
        Ok(length) if is_number => Ok(Modifier::Prefix(length)),
        _ => Err(error),
    }
}

fn check_name(name: &str, start: usize) -> Result<(), TemplateError> {
    let bytes = name.as_bytes();
    if bytes.is_empty() {
        return Err(TemplateError::new(start, "a variable has no name"));
    }
    let mut at = 0;
    let mut after_dot = true;
    while at < bytes.len() {
        let byte = bytes[at];
        if byte == b'.' && !after_dot && at + 1 < bytes.len() {
            after_dot = true;
            at += 1;
            continue;
        }
        after_dot = false;
        at += match byte {
            b'_' => 1,
            _ if byte.is_ascii_alphanumeric() => 1,
            _ if escape_at(bytes, at) => 3,
            _ => return Err(TemplateError::new(start + at, "a name has letters, digits, _ and single dots")),
        };
    }
    Ok(())
}
