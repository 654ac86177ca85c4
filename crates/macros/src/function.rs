//! A function by itself: its name stays, as a type to call it through and as a function that makes the entry.
//!
//! The name is no unit struct: those may not be shadowed, and a tool called `path` would forbid every
//! variable of that name in its module.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Attribute, ItemFn, ItemImpl, Result};

use crate::expand::Handler;
use crate::options::{Kind, Options};
use crate::prose;
use crate::signature::{Faults, Home, Parameter, parameters};

/// The function as a handler, or what is wrong with it.
pub(crate) fn expand(kind: Kind, options: TokenStream, item: TokenStream) -> TokenStream {
    let function: ItemFn = match syn::parse2(item.clone()) {
        Ok(function) => function,
        Err(fault) => {
            let message = match syn::parse2::<ItemImpl>(item.clone()) {
                Ok(_) => "on an `impl` block, write `#[handlers]`".to_owned(),
                Err(_) => format!("`#[{0}]` makes a {0} of a function: {fault}", kind.name()),
            };
            let fault = syn::Error::new(fault.span(), message).into_compile_error();
            return quote!(#fault #item);
        }
    };
    let stand_in = stand_in(kind, &function);
    handler(kind, options, function).unwrap_or_else(|faults| {
        let faults = faults.into_compile_error();
        quote!(#faults #stand_in)
    })
}

/// Something of that name and kind, so that one fault is not reported again wherever the name is used.
fn stand_in(kind: Kind, function: &ItemFn) -> TokenStream {
    let ItemFn { vis, sig, .. } = function;
    let (name, entry) = (&sig.ident, entry_type(kind));
    quote!(#[allow(dead_code, missing_docs)] #vis fn #name() -> #entry { ::core::unreachable!() })
}

fn entry_type(kind: Kind) -> TokenStream {
    match kind {
        Kind::Tool => quote!(::contexture::server::ToolEntry),
        Kind::Prompt => quote!(::contexture::server::PromptEntry),
        Kind::Resource => quote!(::contexture::server::ResourceEntry),
    }
}

fn handler(kind: Kind, options: TokenStream, function: ItemFn) -> Result<TokenStream> {
    let ItemFn { attrs, vis, mut sig, block, .. } = function;
    let name = sig.ident.clone();
    let mut faults = Faults::default();
    let options = Options::parse(kind, options).map_err(|fault| faults.add(fault)).ok();
    let parameters = parameters(kind, Home::Module, &mut sig).map_err(|fault| faults.add(fault)).ok();
    if let (Some(options), Some(parameters)) = (&options, &parameters) {
        faults.note(check_variables(options, parameters));
    }
    faults.finish(())?;
    let (options, parameters) = (options.unwrap_or_default(), parameters.unwrap_or_default());
    let entry = Handler {
        kind,
        options: &options,
        sig: &sig,
        parameters: &parameters,
        description: prose::description(&attrs),
        target: quote!(<Self>::call),
    }
    .entry();
    let conditions = prose::conditions(&attrs);
    let docs: Vec<&Attribute> = attrs.iter().filter(|attribute| prose::is_doc(attribute)).collect();
    let made = format!("Makes the {} [`{name}`](struct@{name}), to be registered.", kind.name());
    let lenient = lenient();
    let (entry_type, into) = (entry_type(kind), format_ident!("into_{}", kind.name()));
    let into_trait = format_ident!("Into{}", capitalized(kind.name()));
    sig.ident = format_ident!("call");
    Ok(quote! {
        #conditions
        #(#docs)*
        #[allow(non_camel_case_types)]
        #[derive(Debug, Clone, Copy)]
        #vis struct #name {}

        #conditions
        #[doc = #made]
        #vis fn #name() -> #name {
            #name {}
        }

        #conditions
        impl #name {
            #(#attrs)*
            #lenient
            #vis #sig #block
        }

        #conditions
        impl ::contexture::server::#into_trait for #name {
            fn #into(self) -> #entry_type {
                #entry
            }
        }
    })
}

/// Owned parameters are what the macros ask for, and `async` says where a handler runs.
pub(crate) fn lenient() -> TokenStream {
    quote!(#[allow(clippy::needless_pass_by_value, clippy::unused_async)])
}

fn capitalized(name: &str) -> String {
    name[..1].to_ascii_uppercase() + &name[1..]
}

/// The arguments of a resource are the variables of its template, and nothing else.
pub(crate) fn check_variables(options: &Options, parameters: &[Parameter]) -> Result<()> {
    let Some(uri) = &options.uri else { return Ok(()) };
    let template = uri.value();
    let variables = variables(&template);
    let mut faults = Faults::default();
    for parameter in parameters {
        if let Parameter::Argument(argument) = parameter
            && !variables.contains(&argument.name.as_str())
        {
            let name = &argument.name;
            let message = format!("`{name}` is no variable of {template:?}: write `{{{name}}}` into it");
            faults.add(syn::Error::new(argument.span, message));
        }
    }
    faults.finish(())
}

/// The names in the braces of a URI template. Whether it is a template at all is checked when it is
/// registered.
fn variables(template: &str) -> Vec<&str> {
    let expressions = template.split('{').skip(1).filter_map(|rest| rest.split('}').next());
    let names = expressions
        .flat_map(|expression| expression.trim_start_matches(['+', '#', '.', '/', ';', '?', '&']).split(','));
    names.map(|name| name.split([':', '*']).next().unwrap_or(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::variables;

    #[test]
    fn variables_are_found_in_every_kind_of_expression() {
        assert_eq!(variables("a://b"), [""; 0]);
        assert_eq!(variables("a://{b}/{+c}{?d,e:3}{/f*}"), ["b", "c", "d", "e", "f"]);
    }
}
