//! What the server offers, for completion: asked for when it is first needed, and again when the server tells of a change.
//!
//! It is asked from the thread that reads the keyboard, which must not wait long: a server that is slow proposes nothing.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use contexture::Client;
use contexture::model::{Prompt, Reference, Tool};
use tokio::runtime::Handle;

/// How long a person waits for proposals before they go on typing.
const PATIENCE: Duration = Duration::from_secs(2);

pub(super) struct Offer {
    client: Mutex<Client>,
    runtime: Handle,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    tools: Option<Vec<Tool>>,
    prompts: Option<Vec<Prompt>>,
    uris: Option<Vec<String>>,
    templates: Option<Vec<String>>,
}

impl Offer {
    pub(super) fn new(client: Client, runtime: Handle) -> Self {
        Self { client: Mutex::new(client), runtime, known: Mutex::default() }
    }

    /// Another connection, which may offer something else.
    pub(super) fn now_of(&self, client: Client) {
        *self.client.lock().unwrap_or_else(PoisonError::into_inner) = client;
        self.forget();
    }

    /// What was known is not true any more.
    pub(super) fn forget(&self) {
        *self.known() = Known::default();
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn client(&self) -> Client {
        self.client.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// An answer, if it comes soon.
    fn soon<T, E>(&self, asking: impl Future<Output = Result<T, E>>) -> Option<T> {
        let answer = async { tokio::time::timeout(PATIENCE, asking).await };
        self.runtime.block_on(answer).ok()?.ok()
    }

    pub(super) fn tools(&self) -> Vec<Tool> {
        if let Some(tools) = &self.known().tools {
            return tools.clone();
        }
        let tools = self.soon(self.client().tools()).unwrap_or_default();
        self.known().tools = Some(tools.clone());
        tools
    }

    pub(super) fn prompts(&self) -> Vec<Prompt> {
        if let Some(prompts) = &self.known().prompts {
            return prompts.clone();
        }
        let prompts = self.soon(self.client().prompts()).unwrap_or_default();
        self.known().prompts = Some(prompts.clone());
        prompts
    }

    /// Resources that can be read as they are.
    pub(super) fn uris(&self) -> Vec<String> {
        if let Some(uris) = &self.known().uris {
            return uris.clone();
        }
        let resources = self.soon(self.client().resources()).unwrap_or_default();
        let uris: Vec<String> = resources.into_iter().map(|resource| resource.uri).collect();
        self.known().uris = Some(uris.clone());
        uris
    }

    pub(super) fn templates(&self) -> Vec<String> {
        if let Some(templates) = &self.known().templates {
            return templates.clone();
        }
        let templates = self.soon(self.client().resource_templates()).unwrap_or_default();
        let templates: Vec<String> = templates.into_iter().map(|template| template.uri_template).collect();
        self.known().templates = Some(templates.clone());
        templates
    }

    /// What the server itself proposes for an argument.
    pub(super) fn values(
        &self,
        reference: Reference,
        name: &str,
        typed: &str,
        others: BTreeMap<String, String>,
    ) -> Vec<String> {
        let client = self.client();
        let asking = async { client.complete(reference, name, typed, others).await };
        self.soon(asking).map(|completion| completion.values).unwrap_or_default()
    }
}
