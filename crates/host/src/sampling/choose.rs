//! Which model is asked: hints first, in their order, then priorities.

use contexture::model::ModelPreferences;

use super::config::ModelConfig;

/// Hints that are looked at; a server may send any number.
const HINTS: usize = 32;

/// Of the models that the first fitting hint names, or else of all, the one that scores highest by the priorities; the
/// first of equals. `None` only if there are no models.
pub(super) fn choose<'m>(
    wanted: Option<&ModelPreferences>,
    models: &'m [ModelConfig],
) -> Option<&'m ModelConfig> {
    let Some(wanted) = wanted else { return models.first() };
    let hints = wanted.hints.iter().flatten().filter_map(|hint| hint.name.as_deref());
    for hint in hints.filter(|hint| !hint.is_empty()).take(HINTS) {
        let hint = hint.to_lowercase();
        let named = best(wanted, models.iter().filter(|model| fits(model, &hint)));
        if named.is_some() {
            return named;
        }
    }
    best(wanted, models.iter())
}

/// Whether a hint is part of the model's name; or part of a name that it can stand in for, or the other way around:
/// `sonnet` in the table is for whoever hints at `claude-3-5-sonnet-20241022`.
fn fits(model: &ModelConfig, hint: &str) -> bool {
    let stands_in = |known: &String| {
        let known = known.to_lowercase();
        !known.is_empty() && (known.contains(hint) || hint.contains(&known))
    };
    model.name.to_lowercase().contains(hint) || model.hints.iter().any(stands_in)
}

fn best<'m>(
    wanted: &ModelPreferences,
    models: impl Iterator<Item = &'m ModelConfig>,
) -> Option<&'m ModelConfig> {
    models.reduce(|best, model| if score(wanted, model) > score(wanted, best) { model } else { best })
}

fn score(wanted: &ModelPreferences, model: &ModelConfig) -> f64 {
    // A peer may send any number, and a table may have any in it.
    let figure = |figure: f64| if figure.is_finite() { figure.clamp(0.0, 1.0) } else { 0.0 };
    let weigh = |priority: Option<f64>, of: f64| priority.map_or(0.0, figure) * figure(of);
    weigh(wanted.cost_priority, 1.0 - figure(model.cost))
        + weigh(wanted.speed_priority, model.speed)
        + weigh(wanted.intelligence_priority, model.intelligence)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // covers: SAMP-HINT-ORDER, SAMP-HINT-SUBSTRING, SAMP-HINT-OVER-PRIORITY, SAMP-HINT-TIEBREAK, SAMP-HINT-MAP
    #[test]
    fn hints_come_first_and_priorities_after() {
        let models: Vec<ModelConfig> = serde_json::from_value(json!([
            {"name": "big-1", "provider": "p", "hints": ["claude-3", "opus"], "cost": 0.9, "speed": 0.2, "intelligence": 0.95},
            {"name": "small-1", "provider": "p", "hints": ["haiku"], "cost": 0.1, "speed": 0.9, "intelligence": 0.3},
            {"name": "middle-1", "provider": "p", "hints": ["sonnet"], "cost": 0.4, "speed": 0.6, "intelligence": 0.7},
        ]))
        .expect("a table");
        let cases = [
            (json!({}), "big-1"),
            (json!({"hints": [{"name": "claude-3-5-sonnet"}]}), "big-1"),
            (json!({"hints": [{"name": "claude-3-5-sonnet"}], "speedPriority": 1.0}), "middle-1"),
            (json!({"hints": [{"name": "gpt-7"}, {}, {"name": ""}, {"name": "SMALL"}]}), "small-1"),
            (json!({"hints": [{"name": "haiku"}, {"name": "opus"}], "intelligencePriority": 1}), "small-1"),
            (json!({"costPriority": 1}), "small-1"),
            (json!({"speedPriority": 0.1, "intelligencePriority": 1}), "big-1"),
            (json!({"costPriority": 1e300, "speedPriority": -5}), "small-1"),
        ];
        for (wanted, name) in cases {
            let preferences: ModelPreferences = serde_json::from_value(wanted.clone()).expect("preferences");
            let chosen = choose(Some(&preferences), &models).expect("there are models");
            assert_eq!(chosen.name, name, "{wanted}");
        }
        assert_eq!(choose(None, &models).map(|model| model.name.as_str()), Some("big-1"));
        assert!(choose(None, &[]).is_none());
    }
}
