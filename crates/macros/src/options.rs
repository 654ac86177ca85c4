//! The options in the parentheses of an attribute, and what they say to the builder.
//!
//! One table knows them all; an option that is not in it is refused with those that are.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{Expr, ExprLit, Lit, LitBool, LitStr, Result, Token};

/// What a function becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Tool,
    Prompt,
    Resource,
}

impl Kind {
    /// The kind that an attribute of this name makes.
    pub(crate) fn of_attribute(name: &Ident) -> Option<Self> {
        [Self::Tool, Self::Prompt, Self::Resource].into_iter().find(|kind| name == kind.name())
    }

    /// The attribute, the builder's function and the server's method.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Prompt => "prompt",
            Self::Resource => "resource",
        }
    }
}

#[derive(Clone, Copy)]
enum Shape {
    /// `title = "…"`
    Text,
    /// `scope = "…"`, as often as there is something to say.
    Texts,
    /// `size = 5`
    Number,
    /// `read_only`, said only if true.
    Flag,
    /// `destructive` or `destructive = false`, said either way.
    Choice,
}

const ALL: &[Kind] = &[Kind::Tool, Kind::Prompt, Kind::Resource];

const KNOWN: [(&str, &[Kind], Shape); 11] = [
    ("name", ALL, Shape::Text),
    ("title", ALL, Shape::Text),
    ("description", ALL, Shape::Text),
    ("scope", ALL, Shape::Texts),
    ("read_only", &[Kind::Tool], Shape::Flag),
    ("destructive", &[Kind::Tool], Shape::Choice),
    ("idempotent", &[Kind::Tool], Shape::Flag),
    ("open_world", &[Kind::Tool], Shape::Choice),
    ("spawned", &[Kind::Tool], Shape::Flag),
    ("mime_type", &[Kind::Resource], Shape::Text),
    ("size", &[Kind::Resource], Shape::Number),
];

fn known_to(kind: Kind) -> impl Iterator<Item = (&'static str, Shape)> {
    KNOWN.into_iter().filter(move |(_, kinds, _)| kinds.contains(&kind)).map(|(name, _, shape)| (name, shape))
}

/// What an attribute says.
#[derive(Default)]
pub(crate) struct Options {
    /// The URI of a resource.
    pub(crate) uri: Option<LitStr>,
    pub(crate) name: Option<Expr>,
    pub(crate) description: Option<Expr>,
    /// Calls on the builder.
    pub(crate) calls: TokenStream,
}

impl Options {
    pub(crate) fn parse(kind: Kind, tokens: TokenStream) -> Result<Self> {
        (|input: ParseStream<'_>| Self::parse_stream(kind, input)).parse2(tokens)
    }

    fn parse_stream(kind: Kind, input: ParseStream<'_>) -> Result<Self> {
        let mut options = Self::default();
        if kind == Kind::Resource {
            if !input.peek(LitStr) {
                let message =
                    "a resource needs its URI or URI template first: `#[resource(\"demo://notes/{id}\")]`";
                let span = if input.is_empty() { Span::call_site() } else { input.span() };
                return Err(syn::Error::new(span, message));
            }
            options.uri = Some(input.parse()?);
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        let mut seen: Vec<Ident> = Vec::new();
        while !input.is_empty() {
            if input.peek(Lit) {
                let message = format!("options of `#[{}]` have names: `title = \"…\"`", kind.name());
                return Err(input.error(message));
            }
            let option = input.call(Ident::parse_any)?;
            if seen.contains(&option) {
                return Err(syn::Error::new(option.span(), format!("`{option}` is given twice")));
            }
            if !matches!(options.take(kind, &option, input)?, Shape::Texts) {
                seen.push(option);
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(options)
    }

    fn take(&mut self, kind: Kind, option: &Ident, input: ParseStream<'_>) -> Result<Shape> {
        let Some((name, shape)) = known_to(kind).find(|(name, _)| option == name) else {
            let known: Vec<String> = known_to(kind).map(|(name, _)| format!("`{name}`")).collect();
            let message =
                format!("`#[{}]` has no option `{option}`; it has {}", kind.name(), known.join(", "));
            return Err(syn::Error::new(option.span(), message));
        };
        let value = if input.peek(Token![=]) {
            input.parse::<Token![=]>()?;
            Some(input.parse::<Expr>()?)
        } else {
            None
        };
        match shape {
            Shape::Text | Shape::Texts => {
                let text = value.ok_or_else(|| wants_value(option, "\"…\""))?;
                match name {
                    "name" => self.name = Some(text),
                    "description" => self.description = Some(text),
                    _ => self.calls.extend(quote!(.#option(#text))),
                }
            }
            Shape::Number => {
                let number = value.ok_or_else(|| wants_value(option, "1024"))?;
                self.calls.extend(quote!(.#option({ let number: u64 = #number; number })));
            }
            Shape::Flag => {
                if boolean(option, value)?.value {
                    self.calls.extend(quote!(.#option()));
                }
            }
            Shape::Choice => {
                let choice = boolean(option, value)?;
                self.calls.extend(quote!(.#option(#choice)));
            }
        }
        Ok(shape)
    }
}

fn wants_value(option: &Ident, example: &str) -> syn::Error {
    syn::Error::new(option.span(), format!("`{option}` needs a value: `{option} = {example}`"))
}

fn boolean(option: &Ident, value: Option<Expr>) -> Result<LitBool> {
    match value {
        None => Ok(LitBool::new(true, option.span())),
        Some(Expr::Lit(ExprLit { lit: Lit::Bool(value), .. })) => Ok(value),
        Some(other) => {
            let message = format!("`{option}` is `true` or `false`; `{option}` alone means `true`");
            Err(syn::Error::new_spanned(other, message))
        }
    }
}
