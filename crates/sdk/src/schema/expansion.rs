//! How large a schema is once its references are followed.
//!
//! References let a schema of a few lines stand for one of any size: thirty definitions, each of which
//! refers to the next one twice, are a thousand million checks of one value. This walk follows references as a
//! validator would and gives up at a limit. It refuses what it cannot follow with certainty: references to
//! other documents, and documents inside the document.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

/// Schemas that one schema may stand for. A recursive reference counts where it begins, not where it ends.
const MAX_EXPANDED: usize = 100_000;
/// References and keywords inside each other; also what keeps this walk from exhausting the stack.
const MAX_CHAIN: usize = 256;

const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// Whether the schema, with references followed, has a size within reason.
pub(super) fn is_within_reason(root: &Value) -> bool {
    let mut anchors = HashMap::new();
    let mut found = Found::default();
    collect(root, true, &mut anchors, &mut found);
    if !found.references {
        return true;
    }
    !found.documents && Walk { root, anchors, active: HashSet::new(), left: MAX_EXPANDED }.follow(root)
}

#[derive(Default)]
struct Found {
    references: bool,
    /// A schema with an identifier of its own, in which references start from another place.
    documents: bool,
}

fn collect<'a>(
    value: &'a Value,
    is_root: bool,
    anchors: &mut HashMap<&'a str, Vec<&'a Value>>,
    found: &mut Found,
) {
    match value {
        Value::Object(members) => {
            found.references |= REFERENCES.iter().any(|key| members.get(*key).is_some_and(Value::is_string));
            found.documents |=
                !is_root && ["$id", "id"].iter().any(|key| members.get(*key).is_some_and(Value::is_string));
            for name in ["$anchor", "$dynamicAnchor"].iter().filter_map(|key| members.get(*key)?.as_str()) {
                anchors.entry(name).or_default().push(value);
            }
            members.values().for_each(|member| collect(member, false, anchors, found));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, false, anchors, found)),
        _ => {}
    }
}

struct Walk<'a> {
    root: &'a Value,
    anchors: HashMap<&'a str, Vec<&'a Value>>,
    /// Where the walk is, by address: what is entered again is recursion.
    active: HashSet<*const Value>,
    left: usize,
}

impl<'a> Walk<'a> {
    fn follow(&mut self, value: &'a Value) -> bool {
        let members = match value {
            Value::Object(members) => members,
            Value::Array(items) => return items.iter().all(|item| self.follow(item)),
            _ => return true,
        };
        if !self.active.insert(std::ptr::from_ref(value)) {
            return true;
        }
        if self.left == 0 || self.active.len() > MAX_CHAIN {
            return false;
        }
        self.left -= 1;
        let followed = members.iter().all(|(key, member)| match member.as_str() {
            Some(target) if REFERENCES.contains(&key.as_str()) => self.refer(target),
            // Definitions count where they are used.
            _ if key == "$defs" || key == "definitions" => true,
            _ => self.follow(member),
        });
        self.active.remove(&std::ptr::from_ref(value));
        followed
    }

    fn refer(&mut self, target: &str) -> bool {
        // An escape could make the validator and this walk read two different names.
        let Some(fragment) = target.strip_prefix('#').filter(|fragment| !fragment.contains('%')) else {
            return false;
        };
        if fragment.is_empty() || fragment.starts_with('/') {
            return self.root.pointer(fragment).is_some_and(|value| self.follow(value));
        }
        let anchored = self.anchors.get(fragment).cloned().unwrap_or_default();
        !anchored.is_empty() && anchored.into_iter().all(|value| self.follow(value))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ladder(rungs: usize, rung: impl Fn(String) -> Value) -> Value {
        let mut schema = json!({"$ref": "#/$defs/d0", "$defs": {}});
        for number in 0..rungs {
            schema["$defs"][format!("d{number}")] = rung(format!("#/$defs/d{}", number + 1));
        }
        schema["$defs"][format!("d{rungs}")] = json!({"type": "object"});
        schema
    }

    #[test]
    fn sharing_and_recursion_are_fine() {
        assert!(is_within_reason(&json!({"type": "object"})));
        assert!(is_within_reason(&json!({"$ref": "#"})));
        assert!(is_within_reason(&json!({"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}})));
        assert!(is_within_reason(&json!({"$dynamicAnchor": "t", "items": {"$dynamicRef": "#t"}})));
        assert!(is_within_reason(&ladder(50, |next| json!({"allOf": [{"$ref": next}]}))));
    }

    #[test]
    fn small_schemas_that_stand_for_large_ones_are_not() {
        assert!(!is_within_reason(&ladder(30, |next| json!({"allOf": [{"$ref": next}, {"$ref": next}]}))));
        assert!(!is_within_reason(&ladder(5_000, |next| json!({"$ref": next}))));
    }

    #[test]
    fn what_cannot_be_followed_is_refused() {
        assert!(!is_within_reason(&json!({"$ref": "#/$defs/nowhere"})));
        assert!(!is_within_reason(&json!({"$ref": "other.json"})));
        assert!(!is_within_reason(&json!({"$ref": "#/$defs/a%20b", "$defs": {"a b": {}}})));
        assert!(!is_within_reason(&json!({"$ref": "#/$defs/a", "$defs": {"a": {"$id": "x:y"}}})));
    }
}
