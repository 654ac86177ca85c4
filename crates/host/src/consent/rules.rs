//! The rules of a policy, and which of them decides.
//!
//! The first rule that matches decides; later ones are not looked at. "The most specific one" would be shorter to write and
//! longer to explain. A condition that cannot be judged does not match: above all, what a server that is not trusted says
//! about its own tools.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fmt;

use contexture::model::ToolAnnotations;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::case::{Case, Decision, Kind, named};
use crate::config::Pattern;

/// The section `policy` of a configuration.
///
/// ```json
/// { "default": "ask",
///   "rules": [
///     { "server": "files", "tool": "delete_*", "decision": "deny", "reason": "ask an operator" },
///     { "annotations": { "readOnlyHint": true }, "decision": "allow" } ] }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PolicyConfig {
    /// What happens to whatever no rule matches. Without one: tools that a trusted server calls read-only are allowed and
    /// other tools are asked about, prompts and resources are allowed, sampling and roots are asked about.
    pub default: Option<Decision>,
    /// The rules, in order: the first that matches decides.
    pub rules: Vec<Rule>,
}

/// One rule. Every condition that it has must hold; one without conditions matches everything.
#[derive(Debug, Clone, PartialEq, Deserialize)]
// A condition that was misspelt and then ignored would make the rule match more than was meant.
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The server's name in the configuration.
    #[serde(default, deserialize_with = "pattern")]
    pub server: Option<Pattern>,
    /// The rule is about tools of this name, as their server calls them.
    #[serde(default, deserialize_with = "pattern")]
    pub tool: Option<Pattern>,
    /// The rule is about prompts of this name.
    #[serde(default, deserialize_with = "pattern")]
    pub prompt: Option<Pattern>,
    /// The rule is about resources with this URI.
    #[serde(default, deserialize_with = "pattern")]
    pub resource: Option<Pattern>,
    /// The rule is about everything of these kinds, whatever its name.
    #[serde(default)]
    pub kinds: Vec<Kind>,
    /// Who wants it: issuer and subject with a space between, or `local`, or `anonymous`.
    #[serde(default, deserialize_with = "pattern")]
    pub principal: Option<Pattern>,
    /// What a trusted server says about the tool.
    #[serde(default)]
    pub annotations: Option<Hints>,
    /// What arguments of the tool look like as text. What a server makes of that text is not known here (`/tmp/../etc`
    /// begins with `/tmp/`, too), so this is for denying and asking sooner than for allowing.
    #[serde(default, deserialize_with = "patterns")]
    pub arguments: BTreeMap<String, Pattern>,
    /// What happens.
    pub decision: Decision,
    /// What whoever is denied is told.
    #[serde(default)]
    pub reason: Option<String>,
}

/// Annotations as a condition. What a definition leaves out counts as the specification says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct Hints {
    /// It changes nothing.
    pub read_only_hint: Option<bool>,
    /// It may destroy something.
    pub destructive_hint: Option<bool>,
    /// Calling it twice is calling it once.
    pub idempotent_hint: Option<bool>,
    /// It touches the world outside.
    pub open_world_hint: Option<bool>,
}

fn pattern<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Pattern>, D::Error> {
    String::deserialize(deserializer).map(|text| Some(Pattern::new(text)))
}

fn patterns<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, Pattern>, D::Error> {
    let texts = BTreeMap::<String, String>::deserialize(deserializer)?;
    Ok(texts.into_iter().map(|(name, text)| (name, Pattern::new(text))).collect())
}

/// What a decision comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Because {
    /// A rule, counted from zero.
    Rule(usize),
    /// The policy's default.
    Default,
    /// What happens if nobody said anything.
    Unsaid(&'static str),
}

impl Because {
    pub(super) fn words(self, policy: &PolicyConfig) -> String {
        match self {
            Self::Rule(at) => match policy.rules.get(at).and_then(|rule| rule.reason.as_deref()) {
                Some(reason) => format!("rule {}: {reason}", at + 1),
                None => format!("rule {}", at + 1),
            },
            Self::Default => "the default of the policy".to_owned(),
            Self::Unsaid(what) => format!("no rule matches, and {what}"),
        }
    }
}

impl PolicyConfig {
    /// A policy that allows everything: for a single server that a person has named.
    pub fn allow_all() -> Self {
        Self { default: Some(Decision::Allow), rules: Vec::new() }
    }

    /// What the rules say, whatever people have answered before.
    pub(super) fn judge(&self, case: &Case<'_>) -> (Decision, Because) {
        let arguments = Arguments::of(case);
        let decisive = self.rules.iter().position(|rule| rule.judge(case, &arguments).is_ok());
        match decisive.and_then(|at| Some((self.rules.get(at)?, at))) {
            Some((rule, at)) => (rule.decision, Because::Rule(at)),
            None => match self.default {
                Some(decision) => (decision, Because::Default),
                None => unsaid(case),
            },
        }
    }
}

impl PolicyConfig {
    /// Whether something is denied however it is used, so that there is no point in showing it. `exact` is false for names that
    /// stand for many, as those of templates do.
    pub(super) fn conceals(&self, case: &Case<'_>, exact: bool) -> bool {
        let arguments = Arguments::of(case);
        for rule in &self.rules {
            let certain = match rule.judge(case, &arguments) {
                Ok(()) => exact || rule.resource.is_none(),
                Err(Miss::Argument(_)) => false,
                Err(Miss::Name) if !exact => false,
                Err(_) => continue,
            };
            match (rule.decision, certain) {
                (Decision::Deny, true) => return true,
                (Decision::Deny, false) => {}
                _ => return false,
            }
        }
        self.default == Some(Decision::Deny)
    }

