//! The parts of an entry that have parts themselves, and the bounds.

use contexture::auth::Secret;
use contexture::model::Root;
use contexture::revision::{Era, Revision};
use url::Url;

use super::Limits;
use super::entry::{Login, LoginFor, RootsFor, Sharing};
use super::nearest::nearest;
use super::node::{Node, Tree};
use super::pattern::{Filter, Pattern};
use super::reading::Reading;

pub(super) const ERAS: &[(&str, Option<Era>)] = &[
    ("auto", None),
    ("legacy", Some(Revision::NEWEST_LEGACY.era())),
    ("modern", Some(Revision::NEWEST_MODERN.era())),
];

pub(super) const SHARINGS: &[(&str, Sharing)] =
    &[("principal", Sharing::Principal), ("session", Sharing::Session), ("everybody", Sharing::Everybody)];

pub(super) const FILTER_KEYS: &[&str] = &["include", "exclude"];
pub(super) const LOGIN_KEYS: &[&str] = &["for", "clientId", "clientSecret", "scopes", "callbackPort"];
pub(super) const LIMIT_KEYS: &[&str] = &[
    "callsPerSecond",
    "serverCallsPerSecond",
    "questionsPerSecond",
    "concurrentCalls",
    "parkedCalls",
    "parkTime",
    "watchedResources",
    "connections",
    "listGrace",
    "drainTime",
];

/// `["only", "these"]`, or `{ "include": …, "exclude": … }`.
pub(super) fn filter(reading: &mut Reading<'_>, node: &Node, key: &str) -> Filter {
    let patterns = |texts: Vec<String>| texts.into_iter().map(Pattern::new).collect();
    if matches!(node.tree, Tree::List(_)) {
        return Filter { include: Some(patterns(reading.texts(node, key))), exclude: Vec::new() };
    }
    let mut filter = Filter::default();
    for member in reading.map(node, key) {
        match member.key.as_str() {
            "include" => filter.include = Some(patterns(reading.texts(&member.node, "include"))),
            "exclude" => filter.exclude = patterns(reading.texts(&member.node, "exclude")),
            other => unknown(reading, other, member.line, key, FILTER_KEYS),
        }
    }
    filter
}

/// `"none"`, `"client"`, or a list of URIs or of `{ "uri": …, "name": … }`.
pub(super) fn roots(reading: &mut Reading<'_>, node: &Node, key: &str) -> Option<RootsFor> {
    let Tree::List(nodes) = &node.tree else {
        let client = reading.one_of(node, key, &[("none", false), ("client", true)])?;
        return Some(if client { RootsFor::Client } else { RootsFor::None });
    };
    let mut roots = Vec::new();
    for node in nodes {
        let uri = reading.text(node.get("uri").unwrap_or(node), "uri")?;
        if !Url::parse(&uri).is_ok_and(|uri| uri.scheme() == "file") {
            reading.error(node.line, "a root is a URI that begins with file://");
            return None;
        }
        let name = node.get("name").and_then(|name| reading.text(name, "name"));
        let mut root = Root::new(uri);
        root.name = name;
        roots.push(root);
    }
    Some(RootsFor::Fixed(roots))
}

/// `"none"`, `"user"`, `"shared"`, or an object that says it as `for` beside the details.
pub(super) fn login(reading: &mut Reading<'_>, node: &Node, key: &str) -> Option<LoginFor> {
    if matches!(node.tree, Tree::Text(_)) {
        return who(reading, node, key, Login::default());
    }
    let (mut login, mut word) = (Login::default(), None);
    for member in reading.map(node, key) {
        match member.key.as_str() {
            "for" => word = Some(&member.node),
            name if LOGIN_KEYS.contains(&name) => detail(reading, &mut login, name, &member.node),
            other => unknown(reading, other, member.line, key, LOGIN_KEYS),
        }
    }
    match word {
        Some(node) => who(reading, node, "for", login),
        None => Some(LoginFor::User(login)),
    }
}

