//! Arguments as fields: the struct that a call's arguments are decoded into, and that gives them a schema.
//!
//! What may be passed is decided by the types and by serde's and schemars' own attributes, which are handed
//! on as they are. Nothing is validated here.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::meta::ParseNestedMeta;
use syn::{Attribute, Expr, ExprLit, Lit, LitStr, Meta, Result, Type};

use crate::prose;
use crate::signature::spoken;

/// One argument of a call.
pub(crate) struct Argument {
    /// The variable.
    pub(crate) field: Ident,
    /// What callers know it by.
    pub(crate) name: String,
    pub(crate) span: Span,
    ty: Type,
    renamed: Option<LitStr>,
    default: Option<Default>,
    description: Option<LitStr>,
    /// Doc comments, and attributes of serde and schemars.
    attributes: Vec<Attribute>,
}

enum Default {
    OfType,
    Is(Expr),
}

/// Whether an attribute says something about an argument.
pub(crate) fn describes(attribute: &Attribute) -> bool {
    let path = attribute.path();
    prose::is_doc(attribute) || ["arg", "serde", "schemars"].iter().any(|known| path.is_ident(known))
}

impl Argument {
    /// An argument with the attributes that [describe](describes) it.
    pub(crate) fn new(field: Ident, ty: Type, attributes: Vec<Attribute>) -> Result<Self> {
        let (ours, attributes): (Vec<_>, Vec<_>) =
            attributes.into_iter().partition(|attribute| attribute.path().is_ident("arg"));
        let mut argument = Self {
            name: spoken(&field),
            span: field.span(),
            field,
            ty,
            renamed: None,
            default: None,
            description: None,
            attributes,
        };
        for attribute in ours.iter().filter(|attribute| !matches!(attribute.meta, Meta::Path(_))) {
            attribute.parse_nested_meta(|option| argument.take(&option))?;
        }
        Ok(argument)
    }

    fn take(&mut self, option: &ParseNestedMeta<'_>) -> Result<()> {
        if option.path.is_ident("name") {
            let name: LitStr = option.value()?.parse()?;
            (self.name, self.span) = (name.value(), name.span());
            self.renamed = Some(name);
        } else if option.path.is_ident("description") {
            self.description = Some(option.value()?.parse()?);
        } else if option.path.is_ident("default") {
            self.default = Some(match option.value() {
                Ok(value) => Default::Is(value.parse()?),
                Err(_) => Default::OfType,
            });
        } else {
            let known = "`#[arg]` has `name = \"…\"`, `description = \"…\"` and `default = …`";
            return Err(option.error(known));
        }
        Ok(())
    }

    fn default_function(&self) -> Ident {
        format_ident!("__default_{}", spoken(&self.field))
    }

    fn field(&self) -> TokenStream {
        let Self { field, ty, attributes, .. } = self;
        let rename = self.renamed.as_ref().map(|name| quote!(#[serde(rename = #name)]));
        let default = self.default.as_ref().map(|default| match default {
            Default::OfType => quote!(#[serde(default)]),
            Default::Is(_) => {
                let function = self.default_function().to_string();
                quote!(#[serde(default = #function)])
            }
        });
        let attributes: Vec<&Attribute> = match &self.description {
            Some(_) => attributes.iter().filter(|attribute| !prose::is_doc(attribute)).collect(),
            None => attributes.iter().collect(),
        };
        let description = self.description.as_ref().map(|text| quote!(#[doc = #text]));
        quote!(#description #rename #default #(#attributes)* #field: #ty)
    }

    /// serde wants the name of a function for a default.
    fn default_item(&self) -> Option<TokenStream> {
        let Some(Default::Is(value)) = &self.default else { return None };
        let (function, ty) = (self.default_function(), &self.ty);
        let value = match value {
            // Most arguments that are text are `String`, and most defaults are not.
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => {
                quote_spanned!(text.span()=> ::core::convert::Into::into(#text))
            }
            other => quote!(#other),
        };
        Some(quote!(fn #function() -> #ty { #value }))
    }
}

/// The name of the struct, where it is used.
pub(crate) fn type_name() -> Ident {
    format_ident!("__Arguments")
}

/// The struct of these arguments, with what it needs; nothing, if there are none.
pub(crate) fn declare(arguments: &[&Argument]) -> TokenStream {
    if arguments.is_empty() {
        return TokenStream::new();
    }
    let name = type_name();
    let fields = arguments.iter().map(|argument| argument.field());
    let defaults = arguments.iter().filter_map(|argument| argument.default_item());
    quote! {
        #[derive(::contexture::__private::serde::Deserialize, ::contexture::__private::schemars::JsonSchema)]
        #[serde(crate = "::contexture::__private::serde")]
        #[schemars(crate = "::contexture::__private::schemars")]
        struct #name { #(#fields,)* }
        #(#defaults)*
    }
}
