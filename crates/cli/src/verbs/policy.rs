//! `policy`: what would be decided, and why; what people have answered. Offline: no server is started, and nothing is called.

mod table;

use contexture::Principal;
use contexture::model::{JsonObject, ToolAnnotations};
use contexture_host::config::{Config, Sources, load};
use contexture_host::consent::{Case, Consent, Decided, Decision, Explanation, Kind, Settings, named};
use contexture_host::names::without_prefix;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::print;
use crate::arguments;
use crate::exit::Failure;
use crate::options::{Explaining, Policies, PolicyVerb};
use crate::terminal::text::safe_line;

pub(super) async fn policy(verb: &PolicyVerb) -> Result<(), Failure> {
    match verb {
        PolicyVerb::Explain(explaining) => explain(explaining),
        PolicyVerb::Test { file, policy } => {
            // Expectations hold or do not, whatever people have answered on this machine.
            let (config, _) = read(policy)?;
            table::test(file, &config, &Consent::open(settings(&config)), policy.format)
        }
        PolicyVerb::Answers(policy) => answers(policy),
        PolicyVerb::Forget { server, name, policy } => forget(server, name.as_deref(), policy),
    }
}

fn read(policies: &Policies) -> Result<(Config, Sources), Failure> {
    let mut sources = Sources::of_process();
    sources.files = policies.files.clone();
    sources.import = policies.from.iter().flat_map(|hosts| hosts.0.iter().copied()).collect();
    let config = load(&sources).map_err(|error| Failure::usage(error.to_string()))?;
    Ok((config, sources))
}

fn settings(config: &Config) -> Settings {
    Settings { policy: config.policy.clone(), ..Settings::default() }
}

/// The policy, with what people have answered.
fn with_answers(policies: &Policies) -> Result<(Config, Consent), Failure> {
    let (config, sources) = read(policies)?;
    let settings = Settings { state: Some(sources.state_folder()), ..settings(&config) };
    Ok((config, Consent::open(settings)))
}

/// What is printed about a call.
#[derive(Serialize)]
struct Report<'a> {
    server: &'a str,
    kind: Kind,
    name: &'a str,
    trusted: bool,
    configured: bool,
    /// What the server may call it, if this is a name that clients see.
    #[serde(skip_serializing_if = "Option::is_none")]
    own: Option<&'a str>,
    #[serde(flatten)]
    explanation: Explanation,
}

fn explain(wanted: &Explaining) -> Result<(), Failure> {
    let (config, consent) = with_answers(&wanted.policy)?;
    super::tell_faults(&config);
    let kind = Kind::from(wanted.kind);
    if wanted.name.is_empty() && matches!(kind, Kind::Tool | Kind::Prompt | Kind::Resource) {
        return Err(Failure::usage(format!("which {}? It comes after the server", kind.word())));
    }
    let given = arguments::of_tool(JsonObject::new(), &wanted.arguments, None).map_err(Failure::usage)?;
    let given = (!given.is_empty()).then(|| raw(&given)).transpose()?;
    let hints: Option<ToolAnnotations> = match &wanted.annotations {
        None => None,
        Some(text) => Some(
            serde_json::from_str(text).map_err(|error| Failure::usage(format!("--annotations: {error}")))?,
        ),
    };
    let entry = config.server(&wanted.server);
    let trusted = entry.is_some_and(|entry| entry.trusted);
    let principal = principal(&wanted.principal);
    let explanation = consent.explain(&Case {
        kind,
        server: &wanted.server,
        trusted,
        name: &wanted.name,
        principal: &principal,
        annotations: hints.as_ref(),
        arguments: given.as_deref(),
    });
    let (server, name) = (wanted.server.as_str(), wanted.name.as_str());
    let own = entry
        .filter(|entry| entry.prefix && matches!(kind, Kind::Tool | Kind::Prompt))
        .and_then(|_| without_prefix(server, name));
    let report = Report { server, kind, name, trusted, configured: entry.is_some(), own, explanation };
    print(wanted.policy.format, &report, || report.text())
}

impl Report<'_> {
    fn text(&self) -> String {
        let Explanation { decision, because, principal, rules, remembered, if_read_only } = &self.explanation;
        let what = if self.name.is_empty() { String::new() } else { format!(" {}", safe_line(self.name)) };
        let otherwise = if_read_only.map(|decision| format!("; {} {READS}", done(decision)));
        let otherwise = otherwise.unwrap_or_default();
        let mut out = format!(
            "{decision}{otherwise}: the {}{what} of server {}, for {}\n  because of {}\n",
            self.kind.word(),
            safe_line(self.server),
            safe_line(principal),
            safe_line(because)
        );
        if let Some(said) = remembered {
            out.push_str(&format!("  and of what a person has answered: {said}\n"));
        }
        if !self.configured {
            out.push_str("  (no server of this name is configured)\n");
        }
        if let Some(own) = self.own {
            out.push_str(&format!(
                "  (clients see such a name; the server itself, and rules, would call it {})\n",
                safe_line(own)
            ));
        }
        for rule in rules {
            let decision = rule.decision.to_string();
            out.push_str(&format!("  rule {:<3} {decision:<6} {}\n", rule.number, safe_line(&rule.why)));
        }
        out
    }
}

/// What cannot be known offline, and how to say it.
const READS: &str = "if the tool says that it only reads (--annotations '{\"readOnlyHint\": true}')";

fn done(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "allowed",
        Decision::Ask => "asked about",
        Decision::Deny => "denied",
    }
}

fn answers(policies: &Policies) -> Result<(), Failure> {
    let (_, consent) = with_answers(policies)?;
    let all = consent.remembered().all();
    print(policies.format, &all, || match all.as_slice() {
        [] => "nobody has answered anything for good\n".to_owned(),
        all => all.iter().map(line).collect(),
    })
}

fn line(said: &Decided) -> String {
    let who = named(&Principal::new(said.issuer.as_str(), said.subject.as_str()));
    let word = if said.allowed { "always" } else { "never" };
    let name = if said.name.is_empty() { said.kind.word() } else { &said.name };
    format!("{word:<6} {} {} for {}\n", safe_line(&said.server), safe_line(name), safe_line(&who))
}

fn forget(server: &str, name: Option<&str>, policies: &Policies) -> Result<(), Failure> {
    let (_, consent) = with_answers(policies)?;
    let forgotten = consent.remembered().forget(server, name).map_err(Failure::from)?;
    print(policies.format, &serde_json::json!({ "forgotten": forgotten }), || match forgotten {
        0 => "there was nothing to forget\n".to_owned(),
        1 => "1 answer is forgotten\n".to_owned(),
        many => format!("{many} answers are forgotten\n"),
    })
}

/// Who calls, as policies write it.
fn principal(text: &str) -> Principal {
    match text.split_once(' ') {
        Some((issuer, subject)) => Principal::new(issuer, subject),
        None => Principal::new("", text),
    }
}

fn raw(arguments: &JsonObject) -> Result<Box<RawValue>, Failure> {
    to_raw_value(&Value::Object(arguments.clone())).map_err(|error| Failure::usage(error.to_string()))
}
