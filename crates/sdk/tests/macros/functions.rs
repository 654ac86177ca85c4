//! Functions by themselves.

use std::collections::HashMap;

use contexture::model::{Content, ErrorObject};
use contexture::server::{Call, FromCall, Rejection, Session, Uri};
use contexture::{Args, Context, Error, Json, Principal, Server, State, prompt, resource, tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::wire::Wire;

/// Adds two numbers,
/// whatever they are.
///
/// It is quick.
#[tool(title = "Sum", read_only, idempotent, destructive = false, open_world = false)]
async fn add(
    /// The first number
    a: i64,
    #[arg(description = "The second number")] b: i64,
) -> i64 {
    a + b
}

#[tool(name = "text.repeat", description = "Says it again and again.", spawned)]
async fn repeat(
    text: String,
    #[arg(default = 2)]
    #[schemars(range(max = 9))]
    times: u8,
    #[arg(default = ", ", name = "between")] separator: String,
    r#type: Option<String>,
) -> String {
    let said = vec![text; usize::from(times)].join(&separator);
    r#type.map_or(said.clone(), |kind| format!("{kind}: {said}"))
}

#[derive(Serialize, JsonSchema)]
struct Point {
    /// To the right.
    x: i32,
}

#[tool]
async fn point(x: i32) -> Point {
    Point { x }
}

#[tool]
async fn points(n: i32) -> Result<Vec<Point>, Error> {
    if n < 0 {
        return Err(Error::Invalid("there are no negative numbers of points".into()));
    }
    Ok((0..n).map(|x| Point { x }).collect())
}

#[tool]
async fn maybe(there: bool) -> Option<Point> {
    there.then_some(Point { x: 1 })
}

#[tool]
async fn counts(word: String) -> HashMap<String, usize> {
    HashMap::from([(word.clone(), word.len())])
}

#[tool]
async fn contents() -> Vec<Content> {
    vec![Content::text("a"), Content::text("b")]
}

#[tool]
async fn given() -> Result<Json<Point>, ErrorObject> {
    Err(ErrorObject::invalid_params("not today"))
}

#[tool]
async fn nothing() {}

/// Where a blocking function runs is not where the others do.
#[tool]
fn blocking(path: String) -> Result<String, std::io::Error> {
    tokio::task::block_in_place(|| ()); // panics on a runtime of one thread, but not here
    std::fs::read_to_string(path)
}

struct Greeting(String);

/// An extractor of one's own.
struct Seen(bool);

impl FromCall for Seen {
    fn from_call(call: &Call<'_>) -> Result<Self, Rejection> {
        Ok(Self(call.uri.is_none()))
    }
}

#[tool]
async fn extracts(
    context: Context,
    State(greeting): State<Greeting>,
    who: String,
    principal: Principal,
    session: Option<Session>,
    #[extract] Seen(seen): Seen,
) -> String {
    context.progress(1.0, None);
    let known = principal == Principal::local();
    format!("{} {who} {known} {} {seen}", greeting.0, session.is_some())
}

#[derive(Deserialize, JsonSchema)]
struct Whole {
    left: u8,
    right: u8,
}

#[tool]
async fn whole(Args(Whole { left, right }): Args<Whole>) -> u8 {
    left.saturating_add(right)
}

fn tools() -> Server {
    Server::new("functions", "1.0.0")
        .state(Greeting("hello".into()))
        .tool(add)
        .tool(repeat)
        .tool(point)
        .tool(points)
        .tool(maybe)
        .tool(counts)
        .tool(contents)
        .tool(given)
        .tool(nothing)
        .tool(blocking)
        .tool(extracts)
        .tool(whole)
}

#[tokio::test]
async fn a_signature_is_a_definition() {
    let mut wire = Wire::open(tools()).await;
    let listed = wire.listed("tools/list", "tools", "add").await;
    assert_eq!(listed["description"], "Adds two numbers, whatever they are.\n\nIt is quick.");
    assert_eq!(listed["title"], "Sum");
    let hints = json!({
        "readOnlyHint": true, "idempotentHint": true, "destructiveHint": false, "openWorldHint": false
    });
    assert_eq!(listed["annotations"], hints);
    let fields = &listed["inputSchema"]["properties"];
    assert_eq!(fields["a"]["description"], "The first number");
    assert_eq!(fields["b"]["description"], "The second number");
    assert_eq!(fields["a"]["type"], "integer");
    assert_eq!(listed["inputSchema"]["required"], json!(["a", "b"]));
    assert_eq!(listed["outputSchema"]["properties"]["result"]["type"], "integer");

    let listed = wire.listed("tools/list", "tools", "text.repeat").await;
    assert_eq!(listed["description"], "Says it again and again.");
    assert!(listed.get("outputSchema").is_none(), "{listed}");
    let schema = &listed["inputSchema"];
    assert_eq!(schema["required"], json!(["text"]));
    assert_eq!(schema["properties"]["times"]["default"], 2);
    assert_eq!(schema["properties"]["times"]["maximum"], 9);
    assert_eq!(schema["properties"]["between"]["default"], ", ");
    assert!(schema["properties"].get("type").is_some() && schema["properties"].get("separator").is_none());
}

#[tokio::test]
async fn arguments_may_be_left_out_where_the_signature_says_so() {
    let mut wire = Wire::open(tools()).await;
    let text = |result: &serde_json::Value| result["content"][0]["text"].as_str().unwrap_or("").to_owned();
    assert_eq!(text(&wire.call("text.repeat", json!({ "text": "a" })).await), "a, a");
    let all = json!({ "text": "a", "times": 3, "between": "", "type": "song" });
    assert_eq!(text(&wire.call("text.repeat", all).await), "song: aaa");
    for wrong in [json!({}), json!({ "text": 1 }), json!({ "text": "a", "times": 10 })] {
        let result = wire.call("text.repeat", wrong).await;
        assert_eq!(result["isError"], true, "{result}");
    }
    assert_eq!(text(&wire.call("add", json!({ "a": 1, "b": 2 })).await), "3");
    assert_eq!(wire.call("whole", json!({ "left": 1, "right": 2 })).await["structuredContent"]["result"], 3);
}

#[tokio::test]
async fn data_is_structured_and_the_rest_is_left_alone() {
    let mut wire = Wire::open(tools()).await;
    let listed = wire.listed("tools/list", "tools", "point").await;
    assert_eq!(listed["outputSchema"]["properties"]["x"]["description"], "To the right.");
    let result = wire.call("point", json!({ "x": 7 })).await;
    assert_eq!(result["structuredContent"], json!({ "x": 7 }));
    assert_eq!(result["content"][0]["text"], "{\"x\":7}");

    for name in ["points", "maybe", "counts", "given"] {
        let listed = wire.listed("tools/list", "tools", name).await;
        assert_eq!(listed["outputSchema"]["type"], "object", "{listed}");
    }
    let result = wire.call("points", json!({ "n": 2 })).await;
    assert_eq!(result["structuredContent"]["result"], json!([{ "x": 0 }, { "x": 1 }]));
    let result = wire.call("maybe", json!({ "there": false })).await;
    assert_eq!(result["structuredContent"], json!({ "result": null }));
    let result = wire.call("counts", json!({ "word": "abc" })).await;
    assert_eq!(result["structuredContent"], json!({ "abc": 3 }));

    let result = wire.call("contents", json!({})).await;
    assert_eq!(result["content"].as_array().map(Vec::len), Some(2));
    assert!(result.get("structuredContent").is_none());
    assert_eq!(wire.call("nothing", json!({})).await["content"], json!([]));
}

#[tokio::test]
async fn errors_of_tools_are_results() {
    let mut wire = Wire::open(tools()).await;
    let result = wire.call("points", json!({ "n": -1 })).await;
    assert_eq!(result["isError"], true);
    assert_eq!(result["content"][0]["text"], "not valid: there are no negative numbers of points");
    let answer = wire.ask("tools/call", json!({ "name": "given", "arguments": {} })).await;
    assert_eq!(answer["error"]["message"], "not today");
}

#[tokio::test]
async fn what_is_not_async_may_block() {
    let mut wire = Wire::open(tools()).await;
    let result = wire.call("blocking", json!({ "path": "/does/not/exist" })).await;
    assert_eq!(result["isError"], true, "{result}");
    let here = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let result = wire.call("blocking", json!({ "path": here })).await;
    assert!(result["content"][0]["text"].as_str().is_some_and(|text| text.contains("[package]")), "{result}");
}

#[tokio::test]
async fn extractors_are_no_arguments() {
    let mut wire = Wire::open(tools()).await;
    let listed = wire.listed("tools/list", "tools", "extracts").await;
    let fields = listed["inputSchema"]["properties"].as_object().expect("fields");
    assert_eq!(fields.keys().collect::<Vec<_>>(), ["who"]);
    let result = wire.call("extracts", json!({ "who": "you" })).await;
    assert_eq!(result["content"][0]["text"], "hello you true true true");
}

#[tokio::test]
async fn functions_can_be_called_and_shadowed() {
    let add = add::call(1, 2).await;
    let point = point::call(add as i32).await;
    assert_eq!(point.x, 3);
}

#[test]
fn what_is_not_async_is_called_without_a_runtime() {
    assert!(blocking::call("/does/not/exist".into()).is_err());
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Tone {
    Kind,
    Rude,
}

/// Asks for a letter.
#[prompt(title = "Letter")]
async fn letter(
    /// Who gets it
    to: String,
    lines: Option<u32>,
    #[arg(default = Tone::Kind)] tone: Tone,
) -> Result<String, Error> {
    if matches!(tone, Tone::Rude) {
        return Err(Error::Declined);
    }
    Ok(format!("{to} {lines:?} {tone:?}"))
}

#[prompt(name = "short")]
fn blunt() -> &'static str {
    "Be brief."
}

#[tokio::test]
async fn prompts_have_typed_arguments() {
    let mut wire = Wire::open(Server::new("prompts", "1").prompt(letter).prompt(blunt)).await;
    let listed = wire.listed("prompts/list", "prompts", "letter").await;
    assert_eq!((&listed["description"], &listed["title"]), (&json!("Asks for a letter."), &json!("Letter")));
    let arguments = listed["arguments"].as_array().expect("arguments");
    let to = arguments.iter().find(|argument| argument["name"] == "to").expect("an argument");
    assert_eq!(to, &json!({ "name": "to", "description": "Who gets it", "required": true }));
    assert!(arguments.iter().filter(|argument| argument["required"] == true).count() == 1);

    let mut get = async |name: &str, arguments| {
        wire.ask("prompts/get", json!({ "name": name, "arguments": arguments })).await
    };
    let answer = get("letter", json!({ "to": "you", "lines": "3" })).await;
    assert_eq!(answer["result"]["messages"][0]["content"]["text"], "you Some(3) Kind");
    let answer = get("letter", json!({ "to": "you", "lines": "many" })).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    let answer = get("letter", json!({ "to": "you", "tone": "rude" })).await;
    assert!(answer.get("error").is_some(), "{answer}");
    let answer = get("short", json!({})).await;
    assert_eq!(answer["result"]["messages"][0]["content"]["text"], "Be brief.");
}

/// What this is.
#[resource("shelf://about", title = "About", mime_type = "text/markdown", size = 3)]
fn about() -> &'static str {
    "# A"
}

