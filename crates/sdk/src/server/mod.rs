//! Servers: what they offer, and how it is served.
//!
//! A [`Server`] is put together from tools, prompts and resources, and then served over a transport. What
//! it can do follows from what was registered; which revision a client speaks is never a handler's concern.
//!
//! One thing to know: in the modern era a handler that asks the person, the model or for the roots is **run
//! again** from its beginning when the answers are there. Work before a question that must not be repeated
//! belongs into [`Context::once`]; [`Server::rehearse`] lets tests find handlers that cannot be repeated.

mod admission;
mod answers;
mod arguments;
mod asks;
mod batch;
mod builder;
mod built;
mod bus;
mod completeness;
mod completion;
mod connection;
mod context;
mod dispatch;
mod ending;
mod exchange;
mod extract;
mod form;
mod forwarded;
mod gate;
mod hooks;
#[cfg(feature = "http-server")]
pub mod http;
pub mod layers;
mod ledger;
mod listen;
mod mirrored;
mod operation;
mod output;
mod pages;
mod principal;
mod prompt;
mod provider;
mod pulse;
mod registry;
mod replies;
mod resource;
mod roots;
mod seal;
mod serving;
mod session;
mod strings;
mod talk;
mod together;
mod tool;
mod wire;

#[cfg(feature = "http-server")]
pub use self::http::HttpServer;
pub use builder::{Handlers, Server};
pub use built::BuiltServer;
pub use completion::{Choices, Completer, Completing};
pub use context::{Context, Logger};
pub use extract::{Args, Arguments, Call, FromCall, Handler, Rejection, State, Uri};
pub use operation::{BoxFuture, Operation, OperationResult, Reply, Request, Stack};
pub use output::{Failure, IntoToolResult, Json};
pub use principal::Principal;
pub use prompt::{IntoPrompt, IntoPromptResult, PromptBuilder, PromptEntry, prompt};
pub use provider::{Mirrors, Provider};
pub use pulse::KeepAlive;
pub use registry::Registry;
pub use resource::{IntoContents, IntoResource, ResourceBuilder, ResourceEntry, resource};
pub use roots::{resolve_inside, root_path};
pub use session::Session;
#[cfg(feature = "macros")]
pub(crate) use tool::off_thread;
pub use tool::{IntoTool, ToolBuilder, ToolEntry, tool};
