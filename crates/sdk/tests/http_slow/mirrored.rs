//! Parameters that are repeated in headers: a tool that asks for it, and callers who say two things.

use contexture::{Args, Server, tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::{Ask, Served, ask, serve};

#[derive(Deserialize, JsonSchema)]
struct Order {
    /// Where.
    #[schemars(extend("x-mcp-header" = "Region"))]
    region: Option<String>,
    /// How many.
    #[schemars(extend("x-mcp-header" = "Count"))]
    count: Option<i64>,
}

/// The annotation wants one type, and an option has two.
fn plain(schema: &Value) -> Value {
    let mut schema = schema.clone();
    schema["properties"]["region"]["type"] = json!("string");
    schema["properties"]["count"]["type"] = json!("integer");
    schema
}

async fn ordering() -> Served {
    let schema = plain(&serde_json::to_value(schemars::schema_for!(Order)).expect("JSON"));
    let schema = schema.as_object().expect("an object").clone();
    let order = tool("order")
        .input_schema(schema)
        .handler(|Args(Order { region, count })| async move { format!("{region:?} {count:?}") });
    serve(Server::new("mirrored", "0").tool(order).into_http().expect("a server")).await
}

/// Arguments, headers, and whether that is all right.
type Row = (Value, &'static [(&'static str, &'static str)], bool);

/// B14: a header that is missing, invented or different; the same number written otherwise is the same.
#[tokio::test]
async fn parameters_in_headers() {
    let served = ordering().await;
    let rows: [Row; 18] = [
        (json!({}), &[], true),
        (json!({"region": "eu"}), &[("mcp-param-region", "eu")], true),
        (json!({"region": "eu"}), &[("mcp-param-region", "=?base64?ZXU=?=")], true),
        (json!({"region": "\u{e9}"}), &[("mcp-param-region", "=?base64?w6k=?=")], true),
        (json!({"region": "eu"}), &[], false),
        (json!({"region": "eu"}), &[("mcp-param-region", "us")], false),
        (json!({"region": "eu"}), &[("mcp-param-region", "EU")], false),
        (json!({"region": "eu"}), &[("mcp-param-region", "=?base64?!?=")], false),
        (json!({"region": "eu"}), &[("mcp-param-region", "=?BASE64?ZXU=?=")], false),
        (json!({}), &[("mcp-param-region", "eu")], false),
        (json!({"count": 42}), &[("mcp-param-count", "42")], true),
        (json!({"count": 42}), &[("mcp-param-count", "42.0")], true),
        (json!({"count": 42}), &[("mcp-param-count", "43")], false),
        (json!({"count": 42}), &[("mcp-param-count", "42.5")], false),
        (json!({"count": 42}), &[("mcp-param-count", "forty-two")], false),
        (json!({"count": 42}), &[("mcp-param-count", "0x2a")], false),
        (json!({"count": 9_007_199_254_740_991_i64}), &[("mcp-param-count", "9007199254740992")], false),
        (json!({"count": 42}), &[("mcp-param-count", "42"), ("mcp-param-other", "x")], true),
    ];
    for (arguments, headers, served_well) in rows {
        let mut request = Ask::modern(1, "order", arguments.clone());
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let got = ask(&served, &request).await;
        let wanted = if served_well { (200, None) } else { (400, Some(-32020)) };
        assert_eq!((got.status, got.code()), wanted, "B14 {arguments} {headers:?}: {got:?}");
    }
}
