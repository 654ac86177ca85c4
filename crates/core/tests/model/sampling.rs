//! Sampling: requests, content, and the choice of a model.

use contexture_core::model::*;
use serde_json::json;

use super::{decode, refused, round_trip};

// covers: SCHEMA-SAMPLING-REQUEST
#[test]
fn a_request_has_messages_and_a_limit() {
    round_trip::<CreateMessageParams>(json!({ "messages": [], "maxTokens": 1 }));
    refused::<CreateMessageParams>(json!({ "messages": [] }));
    refused::<CreateMessageParams>(json!({ "maxTokens": 1 }));
    for context in ["none", "thisServer", "allServers"] {
        round_trip::<CreateMessageParams>(
            json!({ "messages": [], "maxTokens": 1, "includeContext": context }),
        );
    }
    refused::<CreateMessageParams>(json!({ "messages": [], "maxTokens": 1, "includeContext": "everything" }));
}

// covers: SCHEMA-SAMPLING-RESULT
#[test]
fn a_stop_reason_is_any_word() {
    let result = json!({ "role": "assistant", "content": { "type": "text", "text": "" }, "model": "m" });
    round_trip::<CreateMessageResult>(result.clone());
    let mut reasoned = result.clone();
    reasoned["stopReason"] = json!("bored");
    round_trip::<CreateMessageResult>(reasoned);
    for member in ["role", "content", "model"] {
        let mut less = result.clone();
        less.as_object_mut().expect("an object").remove(member);
        refused::<CreateMessageResult>(less);
    }
}

// covers: SCHEMA-SAMPLING-CONTENT
#[test]
fn resources_cannot_be_sampled() {
    let resource = json!({ "type": "resource", "resource": { "uri": "a:b", "text": "" } });
    refused::<SamplingMessage>(json!({ "role": "user", "content": resource }));
    refused::<SamplingMessage>(json!({ "role": "user", "content": "text" }));
    round_trip::<SamplingMessage>(json!({ "role": "user", "content": [] }));
    round_trip::<SamplingMessage>(json!({ "role": "user", "content": [{ "type": "text", "text": "" }] }));
    round_trip::<SamplingMessage>(
        json!({ "role": "user", "content": { "type": "audio", "data": "", "mimeType": "audio/wav" } }),
    );
}

fn models() -> Vec<ModelInfo> {
    let model = |name: &str, cheapness, speed, intelligence| ModelInfo {
        name: name.to_owned(),
        stands_in_for: Vec::new(),
        cheapness,
        speed,
        intelligence,
    };
    vec![
        model("alpha-small-1", 0.9, 0.9, 0.2),
        model("alpha-large-1", 0.2, 0.3, 0.9),
        model("beta-1", 0.5, 0.5, 0.5),
    ]
}

fn chosen(preferences: ModelPreferences) -> String {
    preferences.select(&models()).expect("a model").name.clone()
}

// covers: SAMP-PRIORITY-RANGE
#[test]
fn priorities_run_from_0_to_1() {
    for odd in [-0.01, 1.01, f64::NAN] {
        assert!(ModelPreferences::new().cost_priority(odd).is_err());
        assert!(ModelPreferences::new().speed_priority(odd).is_err());
        assert!(ModelPreferences::new().intelligence_priority(odd).is_err());
    }
    let odd: ModelPreferences =
        decode(json!({ "costPriority": -7, "speedPriority": 1e300 })).expect("decodes");
    assert_eq!(chosen(odd), "alpha-small-1");
}

// covers: SAMP-HINT-ORDER, SAMP-HINT-RESPECT
#[test]
fn the_first_hint_that_fits_wins() {
    assert_eq!(chosen(ModelPreferences::new().hint("beta").hint("alpha")), "beta-1");
    assert_eq!(chosen(ModelPreferences::new().hint("zzz").hint("beta")), "beta-1");
    assert_eq!(chosen(ModelPreferences::new().hint("").hint("beta")), "beta-1");
    assert_eq!(chosen(ModelPreferences::new().hint("zzz")), "alpha-small-1");
    assert!(ModelPreferences::new().hint("beta").select(&[]).is_none());
}

// covers: SAMP-HINT-SUBSTRING
#[test]
fn a_hint_is_part_of_a_name() {
    assert_eq!(chosen(ModelPreferences::new().hint("large")), "alpha-large-1");
    assert_eq!(chosen(ModelPreferences::new().hint("beta-1-preview").hint("eta")), "beta-1");
}

// covers: SAMP-HINT-OVER-PRIORITY
#[test]
fn a_hint_goes_before_priorities() {
    let preferences = ModelPreferences::new().hint("large").speed_priority(1.0).expect("in range");
    assert_eq!(chosen(preferences), "alpha-large-1");
}

// covers: SAMP-HINT-TIEBREAK
#[test]
fn priorities_decide_among_what_a_hint_names() {
    let preferences = || ModelPreferences::new().hint("alpha");
    assert_eq!(chosen(preferences().speed_priority(1.0).expect("in range")), "alpha-small-1");
    assert_eq!(chosen(preferences().intelligence_priority(1.0).expect("in range")), "alpha-large-1");
}

// covers: SAMP-HINT-MAP
#[test]
fn a_model_can_stand_in_for_another() {
    let mut models = models();
    models[2].stands_in_for.push("gamma-ultra".to_owned());
    let preferences = ModelPreferences::new().hint("gamma");
    assert_eq!(preferences.select(&models).map(|model| model.name.as_str()), Some("beta-1"));
}
