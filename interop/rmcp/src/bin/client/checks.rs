//! The fixed list of checks, on wire JSON.
//!
//! A check returns a detail; what the server did wrong, or what is absent, is its `Failure`.

use std::time::Duration;

use rmcp::model::Reference;
use serde_json::{Value, json};

use crate::expect::{arrived, expect, find, pluck, refused, said, same};
use crate::peer::{Failure, Peer, ROOTS, Watched};

type Outcome = Result<String, Failure>;

/// Every check but `close`, which the program makes itself, in order.
pub const NAMES: [&str; 30] = [
    "handshake",
    "ping",
    "tools/list",
    "tools/call echo",
    "tools/call add structured",
    "tools/call weather structured",
    "tools/call fail isError",
    "tools/call kinds",
    "tools/call unknown tool error",
    "resources/list",
    "resources/read text",
    "resources/read blob",
    "resources/read missing error",
    "resources/templates/list",
    "resources/read template",
    "resources/subscribe updated",
    "prompts/list",
    "prompts/get",
    "prompts/get missing argument error",
    "completion prompt",
    "completion template",
    "logging setLevel + messages",
    "progress",
    "cancel",
    "sampling",
    "elicitation accept",
    "elicitation decline",
    "roots",
    "list_changed",
    "resume",
];

const TOOLS: [&str; 13] = [
    "echo",
    "add",
    "weather",
    "greet",
    "ask_model",
    "list_roots",
    "countdown",
    "log_lines",
    "sleep",
    "kinds",
    "fail",
    "toggle",
    "touch",
];
const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
const CLOCK: &str = "demo://clock";

/// Runs one check.
pub async fn run(name: &str, peer: &Peer) -> Outcome {
    match name {
        "handshake" => handshake(peer),
        "ping" => ping(peer).await,
        "tools/list" => tools_list(peer).await,
        "tools/call echo" => call_echo(peer).await,
        "tools/call add structured" => call_add(peer).await,
        "tools/call weather structured" => call_weather(peer).await,
        "tools/call fail isError" => call_fail(peer).await,
        "tools/call kinds" => call_kinds(peer).await,
        "tools/call unknown tool error" => refused(peer.call("no_such_tool", json!({})).await, &[-32602]),
        "resources/list" => resources_list(peer).await,
        "resources/read text" => read_text(peer).await,
        "resources/read blob" => read_blob(peer).await,
        "resources/read missing error" => refused(peer.read("demo://nothing").await, not_found(peer)),
        "resources/templates/list" => templates_list(peer).await,
        "resources/read template" => read_template(peer).await,
        "resources/subscribe updated" => subscribe(peer).await,
        "prompts/list" => prompts_list(peer).await,
        "prompts/get" => prompts_get(peer).await,
        "prompts/get missing argument error" => refused(peer.prompt("greeting", json!({})).await, &[-32602]),
        "completion prompt" => completion_prompt(peer).await,
        "completion template" => completion_template(peer).await,
        "logging setLevel + messages" => logging(peer).await,
        "progress" => progress(peer).await,
        "cancel" => cancel(peer).await,
        "sampling" => sampling(peer).await,
        "elicitation accept" => elicitation_accept(peer).await,
        "elicitation decline" => elicitation_decline(peer).await,
        "roots" => roots(peer).await,
        "list_changed" => list_changed(peer).await,
        "resume" => resume(peer).await,
        _ => Err(Failure::Wrong(format!("there is no check {name}"))),
    }
}

fn not_found(peer: &Peer) -> &'static [i32] {
    if peer.modern { &[-32602] } else { &[-32602, -32002] }
}

fn handshake(peer: &Peer) -> Outcome {
    let hello = peer.hello()?;
    let offered = &hello["capabilities"];
    for capability in ["tools", "resources", "prompts", "completions", "logging"] {
        expect(offered[capability].is_object(), capability, offered)?;
    }
    same(&offered["tools"]["listChanged"], json!(true), "tools.listChanged")?;
    same(&offered["resources"]["subscribe"], json!(true), "resources.subscribe")?;
    let server = &hello["serverInfo"];
    match (hello["instructions"].as_str(), server["name"].as_str(), hello["protocolVersion"].as_str()) {
        (Some(_), Some(name), Some(revision)) => Ok(format!("{name} {}, {revision}", server["version"])),
        _ => Err(Failure::Wrong(format!("expected instructions and a name; got {hello}"))),
    }
}

async fn ping(peer: &Peer) -> Outcome {
    if peer.modern {
        return Err(Failure::Absent("2026-07-28 has no ping".to_owned()));
    }
    peer.ping().await?;
    Ok(String::new())
}

