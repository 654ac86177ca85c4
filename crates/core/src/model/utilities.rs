//! Cancellation and progress.

use serde::{Deserialize, Serialize, Serializer};

use super::base::plain_number;
use super::{Meta, ProgressToken, RequestId};

/// Parameters of `notifications/cancelled`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CancelledParams {
    /// Which request. A notification without it says nothing and is ignored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<RequestId>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl CancelledParams {
    /// Cancels a request.
    pub fn new(request_id: impl Into<RequestId>) -> Self {
        Self { request_id: Some(request_id.into()), reason: None, meta: None }
    }

    setters! {
        /// Why.
        reason: String,
    }
}

/// Parameters of `notifications/progress`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProgressParams {
    /// The token that the request carried.
    pub progress_token: ProgressToken,
    /// How far it is; grows with every notification.
    #[serde(serialize_with = "whole")]
    pub progress: f64,
    /// How far it goes, if known.
    #[serde(serialize_with = "plain_number", skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
    /// What is being done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

fn whole<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    plain_number(&Some(*number), serializer)
}

impl ProgressParams {
    /// Progress without a total.
    pub fn new(progress_token: ProgressToken, progress: f64) -> Self {
        Self { progress_token, progress, total: None, message: None, meta: None }
    }

    setters! {
        /// How far it goes.
        total: f64,
        /// What is being done.
        message: String,
        /// Metadata.
        meta: Meta,
    }
}
