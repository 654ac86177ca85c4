//! The code that a handler becomes: a builder, its settings, and a closure of extractors.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::ReturnType;
use syn::spanned::Spanned;

use crate::arguments::{self, Argument};
use crate::options::{Kind, Options};
use crate::signature::{Parameter, is_result, spoken};

/// A function that is going to be a handler.
pub(crate) struct Handler<'a> {
    pub(crate) kind: Kind,
    pub(crate) options: &'a Options,
    pub(crate) sig: &'a syn::Signature,
    pub(crate) parameters: &'a [Parameter],
    pub(crate) description: Option<String>,
    /// The path of the function to call.
    pub(crate) target: TokenStream,
}

impl Handler<'_> {
    /// An expression that is the complete entry, as a block with the struct of arguments in it.
    pub(crate) fn entry(&self) -> TokenStream {
        let declared = arguments::declare(&self.arguments().collect::<Vec<_>>());
        let (builder, closure) = (self.builder(), self.closure());
        // The compiler reports what is wrong with the returned type here.
        let handler = quote_spanned!(self.return_span()=> .handler);
        quote!({ #declared #builder #handler(#closure) })
    }

    fn arguments(&self) -> impl Iterator<Item = &Argument> {
        self.parameters.iter().filter_map(|parameter| match parameter {
            Parameter::Argument(argument) => Some(&**argument),
            Parameter::Extractor(_) => None,
        })
    }

    fn builder(&self) -> TokenStream {
        let Options { uri, name, description, calls } = self.options;
        let own_name = spoken(&self.sig.ident);
        let name = name.as_ref().map_or_else(|| quote!(#own_name), |name| quote!(#name));
        let begin = match self.kind {
            Kind::Tool => quote!(::contexture::server::tool(#name)),
            Kind::Prompt => quote!(::contexture::server::prompt(#name)),
            Kind::Resource => quote!(::contexture::server::resource(#uri).name(#name)),
        };
        let description = match (description, &self.description) {
            (Some(given), _) => quote!(.description(#given)),
            (None, Some(text)) => quote!(.description(#text)),
            (None, None) => TokenStream::new(),
        };
        quote!(#begin #description #calls)
    }

    fn closure(&self) -> TokenStream {
        let local = |name: &str| Ident::new(name, Span::mixed_site());
        let (all, shared) = (local("arguments"), local("shared"));
        let mut patterns = Vec::new();
        if self.arguments().next().is_some() {
            let ty = arguments::type_name();
            patterns.push(quote!(::contexture::server::Args(#all): ::contexture::server::Args<#ty>));
        }
        let mut passed = Vec::new();
        if self.sig.receiver().is_some() {
            passed.push(quote!(&#shared));
        }
        for (index, parameter) in self.parameters.iter().enumerate() {
            match parameter {
                Parameter::Argument(argument) => {
                    let field = &argument.field;
                    passed.push(quote!(#all.#field));
                }
                Parameter::Extractor(ty) => {
                    let name = format_ident!("extracted_{index}", span = Span::mixed_site());
                    patterns.push(quote!(#name: #ty));
                    passed.push(quote!(#name));
                }
            }
        }
        let target = &self.target;
        let run = self.run(&quote!(#target(#(#passed),*)));
        match self.sig.receiver() {
            Some(_) => quote! {
                move |#(#patterns),*| {
                    let #shared = ::std::sync::Arc::clone(&#shared);
                    #run
                }
            },
            None => quote!(move |#(#patterns),*| #run),
        }
    }

    /// A future of what the call returns.
    fn run(&self, call: &TokenStream) -> TokenStream {
        match self.sig.asyncness {
            Some(_) => {
                let result = self.result(&quote!(#call.await));
                quote!(async move { #result })
            }
            None => {
                let result = self.result(call);
                quote!(::contexture::__private::off_thread(move || { #result }))
            }
        }
    }

    /// Tools may return any data; the others only what their traits say.
    fn result(&self, call: &TokenStream) -> TokenStream {
        if self.kind != Kind::Tool {
            return call.clone();
        }
        let value = Ident::new("value", Span::mixed_site());
        let wrapped = quote_spanned! {self.return_span()=>
            (&&&::contexture::__private::returned(&#value)).kind().wrap(#value)
        };
        let traits = quote! {
            #[allow(unused_imports)]
            use ::contexture::__private::{IsData as _, IsNeither as _, IsResult as _};
        };
        match &self.sig.output {
            ReturnType::Type(_, ty) if is_result(ty) => quote! {
                #traits
                match #call {
                    ::core::result::Result::Ok(#value) => ::core::result::Result::Ok(#wrapped),
                    ::core::result::Result::Err(error) => ::core::result::Result::Err(error),
                }
            },
            ReturnType::Type(..) => quote! { #traits let #value = #call; #wrapped },
            ReturnType::Default => call.clone(),
        }
    }

    /// Where the returned type is written, as code of this macro.
    fn return_span(&self) -> Span {
        let written = match &self.sig.output {
            ReturnType::Type(_, ty) => ty.span(),
            ReturnType::Default => self.sig.ident.span(),
        };
        Span::mixed_site().located_at(written)
    }
}
