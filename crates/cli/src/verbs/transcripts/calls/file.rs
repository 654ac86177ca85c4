//! A file of tests: what is in it, and what is wrong with it, by step.

use std::collections::BTreeMap;
use std::path::Path;

use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::exit::Failure;

/// What a step can be. `list` names what is listed; the others what they are about.
const VERBS: &[&str] = &["call", "read", "prompt", "list", "raw"];

/// All that is in it.
#[derive(Debug)]
pub(super) struct File {
    /// By name; the one without a name is for steps that name none.
    pub(super) servers: BTreeMap<String, String>,
    pub(super) steps: Vec<Step>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    server: Option<String>,
    #[serde(default)]
    servers: BTreeMap<String, String>,
    steps: Vec<Map<String, Value>>,
}

/// Something to do.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) name: Option<String>,
    /// On which server.
    pub(super) on: String,
    pub(super) verb: &'static str,
    /// Which tool, resource, prompt, list or method.
    pub(super) what: String,
    pub(super) with: Value,
    pub(super) expectations: Vec<Expectation>,
    /// Variables for later steps, and where in the result they are.
    pub(super) save: BTreeMap<String, String>,
}

/// What is to hold.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Expectation {
    /// Which part of the result it is about; all of it without.
    #[serde(default)]
    pub(super) pointer: Option<String>,
    #[serde(default, deserialize_with = "present")]
    pub(super) equals: Option<Value>,
    /// Text that must be in it.
    #[serde(default)]
    pub(super) contains: Option<Texts>,
    /// A regular expression that its text must match.
    #[serde(default)]
    pub(super) matches: Option<String>,
    /// A JSON Schema that it must satisfy.
    #[serde(default)]
    pub(super) schema: Option<Value>,
    /// Whether the tool says that it failed; it must not, unless this says so.
    #[serde(default)]
    pub(super) is_error: Option<bool>,
    /// The code of the error that the server must answer with.
    #[serde(default)]
    pub(super) error: Option<i64>,
}

/// `null` is something to be equal to.
fn present<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum Texts {
    One(String),
    All(Vec<String>),
}

impl File {
    pub(super) fn load(path: &Path) -> Result<Self, Failure> {
        let wrong = |what: String| Failure::usage(format!("{}: {what}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
        Self::parse(&text).map_err(wrong)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim_start_matches('\u{feff}');
        let parsed = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default())
            .map_err(|error| format!("line {}: {}", error.line_display(), error.kind()))?;
        let value: Value = parsed.value.ok_or("the file is empty")?.into();
        let written: Written = serde_json::from_value(value).map_err(|error| error.to_string())?;
        let mut servers = written.servers;
        servers.extend(written.server.map(|server| (String::new(), server)));
        let steps = written.steps.into_iter().enumerate();
        let steps =
            steps.map(|(at, step)| Step::parse(step).map_err(|what| format!("step {}: {what}", at + 1)));
        let steps: Vec<Step> = steps.collect::<Result<_, _>>()?;
        if steps.is_empty() {
            return Err("there are no steps".to_owned());
        }
        for (at, step) in steps.iter().enumerate() {
            if !step.on.is_empty() && !servers.contains_key(&step.on) {
                return Err(format!("step {}: there is no server {:?} in `servers`", at + 1, step.on));
            }
        }
        Ok(Self { servers, steps })
    }
}

impl Step {
    fn parse(mut written: Map<String, Value>) -> Result<Self, String> {
        let mut text = |name: &str| match written.remove(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(format!("`{name}` is a text")),
        };
        let (name, on) = (text("name")?, text("on")?.unwrap_or_default());
        let mut verbs = VERBS.iter().filter(|verb| written.contains_key(**verb));
        let (Some(verb), None) = (verbs.next(), verbs.next()) else {
            return Err(format!("it does exactly one of {}", VERBS.join(", ")));
        };
        let what = match written.remove(*verb) {
            Some(Value::String(what)) => what,
            _ => return Err(format!("`{verb}` names what it is about")),
        };
        let with = written.remove("with").unwrap_or_else(|| json!({}));
        if !with.is_object() {
            return Err("`with` is an object".to_owned());
        }
        let expected = match written.remove("expect") {
            None => Vec::new(),
            Some(Value::Array(several)) => several,
            Some(one) => vec![one],
        };
        let expectations = expected.into_iter().map(serde_json::from_value).collect::<Result<_, _>>();
        let expectations = expectations.map_err(|error| format!("`expect`: {error}"))?;
        let save = match written.remove("save") {
            None => BTreeMap::new(),
            Some(save) => serde_json::from_value(save).map_err(|error| format!("`save`: {error}"))?,
        };
        match written.keys().next() {
            Some(stray) => Err(format!("{stray:?} means nothing here")),
            None => Ok(Self { name, on, verb, what, with, expectations, save }),
        }
    }

    /// With the values of variables in place of `${name}`; which one is missing, if one is.
    pub(super) fn filled_in(&self, variables: &BTreeMap<String, Value>) -> Result<Self, String> {
        let mut step = self.clone();
        step.what = text(&fill(&Value::from(self.what.as_str()), variables)?);
        step.with = fill(&self.with, variables)?;
        for expectation in &mut step.expectations {
            if let Some(equals) = &mut expectation.equals {
                *equals = fill(equals, variables)?;
            }
            if let Some(contains) = &mut expectation.contains {
                let texts = match contains {
                    Texts::One(text) => vec![std::mem::take(text)],
                    Texts::All(texts) => std::mem::take(texts),
                };
                let filled = texts.into_iter().map(|it| Ok(text(&fill(&Value::from(it), variables)?)));
                *contains = Texts::All(filled.collect::<Result<_, String>>()?);
            }
        }
        Ok(step)
    }
}

/// A text that is one variable and nothing else becomes its value, whatever that is.
fn fill(value: &Value, variables: &BTreeMap<String, Value>) -> Result<Value, String> {
    let missing = |name: &str| format!("no step has saved {name:?}");
    Ok(match value {
        Value::String(whole) => {
            let only = whole.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
            if let Some(name) = only.filter(|name| !name.contains("${")) {
                return variables.get(name).cloned().ok_or_else(|| missing(name));
            }
            let mut out = String::new();
            let mut rest = whole.as_str();
            while let Some((before, after)) = rest.split_once("${") {
                let Some((name, behind)) = after.split_once('}') else { break };
                out += before;
                out += &text(variables.get(name).ok_or_else(|| missing(name))?);
                rest = behind;
            }
            Value::from(out + rest)
        }
        Value::Array(items) => items.iter().map(|item| fill(item, variables)).collect::<Result<_, _>>()?,
        Value::Object(members) => {
            let filled = members.iter().map(|(name, member)| Ok((name.clone(), fill(member, variables)?)));
            Value::Object(filled.collect::<Result<_, String>>()?)
        }
        other => other.clone(),
    })
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
