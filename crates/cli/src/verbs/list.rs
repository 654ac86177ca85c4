//! `tools list`, `resources list`, `prompts list`: all pages, as signatures or as JSON.

use contexture::model::{JsonObject, Prompt, Resource, ResourceTemplate, Tool, code};
use contexture::{Client, Error};
use serde::Serialize;
use serde_json::Value;

use super::print;
use crate::exit::Failure;
use crate::options::Target;
use crate::terminal::style::Style;
use crate::terminal::text::safe_line;

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
    let tools = client.tools().await.map_err(Error::from)?;
    let style = Style::of_stdout();
    print(target.format, &Tools { tools: &tools }, || {
        tools.iter().map(|tool| show_tool(tool, style)).collect()
    })
}

fn show_tool(tool: &Tool, style: Style) -> String {
    let mut line = format!("{}({})", style.bold(&safe_line(&tool.name)), parameters(&tool.input_schema));
    if let Some(schema) = &tool.output_schema {
        line += &format!(" → {}", result(schema));
    }
    entry(line, tool.description.as_deref().or(tool.title.as_deref()), style)
}

/// The fields of a schema as a signature, required ones first.
pub(super) fn parameters(schema: &JsonObject) -> String {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|known| known == name));
    let mut fields: Vec<_> =
        schema.get("properties").and_then(Value::as_object).into_iter().flatten().collect();
    fields.sort_by_key(|(name, _)| !is_required(name));
    let shown = fields.into_iter().map(|(name, field)| {
        let optional = if is_required(name) { "" } else { "?" };
        format!("{}{optional}: {}", safe_line(name), kind(field))
    });
    shown.collect::<Vec<_>>().join(", ")
}

fn result(schema: &JsonObject) -> String {
    match schema.get("properties") {
        Some(Value::Object(_)) => format!("{{{}}}", parameters(schema)),
        _ => schema.get("type").map_or_else(|| "any".to_owned(), |_| kind(&Value::Object(schema.clone()))),
    }
}

fn kind(field: &Value) -> String {
    match field.get("type") {
        Some(Value::String(kind)) => safe_line(kind),
        Some(Value::Array(kinds)) => {
            let kinds: Vec<_> = kinds.iter().filter_map(Value::as_str).map(safe_line).collect();
            kinds.join(" | ")
        }
        _ => "any".to_owned(),
    }
}

fn entry(first: String, description: Option<&str>, style: Style) -> String {
    match description {
        Some(description) => format!("{first}\n    {}\n", style.dim(&safe_line(description))),
        None => first + "\n",
    }
}

pub(super) async fn resources(client: Client, target: &Target) -> Result<(), Failure> {
    let resources = client.resources().await.map_err(Error::from)?;
    let templates = match client.resource_templates().await.map_err(Error::from) {
        // Servers without templates need not know the method.
        Err(Error::Remote(error)) if error.code == code::METHOD_NOT_FOUND => Vec::new(),
        templates => templates?,
    };
    let style = Style::of_stdout();
    print(target.format, &Resources { resources: &resources, resource_templates: &templates }, || {
        let fixed = resources.iter().map(|resource| show_resource(resource, style));
        fixed.chain(templates.iter().map(|template| show_template(template, style))).collect()
    })
}

fn show_resource(resource: &Resource, style: Style) -> String {
    let mut line = style.bold(&safe_line(&resource.uri));
    if let Some(mime_type) = &resource.mime_type {
        line += &format!("  {}", safe_line(mime_type));
    }
    if let Some(size) = resource.size {
        line += &format!("  {size} bytes");
    }
    entry(line, Some(resource.description.as_deref().unwrap_or(resource.display_name())), style)
}

fn show_template(template: &ResourceTemplate, style: Style) -> String {
    let mut line = style.bold(&safe_line(&template.uri_template));
    if let Some(mime_type) = &template.mime_type {
        line += &format!("  {}", safe_line(mime_type));
    }
    entry(line, Some(template.description.as_deref().unwrap_or(template.display_name())), style)
}

pub(super) async fn prompts(client: Client, target: &Target) -> Result<(), Failure> {
    let prompts = client.prompts().await.map_err(Error::from)?;
    let style = Style::of_stdout();
    print(target.format, &Prompts { prompts: &prompts }, || {
        prompts.iter().map(|prompt| show_prompt(prompt, style)).collect()
    })
}

fn show_prompt(prompt: &Prompt, style: Style) -> String {
    let line = format!("{}({})", style.bold(&safe_line(&prompt.name)), prompt_arguments(prompt));
    entry(line, prompt.description.as_deref().or(prompt.title.as_deref()), style)
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
