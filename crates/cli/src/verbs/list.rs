//! `tools list`, `resources list`, `prompts list`: all pages, as signatures or as JSON.
//!
//! For people an entry is two lines, however much a server has to say; `-o json` has all of it. What came of a list that
//! could not be completed is shown before that is said.

use std::collections::HashSet;
use std::io::IsTerminal as _;

use contexture::client::Partial;
use contexture::model::{JsonObject, Prompt, Resource, ResourceTemplate, Tool, code};
use contexture::{Client, Error};
use serde::Serialize;
use serde_json::Value;

use super::print_each;
use crate::arguments::Wanted;
use crate::exit::Failure;
use crate::options::Target;
use crate::terminal::style::Style;
use crate::terminal::text::{cut, safe_line};
use crate::terminal::width;

#[derive(Serialize)]
struct Tools<'a> {
    tools: &'a [Tool],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Resources<'a> {
    resources: &'a [Resource],
    resource_templates: &'a [ResourceTemplate],
}

#[derive(Serialize)]
struct Prompts<'a> {
    prompts: &'a [Prompt],
}

pub(super) async fn tools(client: Client, target: &Target) -> Result<(), Failure> {
    let (tools, missing) = as_far_as_it_goes(client.tools().await)?;
    print_each(target.format, &Tools { tools: &tools }, &tools, || {
        let sheet = Sheet::of_stdout();
        Ok(tools.iter().map(|tool| sheet.tool(tool)).collect())
    })?;
    missing.map_or(Ok(()), Err)
}

/// A list, and why there is not more of it. One of which nothing came is a failure at once.
fn as_far_as_it_goes<T>(listed: Result<Vec<T>, Partial<T>>) -> Result<(Vec<T>, Option<Failure>), Failure> {
    match listed {
        Ok(items) => Ok((items, None)),
        Err(Partial { items, reason }) if items.is_empty() => Err(reason.into()),
        Err(Partial { items, reason }) => {
            let only = format!("only the first {} could be listed", items.len());
            Ok((items, Some(Failure::from(reason).hint(Some(only)))))
        }
    }
}

/// The fields of a schema as a signature, required ones first.
pub(super) fn parameters(schema: &JsonObject) -> String {
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let required: HashSet<&str> = required.filter_map(Value::as_str).collect();
    let is_required = |name: &str| required.contains(name);
    let mut fields: Vec<_> =
        schema.get("properties").and_then(Value::as_object).into_iter().flatten().collect();
    fields.sort_by_key(|(name, _)| !is_required(name));
    let shown = fields.into_iter().map(|(name, field)| {
        let optional = if is_required(name) { "" } else { "?" };
        format!("{}{optional}: {}", safe_line(name), Wanted::of(schema, field).kind())
    });
    shown.collect::<Vec<_>>().join(", ")
}

fn result(schema: &JsonObject) -> String {
    match schema.get("properties") {
        Some(Value::Object(_)) => format!("{{{}}}", parameters(schema)),
        _ => Wanted::of(schema, &Value::Object(schema.clone())).kind(),
    }
}

pub(super) async fn resources(client: Client, target: &Target) -> Result<(), Failure> {
    let (resources, missing) = as_far_as_it_goes(client.resources().await)?;
    let templates = match client.resource_templates().await {
        // Servers without templates need not know the method.
        Err(Partial { reason: Error::Remote(error), .. }) if error.code == code::METHOD_NOT_FOUND => {
            Vec::new()
        }
        templates => templates.map_err(Error::from)?,
    };
    let all = Resources { resources: &resources, resource_templates: &templates };
    let entries = resources.iter().map(Entry::Resource).chain(templates.iter().map(Entry::Template));
    print_each(target.format, &all, entries, || {
        let sheet = Sheet::of_stdout();
        let fixed = resources.iter().map(|resource| sheet.resource(resource));
        Ok(fixed.chain(templates.iter().map(|template| sheet.template(template))).collect())
    })?;
    missing.map_or(Ok(()), Err)
}

#[derive(Serialize)]
#[serde(untagged)]
enum Entry<'a> {
    Resource(&'a Resource),
    Template(&'a ResourceTemplate),
}

pub(super) async fn prompts(client: Client, target: &Target) -> Result<(), Failure> {
    let (prompts, missing) = as_far_as_it_goes(client.prompts().await)?;
    print_each(target.format, &Prompts { prompts: &prompts }, &prompts, || {
        let sheet = Sheet::of_stdout();
        Ok(prompts.iter().map(|prompt| sheet.prompt(prompt)).collect())
    })?;
    missing.map_or(Ok(()), Err)
}

/// How a prompt wants to be filled in.
pub(super) fn prompt_signature(prompt: &Prompt) -> String {
    format!("{}({})", safe_line(&prompt.name), prompt_arguments(prompt))
}

fn prompt_arguments(prompt: &Prompt) -> String {
    let arguments = prompt.arguments.iter().flatten().map(|argument| {
        let optional = if argument.is_required() { "" } else { "?" };
        format!("{}{optional}", safe_line(&argument.name))
    });
    arguments.collect::<Vec<_>>().join(", ")
}

/// How lists are shown: two lines for an entry, bounded, whatever is in it.
struct Sheet {
    style: Style,
    /// For descriptions.
    width: usize,
}

/// Longer names and signatures are cut.
const LONGEST: usize = 400;
/// What a description is indented by.
const INDENT: usize = 4;

impl Sheet {
    /// On a terminal a description fits its line; elsewhere it is bounded.
    fn of_stdout() -> Self {
        let style = Style::of_stdout();
        let width = if std::io::stdout().is_terminal() { width::of_stdout() - INDENT } else { LONGEST };
        Self { style, width }
    }

    fn tool(&self, tool: &Tool) -> String {
        let result = tool.output_schema.as_ref().map(|schema| format!(" → {}", result(schema)));
        let rest = format!("({}){}", parameters(&tool.input_schema), result.unwrap_or_default());
        self.entry(&tool.name, &rest, tool.description.as_deref().or(tool.title.as_deref()))
    }

    fn resource(&self, resource: &Resource) -> String {
        let mime_type = resource.mime_type.as_deref().map(|kind| format!("  {}", safe_line(kind)));
        let size = resource.size.map(|size| format!("  {size} bytes"));
        let rest = mime_type.unwrap_or_default() + &size.unwrap_or_default();
        self.entry(&resource.uri, &rest, resource.description.as_deref().or(Some(resource.display_name())))
    }

    fn template(&self, template: &ResourceTemplate) -> String {
        let mime_type = template.mime_type.as_deref().map(|kind| format!("  {}", safe_line(kind)));
        let about = template.description.as_deref().or(Some(template.display_name()));
        self.entry(&template.uri_template, &mime_type.unwrap_or_default(), about)
    }

    fn prompt(&self, prompt: &Prompt) -> String {
        let rest = format!("({})", prompt_arguments(prompt));
        self.entry(&prompt.name, &rest, prompt.description.as_deref().or(prompt.title.as_deref()))
    }

    /// The name, what belongs to it, and the first line of what is said about it.
    fn entry(&self, name: &str, rest: &str, description: Option<&str>) -> String {
        let first = format!("{}{}\n", self.style.bold(&cut(&safe_line(name), LONGEST)), cut(rest, LONGEST));
        let line = description.and_then(|text| text.lines().find(|line| !line.trim().is_empty()));
        let Some(line) = line else { return first };
        // The rest of ten megabytes is not looked at.
        let line: String = line.trim().chars().take(self.width + 1).collect();
        format!("{first}    {}\n", self.style.dim(&width::fit(&safe_line(&line), self.width)))
    }
}
