//! An `impl` block whose marked methods become handlers of one shared value.
//!
//! The methods stay methods, so that tests and other code call them as ever. Methods without a mark are not
//! touched.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::{Attribute, ImplItem, ImplItemFn, ItemImpl, Meta, Path, Result};

use crate::expand::Handler;
use crate::function::{check_variables, lenient};
use crate::options::{Kind, Options};
use crate::prose;
use crate::signature::{Faults, Home, parameters};

/// The block, and its methods registered.
pub(crate) fn expand(options: TokenStream, item: TokenStream) -> TokenStream {
    let mut block: ItemImpl = match syn::parse2(item.clone()) {
        Ok(block) => block,
        Err(fault) => {
            let message = format!("`#[handlers]` stands on an `impl` block: {fault}");
            let fault = syn::Error::new(fault.span(), message).into_compile_error();
            return quote!(#fault #item);
        }
    };
    let mut handlers = Registered::default();
    let faults = register(&options, &mut block, &mut handlers).map_err(syn::Error::into_compile_error).err();
    // Faults or not: what is right is registered, so that nothing is reported twice.
    let implementation = implementation(&block, &handlers);
    quote!(#faults #block #implementation)
}

/// What was found in a block.
#[derive(Default)]
struct Registered {
    /// Statements that register methods.
    statements: Vec<TokenStream>,
    /// The attributes that methods were marked with.
    marks: Vec<Path>,
}

fn register(options: &TokenStream, block: &mut ItemImpl, found: &mut Registered) -> Result<()> {
    let mut faults = Faults::default();
    if !options.is_empty() {
        faults.add(syn::Error::new_spanned(options, "`#[handlers]` has no options"));
    }
    if let Some((path, _)) = &block.trait_ {
        let message =
            "handlers are the type's own methods: put `#[handlers]` on an `impl` block without a trait";
        faults.add(syn::Error::new_spanned(path, message));
    }
    for item in &mut block.items {
        let ImplItem::Fn(method) = item else { continue };
        match take_mark(method) {
            Ok(Some((kind, mark))) => {
                found.marks.push(mark.path().clone());
                match registration(kind, &mark, method) {
                    Ok(statement) => found.statements.push(statement),
                    Err(fault) => faults.add(fault),
                }
            }
            Ok(None) => {}
            Err(fault) => faults.add(fault),
        }
    }
    if found.marks.is_empty() && faults.is_empty() {
        let message = "no method of this block is a handler: mark some with `#[tool]`, `#[prompt]` or \
                       `#[resource(\"…\")]`";
        faults.add(syn::Error::new_spanned(&block.self_ty, message));
    }
    faults.finish(())
}

/// Takes the one attribute off a method that says what it becomes.
fn take_mark(method: &mut ImplItemFn) -> Result<Option<(Kind, Attribute)>> {
    let kind_of = |attribute: &Attribute| {
        attribute.path().segments.last().and_then(|segment| Kind::of_attribute(&segment.ident))
    };
    let (marks, rest): (Vec<_>, Vec<_>) =
        std::mem::take(&mut method.attrs).into_iter().partition(|attribute| kind_of(attribute).is_some());
    method.attrs = rest;
    let mut marks = marks.into_iter();
    let Some(mark) = marks.next() else { return Ok(None) };
    match marks.next() {
        Some(second) => Err(syn::Error::new_spanned(second, "a method is one kind of handler")),
        None => Ok(kind_of(&mark).map(|kind| (kind, mark))),
    }
}

/// A statement that registers one method.
fn registration(kind: Kind, mark: &Attribute, method: &mut ImplItemFn) -> Result<TokenStream> {
    let mut faults = Faults::default();
    let options = options(kind, mark).map_err(|fault| faults.add(fault)).ok();
    let parameters = parameters(kind, Home::Block, &mut method.sig).map_err(|fault| faults.add(fault)).ok();
    if let (Some(options), Some(parameters)) = (&options, &parameters) {
        faults.note(check_variables(options, parameters));
    }
    faults.finish(())?;
    let (options, parameters) = (options.unwrap_or_default(), parameters.unwrap_or_default());
    let name = &method.sig.ident;
    let entry = Handler {
        kind,
        options: &options,
        sig: &method.sig,
        parameters: &parameters,
        description: prose::description(&method.attrs),
        target: quote!(<Self>::#name),
    }
    .entry();
    let conditions = prose::conditions(&method.attrs);
    let lenient = lenient();
    method.attrs.push(syn::parse_quote!(#lenient));
    let register = format_ident!("{}", kind.name());
    let share = method.sig.receiver().map(|_| {
        let shared = shared();
        quote!(let #shared = ::std::sync::Arc::clone(&#shared);)
    });
    Ok(quote! {
        #conditions
        let server = {
            #share
            server.#register(#entry)
        };
    })
}

fn options(kind: Kind, mark: &Attribute) -> Result<Options> {
    match &mark.meta {
        Meta::Path(_) if kind == Kind::Resource => {
            let message = "a resource needs its URI or URI template: `#[resource(\"demo://notes/{id}\")]`";
            Err(syn::Error::new_spanned(mark, message))
        }
        Meta::Path(_) => Ok(Options::default()),
        Meta::List(list) => Options::parse(kind, list.tokens.clone()),
        Meta::NameValue(_) => {
            let message = format!("options stand in parentheses: `#[{}(…)]`", kind.name());
            Err(syn::Error::new_spanned(mark, message))
        }
    }
}

/// The value that all handlers share, as a variable.
fn shared() -> proc_macro2::Ident {
    proc_macro2::Ident::new("shared", proc_macro2::Span::mixed_site())
}

fn implementation(block: &ItemImpl, found: &Registered) -> TokenStream {
    let (shared, self_ty, conditions) = (shared(), &block.self_ty, prose::conditions(&block.attrs));
    let mut generics = block.generics.clone();
    if !generics.params.is_empty() {
        let clause = generics.make_where_clause();
        clause.predicates.push(syn::parse_quote!(Self: Send + Sync + 'static));
    }
    let (parameters, _, clause) = generics.split_for_impl();
    // The marks are gone from the methods; this keeps their imports in use, and finds those that are missing.
    let (mut seen, statements) = (Vec::new(), &found.statements);
    let marks = found.marks.iter().filter(|path| {
        let text = path.to_token_stream().to_string();
        let new = !seen.contains(&text);
        seen.push(text);
        new
    });
    quote! {
        #conditions
        const _: () = {
            #(#[allow(unused_imports)] use #marks as _;)*
        };

        #conditions
        impl #parameters ::contexture::server::Handlers for #self_ty #clause {
            fn register(self, server: ::contexture::server::Server) -> ::contexture::server::Server {
                #[allow(unused_variables)]
                let #shared = ::std::sync::Arc::new(self);
                #(#statements)*
                server
            }
        }
    }
}
