//! Input rounds: how a stateless server asks (2026-07-28).
//!
//! Responses are kept as they came, because only the one who asked knows what type an answer has.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::{CreateMessageParams, ElicitParams, JsonObject, ListRootsParams, Meta, Method, ResultType};

/// What a server asks, by the keys that it chose.
pub type InputRequests = BTreeMap<String, InputRequest>;

/// One thing that a server asks.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum InputRequest {
    /// Ask the person.
    Elicit(ElicitParams),
    /// Ask the model.
    CreateMessage(Box<CreateMessageParams>),
    /// Name the roots.
    ListRoots(Option<ListRootsParams>),
}

impl InputRequest {
    /// The method that this would be as a request.
    pub fn method(&self) -> Method {
        match self {
            Self::Elicit(_) => Method::ElicitationCreate,
            Self::CreateMessage(_) => Method::SamplingCreateMessage,
            Self::ListRoots(_) => Method::RootsList,
        }
    }

    /// What is said beside the question.
    pub fn meta_mut(&mut self) -> &mut Option<Meta> {
        match self {
            Self::Elicit(ElicitParams::Form(form)) => &mut form.meta,
            Self::Elicit(ElicitParams::Url(url)) => &mut url.meta,
            Self::CreateMessage(params) => &mut params.meta,
            Self::ListRoots(params) => &mut params.get_or_insert_default().meta,
        }
    }
}

impl Serialize for InputRequest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("method", self.method().as_str())?;
        match self {
            Self::Elicit(params) => map.serialize_entry("params", params)?,
            Self::CreateMessage(params) => map.serialize_entry("params", params)?,
            Self::ListRoots(Some(params)) => map.serialize_entry("params", params)?,
            Self::ListRoots(None) => {}
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for InputRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;

        #[derive(Deserialize)]
        struct Parts {
            method: String,
            params: Option<Box<RawValue>>,
        }
        fn decode<T: DeserializeOwned, E: Error>(params: Option<Box<RawValue>>) -> Result<T, E> {
            let params = params.ok_or_else(|| E::missing_field("params"))?;
            serde_json::from_str(params.get()).map_err(E::custom)
        }

        let Parts { method, params } = Parts::deserialize(deserializer)?;
        match Method::parse(&method) {
            Some(Method::ElicitationCreate) => Ok(Self::Elicit(decode(params)?)),
            Some(Method::SamplingCreateMessage) => Ok(Self::CreateMessage(decode(params)?)),
            Some(Method::RootsList) => match params {
                None => Ok(Self::ListRoots(None)),
                params => Ok(Self::ListRoots(Some(decode(params)?))),
            },
            _ => Err(D::Error::custom(format_args!("{method:?} cannot be asked in an input round"))),
        }
    }
}

/// Answers to what a server asked, under the same keys.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InputResponses(
    /// The answers, as they came.
    pub JsonObject,
);

impl InputResponses {
    /// The answer under a key, as the type that belongs to what was asked.
    pub fn get<T: DeserializeOwned>(&self, key: &str) -> Option<serde_json::Result<T>> {
        self.0.get(key).map(|answer| T::deserialize(answer.clone()))
    }

    /// Adds an answer.
    pub fn insert(&mut self, key: impl Into<String>, answer: &impl Serialize) -> serde_json::Result<()> {
        self.0.insert(key.into(), serde_json::to_value(answer)?);
        Ok(())
    }
}

/// The result that asks for input instead of completing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InputRequiredResult {
    /// Always `input_required`.
    pub result_type: ResultType,
    /// What the server asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_requests: Option<InputRequests>,
    /// What the server wants back, byte for byte.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_state: Option<String>,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl InputRequiredResult {
    /// Asks for these; none at all means only "send this state again".
    pub fn new(requests: InputRequests, request_state: Option<String>) -> Self {
        Self {
            result_type: ResultType::InputRequired,
            input_requests: (!requests.is_empty()).then_some(requests),
            request_state,
            meta: None,
        }
    }
}
