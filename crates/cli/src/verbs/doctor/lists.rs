//! All that a server lists, as it came, and whether it is what lists are made of.
//!
//! Entries are read as the types of the specification, one by one, so that each that is wrong is named; schemas must compile.

use std::collections::{BTreeMap, HashSet};

use contexture::model::{Prompt, Resource, ResourceTemplate, Tool};
use contexture::{Client, Error};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::report::Report;
use super::step::Step;

/// So many pages, and entries of all lists together, are looked at.
const PAGES: usize = 1000;
const ENTRIES: usize = 20_000;
/// So many schemas are compiled, each of at most so many bytes.
const SCHEMAS: usize = 1000;
const SCHEMA_BYTES: usize = 1 << 20;
/// What a name may be made of and how long it may be (2025-11-25), and how long where a host puts names before it.
const NAME: usize = 128;
const HOST_NAME: usize = 64;

/// What a server offers, entry by entry, as it came.
#[derive(Debug, Default)]
pub(super) struct Offer {
    pub(super) tools: Vec<Value>,
    pub(super) prompts: Vec<Value>,
    pub(super) resources: Vec<Value>,
    pub(super) templates: Vec<Value>,
    /// What is wrong with the lists themselves.
    pub(super) wrong: Vec<String>,
}

impl Offer {
    fn len(&self) -> usize {
        self.tools.len() + self.prompts.len() + self.resources.len() + self.templates.len()
    }

    fn of(&mut self, kind: &str) -> &mut Vec<Value> {
        match kind {
            "tools" => &mut self.tools,
            "prompts" => &mut self.prompts,
            "resources" => &mut self.resources,
            _ => &mut self.templates,
        }
    }
}

