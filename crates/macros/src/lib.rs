//! Attribute macros of Contexture: `#[tool]`, `#[prompt]` and `#[resource]` on functions, `#[handlers]` on an
//! `impl` block.
//!
//! They write only what one could write by hand against the builders of the crate `contexture`, which exports
//! them together with their documentation. They do not look at anything but the item that they stand on.

mod arguments;
mod expand;
mod function;
mod handlers;
mod options;
mod prose;
mod signature;

use proc_macro::TokenStream;

use options::Kind;

/// Makes a tool of a function. Described in the crate `contexture`.
#[proc_macro_attribute]
pub fn tool(options: TokenStream, item: TokenStream) -> TokenStream {
    function::expand(Kind::Tool, options.into(), item.into()).into()
}

/// Makes a prompt of a function. Described in the crate `contexture`.
#[proc_macro_attribute]
pub fn prompt(options: TokenStream, item: TokenStream) -> TokenStream {
    function::expand(Kind::Prompt, options.into(), item.into()).into()
}

/// Makes a resource of a function. Described in the crate `contexture`.
#[proc_macro_attribute]
pub fn resource(options: TokenStream, item: TokenStream) -> TokenStream {
    function::expand(Kind::Resource, options.into(), item.into()).into()
}

/// Makes handlers of the methods of an `impl` block. Described in the crate `contexture`.
#[proc_macro_attribute]
pub fn handlers(options: TokenStream, item: TokenStream) -> TokenStream {
    handlers::expand(options.into(), item.into()).into()
}
