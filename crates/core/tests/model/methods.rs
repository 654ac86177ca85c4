//! The names of methods, written out: by revision, beside the schemas, and against what the rules permit.

use std::collections::BTreeSet;

use contexture_core::model::Method;
use contexture_core::revision::{Era, Revision, Rules};
use contexture_judge::Judge;

const EVERYWHERE: [&str; 17] = [
    "completion/complete",
    "notifications/cancelled",
    "notifications/message",
    "notifications/progress",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
    "notifications/resources/updated",
    "notifications/tools/list_changed",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "roots/list",
    "sampling/createMessage",
    "tools/call",
    "tools/list",
];

const LEGACY: [&str; 7] = [
    "initialize",
    "logging/setLevel",
    "notifications/initialized",
    "notifications/roots/list_changed",
    "ping",
    "resources/subscribe",
    "resources/unsubscribe",
];

const TASKS: [&str; 6] = [
    "notifications/elicitation/complete",
    "notifications/tasks/status",
    "tasks/cancel",
    "tasks/get",
    "tasks/list",
    "tasks/result",
];

const MODERN: [&str; 3] =
    ["notifications/subscriptions/acknowledged", "server/discover", "subscriptions/listen"];

/// What only an input round asks in the modern era: a name that nobody sends as a request there.
const ASKS: [&str; 3] = ["elicitation/create", "roots/list", "sampling/createMessage"];

fn names(revision: Revision) -> BTreeSet<&'static str> {
    let parts: &[&[&'static str]] = match revision.as_str() {
        "2024-11-05" | "2025-03-26" => &[&EVERYWHERE, &LEGACY],
        "2025-06-18" => &[&EVERYWHERE, &LEGACY, &["elicitation/create"]],
        "2025-11-25" => &[&EVERYWHERE, &LEGACY, &["elicitation/create"], &TASKS],
        _ => &[&EVERYWHERE, &MODERN, &["elicitation/create"]],
    };
    parts.iter().copied().flatten().copied().collect()
}

fn anybody_may_send(rules: &Rules, method: Method) -> bool {
    rules.client_may_request(method)
        || rules.server_may_request(method)
        || rules.client_may_notify(method)
        || rules.server_may_notify(method)
}

// covers: SCHEMA-METHOD-NAMES
#[test]
fn method_names_are_those_of_each_revision() {
    let mut all = BTreeSet::new();
    for revision in Revision::ALL {
        let names = names(revision);
        for name in &names {
            assert_eq!(Method::parse(name).map(Method::as_str), Some(*name), "{revision}");
        }
        if let Some(judge) = Judge::of(revision.as_str()) {
            assert_eq!(judge.methods(), names, "{revision}: the schema has other names");
        }
        let rules = revision.rules();
        let sent = Method::ALL.into_iter().filter(|method| anybody_may_send(rules, *method));
        let sent: BTreeSet<&str> = sent.map(Method::as_str).collect();
        let asks: &[&str] = if rules.era == Era::Modern { &ASKS } else { &[] };
        let expected = names.iter().copied().filter(|name| !asks.contains(name)).collect();
        assert_eq!(sent, expected, "{revision}: the rules have other names");
        all.extend(names);
    }
    assert_eq!(all, Method::ALL.into_iter().map(Method::as_str).collect(), "a method of no revision");
}

#[test]
fn notifications_are_known_by_their_names() {
    for method in Method::ALL {
        assert_eq!(method.is_notification(), method.as_str().starts_with("notifications/"), "{method}");
    }
}