async fn tools_list(peer: &Peer) -> Outcome {
    let listed = peer.tools().await?;
    for name in TOOLS {
        same(&find(&listed, "name", name)?["inputSchema"]["type"], json!("object"), name)?;
    }
    let names = pluck(&listed, "name");
    expect(!names.contains(&json!("extra")), "no tool `extra` yet", &listed)?;
    let echo = find(&listed, "name", "echo")?;
    same(&echo["annotations"]["readOnlyHint"], json!(true), "readOnlyHint of echo")?;
    for name in ["add", "weather"] {
        let tool = find(&listed, "name", name)?;
        expect(tool["outputSchema"].is_object(), "an output schema", tool)?;
    }
    Ok(format!("{} tools", names.len()))
}

async fn call_echo(peer: &Peer) -> Outcome {
    let message = "zwölf Boxkämpfer 🥊\n\"quoted\"";
    same(said(&peer.call("echo", json!({ "message": message })).await?)?, json!(message), "the message")?;
    Ok(String::new())
}

async fn call_add(peer: &Peer) -> Outcome {
    // A server of the older era wraps what is no object, also behind a bridge; the list of tools says so.
    let tools = peer.tools().await?;
    let wraps = find(&tools, "name", "add")?["outputSchema"]["type"] == "object";
    let result = peer.call("add", json!({ "a": 1, "b": 2 })).await?;
    same(said(&result)?, json!("3"), "the text")?;
    let wanted = if peer.modern && !wraps { json!(3) } else { json!({ "result": 3 }) };
    same(&result["structuredContent"], wanted.clone(), "structuredContent")?;
    Ok(wanted.to_string())
}

async fn call_weather(peer: &Peer) -> Outcome {
    let result = peer.call("weather", json!({ "city": "Bern" })).await?;
    let wanted = json!({ "city": "Bern", "celsius": 21.5, "sky": "clear" });
    same(&result["structuredContent"], wanted.clone(), "structuredContent")?;
    let mirror: Value = serde_json::from_str(said(&result)?.as_str().unwrap_or_default())?;
    same(&mirror, wanted, "its mirror as text")?;
    Ok(String::new())
}

async fn call_fail(peer: &Peer) -> Outcome {
    let result = peer.call("fail", json!({ "message": "no luck" })).await?;
    expect(result["isError"] == true, "an error result", &result)?;
    same(said(&result)?, json!("no luck"), "the text")?;
    Ok(String::new())
}

async fn call_kinds(peer: &Peer) -> Outcome {
    let result = peer.call("kinds", json!({})).await?;
    let content = &result["content"];
    find(content, "type", "text")?;
    same(&find(content, "type", "image")?["mimeType"], json!("image/png"), "the image as")?;
    same(&find(content, "type", "audio")?["mimeType"], json!("audio/wav"), "the audio as")?;
    same(&find(content, "type", "resource_link")?["uri"], json!("demo://readme"), "a link to")?;
    let embedded = &find(content, "type", "resource")?["resource"];
    expect(embedded["text"].is_string(), "an embedded text", embedded)?;
    Ok(format!("{} blocks", pluck(content, "type").len()))
}

async fn resources_list(peer: &Peer) -> Outcome {
    let listed = peer.resources().await?;
    for (uri, kind) in
        [("demo://readme", "text/markdown"), ("demo://logo.png", "image/png"), (CLOCK, "text/plain")]
    {
        same(&find(&listed, "uri", uri)?["mimeType"], json!(kind), uri)?;
    }
    Ok(format!("{} resources", pluck(&listed, "uri").len()))
}

async fn read_text(peer: &Peer) -> Outcome {
    let result = peer.read("demo://readme").await?;
    let content = find(&result["contents"], "uri", "demo://readme")?;
    same(&content["mimeType"], json!("text/markdown"), "the readme as")?;
    expect(content["text"].as_str().is_some_and(|text| !text.is_empty()), "a text", content)?;
    Ok(String::new())
}

async fn read_blob(peer: &Peer) -> Outcome {
    let result = peer.read("demo://logo.png").await?;
    let blob = result["contents"][0]["blob"].as_str().unwrap_or_default();
    // The first eight bytes of a PNG in base64, but for the bits that share a digit with the ninth.
    expect(blob.starts_with("iVBORw0KGg"), "a PNG", &result)?;
    let size = blob.len() / 4 * 3 - blob.bytes().rev().take_while(|byte| *byte == b'=').count();
    let listed = peer.resources().await?;
    same(&find(&listed, "uri", "demo://logo.png")?["size"], json!(size), "the listed size")?;
    Ok(format!("{size} bytes"))
}

