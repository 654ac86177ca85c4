//! Tools whose schema is the point: one with every keyword of JSON Schema 2020-12 that must survive, one with
//! an argument that is mirrored to a header.

use contexture::model::JsonObject;
use contexture::{Args, Server, tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

pub(super) fn register(server: Server) -> Server {
    server
        .tool(
            tool("json_schema_2020_12_tool")
                .description("Has a schema with everything in it.")
                .input_schema(everything())
                .handler(|| async { "Called with arguments that fit." }),
        )
        .tool(
            tool("test_custom_header")
                .description("Returns an argument that is mirrored to a header.")
                .handler(|Args(Mirrored { value })| async move { value }),
        )
}

#[derive(Deserialize, JsonSchema)]
struct Mirrored {
    /// What to return.
    #[schemars(extend("x-mcp-header" = "Value"))]
    value: String,
}

fn everything() -> JsonObject {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } }
            }
        },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" }
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false
    });
    match schema {
        Value::Object(schema) => schema,
        _ => JsonObject::new(),
    }
}
