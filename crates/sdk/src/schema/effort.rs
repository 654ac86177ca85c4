//! How much work it is to check a value against a schema, counted before it is done.
//!
//! A recursive schema that offers two ways down at every level turns a value of fifty levels into 2^50 checks,
//! and a long list of alternatives is tried for every item of a long array. The validator cannot be
//! stopped once it runs; so the steps that it would take are counted first, with a limit. Steps are counted
//! as if nothing failed early: the count decides about effort only, never about validity.

use std::collections::HashSet;

use serde_json::Value;

use super::expansion::{Names, is_reference};

/// Steps that one check may take: far more than honest schemas need, and done in a moment.
const MAX_STEPS: usize = 1_000_000;
/// Steps inside each other; also what keeps this walk from exhausting the stack.
const MAX_CHAIN: usize = 512;

/// Whether checking the value takes effort within reason.
pub(super) fn is_within_reason(schema: &Value, value: &Value) -> bool {
    Count { names: Names::of(schema), active: HashSet::new(), left: MAX_STEPS }.check(schema, value)
}

struct Count<'a> {
    names: Names<'a>,
    /// Schema and value, by address: a pair that is entered again is not checked again.
    active: HashSet<(*const Value, *const Value)>,
    left: usize,
}

impl<'a> Count<'a> {
    fn spend(&mut self, steps: usize) -> bool {
        self.left = self.left.saturating_sub(steps);
        self.left > 0
    }

    fn check(&mut self, schema: &'a Value, value: &Value) -> bool {
        let Value::Object(members) = schema else { return self.spend(1) };
        let here = (std::ptr::from_ref(schema), std::ptr::from_ref(value));
        if !self.active.insert(here) {
            return true;
        }
        let mut within = self.active.len() <= MAX_CHAIN && self.spend(1 + members.len());
        // What is not evaluated is found out by evaluating everything beside it once more.
        let again = members.contains_key("unevaluatedProperties") || members.contains_key("unevaluatedItems");
        for _ in 0..=usize::from(again) {
            within = within && members.iter().all(|(key, member)| self.keyword(key, member, value));
        }
        self.active.remove(&here);
        within
    }

    fn keyword(&mut self, key: &str, member: &'a Value, value: &Value) -> bool {
        match (key, member) {
            (_, Value::String(reference)) if is_reference(key) => {
                let targets = self.names.targets(reference);
                targets.into_iter().all(|target| self.check(target, value))
            }
            ("not" | "if" | "then" | "else", _) => self.check(member, value),
            ("allOf" | "anyOf" | "oneOf", Value::Array(schemas)) => {
                schemas.iter().all(|schema| self.check(schema, value))
            }
            ("dependentSchemas" | "dependencies", Value::Object(schemas)) => {
                schemas.values().all(|schema| self.check(schema, value))
            }
            ("enum" | "required", Value::Array(items)) => self.spend(items.len()),
            _ => match value {
                Value::Object(children) => self.object_keyword(key, member, children),
                Value::Array(children) => self.array_keyword(key, member, children),
                _ => true,
            },
        }
    }

    fn object_keyword(
        &mut self,
        key: &str,
        member: &'a Value,
        children: &serde_json::Map<String, Value>,
    ) -> bool {
        match (key, member) {
            ("properties", Value::Object(schemas)) => {
                self.spend(schemas.len())
                    && schemas.iter().all(|(name, schema)| {
                        children.get(name).is_none_or(|child| self.check(schema, child))
                    })
            }
            ("patternProperties", Value::Object(schemas)) => {
                schemas.values().all(|schema| children.values().all(|child| self.check(schema, child)))
            }
            ("additionalProperties" | "unevaluatedProperties" | "propertyNames", _) => {
                children.values().all(|child| self.check(member, child))
            }
            _ => true,
        }
    }

    fn array_keyword(&mut self, key: &str, member: &'a Value, children: &[Value]) -> bool {
        match (key, member) {
            ("items" | "prefixItems", Value::Array(schemas)) => {
                schemas.iter().zip(children).all(|(schema, child)| self.check(schema, child))
            }
            ("items" | "additionalItems" | "unevaluatedItems" | "contains", _) => {
                children.iter().all(|child| self.check(member, child))
            }
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn nested(levels: usize) -> Value {
        (0..levels).fold(json!("leaf"), |inner, _| json!({ "a": inner }))
    }

    #[test]
    fn honest_schemas_are_within_reason() {
        let tree = json!({"properties": {"a": {"$ref": "#"}, "b": {"$ref": "#"}}});
        assert!(is_within_reason(&tree, &nested(60)));
        assert!(is_within_reason(&json!({"$ref": "#"}), &nested(60)));
        let list = json!({"items": {"type": "integer"}});
        assert!(is_within_reason(&list, &json!(vec![1; 20_000])));
    }

    #[test]
    fn two_ways_down_at_every_level_are_not() {
        let way = json!({"properties": {"a": {"$ref": "#"}}});
        for key in ["allOf", "anyOf", "oneOf"] {
            let bush = json!({ key: [way, way] });
            assert!(is_within_reason(&bush, &nested(5)), "{key}");
            assert!(!is_within_reason(&bush, &nested(50)), "{key}");
        }
    }

    #[test]
    fn many_alternatives_for_many_items_are_not() {
        let alternatives: Vec<Value> = (0..1_000).map(|number| json!({ "const": number })).collect();
        let schema = json!({"items": {"anyOf": alternatives}});
        assert!(is_within_reason(&schema, &json!([-1, -1])));
        assert!(!is_within_reason(&schema, &json!(vec![-1; 10_000])));
    }
}