async fn templates_list(peer: &Peer) -> Outcome {
    let listed = peer.templates().await?;
    same(&find(&listed, "uriTemplate", "demo://notes/{id}")?["name"], json!("note"), "the name")?;
    Ok(format!("{} templates", pluck(&listed, "name").len()))
}

async fn read_template(peer: &Peer) -> Outcome {
    let result = peer.read("demo://notes/beta").await?;
    same(&find(&result["contents"], "uri", "demo://notes/beta")?["text"], json!("note beta"), "the text")?;
    refused(peer.read("demo://notes/omega").await, not_found(peer))?;
    Ok(String::new())
}

async fn subscribe(peer: &Peer) -> Outcome {
    peer.heard.changes.lock().await.clear();
    let watch = peer.watch(Watched::Resource(CLOCK)).await?;
    peer.call("touch", json!({})).await?;
    let heard = arrived(&peer.heard.changes, 1).await;
    expect(heard.contains(&json!(CLOCK)), "an update of the clock", &json!(heard))?;
    peer.unwatch(watch).await?;
    peer.heard.changes.lock().await.clear();
    peer.call("touch", json!({})).await?;
    tokio::time::sleep(Duration::from_millis(300)).await;
    same(&json!(*peer.heard.changes.lock().await), json!([]), "silence after unsubscribing")?;
    Ok(if peer.modern { "subscriptions/listen" } else { "resources/subscribe" }.to_owned())
}

async fn prompts_list(peer: &Peer) -> Outcome {
    let listed = peer.prompts().await?;
    find(&listed, "name", "review")?;
    let arguments = &find(&listed, "name", "greeting")?["arguments"];
    same(&find(arguments, "name", "name")?["required"], json!(true), "required of name")?;
    expect(find(arguments, "name", "style")?["required"] != true, "style optional", arguments)?;
    Ok(format!("{} prompts", pluck(&listed, "name").len()))
}

async fn prompts_get(peer: &Peer) -> Outcome {
    let messages = peer.prompt("greeting", json!({ "name": "Ada" })).await?["messages"].take();
    same(&json!(pluck(&messages, "role")), json!(["user"]), "roles")?;
    expect(messages.to_string().contains("Ada"), "a greeting of Ada", &messages)?;
    let messages = peer.prompt("review", json!({ "code": "let x = 1;" })).await?["messages"].take();
    same(&json!(pluck(&messages, "role")), json!(["user", "assistant"]), "roles")?;
    expect(messages[0].to_string().contains("let x = 1;"), "the code", &messages)?;
    Ok(String::new())
}

async fn completion_prompt(peer: &Peer) -> Outcome {
    let result = peer.complete(Reference::for_prompt("greeting"), "style", "f").await?;
    let mut values: Vec<String> = serde_json::from_value(result["completion"]["values"].clone())?;
    values.sort();
    same(&json!(values), json!(["formal", "friendly"]), "values")?;
    Ok(String::new())
}

async fn completion_template(peer: &Peer) -> Outcome {
    let result = peer.complete(Reference::for_resource("demo://notes/{id}"), "id", "a").await?;
    same(&result["completion"]["values"], json!(["alpha"]), "values")?;
    Ok(String::new())
}

async fn logging(peer: &Peer) -> Outcome {
    for (level, wanted) in [("warning", &LEVELS[3..]), ("debug", &LEVELS[..])] {
        peer.heard.logged.lock().await.clear();
        if peer.modern {
            peer.call_logging("log_lines", json!({}), Some(level)).await?;
        } else {
            peer.set_level(level).await?;
            peer.call("log_lines", json!({})).await?;
        }
        let mut heard = arrived(&peer.heard.logged, wanted.len()).await;
        heard.retain(|line| line["logger"] == "demo");
        same(&json!(levels_of(&heard)), json!(wanted), "levels")?;
    }
    if peer.modern {
        peer.heard.logged.lock().await.clear();
        peer.call("log_lines", json!({})).await?;
        tokio::time::sleep(Duration::from_millis(200)).await;
        same(&json!(*peer.heard.logged.lock().await), json!([]), "silence without an opt-in")?;
    }
    Ok(if peer.modern { "logLevel of each request" } else { "logging/setLevel" }.to_owned())
}

/// The levels heard, sorted by severity: rmcp runs the handlers of notifications concurrently.
fn levels_of(heard: &[Value]) -> Vec<&str> {
    let count = |level: &str| heard.iter().filter(|line| line["level"] == level).count();
    LEVELS.into_iter().flat_map(|level| std::iter::repeat_n(level, count(level))).collect()
}

