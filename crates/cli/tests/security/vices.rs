//! What the hostile server does when it is called, one vice for each tool.
//!
//! Everything here is on the server's side of the pipe; what the client makes of it is judged elsewhere.

use std::time::Duration;

use serde_json::{Value, json};

use crate::hostile::Hostile;

fn nest(depth: usize) -> String {
    format!("{}1{}", "[".repeat(depth), "]".repeat(depth))
}

/// Answers a tool call in the way that the tool's name promises.
pub(crate) fn call(server: &mut Hostile, message: &Value, line: &str) {
    let (id, params) = (&message["id"], &message["params"]);
    let raw = |body: &str| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{body}}}\n");
    match params["name"].as_str().unwrap_or("") {
        "fine" => server.text(id, "fine"),
        "heard" => {
            let heard = Value::from(std::mem::take(&mut server.heard)).to_string();
            server.text(id, &heard);
        }
        "pid" => server.text(id, &std::process::id().to_string()),
        // Envelopes.
        "both" => server.raw(raw(r#""result":{"content":[]},"error":{"code":1,"message":"m"}"#)),
        "method_and_result" => server.raw(raw(r#""method":"ping","result":{"content":[]}"#)),
        "neither" => server.raw(raw(r#""x":1"#)),
        "no_version" => server.raw(format!("{{\"id\":{id},\"result\":{{\"content\":[]}}}}\n")),
        "twice" => server.raw(raw(r#""result":{"content":[]},"result":{"content":[]}"#)),
        "null" => server.raw(raw(r#""result":null"#)),
        "array" => server.raw(raw(r#""result":[]"#)),
        "empty" => server.raw(raw(r#""result":{}"#)),
        "odd_type" => server.result(id, json!({"resultType": "perhaps", "content": []})),
        "no_type" => server.raw(raw(r#""result":{"content":[{"type":"text","text":"typeless"}]}"#)),
        "code_string" => server.raw(raw(r#""error":{"code":"1","message":"m"}"#)),
        "code_float" => server.raw(raw(r#""error":{"code":1.5,"message":"m"}"#)),
        "code_missing" => server.raw(raw(r#""error":{"message":"m"}"#)),
        "message_missing" => server.raw(raw(r#""error":{"code":1}"#)),
        "error_string" => server.raw(raw(r#""error":"no""#)),
        "data_huge" => server.error(id, 1, "d".repeat(10 << 20).into()),
        "deep" => server.raw(raw(&format!(r#""result":{{"content":[],"x":{}}}"#, nest(200_000)))),
        "surrogate" => server.raw(raw(r#""result":{"content":[{"type":"text","text":"\ud800"}]}"#)),
        "base64" => {
            server.result(id, json!({"content": [{"type": "image", "data": "!!", "mimeType": "image/png"}]}))
        }
        "kind" => server.result(id, json!({"content": [{"type": "hologram", "data": 1}]})),
        // Pairing.
        "strangers" => {
            for other in [json!(id.to_string()), json!(987_654), json!("nobody"), Value::Null] {
                server.text(&other, "wrong");
            }
            server.text(id, "right");
            server.text(id, "late");
        }
        "silence" => {}
        "slow_progress" => endless_progress(server, params),
        "progress" => odd_progress(server, id, params),
        "cancels" => {
            for other in [json!(987_654), json!("x"), id.clone(), Value::Null, json!({})] {
                server.say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": other}}));
            }
            server.text(id, "fine");
        }
        "notifications" => {
            for method in
                ["notifications/no/such", "", "initialize", "notifications/message", "notifications/progress"]
            {
                server.say(
                    &json!({"jsonrpc": "2.0", "method": method, "params": {"level": "loud", "data": [1]}}),
                );
            }
            server.raw("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":[]}\n");
            server.text(id, "fine");
        }
        "asks" => {
            for (number, method) in
                ["sampling/createMessage", "roots/list", "elicitation/create", "ping", "no/such"]
                    .iter()
                    .enumerate()
            {
                server.say(&json!({"jsonrpc": "2.0", "id": 1000 + number, "method": method,
                    "params": {"message": "m", "messages": [], "maxTokens": 1, "requestedSchema": {"type": "object", "properties": {}}}}));
            }
            server.text(id, "fine");
        }
        "elicit" => {
            server.say(&json!({"jsonrpc": "2.0", "id": 2000, "method": "elicitation/create", "params": params["arguments"]}));
            server.text(id, "asked");
        }
        "sample" => {
            server.say(&json!({"jsonrpc": "2.0", "id": 2000, "method": "sampling/createMessage", "params": params["arguments"]}));
            server.text(id, "asked");
        }
        "log" => {
            let data = "first\nsecond\u{1b}[31m\u{202e}\u{7}";
            server.say(&json!({"jsonrpc": "2.0", "method": "notifications/message",
                "params": {"level": "error", "logger": "l\u{1b}[2J", "data": data}}));
            server.text(id, "\u{1b}]0;owned\u{7}text\u{202e}");
        }
        // Input rounds.
        "input" => input(server, id, params, line),
        "result" => server.result(id, params["arguments"].clone()),
        "exit" => std::process::exit(
            params["arguments"]["status"].as_i64().and_then(|n| n.try_into().ok()).unwrap_or(0),
        ),
        "tree" | "bush" => {
            let deep = (0..50).fold(json!("leaf"), |inner, _| json!({"a": inner}));
            server.result(id, json!({"content": [], "structuredContent": deep}));
        }
        "rows" => server.result(id, json!({"content": [], "structuredContent": {"a": vec![-1; 1 << 20]}})),
        "structured" => server.result(id, json!({"content": [], "structuredContent": {"n": "not a number"}})),
        _ => server.result(
            id,
            json!({"content": [], "structuredContent": {"a": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"}}),
        ),
    }
}

fn endless_progress(server: &mut Hostile, params: &Value) {
    let token = &params["_meta"]["progressToken"];
    for step in 1..1_000 {
        server.say(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": step}}));
        // The pace of the server, which is what the row is about.
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn odd_progress(server: &mut Hostile, id: &Value, params: &Value) {
    let token = params["_meta"]["progressToken"].clone();
    let other = token
        .as_str()
        .map_or_else(|| json!(token.to_string()), |text| json!(text.parse::<i64>().unwrap_or(7)));
    let mut tell = |token: &Value, progress: Value| {
        server.say(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": progress}}));
    };
    tell(&json!("nobody"), json!(100));
    tell(&other, json!(101));
    tell(&token, json!(1));
    tell(&token, json!("NaN"));
    tell(&token, json!(0.5));
    tell(&token, Value::Null);
    for step in 2..10_000 {
        tell(&token, json!(step));
    }
    server.text(id, "done");
    server.say(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": 20_000}}));
}

/// Asks for input; the arguments say how. Keeps what it hears, so that `heard` can tell.
fn input(server: &mut Hostile, id: &Value, params: &Value, line: &str) {
    server.heard.push(line.to_owned());
    let arguments = &params["arguments"];
    if params.get("inputResponses").is_some() && arguments["for_ever"].is_null() {
        return server.text(id, "answered");
    }
    let mut result = arguments["ask"].clone();
    result["resultType"] = "input_required".into();
    server.result(id, result);
}

/// Reads a resource.
pub(crate) fn read(server: &mut Hostile, id: &Value, uri: &Value) {
    let contents = match uri.as_str() {
        Some("bad://base64") => json!([{"uri": uri, "blob": "not base64 !", "mimeType": "image/png"}]),
        Some("bad://null") => Value::Null,
        Some("bad://both") => json!([{"uri": uri, "text": "t", "blob": "AAAA"}]),
        _ => json!([{"uri": uri, "mimeType": "not a type", "text": "t"}]),
    };
    server.result(id, json!({"contents": contents, "ttlMs": 0, "cacheScope": "private"}));
}

fn tool(name: &str, more: &Value) -> Value {
    let mut tool = json!({"name": name, "inputSchema": {"type": "object"}});
    for (key, value) in more.as_object().into_iter().flatten() {
        tool[key] = value.clone();
    }
    tool
}

/// Lists tools, in the way that the server's vice promises.
pub(crate) fn list(server: &mut Hostile, id: &Value, method: &str, params: &Value) {
    server.lists += 1;
    let number = server.lists;
    let plain = json!([tool("fine", &Value::Null)]);
    let cursor = &params["cursor"];
    let (tools, next) = match server.vice.as_str() {
        "cursor same" => (plain, json!("A")),
        "cursor pair" => (plain, if *cursor == "A" { json!("B") } else { json!("A") }),
        "cursor new" => (plain, json!(format!("c{number}"))),
        "cursor empty" => (
            json!([tool(&format!("t{number}"), &Value::Null)]),
            if cursor.is_null() { json!("") } else { Value::Null },
        ),
        "cursor number" => (plain, json!(7)),
        "items" => (
            json!([null, 7, {"inputSchema": {"type": "object"}}, {"name": 7}, "x", tool("fine", &Value::Null), tool("fine", &Value::Null)]),
            Value::Null,
        ),
        "items null" => (Value::Null, Value::Null),
        "items many" => (
            Value::from((0..10_000).map(|n| tool(&format!("t{n}"), &Value::Null)).collect::<Vec<_>>()),
            Value::Null,
        ),
        "items long" => (json!([tool("fine", &json!({"description": "d".repeat(10 << 20)}))]), Value::Null),
        "input" => return server.result(id, json!({"resultType": "input_required", "requestState": "x"})),
        "schemas" => (schemas(), Value::Null),
        "hints" => (
            json!([tool("fine", &json!({"annotations": {"readOnlyHint": true, "destructiveHint": false}}))]),
            Value::Null,
        ),
        "terminal" => (
            json!([tool(
                "fine",
                &json!({"title": "\u{1b}[31mred\u{202e}evil\u{e0041}\u{200b}", "description": "\u{1b}]0;owned\u{7}\nfake line\r\u{9b}31m"})
            )]),
            Value::Null,
        ),
        _ => (plain, Value::Null),
    };
    let ttl = match server.vice.as_str() {
        "ttl negative" => json!(-1),
        "ttl huge" => json!(1_000_000_000_000_000_000_u64),
        _ => json!(0),
    };
    let key = if method == "tools/list" { "tools" } else { "items" };
    let mut result = json!({key: tools, "ttlMs": ttl, "cacheScope": "private"});
    if !next.is_null() {
        result["nextCursor"] = next;
    }
    server.result(id, result);
}

/// Tools whose output schemas are traps. None may be fetched, none may take long.
fn schemas() -> Value {
    let port = std::env::var("TRAP_PORT").unwrap_or_default();
    let remote = json!({"$ref": format!("http://127.0.0.1:{port}/schema.json")});
    let nested = (0..20).fold(json!({}), |schema, _| json!({"anyOf": [schema]}));
    let wide: Vec<Value> = (0..20_000).map(|n| json!({"const": n})).collect();
    let listed = [
        ("remote", remote.clone()),
        ("remote_inside", json!({"type": "object", "properties": {"a": remote}})),
        ("local_file", json!({"$ref": "file:///etc/passwd"})),
        ("recursive", json!({"$ref": "#"})),
        (
            "mutual",
            json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"allOf": [{"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"}),
        ),
        ("pattern", json!({"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}})),
        ("nested", json!({"type": "object", "properties": {"a": nested}})),
        ("wide", json!({"type": "object", "anyOf": wide})),
        ("ladder", ladder()),
        (
            "tree",
            json!({"allOf": [{"properties": {"a": {"$ref": "#"}}}, {"properties": {"a": {"$ref": "#"}}}]}),
        ),
        (
            "bush",
            json!({"oneOf": [{"required": ["a"], "properties": {"a": {"$ref": "#"}}}, {"required": ["a"], "properties": {"a": {"$ref": "#"}}}, {"type": "string"}]}),
        ),
        (
            "rows",
            json!({"properties": {"a": {"items": {"anyOf": (0..4_000).map(|n| json!({"const": n})).collect::<Vec<_>>()}}}}),
        ),
        ("dangling", json!({"$ref": "#/$defs/nowhere"})),
        ("wrong", json!({"type": "objekt", "properties": 7})),
        ("structured", json!({"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]})),
    ];
    let mut tools: Vec<Value> =
        listed.iter().map(|(name, schema)| tool(name, &json!({"outputSchema": schema}))).collect();
    tools.push(tool("fine", &Value::Null));
    tools.into()
}

/// Forty rungs, each standing twice on the next: a schema of two kilobytes, and 2^40 checks of one value.
fn ladder() -> Value {
    let mut schema = json!({"$ref": "#/$defs/d0", "$defs": {"d40": {"type": "object"}}});
    for rung in 0..40 {
        let next = json!({"$ref": format!("#/$defs/d{}", rung + 1)});
        schema["$defs"][format!("d{rung}")] = json!({"allOf": [next, next]});
    }
    schema
}
