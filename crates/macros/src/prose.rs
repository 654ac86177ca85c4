//! Doc comments as descriptions: the text that a person wrote for people, as a model should read it.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Attribute, Expr, ExprLit, Lit, Meta};

/// The text of all doc comments, or nothing if there is none. Lines that belong to one paragraph are joined;
/// lists, tables, quotations and code keep their lines.
pub(crate) fn description(attributes: &[Attribute]) -> Option<String> {
    let lines: Vec<String> = attributes.iter().filter_map(line).collect();
    let text = joined(lines.iter().flat_map(|line| line.split('\n')));
    (!text.is_empty()).then_some(text)
}

/// Whether this is a doc comment.
pub(crate) fn is_doc(attribute: &Attribute) -> bool {
    attribute.path().is_ident("doc")
}

fn line(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(meta) = &attribute.meta else { return None };
    match &meta.value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) if is_doc(attribute) => Some(text.value()),
        _ => None,
    }
}

fn joined<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let mut text = String::new();
    let (mut fenced, mut after_fence) = (false, false);
    for line in lines {
        let line = line.strip_prefix(' ').unwrap_or(line).trim_end();
        let is_fence = line.trim_start().starts_with("```");
        let apart = fenced || is_fence || stands_alone(line);
        fenced ^= is_fence;
        if text.is_empty() {
            text.push_str(line);
        } else if apart || after_fence || line.is_empty() || text.ends_with('\n') {
            text.push('\n');
            text.push_str(line);
        } else {
            text.push(' ');
            text.push_str(line.trim_start());
        }
        after_fence = is_fence;
    }
    text.trim().to_owned()
}

/// Whether a line begins something by itself: an item, a row, a heading, a quotation, indented code.
fn stands_alone(line: &str) -> bool {
    let trimmed = line.trim_start();
    let digits = trimmed.trim_start_matches(|character: char| character.is_ascii_digit());
    let numbered = digits.len() < trimmed.len() && digits.starts_with(['.', ')']);
    numbered || line.starts_with("    ") || trimmed.starts_with(['-', '*', '+', '|', '>', '#'])
}

/// Attributes that decide whether an item is there at all; what is made of the item needs them too.
pub(crate) fn conditions(attributes: &[Attribute]) -> TokenStream {
    let conditions = attributes.iter().filter(|attribute| attribute.path().is_ident("cfg"));
    conditions.map(ToTokens::to_token_stream).collect()
}

#[cfg(test)]
mod tests {
    use super::joined;

    fn of(text: &str) -> String {
        joined(text.lines())
    }

    #[test]
    fn paragraphs_are_joined_and_lists_are_not() {
        assert_eq!(of(" Adds two\n numbers."), "Adds two numbers.");
        assert_eq!(of(" One.\n\n Two\n goes on. "), "One.\n\nTwo goes on.");
        assert_eq!(of(" Either:\n - this\n - or that"), "Either:\n- this\n- or that");
        assert_eq!(of(" As in\n ```\n a\n   b\n ```\n so."), "As in\n```\na\n  b\n```\nso.");
        assert_eq!(of(" \n "), "");
    }
}