async fn progress(peer: &Peer) -> Outcome {
    peer.heard.progress.lock().await.clear();
    let result = peer.call("countdown", json!({ "steps": 5, "delay_ms": 10 })).await?;
    same(said(&result)?, json!("liftoff"), "the text")?;
    let mut heard = arrived(&peer.heard.progress, 5).await;
    heard.sort_by_key(|report| report["progress"].as_f64().map(|steps| steps as u64));
    let told: Vec<Value> = heard.iter().map(|r| json!([r["progress"], r["total"], r["message"]])).collect();
    let wanted = (1..=5).map(|step| json!([f64::from(step), 5.0, format!("{step} of 5")]));
    same(&json!(told), wanted.collect(), "reports")?;
    Ok(String::new())
}

async fn cancel(peer: &Peer) -> Outcome {
    peer.abandon("sleep", json!({ "ms": 60_000 }), Duration::from_millis(300)).await?;
    let result = peer.call("echo", json!({ "message": "still here" })).await?;
    same(said(&result)?, json!("still here"), "an answer after it")?;
    Ok("notifications/cancelled, sent by rmcp for an abandoned call".to_owned())
}

async fn sampling(peer: &Peer) -> Outcome {
    let result = peer.call("ask_model", json!({ "question": "How much is six times seven?" })).await?;
    let sampled = peer.heard.sampled.lock().await;
    let request = sampled.last().ok_or_else(|| Failure::Wrong("the client was not asked".to_owned()))?;
    same(&request["maxTokens"], json!(100), "maxTokens")?;
    expect(request["messages"].to_string().contains("six times seven"), "the question", request)?;
    same(said(&result)?, json!("It is 42."), "the model's words")?;
    Ok(String::new())
}

async fn elicitation_accept(peer: &Peer) -> Outcome {
    *peer.heard.reply.lock().await = json!({ "action": "accept", "content": { "name": "Ada" } });
    let result = peer.call("greet", json!({ "greeting": "Hello" })).await?;
    same(said(&result)?, json!("Hello, Ada!"), "the text")?;
    let elicited = peer.heard.elicited.lock().await;
    let request = elicited.last().ok_or_else(|| Failure::Wrong("the client was not asked".to_owned()))?;
    expect(request["requestedSchema"]["properties"]["name"].is_object(), "a form with a name", request)?;
    Ok(String::new())
}

async fn elicitation_decline(peer: &Peer) -> Outcome {
    *peer.heard.reply.lock().await = json!({ "action": "decline" });
    let result = peer.call("greet", json!({ "greeting": "Hello" })).await?;
    expect(result["isError"] == true, "an error result", &result)?;
    Ok(said(&result)?.to_string())
}

async fn roots(peer: &Peer) -> Outcome {
    let result = peer.call("list_roots", json!({})).await?;
    same(&json!(pluck(&result["content"], "text")), json!(ROOTS), "both roots")?;
    Ok(String::new())
}

async fn list_changed(peer: &Peer) -> Outcome {
    let watch = peer.watch(Watched::Tools).await?;
    for present in [true, false] {
        peer.heard.changes.lock().await.clear();
        peer.call("toggle", json!({})).await?;
        let heard = arrived(&peer.heard.changes, 1).await;
        expect(heard.contains(&json!("tools")), "a notification", &json!(heard))?;
        let names = pluck(&peer.tools().await?, "name");
        expect(names.contains(&json!("extra")) == present, "extra listed, then gone", &json!(names))?;
        if present {
            same(said(&peer.call("extra", json!({})).await?)?, json!("extra"), "the text")?;
        }
    }
    peer.unwatch(watch).await?;
    Ok(if peer.modern { "subscriptions/listen" } else { "notifications/tools/list_changed" }.to_owned())
}

async fn resume(peer: &Peer) -> Outcome {
    if !peer.by_url || peer.modern {
        let why = if peer.by_url {
            "2026-07-28 cannot take up a stream again"
        } else {
            "a pipe that broke is gone"
        };
        return Err(Failure::Absent(why.to_owned()));
    }
    peer.heard.progress.lock().await.clear();
    // The relay breaks the connection in the middle of the third report.
    let result = peer.call("countdown", json!({ "steps": 7, "delay_ms": 200 })).await?;
    same(said(&result)?, json!("liftoff"), "the text")?;
    let mut steps = pluck(&json!(arrived(&peer.heard.progress, 7).await), "message");
    steps.sort_by_key(Value::to_string);
    same(&json!(steps), (1..=7).map(|step| json!(format!("{step} of 7"))).collect(), "reports")?;
    Ok(String::new())
}