    /// Whether it may say one thing to one caller and another to another.
    pub(super) fn tells_callers_apart(&self) -> bool {
        self.rules.iter().any(|rule| rule.principal.is_some())
    }
}

fn unsaid(case: &Case<'_>) -> (Decision, Because) {
    let (decision, what) = match case.kind {
        Kind::Tool if case.trusted && case.annotations.is_some_and(ToolAnnotations::is_read_only) => {
            (Decision::Allow, "a server that is trusted calls this tool read-only")
        }
        Kind::Tool => (Decision::Ask, "tools are asked about"),
        Kind::Prompt => (Decision::Allow, "prompts are allowed"),
        Kind::Resource => (Decision::Allow, "resources are allowed"),
        Kind::Sampling => (Decision::Ask, "questions to a model are asked about"),
        Kind::Roots => (Decision::Ask, "roots are asked about"),
        Kind::Elicitation => (Decision::Allow, "a question to the person is the person's to answer"),
        Kind::Login => (Decision::Ask, "logins are asked about"),
    };
    (decision, Because::Unsaid(what))
}

/// Why a rule does not match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Miss {
    Kind,
    Server,
    Name,
    Principal,
    Untrusted,
    Undefined,
    Hint(&'static str),
    Argument(String),
}

impl Rule {
    /// Whether it matches, and if not, the first condition that does not hold.
    pub(super) fn judge(&self, case: &Case<'_>, arguments: &Arguments<'_>) -> Result<(), Miss> {
        self.judge_name(case)?;
        let holds = |wanted: &Option<Pattern>, text: &str| wanted.as_ref().is_none_or(|it| it.matches(text));
        if !holds(&self.server, case.server) {
            return Err(Miss::Server);
        }
        if self.principal.is_some() && !holds(&self.principal, &named(case.principal)) {
            return Err(Miss::Principal);
        }
        if let Some(hints) = &self.annotations {
            hints.judge(case)?;
        }
        for (name, wanted) in &self.arguments {
            if !arguments.text(name).is_some_and(|text| wanted.matches(&text)) {
                return Err(Miss::Argument(name.clone()));
            }
        }
        Ok(())
    }

    fn judge_name(&self, case: &Case<'_>) -> Result<(), Miss> {
        let wanted = match case.kind {
            Kind::Tool => &self.tool,
            Kind::Prompt => &self.prompt,
            Kind::Resource => &self.resource,
            _ => &None,
        };
        // Conditions that only tools can meet.
        let about_calls = self.annotations.is_some() || !self.arguments.is_empty();
        let names_something = self.tool.is_some() || self.prompt.is_some() || self.resource.is_some();
        let open = !names_something && self.kinds.is_empty();
        if about_calls && case.kind != Kind::Tool {
            return Err(Miss::Kind);
        }
        match wanted {
            Some(wanted) if wanted.matches(case.name) => Ok(()),
            _ if open || self.kinds.contains(&case.kind) => Ok(()),
            Some(_) => Err(Miss::Name),
            None => Err(Miss::Kind),
        }
    }
}

impl Hints {
    fn judge(&self, case: &Case<'_>) -> Result<(), Miss> {
        if !case.trusted {
            return Err(Miss::Untrusted);
        }
        let said = case.annotations.ok_or(Miss::Undefined)?;
        let conditions = [
            ("readOnlyHint", self.read_only_hint, said.is_read_only()),
            ("destructiveHint", self.destructive_hint, said.is_destructive()),
            ("idempotentHint", self.idempotent_hint, said.is_idempotent()),
            ("openWorldHint", self.open_world_hint, said.is_open_world()),
        ];
        match conditions.into_iter().find(|(_, wanted, is)| wanted.is_some_and(|wanted| wanted != *is)) {
            Some((name, ..)) => Err(Miss::Hint(name)),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Miss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind => f.write_str("is about something else"),
            Self::Server => f.write_str("is about another server"),
            Self::Name => f.write_str("is about another name"),
            Self::Principal => f.write_str("is about other callers"),
            Self::Untrusted => f.write_str(
                "is about annotations, and those of a server that is not trusted count for nothing",
            ),
            Self::Undefined => {
                f.write_str("is about annotations, and the definition of this tool is not known here")
            }
            Self::Hint(name) => write!(f, "wants another {name}"),
            Self::Argument(name) => write!(f, "wants another argument {name:?}"),
        }
    }
}

/// The arguments of one call, taken apart when the first rule asks for one.
pub(super) struct Arguments<'a> {
    text: Option<&'a RawValue>,
    parts: OnceCell<BTreeMap<Cow<'a, str>, &'a RawValue>>,
}

impl<'a> Arguments<'a> {
    pub(super) fn of(case: &Case<'a>) -> Self {
        Self { text: case.arguments, parts: OnceCell::new() }
    }

    /// An argument as text: a string's own, and of anything else its JSON.
    fn text(&self, name: &str) -> Option<String> {
        let parts = self.parts.get_or_init(|| {
            self.text.and_then(|text| serde_json::from_str(text.get()).ok()).unwrap_or_default()
        });
        let json = parts.get(name)?.get();
        Some(serde_json::from_str(json).unwrap_or_else(|_| json.to_owned()))
    }
}
