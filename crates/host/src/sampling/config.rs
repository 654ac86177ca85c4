//! The section `sampling` of a configuration: who answers for a model, and which models there are.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

/// Who answers questions of servers to a model, where no client does.
///
/// ```json
/// { "providers": { "local": { "kind": "openai", "url": "http://127.0.0.1:11434/v1" },
///                  "claude": { "kind": "anthropic", "url": "https://api.anthropic.com/v1", "keyEnv": "ANTHROPIC_API_KEY" } },
///   "models": [ { "name": "small", "provider": "local", "hints": ["haiku", "mini"], "cost": 0.1, "speed": 0.9, "intelligence": 0.3 } ] }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct SamplingConfig {
    /// Endpoints, by the names that models refer to.
    pub providers: BTreeMap<String, ProviderConfig>,
    /// The models, the first being taken where nothing speaks for another.
    pub models: Vec<ModelConfig>,
    /// No answer is asked to be longer, whatever a server wants.
    pub max_tokens: Option<u64>,
    /// How long an answer may take; two minutes, if nothing is said.
    pub timeout_seconds: Option<u64>,
}

/// An endpoint.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ProviderConfig {
    /// What it speaks.
    pub kind: ProviderKind,
    /// What comes before `/chat/completions` or `/messages`: `https`, or `http` on this machine.
    pub url: String,
    /// The variable of the environment that holds the key.
    #[serde(default)]
    pub key_env: Option<String>,
    /// The file that holds the key.
    #[serde(default)]
    pub key_file: Option<PathBuf>,
    /// Says `max_completion_tokens` instead of `max_tokens`, which newer models of OpenAI insist on and others do not know.
    #[serde(default)]
    pub max_completion_tokens: bool,
}

/// What an endpoint speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProviderKind {
    /// Chat completions, as OpenAI has them and many others.
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
}

/// A model that can be asked. The figures run from 0 to 1.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ModelConfig {
    /// What its provider calls it.
    pub name: String,
    /// Whose it is: one of the providers.
    pub provider: String,
    /// Parts of names for which it can stand in.
    #[serde(default)]
    pub hints: Vec<String>,
    /// How much it costs.
    #[serde(default = "middle")]
    pub cost: f64,
    /// How fast it is.
    #[serde(default = "middle")]
    pub speed: f64,
    /// How clever it is.
    #[serde(default = "middle")]
    pub intelligence: f64,
}

fn middle() -> f64 {
    0.5
}
