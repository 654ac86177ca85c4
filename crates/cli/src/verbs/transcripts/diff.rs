//! `diff`: what a client would lose or win with another server, or with another revision of the same.

use std::collections::BTreeMap;

use contexture::model::{Prompt, Resource, ResourceTemplate, Tool};
use serde_json::{Map, Value, json};

use super::offer::{Change, Offer};
use super::schema::{Way, changes};
use crate::connect::connect;
use crate::exit::Failure;
use crate::options::{Comparing, Format, Target, Words};
use crate::place::Place;
use crate::terminal;
use crate::terminal::style::Style;
use crate::terminal::text::{safe_json, safe_line};

pub(super) async fn run(comparing: &Comparing) -> Result<(), Failure> {
    let (one, other) = match comparing.revisions {
        Some([first, second]) => {
            let place = comparing.target.place(&mut Words::new([&comparing.one, &comparing.other], &[]))?;
            let in_revision = |revision| Target { revision: Some(revision), ..comparing.target.clone() };
            (offer(&place, &in_revision(first)).await?, offer(&place, &in_revision(second)).await?)
        }
        None => {
            let (first, second) = places(comparing)?;
            let unrecorded = Target { record: None, ..comparing.target.clone() };
            (offer(&first, &comparing.target).await?, offer(&second, &unrecorded).await?)
        }
    };
    let found = all(&one, &other);
    print(comparing.target.format, (&one, &other), &found)?;
    let lost = found.iter().filter(|change| change.breaking).count();
    match lost {
        0 => Ok(()),
        1 => Err(Failure::tool("a client would miss something")),
        _ => Err(Failure::tool(format!("a client would miss something, in {lost} places"))),
    }
}

/// Two words, or one and a command.
fn places(comparing: &Comparing) -> Result<(Place, Place), Failure> {
    let target = &comparing.target;
    let one = Place::find(comparing.one.as_deref(), &target.files)?;
    one.may_start()?;
    if comparing.other.is_none() && target.command.is_empty() {
        return Err(Failure::usage("with which other server? A second one, or --revisions DATE,DATE"));
    }
    if comparing.other.is_some() && !target.command.is_empty() {
        return Err(Failure::usage("there are three servers: two words, and a command after `--`"));
    }
    let other = match target.command.as_slice() {
        [] => Place::find(comparing.other.as_deref(), &target.files)?,
        command => Place::of_command(command),
    };
    other.may_start()?;
    Ok((one, other))
}

async fn offer(place: &Place, target: &Target) -> Result<Offer, Failure> {
    let client = connect(place, target).await?;
    let offer = Offer::of(&client).await;
    client.close().await;
    offer
}

fn all(one: &Offer, other: &Offer) -> Vec<Change> {
    let mut found = Vec::new();
    capabilities(&one.capabilities, &other.capabilities, "", &mut found);
    if one.instructions != other.instructions {
        let what = match (&one.instructions, &other.instructions) {
            (Some(_), None) => ("gone", true),
            (None, Some(_)) => ("new", false),
            _ => ("say something else", false),
        };
        found.push(Change::new("instructions", "", what.0, what.1));
    }
    each("tool", (&one.tools, &other.tools), |tool| &tool.name, tool, &mut found);
    each("prompt", (&one.prompts, &other.prompts), |prompt| &prompt.name, prompt, &mut found);
    each("resource", (&one.resources, &other.resources), |resource| &resource.uri, resource, &mut found);
    each(
        "template",
        (&one.templates, &other.templates),
        |template| &template.uri_template,
        template,
        &mut found,
    );
    found
}

/// By name: gone, new, or compared.
fn each<T>(
    kind: &'static str,
    (one, other): (&[T], &[T]),
    name: impl Fn(&T) -> &String,
    compare: impl Fn(&T, &T, &mut dyn FnMut(String, bool)),
    found: &mut Vec<Change>,
) {
    let others: BTreeMap<&String, &T> = other.iter().map(|item| (name(item), item)).collect();
    let ones: BTreeMap<&String, &T> = one.iter().map(|item| (name(item), item)).collect();
    for (name, item) in &ones {
        match others.get(name) {
            None => found.push(Change::new(kind, name, "gone", true)),
            Some(now) => {
                compare(item, now, &mut |what, breaking| found.push(Change::new(kind, name, what, breaking)));
            }
        }
    }
    for name in others.keys().filter(|name| !ones.contains_key(*name)) {
        found.push(Change::new(kind, name, "new", false));
    }
}

fn capabilities(one: &Value, other: &Value, at: &str, found: &mut Vec<Change>) {
    let nothing = Map::new();
    let (then, now) = (one.as_object().unwrap_or(&nothing), other.as_object().unwrap_or(&nothing));
    let inner = |name: &String| if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
    let is_off = |value: Option<&Value>| matches!(value, None | Some(Value::Null | Value::Bool(false)));
    for (name, value) in then {
        match now.get(name) {
            other if is_off(other) && !is_off(Some(value)) => {
                found.push(Change::new("capability", &inner(name), "gone", true));
            }
            Some(other) => capabilities(value, other, &inner(name), found),
            None => {}
        }
    }
    for (name, value) in now {
        if is_off(then.get(name)) && !is_off(Some(value)) {
            found.push(Change::new("capability", &inner(name), "new", false));
        }
    }
}