/// Takes a list whose first page has come, and with resources their templates.
pub(super) async fn collect(
    client: &Client,
    offer: &mut Offer,
    (kind, method): (&'static str, &'static str),
    first: Value,
) -> Result<(), Error> {
    pages(client, offer, (kind, method), first).await?;
    if kind == "resources" {
        let method = "resources/templates/list";
        match client.request(method, json!({})).await {
            Ok(first) => pages(client, offer, ("resourceTemplates", method), first).await?,
            // Those who have none need not know the question.
            Err(Error::Remote(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

async fn pages(
    client: &Client,
    offer: &mut Offer,
    (kind, method): (&str, &str),
    first: Value,
) -> Result<(), Error> {
    let mut page = first;
    for _ in 0..PAGES {
        let Some(Value::Array(entries)) = page.get_mut(kind).map(Value::take) else {
            offer.wrong.push(format!("the result of {method} has no list {kind:?}"));
            return Ok(());
        };
        let room = ENTRIES.saturating_sub(offer.len());
        if entries.len() > room {
            offer.wrong.push(format!("more than {ENTRIES} entries: the rest was not looked at"));
        }
        offer.of(kind).extend(entries.into_iter().take(room));
        match page.get("nextCursor") {
            Some(Value::String(cursor)) if room > 0 => {
                page = client.request(method, json!({ "cursor": cursor })).await?;
            }
            None | Some(Value::Null | Value::String(_)) => return Ok(()),
            Some(_) => {
                offer.wrong.push(format!("nextCursor of {method} is no text"));
                return Ok(());
            }
        }
    }
    offer.wrong.push(format!("{method} does not end after {PAGES} pages"));
    Ok(())
}

/// Says what was listed, or which entries are wrong.
pub(super) fn judge(report: &mut Report, offer: &Offer) {
    let mut wrong = offer.wrong.clone();
    typed::<Tool>("tool", &offer.tools, &mut wrong);
    typed::<Prompt>("prompt", &offer.prompts, &mut wrong);
    typed::<Resource>("resource", &offer.resources, &mut wrong);
    typed::<ResourceTemplate>("template", &offer.templates, &mut wrong);
    for tool in offer.tools.iter().take(SCHEMAS) {
        for key in ["inputSchema", "outputSchema"] {
            if let Some(what) = tool.get(key).and_then(broken) {
                wrong.push(format!("tool {}: {key} is no JSON Schema: {what}", name_of(tool)));
            }
        }
    }
    if wrong.is_empty() {
        let counts = [
            (offer.tools.len(), "tools"),
            (offer.prompts.len(), "prompts"),
            (offer.resources.len(), "resources"),
            (offer.templates.len(), "templates"),
        ];
        let counts: Vec<String> = counts.iter().map(|(count, kind)| format!("{count} {kind}")).collect();
        return report.passed(Step::Lists, counts.join(", "));
    }
    let next = "its author has to list what the specification says; clients leave out such entries, or the whole list";
    let seen = match wrong.len() {
        1 => "something in the lists is not as it must be".to_owned(),
        many => format!("{many} things in the lists are not as they must be"),
    };
    report.fail::<()>(Step::Lists, seen, next);
    report.details(wrong);
}

fn typed<T: DeserializeOwned>(kind: &str, entries: &[Value], wrong: &mut Vec<String>) {
    for entry in entries {
        if let Err(error) = serde_json::from_value::<T>(entry.clone()) {
            wrong.push(format!("{kind} {}: {error}", name_of(entry)));
        }
    }
}

/// Why a schema cannot be used.
fn broken(schema: &Value) -> Option<String> {
    if schema.to_string().len() > SCHEMA_BYTES {
        return Some(format!("it has more than {SCHEMA_BYTES} bytes"));
    }
    jsonschema::options().offline().build(schema).err().map(|error| error.to_string())
}

/// The name of an entry, whatever it is.
pub(super) fn name_of(entry: &Value) -> String {
    let name = ["name", "uri", "uriTemplate"].iter().find_map(|key| entry[key].as_str());
    name.map_or_else(|| "without a name".to_owned(), |name| format!("{name:?}"))
}

/// Whether names are ones that every host takes.
pub(super) fn names(report: &mut Report, offer: &Offer) {
    let server = report.alias.clone().unwrap_or_default();
    let (mut wrong, mut odd) = (Vec::new(), Vec::new());
    for (kind, entries) in [("tool", &offer.tools), ("prompt", &offer.prompts)] {
        let names: Vec<&str> = entries.iter().filter_map(|entry| entry["name"].as_str()).collect();
        let mut seen = HashSet::new();
        let mut alike: BTreeMap<String, &str> = BTreeMap::new();
        for name in names {
            if !seen.insert(name) {
                wrong.push(format!("{kind} {name:?} is there twice"));
            } else if let Some(other) = alike.insert(name.to_lowercase(), name) {
                odd.push(format!("{kind}s {other:?} and {name:?} differ by capitals only"));
            }
            if name.is_empty() {
                wrong.push(format!("a {kind} has an empty name"));
            } else if kind == "tool" {
                odd.extend(odd_name(name, &server));
            }
        }
    }
    match (wrong.is_empty(), odd.is_empty()) {
        (true, true) => report.passed(Step::Names, "within all limits"),
        (true, false) => {
            report.warn(Step::Names, "hosts may refuse or confuse names", "its author has to rename them");
        }
        (false, _) => {
            report.fail::<()>(
                Step::Names,
                "names are not unique",
                "its author has to give each its own name",
            );
        }
    }
    report.details(wrong.into_iter().chain(odd));
}

fn odd_name(name: &str, server: &str) -> Option<String> {
    let length = name.chars().count();
    if length > NAME {
        return Some(format!("tool {name:?} has {length} characters; {NAME} are allowed"));
    }
    if let Some(odd) = name.chars().find(|char| !(char.is_ascii_alphanumeric() || "_-.".contains(*char))) {
        return Some(format!(
            "tool {name:?} has a {odd:?} in it: only letters, digits, _ - and . are for names"
        ));
    }
    let shown = format!("mcp__{server}__{name}").chars().count();
    (!server.is_empty() && shown > HOST_NAME).then(|| {
        format!("tool {name:?} has {shown} characters where a host puts mcp__{server}__ before it; many take {HOST_NAME}")
    })
}
