//! What keeps to the specification, and what clients and models stumble over all the same. Nothing here fails by itself.

use contexture::revision::{Rules, StructuredOutput};
use serde_json::Value;

use super::lists::{Offer, name_of};
use super::report::Report;
use super::step::Step;
use crate::terminal::text::is_harmful;

/// So many tokens of definitions are much in any model's window.
const TOKENS: usize = 25_000;
/// Bytes of JSON that are about one token.
const TOKEN: usize = 4;
/// More tools than this and models choose badly.
const TOOLS: usize = 100;
/// As deep as anybody looks.
const DEPTH: usize = 64;

/// Looks at everything that was listed.
pub(super) fn all(report: &mut Report, offer: &Offer, rules: &Rules) {
    let tools = &offer.tools;
    each(
        report,
        Step::References,
        tools,
        reference,
        "inline",
        ("some clients and models do not follow $ref", "write the definitions in place of their references"),
    );
    each(
        report,
        Step::Descriptions,
        tools,
        undescribed,
        "all have one",
        ("a model chooses by descriptions", "describe each tool and each of its arguments in a sentence"),
    );
    each(
        report,
        Step::Annotations,
        tools,
        if rules.has_tool_annotations { annotations } else { |_| None },
        "there, and without contradiction",
        (
            "hosts ask people by annotations",
            "say readOnlyHint, and destructiveHint where it is not read-only",
        ),
    );
    each(
        report,
        Step::Schemas,
        tools,
        not_object,
        "all describe objects",
        (
            "arguments are an object, and some clients insist that the schema says so",
            "\"type\": \"object\" at the top, without anyOf or oneOf beside it",
        ),
    );
    let takes_all = rules.structured_output == StructuredOutput::Any;
    let output: fn(&Value) -> Option<String> = if takes_all { |_| None } else { not_object_output };
    each(
        report,
        Step::Output,
        tools,
        output,
        "sound",
        (
            "in this revision structured output is an object",
            "its author has to write \"type\": \"object\" at the top of outputSchema",
        ),
    );
    hidden(report, offer);
    size(report, offer);
}

/// One lint on every tool.
fn each(
    report: &mut Report,
    step: Step,
    tools: &[Value],
    lint: fn(&Value) -> Option<String>,
    well: &str,
    (why, next): (&str, &str),
) {
    let found: Vec<String> =
        tools.iter().filter_map(|tool| Some(format!("{}: {}", name_of(tool), lint(tool)?))).collect();
    if found.is_empty() {
        let well = if tools.is_empty() { "there are no tools" } else { well };
        return report.passed(step, well);
    }
    report.warn(step, format!("{} of {} tools: {why}", found.len(), tools.len()), next);
    report.details(found);
}

fn reference(tool: &Value) -> Option<String> {
    let count = references(&tool["inputSchema"], DEPTH);
    (count > 0).then(|| format!("{count} $ref in its inputSchema"))
}

fn references(schema: &Value, depth: usize) -> usize {
    let Some(depth) = depth.checked_sub(1) else { return 0 };
    match schema {
        Value::Object(members) => {
            let here = usize::from(members.get("$ref").is_some_and(Value::is_string));
            here + members.values().map(|value| references(value, depth)).sum::<usize>()
        }
        Value::Array(items) => items.iter().map(|item| references(item, depth)).sum(),
        _ => 0,
    }
}

fn undescribed(tool: &Value) -> Option<String> {
    if tool["description"].as_str().is_none_or(|text| text.trim().is_empty()) {
        return Some("no description".to_owned());
    }
    let properties = tool["inputSchema"]["properties"].as_object()?;
    let bare = properties.iter().filter(|(_, property)| {
        property["description"].as_str().is_none_or(|text| text.trim().is_empty())
            && property.get("$ref").is_none()
    });
    let bare: Vec<&str> = bare.map(|(name, _)| name.as_str()).collect();
    (!bare.is_empty()).then(|| format!("no description of {}", bare.join(", ")))
}

fn annotations(tool: &Value) -> Option<String> {
    let hints = &tool["annotations"];
    let says = |name: &str| hints[name].as_bool();
    match (says("readOnlyHint"), says("destructiveHint")) {
        (Some(true), Some(true)) => Some("read-only and destructive at once".to_owned()),
        (None, None) => {
            Some("neither readOnlyHint nor destructiveHint, so it counts as destructive".to_owned())
        }
        _ => None,
    }
}