fn who(reading: &mut Reading<'_>, node: &Node, key: &str, login: Login) -> Option<LoginFor> {
    match reading.one_of(node, key, &[("none", 0), ("user", 1), ("shared", 2)])? {
        0 => Some(LoginFor::None),
        1 => Some(LoginFor::User(login)),
        _ => Some(LoginFor::Shared(login)),
    }
}

/// `oauth` and `auth` of other hosts; a detail that is not known is left out.
pub(super) fn oauth(reading: &mut Reading<'_>, node: &Node, key: &str) -> Option<LoginFor> {
    let mut login = Login::default();
    for member in reading.map(node, key) {
        match member.key.as_str() {
            "clientId" | "CLIENT_ID" | "client_id" => detail(reading, &mut login, "clientId", &member.node),
            "clientSecret" | "CLIENT_SECRET" | "client_secret" => {
                detail(reading, &mut login, "clientSecret", &member.node);
            }
            "scopes" | "scope" => detail(reading, &mut login, "scopes", &member.node),
            "callbackPort" => detail(reading, &mut login, "callbackPort", &member.node),
            "enabled" => match reading.truth(&member.node, "enabled") {
                Some(false) => return Some(LoginFor::None),
                _ => continue,
            },
            other => {
                let what = format!(
                    "{other:?} of {key:?} is left out: what it says is found out from the server itself"
                );
                reading.notice(member.line, what);
            }
        }
    }
    Some(LoginFor::User(login))
}

fn detail(reading: &mut Reading<'_>, login: &mut Login, key: &str, node: &Node) {
    match key {
        "clientId" => login.client_id = reading.text(node, key),
        "clientSecret" => login.client_secret = reading.text(node, key).map(Secret::new),
        "callbackPort" => {
            login.callback_port =
                reading.count(node, key, u64::from(u16::MAX)).and_then(|port| port.try_into().ok());
        }
        _ => {
            login.scopes = match &node.tree {
                Tree::Text(_) => {
                    let text = reading.text(node, key).unwrap_or_default();
                    text.split_whitespace().map(str::to_owned).collect()
                }
                _ => reading.texts(node, key),
            }
        }
    }
}

/// The bounds; what is not said stays as it was.
pub(super) fn limits(reading: &mut Reading<'_>, node: &Node, limits: &mut Limits) {
    for member in reading.map(node, "limits") {
        let (key, node) = (member.key.as_str(), &member.node);
        let mut count = |most: u64, bound: &mut usize| {
            if let Some(number) = reading.count(node, key, most) {
                *bound = usize::try_from(number).unwrap_or(usize::MAX);
            }
        };
        match key {
            "callsPerSecond" => limits.calls_per_second = rate(reading, node, key),
            "serverCallsPerSecond" => limits.server_calls_per_second = rate(reading, node, key),
            "questionsPerSecond" => limits.questions_per_second = rate(reading, node, key),
            "concurrentCalls" => count(1 << 20, &mut limits.concurrent_calls),
            "parkedCalls" => count(1 << 20, &mut limits.parked_calls),
            "watchedResources" => count(1 << 20, &mut limits.watched_resources),
            "connections" => count(1 << 16, &mut limits.connections),
            "parkTime" => limits.park_time = reading.spoken_time(node, key).unwrap_or(limits.park_time),
            "listGrace" => limits.list_grace = reading.spoken_time(node, key).unwrap_or(limits.list_grace),
            "drainTime" => limits.drain_time = reading.spoken_time(node, key).unwrap_or(limits.drain_time),
            other => unknown(reading, other, member.line, "limits", LIMIT_KEYS),
        }
    }
}

fn rate(reading: &mut Reading<'_>, node: &Node, key: &str) -> Option<u32> {
    reading.count(node, key, 1 << 20).and_then(|count| count.try_into().ok())
}

/// A key that is none of those that there are.
pub(super) fn unknown(reading: &mut Reading<'_>, key: &str, line: usize, of: &str, known: &[&str]) {
    let near = match nearest(key, known.iter().copied()) {
        Some(near) => format!("did you mean {near:?}?"),
        None => format!("there are {}", known.join(", ")),
    };
    reading.error(line, format!("{key:?} is no key of {of}; {near}"));
}
