//! The parameters of a function: which are arguments of the call, and which come from elsewhere.
//!
//! Everything that cannot work is refused here, at the place where it is written, before any code is made of
//! it: the compiler's own words about generated code would help nobody.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{FnArg, GenericArgument, Pat, PatType, PathArguments, ReceiverKind, Result, Safety, Type};

use crate::arguments::Argument;
use crate::options::Kind;

/// Where a function stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Home {
    /// By itself.
    Module,
    /// In an `impl` block with `#[handlers]`.
    Block,
}

/// One parameter, in its place.
pub(crate) enum Parameter {
    /// An argument of the call.
    Argument(Box<Argument>),
    /// Something that the library provides.
    Extractor(Box<Type>),
}

/// Extractors by the last segment of their path.
const EXTRACTORS: [&str; 6] = ["Args", "Context", "Meta", "Principal", "State", "Uri"];
/// How many extractors a handler can have; all arguments together are one.
const MOST: usize = 6;

/// Sorts the parameters, and takes off them what the compiler would not accept there.
pub(crate) fn parameters(kind: Kind, home: Home, sig: &mut syn::Signature) -> Result<Vec<Parameter>> {
    let mut faults = Faults::default();
    faults.note(check_function(kind, sig));
    let mut parameters = Vec::new();
    for input in &mut sig.inputs {
        match input {
            FnArg::Receiver(receiver) => faults.note(check_receiver(kind, home, receiver)),
            FnArg::Typed(typed) => match parameter(kind, typed) {
                Ok(parameter) => parameters.push((typed.ty.span(), parameter)),
                Err(fault) => faults.add(fault),
            },
        }
    }
    faults.note(check_together(kind, &parameters));
    faults.finish(parameters.into_iter().map(|(_, parameter)| parameter).collect())
}

/// All faults of one item, so that they are reported together.
#[derive(Default)]
pub(crate) struct Faults(Option<syn::Error>);

impl Faults {
    pub(crate) fn add(&mut self, fault: syn::Error) {
        match &mut self.0 {
            Some(faults) => faults.combine(fault),
            None => self.0 = Some(fault),
        }
    }

