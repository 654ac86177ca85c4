//! What the attribute macros name in their users' crates: not for people, and free to change.
//!
//! It decides nothing that a person could not write by hand: which crates the derives come from, where a
//! function that blocks runs, and whether a returned value is data or a result already.

use std::marker::PhantomData;

pub use {schemars, serde};

use crate::server::{IntoToolResult, Json};

/// Runs a function that is not async where it may block.
pub async fn off_thread<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> R {
    crate::server::off_thread(work).await
}

/// Stands for the type of a returned value.
///
/// The three traits below have one method name between them. On `&&&Returned<T>` the compiler finds the
/// first whose condition `T` meets, so that no type has to say by itself which kind it is.
#[derive(Debug)]
pub struct Returned<T>(PhantomData<fn() -> T>);

/// The type of this value.
pub fn returned<T>(_value: &T) -> Returned<T> {
    Returned(PhantomData)
}

/// First: what is a result already stays as it is.
pub trait IsResult {
    /// Leaves it alone.
    fn kind(&self) -> Whole {
        Whole
    }
}

impl<T: IntoToolResult> IsResult for &&Returned<T> {}

/// Second: what can be encoded and has a schema is structured data.
pub trait IsData {
    /// Makes it [`Json`].
    fn kind(&self) -> Data {
        Data
    }
}

impl<T: serde::Serialize + schemars::JsonSchema> IsData for &Returned<T> {}

/// Last: everything else is left alone too, so that the compiler says what a tool can return.
pub trait IsNeither {
    /// Leaves it alone.
    fn kind(&self) -> Whole {
        Whole
    }
}

impl<T> IsNeither for Returned<T> {}

/// Leaves values as they are.
#[derive(Debug)]
pub struct Whole;

impl Whole {
    /// The value.
    pub fn wrap<T>(self, value: T) -> T {
        value
    }
}

/// Makes values structured data.
#[derive(Debug)]
pub struct Data;

impl Data {
    /// The value as [`Json`].
    pub fn wrap<T>(self, value: T) -> Json<T> {
        Json(value)
    }
}