fn not_object(tool: &Value) -> Option<String> {
    let schema = &tool["inputSchema"];
    match &schema["type"] {
        Value::String(kind) if kind == "object" => {
            let beside =
                ["anyOf", "oneOf", "allOf", "not"].into_iter().find(|key| schema.get(key).is_some())?;
            Some(format!("its inputSchema has {beside} at the top"))
        }
        Value::Null => Some("its inputSchema has no type".to_owned()),
        other => Some(format!("its inputSchema is of type {other}")),
    }
}

fn not_object_output(tool: &Value) -> Option<String> {
    let schema = tool.get("outputSchema")?;
    (schema["type"] != "object").then(|| format!("its outputSchema is of type {}", schema["type"]))
}

/// Text that people do not see and models read.
fn hidden(report: &mut Report, offer: &Offer) {
    let mut found = Vec::new();
    for entry in offer.tools.iter().chain(&offer.prompts).chain(&offer.resources).chain(&offer.templates) {
        let mut texts = Vec::new();
        gather(entry, DEPTH, &mut texts);
        if let Some(what) = texts.into_iter().find_map(unseen) {
            found.push(format!("{}: {what}", name_of(entry)));
        }
    }
    if found.is_empty() {
        return report.passed(Step::Hidden, "no invisible characters");
    }
    let next = "read what it says there before you trust it; its author has to take it out";
    report.warn(Step::Hidden, "descriptions have characters that people cannot see", next);
    report.details(found);
}

fn gather<'a>(value: &'a Value, depth: usize, texts: &mut Vec<&'a str>) {
    let Some(depth) = depth.checked_sub(1) else { return };
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(items) => items.iter().for_each(|item| gather(item, depth, texts)),
        Value::Object(members) => members.values().for_each(|value| gather(value, depth, texts)),
        _ => {}
    }
}

/// What is hidden in a text, made visible.
fn unseen(text: &str) -> Option<String> {
    let is_odd = |char: &char| is_harmful(*char) && !matches!(char, '\n' | '\r' | '\t');
    let odd: Vec<char> = text.chars().filter(is_odd).collect();
    let first = odd.first()?;
    // Tags are a whole alphabet that nothing shows.
    let spelled: String = odd
        .iter()
        .filter_map(|char| u32::from(*char).checked_sub(0xe0000).and_then(char::from_u32))
        .filter(|char| char.is_ascii_graphic() || *char == ' ')
        .collect();
    Some(match spelled.is_empty() {
        true => format!("{} such characters, the first of them U+{:04X}", odd.len(), u32::from(*first)),
        false => format!("hidden in tags: {spelled:?}"),
    })
}

fn size(report: &mut Report, offer: &Offer) {
    let bytes: usize = offer.tools.iter().map(|tool| tool.to_string().len()).sum();
    let (tokens, count) = (bytes / TOKEN, offer.tools.len());
    let seen = format!("about {tokens} tokens for {count} tools");
    if tokens > TOKENS || count > TOOLS {
        let largest = offer.tools.iter().max_by_key(|tool| tool.to_string().len());
        let next = "every conversation carries this: offer fewer tools (\"tools\" in the configuration), or ask its author for shorter ones";
        report.warn(Step::Size, seen, next);
        report.details(largest.map(|tool| {
            format!("the largest is {}, about {} tokens", name_of(tool), tool.to_string().len() / TOKEN)
        }));
        return;
    }
    report.passed(Step::Size, seen);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn hidden_instructions_are_shown() {
        let tags: String =
            "do it".chars().filter_map(|char| char::from_u32(0xe0000 + u32::from(char))).collect();
        assert_eq!(unseen(&format!("adds{tags}")).as_deref(), Some("hidden in tags: \"do it\""));
        assert!(unseen("a\u{202e}b").is_some_and(|words| words.contains("U+202E")));
        assert_eq!(unseen("lines\nand\ttabs, and 👩‍🚀"), None);
    }

    #[test]
    fn schemas_are_looked_through() {
        let tool = json!({ "name": "t", "inputSchema": { "type": "object", "properties": {
            "a": { "$ref": "#/$defs/a" }, "b": { "items": { "$ref": "#/$defs/a" } } } } });
        assert_eq!(reference(&tool).as_deref(), Some("2 $ref in its inputSchema"));
        assert_eq!(not_object(&tool), None);
        assert!(not_object(&json!({ "inputSchema": { "type": "string" } })).is_some());
        assert!(
            annotations(&json!({ "annotations": { "readOnlyHint": true, "destructiveHint": true } }))
                .is_some()
        );
    }
}
