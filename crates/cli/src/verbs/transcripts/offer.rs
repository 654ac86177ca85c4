//! What a server offers to a client, all of it, as it says so itself.

use contexture::model::{Prompt, Resource, ResourceTemplate, Tool, code};
use contexture::{Client, Error};
use serde::Serialize;
use serde_json::{Value, json};

use crate::exit::Failure;

/// All that a server offers.
#[derive(Debug)]
pub(super) struct Offer {
    pub(super) revision: String,
    pub(super) capabilities: Value,
    pub(super) instructions: Option<String>,
    pub(super) tools: Vec<Tool>,
    pub(super) prompts: Vec<Prompt>,
    pub(super) resources: Vec<Resource>,
    pub(super) templates: Vec<ResourceTemplate>,
}

impl Offer {
    pub(super) async fn of(client: &Client) -> Result<Self, Failure> {
        Ok(Self {
            revision: client.revision().as_str().to_owned(),
            capabilities: json!(client.server_capabilities()),
            instructions: client.instructions(),
            tools: none_if_unknown(client.tools().await.map_err(Error::from))?,
            prompts: none_if_unknown(client.prompts().await.map_err(Error::from))?,
            resources: none_if_unknown(client.resources().await.map_err(Error::from))?,
            templates: none_if_unknown(client.resource_templates().await.map_err(Error::from))?,
        })
    }
}

/// Who does not know a list has nothing on it.
fn none_if_unknown<T>(listed: Result<Vec<T>, Error>) -> Result<Vec<T>, Failure> {
    match listed {
        Err(Error::Remote(error)) if error.code == code::METHOD_NOT_FOUND => Ok(Vec::new()),
        Err(Error::PeerIncompatible(_)) => Ok(Vec::new()),
        listed => Ok(listed?),
    }
}

/// Something that is not the same on both sides.
#[derive(Debug, Serialize)]
pub(super) struct Change {
    /// `capability`, `instructions`, `tool`, `prompt`, `resource`, `template`.
    pub(super) kind: &'static str,
    /// Which one.
    pub(super) name: String,
    pub(super) what: String,
    /// Whether a client that was content with the one can miss something.
    pub(super) breaking: bool,
}

impl Change {
    pub(super) fn new(kind: &'static str, name: &str, what: impl Into<String>, breaking: bool) -> Self {
        Self { kind, name: name.to_owned(), what: what.into(), breaking }
    }
}
