//! How large a schema is once its references are followed.
//!
//! References let a schema of a few lines stand for one of any size: thirty definitions, each of which
//! refers to the next one twice, are a thousand million checks of one value. This walk follows references as a
//! validator would and gives up at a limit. It refuses what it cannot follow with certainty: references to
//! other documents, and documents inside the document.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

/// Schemas that one schema may stand for. A recursive reference counts where it begins, not where it ends.
const MAX_EXPANDED: usize = 10_000;
/// References and keywords inside each other; also what keeps this walk from exhausting the stack.
const MAX_CHAIN: usize = 256;

const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// Whether the schema, with references followed, has a size within reason.
pub(super) fn is_within_reason(root: &Value) -> bool {
    let names = Names::of(root);
    if !names.references {
        return true;
    }
    !names.documents && Walk { names, active: HashSet::new(), left: MAX_EXPANDED }.follow(root)
}

/// Where the references of a schema lead.
pub(super) struct Names<'a> {
    root: &'a Value,
    anchors: HashMap<&'a str, Vec<&'a Value>>,
    /// Whether there are references at all.
    pub(super) references: bool,
    /// Whether a schema inside has an identifier of its own: references start from another place there.
    documents: bool,
}

impl<'a> Names<'a> {
    pub(super) fn of(root: &'a Value) -> Self {
        let mut names = Self { root, anchors: HashMap::new(), references: false, documents: false };
        names.collect(root);
        names
    }

    fn collect(&mut self, value: &'a Value) {
        match value {
            Value::Object(members) => {
                let has = |key: &&str| members.get(*key).is_some_and(Value::is_string);
                self.references |= REFERENCES.iter().any(has);
                self.documents |= !std::ptr::eq(value, self.root) && ["$id", "id"].iter().any(has);
                for name in ["$anchor", "$dynamicAnchor"].iter().filter_map(|key| members.get(*key)?.as_str())
                {
                    self.anchors.entry(name).or_default().push(value);
                }
                members.values().for_each(|member| self.collect(member));
            }
            Value::Array(items) => items.iter().for_each(|item| self.collect(item)),
            _ => {}
        }
    }

    /// All that a reference may mean; nothing if that is not certain.
    pub(super) fn targets(&self, reference: &str) -> Vec<&'a Value> {
        // An escape could make the validator and this walk read two different names.
        let Some(fragment) = reference.strip_prefix('#').filter(|fragment| !fragment.contains('%')) else {
            return Vec::new();
        };
        if fragment.is_empty() || fragment.starts_with('/') {
            return self.root.pointer(fragment).into_iter().collect();
        }
        self.anchors.get(fragment).cloned().unwrap_or_default()
    }
}

/// Whether a keyword is a reference.
pub(super) fn is_reference(key: &str) -> bool {
    REFERENCES.contains(&key)
}

struct Walk<'a> {
    names: Names<'a>,
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
            Some(reference) if is_reference(key) => {
                let targets = self.names.targets(reference);
                !targets.is_empty() && targets.into_iter().all(|target| self.follow(target))
            }
            // Definitions count where they are used.
            _ if key == "$defs" || key == "definitions" => true,
            _ => self.follow(member),
        });
        self.active.remove(&std::ptr::from_ref(value));
        followed
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