    pub(crate) fn note(&mut self, checked: Result<()>) {
        if let Err(fault) = checked {
            self.add(fault);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    pub(crate) fn finish<T>(self, value: T) -> Result<T> {
        self.0.map_or(Ok(value), Err)
    }
}

fn check_function(kind: Kind, sig: &syn::Signature) -> Result<()> {
    let name = kind.name();
    let mut faults = Faults::default();
    if !sig.generics.params.is_empty() {
        let message = format!("a {name} cannot be generic: its schema needs to know every type");
        faults.add(syn::Error::new_spanned(&sig.generics, message));
    } else if let Some(clause) = &sig.generics.where_clause {
        faults.add(syn::Error::new_spanned(clause, format!("a {name} has no use for a `where` clause")));
    }
    if let Safety::Unsafe(token) = &sig.safety {
        let message = format!("a {name} cannot be `unsafe`: anybody may call it");
        faults.add(syn::Error::new_spanned(token, message));
    }
    if let Some(abi) = &sig.abi {
        faults.add(syn::Error::new_spanned(abi, format!("a {name} is a Rust function: remove `extern`")));
    }
    if let Some(token) = &sig.constness {
        faults.add(syn::Error::new_spanned(token, format!("a {name} cannot be `const`")));
    }
    faults.finish(())
}

fn check_receiver(kind: Kind, home: Home, receiver: &syn::Receiver) -> Result<()> {
    let message = match (home, &receiver.kind) {
        (Home::Block, ReceiverKind::Reference(_, _, None)) => return Ok(()),
        (Home::Block, _) => {
            "handlers share one value, also at the same time: take `&self`, and put what changes into a \
             `Mutex`, an atomic or the like"
                .to_owned()
        }
        (Home::Module, _) => {
            format!("to make a {} of a method, put `#[handlers]` on its `impl` block", kind.name())
        }
    };
    Err(syn::Error::new_spanned(receiver, message))
}

fn parameter(kind: Kind, typed: &mut PatType) -> Result<Parameter> {
    let marked = typed.attrs.iter().any(|attribute| attribute.path().is_ident("extract"));
    let as_argument = typed.attrs.iter().any(|attribute| attribute.path().is_ident("arg"));
    check_type(&typed.ty)?;
    if marked || (!as_argument && is_extractor(kind, &typed.ty)?) {
        if let Some(attribute) = typed.attrs.iter().find(|attribute| crate::arguments::describes(attribute)) {
            let message =
                "this is not an argument of the call and has no schema; put `#[arg]` on it to make it one";
            return Err(syn::Error::new_spanned(attribute, message));
        }
        typed.attrs.retain(|attribute| !attribute.path().is_ident("extract"));
        return Ok(Parameter::Extractor(typed.ty.clone()));
    }
    let name = argument_name(&typed.pat)?;
    let attributes = std::mem::take(&mut typed.attrs);
    let (ours, rest) = attributes.into_iter().partition(crate::arguments::describes);
    typed.attrs = rest;
    Argument::new(name, (*typed.ty).clone(), ours).map(|argument| Parameter::Argument(Box::new(argument)))
}

fn argument_name(pattern: &Pat) -> Result<Ident> {
    match pattern {
        Pat::Ident(plain) if plain.by_ref.is_none() && plain.subpat.is_none() => Ok(plain.ident.clone()),
        Pat::Wild(_) => Err(syn::Error::new_spanned(
            pattern,
            "an argument needs a name: callers pass it by that name; `#[arg(name = \"…\")] _unused: …` gives \
             it another than the variable's",
        )),
        _ => Err(syn::Error::new_spanned(
            pattern,
            "an argument is one name, which is also its name in the schema; take it apart in the function's \
             body",
        )),
    }
}

/// Refuses what cannot be decoded from a message that is gone by the time the handler runs.
fn check_type(ty: &Type) -> Result<()> {
    match ty {
        Type::Reference(reference) => {
            let inner = reference.elem.to_token_stream().to_string();
            let owned = match &*reference.elem {
                Type::Slice(slice) => format!("Vec<{}>", slice.elem.to_token_stream()),
                _ if inner == "str" => "String".to_owned(),
                _ if inner == "Path" => "PathBuf".to_owned(),
                _ => inner,
            };
            Err(syn::Error::new_spanned(ty, format!("handlers own what they take: write `{owned}`")))
        }
        Type::ImplTrait(_) => Err(syn::Error::new_spanned(
            ty,
            "a handler cannot take `impl Trait`: its schema needs to know the type, so name one",
        )),
        _ => match borrowed(ty.to_token_stream()) {
            Some(span) => Err(syn::Error::new(span, "handlers own what they take: no references here")),
            None => Ok(()),
        },
    }
}

/// The first reference anywhere in a type.
fn borrowed(tokens: TokenStream) -> Option<Span> {
    tokens.into_iter().find_map(|token| match token {
        TokenTree::Punct(mark) if mark.as_char() == '&' => Some(mark.span()),
        TokenTree::Group(group) => borrowed(group.stream()),
        _ => None,
    })
}

/// The last segment of a path: `State` of `contexture::State<Db>`, and the first type in its brackets.
fn last_segment(ty: &Type) -> Option<(&Ident, Option<&Type>)> {
    let Type::Path(path) = ty else { return None };
    let segment = path.path.segments.last()?;
    let inner = match &segment.arguments {
        PathArguments::AngleBracketed(brackets) => brackets.args.iter().find_map(|inner| match inner {
            GenericArgument::Type(ty) => Some(ty),
            _ => None,
        }),
        _ => None,
    };
    Some((&segment.ident, inner))
}

fn is_extractor(kind: Kind, ty: &Type) -> Result<bool> {
    let Some((name, inner)) = last_segment(ty) else { return Ok(false) };
    if name == "Session" {
        let message = "not every client has a session: take `Option<Session>`";
        return Err(syn::Error::new_spanned(ty, message));
    }
    if name == "Uri" && kind != Kind::Resource {
        let message = format!(
            "only a resource has a URI, a {} has not; if this is a type of your own, put `#[arg]` on it",
            kind.name()
        );
        return Err(syn::Error::new_spanned(ty, message));
    }
    if name == "Option" {
        return Ok(inner.and_then(last_segment).is_some_and(|(name, _)| name == "Session"));
    }
    Ok(EXTRACTORS.iter().any(|known| name == known))
}

/// Whether the type is a `Result` by name.
pub(crate) fn is_result(ty: &Type) -> bool {
    last_segment(ty).is_some_and(|(name, _)| name == "Result")
}

fn check_together(kind: Kind, parameters: &[(Span, Parameter)]) -> Result<()> {
    let mut names: Vec<&str> = Vec::new();
    let mut whole: Option<Span> = None;
    let mut extractors = 0;
    for (span, parameter) in parameters {
        match parameter {
            Parameter::Extractor(ty) => {
                extractors += 1;
                if last_segment(ty).is_some_and(|(name, _)| name == "Args") && whole.replace(*span).is_some()
                {
                    return Err(syn::Error::new(*span, "there is one set of arguments: take `Args` once"));
                }
            }
            Parameter::Argument(argument) => {
                if names.contains(&argument.name.as_str()) {
                    let message = format!("there is an argument {:?} already", argument.name);
                    return Err(syn::Error::new(argument.span, message));
                }
                names.push(&argument.name);
            }
        }
    }
    if let (Some(span), false) = (whole, names.is_empty()) {
        let message =
            "`Args` takes all arguments: either move the others into its type, or take each by itself";
        return Err(syn::Error::new(span, message));
    }
    let taken = extractors + usize::from(!names.is_empty());
    match parameters.last() {
        Some((span, _)) if taken > MOST => {
            let message = format!("a {} takes at most {MOST} extractors, arguments included", kind.name());
            Err(syn::Error::new(*span, message))
        }
        _ => Ok(()),
    }
}

/// The name that callers know an identifier by.
pub(crate) fn spoken(name: &Ident) -> String {
    name.unraw().to_string()
}