#[resource("shelf://{book}/pages/{number}{?raw}", name = "page")]
async fn book_page(
    book: String,
    #[arg(name = "number")] page: u32,
    raw: Option<bool>,
    Uri(uri): Uri,
) -> Result<Vec<u8>, Error> {
    if page == 0 {
        return Err(Error::NotFound);
    }
    Ok(format!("{book} {page} {raw:?} {uri}").into_bytes())
}

#[tokio::test]
async fn templates_have_typed_variables() {
    let mut wire = Wire::open(Server::new("shelf", "1").resource(about).resource(book_page)).await;
    let listed = wire.listed("resources/list", "resources", "about").await;
    let expected = json!({
        "uri": "shelf://about", "name": "about", "title": "About", "description": "What this is.",
        "mimeType": "text/markdown", "size": 3,
    });
    assert_eq!(listed, expected);
    let listed = wire.listed("resources/templates/list", "resourceTemplates", "page").await;
    assert_eq!(listed["uriTemplate"], "shelf://{book}/pages/{number}{?raw}");

    let mut read = async |uri: &str| wire.ask("resources/read", json!({ "uri": uri })).await;
    assert_eq!(read("shelf://about").await["result"]["contents"][0]["text"], "# A");
    let answer = read("shelf://emma/pages/7?raw=true").await;
    let blob = answer["result"]["contents"][0]["blob"].as_str().expect("a blob");
    assert!(!blob.is_empty());
    for missing in ["shelf://emma/pages/0", "shelf://emma/pages/seven"] {
        let answer = read(missing).await;
        assert_eq!(answer["error"]["code"], -32002, "{answer}");
    }
}
