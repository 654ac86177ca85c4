//! `raw`: one request as it was typed, and the answer as it came.
//!
//! Nothing is checked, cached or answered on the way. What only the sender can say (the id, and what the revision wants to
//! know about the client) is added, or no server would listen.

use std::io::Read as _;

use contexture::Client;
use contexture::model::{JsonObject, Meta, Method};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::results;
use crate::exit::Failure;
use crate::options::{Format, Raw, Words};
use crate::render::indented;
use crate::terminal;
use crate::terminal::text::safe_json;

pub(super) async fn raw(client: Client, mut words: Words, raw: &Raw) -> Result<(), Failure> {
    let method = words.wanted("which method, such as tools/list,")?;
    let params = words.next();
    words.end()?;
    let params = params.as_deref().map(read).transpose()?;
    let result = match Method::parse(&method) {
        Some(method) if method.is_notification() => {
            return Err(Failure::usage(format!("{} is a notification: it has no answer", method.as_str())));
        }
        Some(method) => {
            let meta = params.as_deref().map(metadata).unwrap_or_default();
            let answer = client.forward(method, params.as_deref()).meta(meta).await?;
            String::from_utf8_lossy(&answer.result).into_owned()
        }
        None => client.request(&method, params).await?.to_string(),
    };
    results::said(&serde_json::from_str::<&RawValue>(&result).ok());
    let shown = match raw.target.format {
        Format::Text => indented(&result),
        Format::Json | Format::Ndjson => result,
    };
    terminal::print((safe_json(&shown) + "\n").as_bytes())?;
    Ok(())
}

/// What the person says in `_meta`.
fn metadata(params: &RawValue) -> Meta {
    #[derive(Deserialize)]
    struct Params {
        #[serde(rename = "_meta", default)]
        meta: JsonObject,
    }
    serde_json::from_str::<Params>(params.get()).map(|params| Meta(params.meta)).unwrap_or_default()
}

/// Parameters from the command line, or from standard input.
fn read(word: &str) -> Result<Box<RawValue>, Failure> {
    let wrong = |error: &dyn std::fmt::Display| Failure::usage(format!("parameters: {error}"));
    let text = match word {
        "-" => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).map_err(|error| wrong(&error))?;
            text
        }
        word => word.to_owned(),
    };
    let params: Box<RawValue> = serde_json::from_str(&text).map_err(|error| wrong(&error))?;
    if params.get().starts_with('{') { Ok(params) } else { Err(wrong(&"a JSON object is wanted")) }
}