fn tool(one: &Tool, other: &Tool, tell: &mut dyn FnMut(String, bool)) {
    words((one.title.as_ref(), other.title.as_ref()), "title", tell);
    words((one.description.as_ref(), other.description.as_ref()), "description", tell);
    for (what, breaking) in changes(&json!(one.input_schema), &json!(other.input_schema), Way::In) {
        tell(format!("arguments: {what}"), breaking);
    }
    match (&one.output_schema, &other.output_schema) {
        (Some(_), None) => tell("its structured result is gone".to_owned(), true),
        (None, Some(_)) => tell("it has a structured result".to_owned(), false),
        (Some(then), Some(now)) => {
            for (what, breaking) in changes(&json!(then), &json!(now), Way::Out) {
                tell(format!("result: {what}"), breaking);
            }
        }
        (None, None) => {}
    }
    hints(&json!(one.annotations), &json!(other.annotations), tell);
}

/// Hosts let harmless tools pass without asking: one that is harmless no longer breaks that.
fn hints(one: &Value, other: &Value, tell: &mut dyn FnMut(String, bool)) {
    let defaults = [
        ("readOnlyHint", false),
        ("destructiveHint", true),
        ("idempotentHint", false),
        ("openWorldHint", true),
    ];
    for (name, default) in defaults {
        let of = |hints: &Value| hints.get(name).and_then(Value::as_bool).unwrap_or(default);
        let (then, now) = (of(one), of(other));
        if then != now {
            // The cautious value is what a tool without the hint has.
            tell(format!("{name} was {then} and is {now}"), now == default);
        }
    }
}

fn prompt(one: &Prompt, other: &Prompt, tell: &mut dyn FnMut(String, bool)) {
    words((one.description.as_ref(), other.description.as_ref()), "description", tell);
    let of = |prompt: &Prompt| -> BTreeMap<String, bool> {
        let arguments = prompt.arguments.iter().flatten();
        arguments.map(|argument| (argument.name.clone(), argument.is_required())).collect()
    };
    let (then, now) = (of(one), of(other));
    for (name, required) in &then {
        match now.get(name) {
            None => tell(format!("argument {name} is gone"), true),
            Some(now) if now != required => {
                let what = if *now { "is required from now on" } else { "need not be there any more" };
                tell(format!("argument {name} {what}"), *now);
            }
            Some(_) => {}
        }
    }
    for (name, required) in now.iter().filter(|(name, _)| !then.contains_key(*name)) {
        let what = if *required { "is new, and required" } else { "is new" };
        tell(format!("argument {name} {what}"), *required);
    }
}

fn resource(one: &Resource, other: &Resource, tell: &mut dyn FnMut(String, bool)) {
    words((one.description.as_ref(), other.description.as_ref()), "description", tell);
    form(one.mime_type.as_ref(), other.mime_type.as_ref(), tell);
}

fn template(one: &ResourceTemplate, other: &ResourceTemplate, tell: &mut dyn FnMut(String, bool)) {
    words((one.description.as_ref(), other.description.as_ref()), "description", tell);
    form(one.mime_type.as_ref(), other.mime_type.as_ref(), tell);
}

fn form(one: Option<&String>, other: Option<&String>, tell: &mut dyn FnMut(String, bool)) {
    if one != other {
        let text = |form: Option<&String>| form.map_or_else(|| "not said".to_owned(), Clone::clone);
        tell(format!("its MIME type was {} and is {}", text(one), text(other)), one.is_some());
    }
}

fn words((one, other): (Option<&String>, Option<&String>), name: &str, tell: &mut dyn FnMut(String, bool)) {
    match (one, other) {
        (Some(_), None) => tell(format!("without a {name}"), false),
        (one, other) if one != other => tell(format!("another {name}"), false),
        _ => {}
    }
}

fn print(format: Format, (one, other): (&Offer, &Offer), found: &[Change]) -> Result<(), Failure> {
    let text = match format {
        Format::Text => shown((one, other), found),
        Format::Json => {
            let document = json!({ "revisions": [one.revision, other.revision], "changes": found });
            safe_json(&document.to_string()) + "\n"
        }
        Format::Ndjson => {
            let lines = found.iter().filter_map(|change| serde_json::to_string(change).ok());
            lines.map(|line| safe_json(&line) + "\n").collect()
        }
    };
    terminal::print(text.as_bytes())?;
    Ok(())
}

fn shown((one, other): (&Offer, &Offer), found: &[Change]) -> String {
    let style = Style::of_stdout();
    let mut out = style.dim(&format!("{} → {}", one.revision, other.revision)) + "\n";
    for (title, breaking) in [("What a client would miss", true), ("What else is different", false)] {
        let changes: Vec<&Change> = found.iter().filter(|change| change.breaking == breaking).collect();
        if changes.is_empty() {
            continue;
        }
        out += &format!("{}\n", style.bold(title));
        for Change { kind, name, what, .. } in changes {
            let name = if name.is_empty() { String::new() } else { format!(" {}", safe_line(name)) };
            out += &format!("  {kind}{name}: {}\n", safe_line(what));
        }
    }
    if found.is_empty() {
        out += &format!("{}\n", style.green("no difference"));
    }
    out
}
