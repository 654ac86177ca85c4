//! Elicitation: a server asks the person, by a form or by sending them to a URL.
//!
//! What the person answered is reached only after looking at what they decided.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Number;

use super::{ElicitSchema, Meta, TaskMetadata};

/// Parameters of `elicitation/create`, told apart by `mode`; absent means a form.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum ElicitParams {
    /// A form to fill in.
    Form(ElicitFormParams),
    /// A URL to visit.
    Url(ElicitUrlParams),
}

impl ElicitParams {
    /// A form to fill in.
    pub fn form(message: impl Into<String>, requested_schema: ElicitSchema) -> Self {
        Self::Form(ElicitFormParams {
            mode: None,
            message: message.into(),
            requested_schema,
            task: None,
            meta: None,
        })
    }

    /// A URL to visit.
    pub fn url(message: impl Into<String>, url: impl Into<String>) -> Self {
        Self::Url(ElicitUrlParams {
            mode: UrlMode::Url,
            message: message.into(),
            url: url.into(),
            elicitation_id: None,
            task: None,
            meta: None,
        })
    }

    /// Why the server asks.
    pub fn message(&self) -> &str {
        match self {
            Self::Form(params) => &params.message,
            Self::Url(params) => &params.message,
        }
    }
}

/// The word `form`, where a peer says the mode though it need not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FormMode {
    /// A form.
    Form,
}

/// The word `url`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UrlMode {
    /// A URL.
    #[default]
    Url,
}

/// A form to fill in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ElicitFormParams {
    /// `form`, or absent with the same meaning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<FormMode>,
    /// Why the server asks.
    pub message: String,
    /// What it wants to know.
    pub requested_schema: ElicitSchema,
    /// Asks to run as a task (2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskMetadata>,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// A URL to visit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ElicitUrlParams {
    /// `url`.
    pub mode: UrlMode,
    /// Why the server asks.
    pub message: String,
    /// Where to go.
    pub url: String,
    /// What `notifications/elicitation/complete` will refer to (2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elicitation_id: Option<String>,
    /// Asks to run as a task (2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskMetadata>,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl<'de> Deserialize<'de> for ElicitParams {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;

        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Either {
            mode: Option<String>,
            message: String,
            requested_schema: Option<ElicitSchema>,
            url: Option<String>,
            elicitation_id: Option<String>,
            task: Option<TaskMetadata>,
            #[serde(rename = "_meta")]
            meta: Option<Meta>,
        }
        let Either { mode, message, requested_schema, url, elicitation_id, task, meta } =
            Either::deserialize(deserializer)?;
        match mode.as_deref() {
            None | Some("form") => Ok(Self::Form(ElicitFormParams {
                mode: mode.map(|_| FormMode::Form),
                message,
                requested_schema: requested_schema
                    .ok_or_else(|| D::Error::missing_field("requestedSchema"))?,
                task,
                meta,
            })),
            Some("url") => Ok(Self::Url(ElicitUrlParams {
                mode: UrlMode::Url,
                message,
                url: url.ok_or_else(|| D::Error::missing_field("url"))?,
                elicitation_id,
                task,
                meta,
            })),
            Some(other) => Err(D::Error::custom(format_args!("unknown mode of elicitation {other:?}"))),
        }
    }
}

/// What the person decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ElicitAction {
    /// Yes, and here are the answers.
    Accept,
    /// No.
    Decline,
    /// They went away without a choice.
    Cancel,
}

/// An answer in a form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "an answer must be a string, number, boolean or array of strings")]
#[non_exhaustive]
pub enum ElicitValue {
    /// Yes or no.
    Bool(bool),
    /// A number.
    Number(Number),
    /// Text, or one choice.
    String(String),
    /// Several choices (from 2025-11-25).
    Strings(Vec<String>),
}

impl From<bool> for ElicitValue {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for ElicitValue {
    fn from(value: i64) -> Self {
        Self::Number(value.into())
    }
}

impl From<&str> for ElicitValue {
    fn from(value: &str) -> Self {
        Self::String(value.to_owned())
    }
}

/// Result of `elicitation/create`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ElicitResult {
    /// What the person decided.
    pub action: ElicitAction,
    /// Their answers; only with `accept`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<BTreeMap<String, ElicitValue>>,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ElicitResult {
    /// Yes, and these answers.
    pub fn accept(content: BTreeMap<String, ElicitValue>) -> Self {
        Self { action: ElicitAction::Accept, content: Some(content), meta: None }
    }

    /// Yes, to a URL.
    pub fn consent() -> Self {
        Self { action: ElicitAction::Accept, content: None, meta: None }
    }

    /// No.
    pub fn decline() -> Self {
        Self { action: ElicitAction::Decline, content: None, meta: None }
    }

    /// They went away without a choice.
    pub fn cancel() -> Self {
        Self { action: ElicitAction::Cancel, content: None, meta: None }
    }

    /// The answers, if the person accepted. What a peer sends with a refusal is not an answer.
    pub fn accepted(&self) -> Option<&BTreeMap<String, ElicitValue>> {
        match self.action {
            ElicitAction::Accept => self.content.as_ref(),
            _ => None,
        }
    }
}

/// Parameters of `notifications/elicitation/complete` (2025-11-25).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ElicitationCompleteParams {
    /// Which elicitation.
    pub elicitation_id: String,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}
