//! The model and its lowering, judged by the five JSON Schemas; URIs and templates.

mod base;
mod content;
mod elicitation;
mod examples;
mod lowering;
mod methods;
mod offers;
mod samples;
mod sampling;
mod templates;
mod tools;
mod uris;
mod valid;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Decodes and encodes again: nothing may be lost.
fn round_trip<T: Serialize + DeserializeOwned>(value: Value) {
    let decoded: T = decode(value.clone()).unwrap_or_else(|error| panic!("{error}: {value}"));
    assert_eq!(serde_json::to_value(&decoded).expect("encodes"), value);
}

/// Decodes from text, as messages do.
fn decode<T: DeserializeOwned>(value: Value) -> serde_json::Result<T> {
    serde_json::from_str(&value.to_string())
}

/// Asserts that a value does not decode, and says which type took it otherwise.
fn refused<T: DeserializeOwned>(value: Value) {
    assert!(decode::<T>(value.clone()).is_err(), "{} took {value}", std::any::type_name::<T>());
}
