//! What handlers take: arguments, context, state, identity, each by its type.
//!
//! A function whose parameters can all be extracted is a handler. Extraction happens before the handler
//! runs and borrows the message; nothing is extracted from anywhere else.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use futures_util::FutureExt;
use serde::de::DeserializeOwned;

use super::arguments::decode;
use super::operation::BoxFuture;
use super::strings::from_strings;
use super::{Context, Principal, Session};
use crate::model::{ErrorObject, JsonObject, Meta};

/// A call that is about to be handled.
#[derive(Debug)]
pub struct Call<'a> {
    /// The exchange.
    pub context: &'a Context,
    /// What the caller passes.
    pub arguments: Arguments<'a>,
    /// The resource that is read, if one is.
    pub uri: Option<&'a str>,
}

/// What the caller passes.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Arguments<'a> {
    /// The text of a JSON object.
    Json(&'a str),
    /// Text by name.
    Strings(&'a BTreeMap<String, String>),
}

/// Why a handler could not be given what it takes.
#[derive(Debug)]
#[non_exhaustive]
pub enum Rejection {
    /// The arguments do not fit; the caller is to blame.
    Arguments(String),
    /// Something else failed.
    Other(ErrorObject),
}

/// A type that a handler can take as a parameter.
#[diagnostic::on_unimplemented(
    message = "a handler cannot take `{Self}`",
    note = "handlers take `Args<T>`, `Context`, `State<T>`, `Principal`, `Meta` and `Option<Session>`",
    note = "wrap the arguments of the call: `Args(arguments): Args<{Self}>`"
)]
pub trait FromCall: Sized {
    /// Takes it from the call.
    ///
    /// # Errors
    /// When the call does not have it.
    fn from_call(call: &Call<'_>) -> Result<Self, Rejection>;

    /// The schema of the arguments, if this takes them.
    fn input_schema() -> Option<JsonObject> {
        None
    }

    /// The type of state that the server must have been given, and its name for people. A server that lacks
    /// it is not built.
    fn needs() -> Option<(TypeId, &'static str)> {
        None
    }
}

/// The arguments of the call.
#[derive(Debug, Clone, Copy)]
pub struct Args<T>(
    /// The decoded arguments.
    pub T,
);

impl<T: DeserializeOwned + schemars::JsonSchema> FromCall for Args<T> {
    fn from_call(call: &Call<'_>) -> Result<Self, Rejection> {
        let decoded = match call.arguments {
            Arguments::Json(text) => decode(text).map_err(|error| error.to_string()),
            Arguments::Strings(strings) => from_strings(strings),
        };
        decoded.map(Self).map_err(Rejection::Arguments)
    }

    fn input_schema() -> Option<JsonObject> {
        Some(crate::schema::schema_of::<T>())
    }
}

impl FromCall for Context {
    fn from_call(call: &Call<'_>) -> Result<Self, Rejection> {
        Ok(call.context.clone())
    }
}

impl FromCall for Principal {
    fn from_call(call: &Call<'_>) -> Result<Self, Rejection> {
        Ok(call.context.principal().clone())
    }
}

impl FromCall for Meta {
    fn from_call(call: &Call<'_>) -> Result<Self, Rejection> {
        Ok(call.context.meta())
    }
}

impl FromCall for Option<Session> {
    fn from_call(call: &Call<'_>) -> Result<Self, Rejection> {
        Ok(call.context.session())
    }
}

/// The URI of the resource that is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uri(
    /// As the client wrote it.
    pub String,
);

impl FromCall for Uri {
    fn from_call(call: &Call<'_>) -> Result<Self, Rejection> {
        let uri = call.uri.ok_or_else(|| Rejection::Other(ErrorObject::internal("nothing is being read")))?;
        Ok(Self(uri.to_owned()))
    }
}

/// A value that was given to the server with [`Server::state`](super::Server::state).
pub struct State<T>(
    /// The shared value.
    pub Arc<T>,
);

impl<T> std::ops::Deref for State<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> Clone for State<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> fmt::Debug for State<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "State<{}>", std::any::type_name::<T>())
    }
}

impl<T: Send + Sync + 'static> FromCall for State<T> {
    fn from_call(call: &Call<'_>) -> Result<Self, Rejection> {
        call.context.inner.serving.state::<T>().map(Self).ok_or_else(|| {
            tracing::error!(
                state = std::any::type_name::<T>(),
                "a handler takes state that the server was not given"
            );
            Rejection::Other(ErrorObject::internal("the server is not set up correctly"))
        })
    }

    fn needs() -> Option<(TypeId, &'static str)> {
        Some((TypeId::of::<T>(), std::any::type_name::<T>()))
    }
}

/// A function that serves calls. Implemented for async closures and functions whose parameters are all
/// [`FromCall`].
#[diagnostic::on_unimplemented(
    message = "this is not a handler",
    note = "a handler is `Fn(…) -> impl Future + Send`, and each parameter is `Args<T>`, `Context`, `State<T>` …"
)]
pub trait Handler<Parameters, Output>: Send + Sync + 'static {
    /// Extracts the parameters and begins; `end` makes of what is returned what is wanted.
    ///
    /// # Errors
    /// When a parameter cannot be extracted.
    fn begin<T, E>(&self, call: &Call<'_>, end: E) -> Result<BoxFuture<T>, Rejection>
    where
        E: FnOnce(Output) -> T + Send + 'static;

    /// The schema of the arguments, if it takes any.
    fn input_schema(&self) -> Option<JsonObject>;

    /// What its parameters need of the server.
    fn needs(&self) -> Vec<(TypeId, &'static str)>;
}

macro_rules! handler {
    ($($parameter:ident),*) => {
        impl<F, Fut, Output, $($parameter),*> Handler<($($parameter,)*), Output> for F
        where
            F: Fn($($parameter),*) -> Fut + Send + Sync + 'static,
            Fut: Future<Output = Output> + Send + 'static,
            $($parameter: FromCall,)*
        {
            #[allow(unused_variables, reason = "a handler without parameters does not look at the call")]
            fn begin<T, End>(&self, call: &Call<'_>, end: End) -> Result<BoxFuture<T>, Rejection>
            where
                End: FnOnce(Output) -> T + Send + 'static,
            {
                Ok(Box::pin(self($($parameter::from_call(call)?),*).map(end)))
            }

            fn input_schema(&self) -> Option<JsonObject> {
                let schemas: Vec<Option<JsonObject>> = vec![$($parameter::input_schema()),*];
                schemas.into_iter().flatten().next()
            }

            fn needs(&self) -> Vec<(TypeId, &'static str)> {
                let needs: Vec<Option<_>> = vec![$($parameter::needs()),*];
                needs.into_iter().flatten().collect()
            }
        }
    };
}

handler!();
handler!(A);
handler!(A, B);
handler!(A, B, C);
handler!(A, B, C, D);
handler!(A, B, C, D, E);
handler!(A, B, C, D, E, G);
