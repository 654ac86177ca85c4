//! Models that answer questions of servers, where no client does.
//!
//! A table in the configuration says which models there are, whose they are, and what they are good for. The question is put
//! into the words of the model's provider, and the answer back into ours. Context of other servers is never added, whatever
//! `includeContext` says. Whether a question may be asked at all, and who reads it first, is [consent](crate::consent)'s
//! business. What is asked and answered is not logged, keys are shown to nobody but their provider, and a server that
//! asked learns of a failure no more than that there was one.

mod anthropic;
mod blocks;
mod choose;
mod config;
mod endpoint;
mod openai;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use contexture::model::{CreateMessageParams, CreateMessageResult, ErrorObject};

pub use config::{ModelConfig, ProviderConfig, ProviderKind, SamplingConfig};

use endpoint::Endpoint;

/// How long an answer may take.
const TIME: Duration = Duration::from_secs(120);

/// The models that can be asked. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Models {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    endpoints: BTreeMap<String, Endpoint>,
    models: Vec<ModelConfig>,
    max_tokens: Option<u64>,
}

impl Models {
    /// The models of a configuration. Nothing is connected to yet, and no key is read.
    ///
    /// # Errors
    /// A model names a provider that there is not, or an address is not one that a key may be sent to.
    pub fn new(config: &SamplingConfig) -> Result<Self, String> {
        let time = config.timeout_seconds.map_or(TIME, Duration::from_secs);
        let mut endpoints = BTreeMap::new();
        for (name, provider) in &config.providers {
            endpoints.insert(name.clone(), Endpoint::new(name, provider, time)?);
        }
        for model in &config.models {
            if !endpoints.contains_key(&model.provider) {
                let (model, provider) = (&model.name, &model.provider);
                return Err(format!(
                    "sampling: model {model:?} has the provider {provider:?}, which is not among `providers`"
                ));
            }
        }
        let inner = Inner { endpoints, models: config.models.clone(), max_tokens: config.max_tokens };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Whether there is any.
    pub fn is_configured(&self) -> bool {
        !self.inner.models.is_empty()
    }

    /// Asks the model that suits best.
    ///
    /// # Errors
    /// There is no model, the question cannot be put to it, or it gave no answer.
    pub async fn create(&self, mut params: CreateMessageParams) -> Result<CreateMessageResult, ErrorObject> {
        let inner = &*self.inner;
        let model = choose::choose(params.model_preferences.as_ref(), &inner.models)
            .ok_or_else(|| ErrorObject::internal("there is no model to ask"))?;
        let endpoint = inner
            .endpoints
            .get(&model.provider)
            .ok_or_else(|| ErrorObject::internal("the model has no provider"))?;
        if let Some(most) = inner.max_tokens {
            params.max_tokens = params.max_tokens.min(most);
        }
        endpoint.ask(&model.name, &params).await
    }
}
