//! How two peers meet: the `initialize` handshake, `server/discover`, and capabilities.
//!
//! Capabilities are open sets: keys that we do not know survive a round trip, at the top and one level down.
//! Nothing here decides what a capability permits.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::results::ttl_ms;
use super::{CacheScope, EmptyParams, Implementation, JsonObject, Meta, Method, ResultType};

/// Parameters of `initialize`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InitializeParams {
    /// The newest revision that the client wants to speak.
    pub protocol_version: String,
    /// What the client can do.
    pub capabilities: ClientCapabilities,
    /// Who the client says that it is.
    pub client_info: Implementation,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// Result of `initialize`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InitializeResult {
    /// The revision that the session speaks from now on.
    pub protocol_version: String,
    /// What the server can do.
    pub capabilities: ServerCapabilities,
    /// Who the server says that it is.
    pub server_info: Implementation,
    /// How to use the server, for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// Parameters of `server/discover`.
pub type DiscoverParams = EmptyParams;

/// Result of `server/discover`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DiscoverResult {
    /// The stateless revisions that the server speaks.
    pub supported_versions: Vec<String>,
    /// What the server can do.
    pub capabilities: ServerCapabilities,
    /// How to use the server, for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// How long the result may be kept.
    #[serde(default, deserialize_with = "ttl_ms", skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// Who may share it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// What kind of result this is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// Metadata; the server's identity is here.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// What a client can do.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientCapabilities {
    /// It can name directories to work in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roots: Option<ListChangedCapability>,
    /// It can ask a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingCapability>,
    /// It can ask a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elicitation: Option<ElicitationCapability>,
    /// It can run some requests as tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<TasksCapability>,
    /// What is not in the specification.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experimental: Option<JsonObject>,
    /// Extensions and their settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<JsonObject>,
    /// Capabilities that this library does not know.
    #[serde(flatten)]
    pub other: JsonObject,
}

/// The experimental capability of clients that pass questions on.
const QUESTION_KEYS: &str = "contexture/questions";

impl ClientCapabilities {
    /// Asks legacy servers to name their questions, under [`key::QUESTION`](super::key::QUESTION), and to say which of
    /// them belong together, under [`key::TOGETHER`](super::key::TOGETHER): for clients that pass them on as rounds, whose
    /// questions have keys. Servers that do not know this say nothing, and a client has to wait a moment for more.
    #[must_use]
    pub fn with_question_keys(mut self) -> Self {
        self.experimental.get_or_insert_default().insert(QUESTION_KEYS.into(), JsonObject::new().into());
        self
    }

    /// Whether questions are to be named.
    pub fn wants_question_keys(&self) -> bool {
        self.experimental.as_ref().is_some_and(|experimental| experimental.contains_key(QUESTION_KEYS))
    }
}

/// What a server can do.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerCapabilities {
    /// It has tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<ListChangedCapability>,
    /// It has resources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourcesCapability>,
    /// It has prompts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompts: Option<ListChangedCapability>,
    /// It completes arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completions: Option<JsonObject>,
    /// It sends log messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logging: Option<JsonObject>,
    /// It can run some requests as tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<TasksCapability>,
    /// What is not in the specification.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experimental: Option<JsonObject>,
    /// Extensions and their settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<JsonObject>,
    /// Capabilities that this library does not know.
    #[serde(flatten)]
    pub other: JsonObject,
}

/// A list that is there, and may announce that it changed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListChangedCapability {
    /// Changes are announced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list_changed: Option<bool>,
    /// Members that this library does not know.
    #[serde(flatten)]
    pub other: JsonObject,
}

impl ListChangedCapability {
    /// A list that announces its changes.
    pub fn announced() -> Self {
        Self { list_changed: Some(true), other: JsonObject::new() }
    }

    /// Whether changes are announced.
    pub fn announces(&self) -> bool {
        self.list_changed.unwrap_or(false)
    }
}

/// What a server's resources can do.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourcesCapability {
    /// Changes of single resources can be subscribed to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subscribe: Option<bool>,
    /// Changes of the list are announced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list_changed: Option<bool>,
    /// Members that this library does not know.
    #[serde(flatten)]
    pub other: JsonObject,
}

/// How a client can ask a model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SamplingCapability {
    /// With tools that the model may call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<JsonObject>,
    /// With context from servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<JsonObject>,
    /// Members that this library does not know.
    #[serde(flatten)]
    pub other: JsonObject,
}

/// How a client can ask a person.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ElicitationCapability {
    /// By a form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<JsonObject>,
    /// By sending them to a URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<JsonObject>,
    /// Members that this library does not know.
    #[serde(flatten)]
    pub other: JsonObject,
}

impl ElicitationCapability {
    /// Whether forms can be shown. A capability that names no mode means forms.
    pub fn has_form(&self) -> bool {
        self.form.is_some() || self.url.is_none()
    }

    /// Whether URLs can be opened.
    pub fn has_url(&self) -> bool {
        self.url.is_some()
    }
}

/// Which requests a peer can run as tasks (2025-11-25).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TasksCapability {
    /// Tasks can be listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list: Option<JsonObject>,
    /// Tasks can be cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancel: Option<JsonObject>,
    /// The requests, by the two halves of their method.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<JsonObject>,
    /// Members that this library does not know.
    #[serde(flatten)]
    pub other: JsonObject,
}

impl TasksCapability {
    /// Whether requests of this method can run as tasks.
    pub fn accepts(&self, method: Method) -> bool {
        let Some((group, name)) = method.as_str().split_once('/') else { return false };
        let group = self.requests.as_ref().and_then(|requests| requests.get(group));
        group.and_then(|group| group.get(name)).is_some_and(Value::is_object)
    }
}
