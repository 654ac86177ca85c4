//! What the server offers, as wire JSON that rmcp validates into its own types.
//!
//! Only data: what the tools do is in `tools.rs`, and nothing here knows a connection.

use rmcp::ErrorData;
use serde_json::{Map, Value, json};

pub const INSTRUCTIONS: &str = "A server for interoperability runs. Start with the tool `echo`.";
pub const CLOCK: &str = "demo://clock";
pub const LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// One black pixel, and how many bytes that takes.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==";
const PNG_SIZE: u32 = 67;
/// One silent sample.
const WAV: &str = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQEAAACAAA==";
const README: &str = "# Readme\n\nThe text resource of the interoperability server.\n";
const NOTES: [&str; 3] = ["alpha", "beta", "gamma"];
const STYLES: [&str; 3] = ["formal", "friendly", "pirate"];
const LANGUAGES: [&str; 5] = ["rust", "ruby", "python", "typescript", "go"];

/// An object schema of primitive properties, all required.
pub fn form(properties: &[(&str, &str)]) -> Value {
    let typed: Map<String, Value> =
        properties.iter().map(|(name, kind)| ((*name).to_owned(), json!({ "type": kind }))).collect();
    let required: Vec<&str> = properties.iter().map(|(name, _)| *name).collect();
    json!({ "type": "object", "properties": typed, "required": required })
}

/// The tools in force. Only 2026-07-28 lets a structured result be a bare number.
pub fn tools(modern: bool, extra: bool) -> Value {
    let number = if modern { json!({ "type": "integer" }) } else { form(&[("result", "integer")]) };
    let report = form(&[("city", "string"), ("celsius", "number"), ("sky", "string")]);
    let mut countdown = form(&[("steps", "integer")]);
    countdown["properties"]["delay_ms"] = json!({ "type": "integer", "default": 0 });
    let tool = |name: &str, description: &str, arguments: Value| json!({ "name": name, "description": description, "inputSchema": arguments });
    let mut echo = tool("echo", "Repeats a message.", form(&[("message", "string")]));
    echo["annotations"] = json!({ "readOnlyHint": true });
    let mut add = tool("add", "Adds two integers.", form(&[("a", "integer"), ("b", "integer")]));
    add["outputSchema"] = number;
    let mut weather = tool("weather", "Reports the weather.", form(&[("city", "string")]));
    weather["outputSchema"] = report;
    let mut offered = vec![
        echo,
        add,
        weather,
        tool("greet", "Asks for a name and greets it.", form(&[("greeting", "string")])),
        tool("ask_model", "Asks the client's model.", form(&[("question", "string")])),
        tool("list_roots", "Lists the client's roots.", form(&[])),
        tool("countdown", "Reports progress.", countdown),
        tool("log_lines", "Logs once at every level.", form(&[])),
        tool("sleep", "Waits; can be cancelled.", form(&[("ms", "integer")])),
        tool("kinds", "Answers with every kind of content.", form(&[])),
        tool("fail", "Fails.", form(&[("message", "string")])),
        tool("toggle", "Adds or removes the tool `extra`.", form(&[])),
        tool("touch", "Changes demo://clock.", form(&[])),
    ];
    if extra {
        offered.push(tool("extra", "Is not always there.", form(&[])));
    }
    json!({ "tools": offered })
}

/// The content of the tool `kinds`.
pub fn kinds() -> Value {
    json!([
        { "type": "text", "text": "text" },
        { "type": "image", "data": PNG, "mimeType": "image/png" },
        { "type": "audio", "data": WAV, "mimeType": "audio/wav" },
        { "type": "resource_link", "uri": "demo://readme", "name": "readme" },
        { "type": "resource", "resource": { "uri": "demo://readme", "mimeType": "text/markdown", "text": README } },
    ])
}

/// The result of resources/list.
pub fn resources() -> Value {
    json!({ "resources": [
        { "uri": "demo://readme", "name": "readme", "mimeType": "text/markdown" },
        { "uri": "demo://logo.png", "name": "logo", "mimeType": "image/png", "size": PNG_SIZE },
        { "uri": CLOCK, "name": "clock", "mimeType": "text/plain" },
    ]})
}

/// The result of resources/templates/list.
pub fn templates() -> Value {
    json!({ "resourceTemplates": [
        { "uriTemplate": "demo://notes/{id}", "name": "note", "mimeType": "text/plain" },
    ]})
}

/// The result of resources/read. rmcp turns the code of a missing one into that of the era.
pub fn read(uri: &str, touched: u64) -> Result<Value, ErrorData> {
    let content = match uri {
        "demo://readme" => json!({ "uri": uri, "mimeType": "text/markdown", "text": README }),
        "demo://logo.png" => json!({ "uri": uri, "mimeType": "image/png", "blob": PNG }),
        CLOCK => json!({ "uri": uri, "mimeType": "text/plain", "text": format!("tick {touched}") }),
        _ => match uri.strip_prefix("demo://notes/").filter(|id| NOTES.contains(id)) {
            Some(id) => json!({ "uri": uri, "mimeType": "text/plain", "text": format!("note {id}") }),
            None => return Err(ErrorData::resource_not_found(format!("no resource {uri}"), None)),
        },
    };
    Ok(json!({ "contents": [content] }))
}

/// The result of prompts/list.
pub fn prompts() -> Value {
    let arguments = |required: &str, optional: &str| json!([{ "name": required, "required": true }, { "name": optional, "required": false }]);
    json!({ "prompts": [
        { "name": "greeting", "description": "Greets somebody.", "arguments": arguments("name", "style") },
        { "name": "review", "description": "Reviews code.", "arguments": arguments("code", "language") },
    ]})
}

/// The result of prompts/get.
pub fn prompt(name: &str, arguments: &Map<String, Value>) -> Result<Value, ErrorData> {
    let given = |argument: &str| arguments.get(argument).and_then(Value::as_str);
    let needed = |argument: &str| {
        let missing = || ErrorData::invalid_params(format!("prompt {name} needs {argument}"), None);
        given(argument).ok_or_else(missing)
    };
    let message =
        |role: &str, text: String| json!({ "role": role, "content": { "type": "text", "text": text } });
    let messages = match name {
        "greeting" => {
            let style = given("style").unwrap_or("friendly");
            vec![message("user", format!("Greet {} in a {style} way.", needed("name")?))]
        }
        "review" => vec![
            message("user", format!("Review this code:\n{}", needed("code")?)),
            message("assistant", "Reading it now.".to_owned()),
        ],
        _ => return Err(ErrorData::invalid_params(format!("no prompt {name}"), None)),
    };
    Ok(json!({ "messages": messages }))
}

/// The result of completion/complete: candidates by prefix.
pub fn complete(of: &str, argument: &str, value: &str) -> Value {
    let candidates: &[&str] = match (of, argument) {
        ("greeting", "style") => &STYLES,
        ("review", "language") => &LANGUAGES,
        ("demo://notes/{id}", "id") => &NOTES,
        _ => &[],
    };
    let values: Vec<&&str> = candidates.iter().filter(|candidate| candidate.starts_with(value)).collect();
    json!({ "completion": { "values": values, "total": values.len(), "hasMore": false } })
}
