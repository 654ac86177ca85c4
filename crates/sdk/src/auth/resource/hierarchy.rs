//! Scopes that include others, as the author of a server said.

use std::collections::BTreeMap;

use crate::Scopes;

/// Which scopes come with which, over any number of steps.
#[derive(Debug, Clone, Default)]
pub(super) struct Hierarchy {
    includes: BTreeMap<String, Scopes>,
}

impl Hierarchy {
    pub(super) fn add(&mut self, scope: &str, included: &Scopes) {
        let known = self.includes.entry(scope.to_owned()).or_default();
        *known = known.union(included);
    }

    /// With all that is included; nothing where that is nothing more.
    pub(super) fn expand(&self, granted: &Scopes) -> Option<Scopes> {
        if self.includes.is_empty() {
            return None;
        }
        let mut all = granted.clone();
        loop {
            let included = all.iter().filter_map(|scope| self.includes.get(scope));
            let more = included.fold(all.clone(), |all, some| all.union(some));
            if more == all {
                return (all != *granted).then_some(all);
            }
            all = more;
        }
    }

    /// Without what others in it include. Scopes that include each other are all kept.
    pub(super) fn shorten(&self, scopes: &Scopes) -> Scopes {
        let closure = |scope: &str| self.expand(&[scope].into());
        let includes = |one: &str, other: &str| closure(one).is_some_and(|all| all.contains(other));
        let is_included = |scope: &str| {
            scopes.iter().any(|other| other != scope && includes(other, scope) && !includes(scope, other))
        };
        scopes.iter().filter(|scope| !is_included(scope)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hierarchy(of: &[(&str, &str)]) -> Hierarchy {
        let mut hierarchy = Hierarchy::default();
        for (scope, included) in of {
            hierarchy.add(scope, &Scopes::parse(included));
        }
        hierarchy
    }

    #[test]
    fn scopes_bring_what_they_include() {
        let hierarchy = hierarchy(&[("admin", "write"), ("write", "read"), ("a", "b"), ("b", "a")]);
        for (granted, all) in [
            ("admin", "admin read write"),
            ("write", "read write"),
            ("read other", "other read"),
            ("a", "a b"),
            ("", ""),
        ] {
            let granted = Scopes::parse(granted);
            let expanded = hierarchy.expand(&granted).unwrap_or_else(|| granted.clone());
            assert_eq!(expanded.to_string(), all);
        }
    }

    #[test]
    fn what_is_included_need_not_be_asked_for() {
        let hierarchy = hierarchy(&[("admin", "write"), ("write", "read"), ("a", "b"), ("b", "a")]);
        for (scopes, short) in
            [("admin read write", "admin"), ("read write", "write"), ("a b", "a b"), ("read x", "read x")]
        {
            assert_eq!(hierarchy.shorten(&Scopes::parse(scopes)).to_string(), short);
        }
    }
}
