//! The published schema of `contexture.json`.

/// The JSON Schema of our own file, for editors and for whoever writes one by program.
pub fn schema() -> &'static str {
    include_str!("schema.json")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use crate::config::content::ROOT_KEYS;
    use crate::config::format::OWN_KEYS;
    use crate::config::rules::{HINT_KEYS, POLICY_KEYS, RULE_KEYS};
    use crate::config::sections::{FILTER_KEYS, LIMIT_KEYS, LOGIN_KEYS};

    /// The keys of the reader and those of the schema are the same.
    #[test]
    fn every_key_is_published() {
        let schema: Value = serde_json::from_str(super::schema()).expect("the schema is JSON");
        let properties = |pointer: &str| -> BTreeSet<String> {
            let found = schema.pointer(pointer).and_then(Value::as_object);
            found.unwrap_or_else(|| panic!("{pointer} is no object")).keys().cloned().collect()
        };
        let set = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect::<BTreeSet<_>>();
        assert_eq!(properties("/properties"), set(ROOT_KEYS));
        let own: Vec<&str> = OWN_KEYS.iter().map(|(key, _)| *key).collect();
        assert_eq!(properties("/$defs/server/properties"), set(&own));
        assert_eq!(properties("/$defs/limits/properties"), set(LIMIT_KEYS));
        assert_eq!(properties("/$defs/filter/oneOf/1/properties"), set(FILTER_KEYS));
        assert_eq!(properties("/$defs/login/oneOf/1/properties"), set(LOGIN_KEYS));
        assert_eq!(properties("/$defs/policy/properties"), set(POLICY_KEYS));
        assert_eq!(properties("/$defs/rule/properties"), set(RULE_KEYS));
        assert_eq!(properties("/$defs/rule/properties/annotations/properties"), set(HINT_KEYS));
    }
}
