//! The work that servers are given: what is asked for, and what must come back. Answers are read in full here;
//! whoever is timing something looks at less.

use serde_json::{Value, json};

/// One kind of request.
#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    Echo,
    Steps,
    List,
    Blob,
    Length,
    Weather,
    Tool,
}

/// A kind of request with the size of its payload.
#[derive(Clone, Copy)]
pub struct Work {
    pub kind: Kind,
    pub bytes: usize,
}

/// How many notifications `steps` sends before it is done.
const STEPS: u64 = 10;
/// Arguments of the tools that `--tools` adds.
const ORDER: &str = concat!(
    r#"{"order":{"customer":{"name":"Ada","address":{"street":"1 Main Street","city":"London","zip":"N1 9GU"}},"#,
    r#""lines":[{"sku":"a-1","quantity":2,"price":9.5},{"sku":"b-2","quantity":1,"price":20.25}]},"#,
    r#""note":"by the door"}"#
);

impl Work {
    /// Reads `echo`, `echo:1024`, `list`…
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, bytes) = text.split_once(':').unwrap_or((text, "64"));
        let kind = match name {
            "echo" => Kind::Echo,
            "steps" => Kind::Steps,
            "list" => Kind::List,
            "blob" => Kind::Blob,
            "length" => Kind::Length,
            "weather" => Kind::Weather,
            "tool" => Kind::Tool,
            _ => return Err(format!("there is no work `{name}`")),
        };
        Ok(Self { kind, bytes: bytes.parse().map_err(|_| format!("`{bytes}` is no size"))? })
    }

    /// The method of the request.
    pub fn method(self) -> &'static str {
        if self.kind == Kind::List { "tools/list" } else { "tools/call" }
    }

    /// The tool that is called, if one is.
    pub fn tool(self) -> Option<&'static str> {
        match self.kind {
            Kind::Echo => Some("echo"),
            Kind::Steps => Some("steps"),
            Kind::List => None,
            Kind::Blob => Some("blob"),
            Kind::Length => Some("length"),
            Kind::Weather => Some("weather"),
            Kind::Tool => Some("tool_63"),
        }
    }

    /// Whether the caller wants to hear of progress.
    pub fn has_progress(self) -> bool {
        self.kind == Kind::Steps
    }

    /// The tool's arguments, as compact JSON.
    pub fn arguments(self) -> String {
        match self.kind {
            Kind::Echo => format!(r#"{{"message":"{}"}}"#, "x".repeat(self.bytes)),
            Kind::Steps | Kind::List => "{}".into(),
            Kind::Blob => format!(r#"{{"size":{}}}"#, self.bytes),
            Kind::Length => format!(r#"{{"text":"{}"}}"#, "x".repeat(self.bytes)),
            Kind::Weather => r#"{"city":"Oslo"}"#.into(),
            Kind::Tool => ORDER.into(),
        }
    }

    /// Refuses an answer that is not exactly what was asked for. `told` are the notifications before it; the
    /// answer is how many tools a list has, and 0 for anything else.
    pub fn check(self, id: usize, told: &[Value], result: &Value) -> Result<usize, String> {
        let text = |wanted: &str| match result["content"].as_array().map(Vec::as_slice) {
            Some([block]) => block["type"] == "text" && block["text"] == wanted,
            _ => false,
        };
        let right = result["isError"] != true
            && match self.kind {
                Kind::Echo | Kind::Blob => text(&"x".repeat(self.bytes)),
                Kind::Steps => text("done") && all_steps(id, told),
                Kind::List => result["tools"].as_array().is_some_and(|tools| tools.iter().all(described)),
                Kind::Length => text(&self.bytes.to_string()),
                Kind::Weather => {
                    same(&result["structuredContent"], &weather()) && result["content"][0]["text"].is_string()
                }
                Kind::Tool => text("ordered"),
            };
        if right {
            return Ok(result["tools"].as_array().map_or(0, Vec::len));
        }
        let shown: String = result.to_string().chars().take(200).collect();
        Err(format!("a wrong answer, after {} notifications: {shown}", told.len()))
    }
}

fn described(tool: &Value) -> bool {
    tool["name"].is_string() && tool["inputSchema"]["type"] == "object"
}

fn all_steps(token: usize, told: &[Value]) -> bool {
    let wanted = 1..=STEPS;
    told.len() as u64 == STEPS
        && wanted.zip(told).all(|(step, message)| {
            let params = &message["params"];
            message["method"] == "notifications/progress"
                && params["progressToken"] == token
                && same(&params["progress"], &json!(step))
                && same(&params["total"], &json!(STEPS))
        })
}

fn weather() -> Value {
    let hours: Vec<Value> = (0..24).map(|hour| json!({ "hour": hour, "celsius": 20.5 })).collect();
    json!({ "city": "Oslo", "celsius": 21.5, "wind": { "speed": 3.5, "from": "NW" }, "hours": hours })
}

/// Equal, where 1 and 1.0 are the same number.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}
