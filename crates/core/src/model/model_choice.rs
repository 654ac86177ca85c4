//! Which model would suit: a server's preferences, and a way to follow them.
//!
//! Preferences are advice. `ModelPreferences::select` is one honest way to take it; a client is free to
//! choose otherwise.

use serde::{Deserialize, Serialize};

use super::OutOfRange;
use super::base::plain_number;

/// Which model would suit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelPreferences {
    /// Names, the most wanted first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hints: Option<Vec<ModelHint>>,
    /// How much a low price matters, from 0 to 1.
    #[serde(serialize_with = "plain_number", skip_serializing_if = "Option::is_none")]
    pub cost_priority: Option<f64>,
    /// How much a quick answer matters, from 0 to 1.
    #[serde(serialize_with = "plain_number", skip_serializing_if = "Option::is_none")]
    pub speed_priority: Option<f64>,
    /// How much a clever answer matters, from 0 to 1.
    #[serde(serialize_with = "plain_number", skip_serializing_if = "Option::is_none")]
    pub intelligence_priority: Option<f64>,
}

/// Part of the name of a model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelHint {
    /// The part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// A model that a client could ask. The figures run from 0 to 1, more being better.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelInfo {
    /// Its name.
    pub name: String,
    /// Names of other models that it can stand in for.
    pub stands_in_for: Vec<String>,
    /// How cheap it is.
    pub cheapness: f64,
    /// How fast it is.
    pub speed: f64,
    /// How clever it is.
    pub intelligence: f64,
}

impl ModelInfo {
    fn matches(&self, hint: &str) -> bool {
        self.name.contains(hint) || self.stands_in_for.iter().any(|name| name.contains(hint))
    }
}

impl ModelPreferences {
    /// No preferences yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds part of a name, less wanted than those before it.
    #[must_use]
    pub fn hint(mut self, name: impl Into<String>) -> Self {
        self.hints.get_or_insert_default().push(ModelHint { name: Some(name.into()) });
        self
    }

    /// How much a low price matters, from 0 to 1.
    pub fn cost_priority(mut self, priority: f64) -> Result<Self, OutOfRange> {
        self.cost_priority = Some(OutOfRange::check(priority)?);
        Ok(self)
    }

    /// How much a quick answer matters, from 0 to 1.
    pub fn speed_priority(mut self, priority: f64) -> Result<Self, OutOfRange> {
        self.speed_priority = Some(OutOfRange::check(priority)?);
        Ok(self)
    }

    /// How much a clever answer matters, from 0 to 1.
    pub fn intelligence_priority(mut self, priority: f64) -> Result<Self, OutOfRange> {
        self.intelligence_priority = Some(OutOfRange::check(priority)?);
        Ok(self)
    }

    /// The model that suits best: of those that the first fitting hint names, or else of all, the one that
    /// scores highest by the priorities; the first of equals. `None` only if there are no models.
    pub fn select<'m>(&self, models: &'m [ModelInfo]) -> Option<&'m ModelInfo> {
        let hints = self.hints.iter().flatten().filter_map(|hint| hint.name.as_deref());
        for hint in hints.filter(|hint| !hint.is_empty()) {
            let named = self.best(models.iter().filter(|model| model.matches(hint)));
            if named.is_some() {
                return named;
            }
        }
        self.best(models.iter())
    }

    fn best<'m>(&self, models: impl Iterator<Item = &'m ModelInfo>) -> Option<&'m ModelInfo> {
        models.reduce(|best, model| if self.score(model) > self.score(best) { model } else { best })
    }

    fn score(&self, model: &ModelInfo) -> f64 {
        // A peer may send anything, so the priorities are clamped here; NaN cannot come from JSON.
        let weigh = |priority: Option<f64>, figure: f64| priority.unwrap_or(0.0).clamp(0.0, 1.0) * figure;
        weigh(self.cost_priority, model.cheapness)
            + weigh(self.speed_priority, model.speed)
            + weigh(self.intelligence_priority, model.intelligence)
    }
}
