//! Completion, by the Tab key.

use super::{says, shell};

#[test]
fn tab_completes_verbs_tools_arguments_and_values() {
    let screen = shell("demo");
    screen.keys(&["ca", "Tab", "ec", "Tab", "Tab", "tabbed", "Enter"]);
    screen.shows("demo> call echo message=tabbed\ntabbed\n");
    // What was given is not proposed again.
    screen.keys(&["call add a=1 ", "Tab", "2", "Enter"]);
    screen.shows("demo> call add a=1 b=2\n3\n");
    screen.keys(&["log war", "Tab", "Enter"]);
    screen.shows("demo> log warning\n");
    screen.keys(&["call echo --unch", "Tab", "message=x", "Enter"]);
    screen.shows("demo> call echo --unchecked message=x\nx\n");
}

#[test]
fn tab_asks_the_server_for_values_of_prompts() {
    let screen = shell("demo");
    screen.keys(&["prompt gre", "Tab", "name=Ada sty", "Tab", "pir", "Tab", "Enter"]);
    let shown = screen.shows("user: ");
    assert!(shown.contains("demo> prompt greeting name=Ada style=pirate\n"), "{shown}");
}

#[test]
fn tab_completes_uris_and_shows_all_that_fit() {
    let screen = shell("demo");
    screen.keys(&["read demo://re", "Tab", "Enter"]);
    let shown = screen.shows("($1)");
    assert!(shown.contains("demo> read demo://readme\n"), "{shown}");
    screen.keys(&["read demo://", "Tab", "Tab"]);
    for uri in ["demo://logo.png", "demo://clock", "demo://notes/{id}"] {
        screen.shows(uri);
    }
    screen.keys(&["C-c"]);
}

#[test]
fn tab_completes_results_and_their_members() {
    let screen = shell("demo");
    says(&screen, "weather = call weather city=Rome", "($weather)");
    screen.keys(&["call echo message=$wea", "Tab", ".struc", "Tab", ".ci", "Tab", "Enter"]);
    screen.shows("demo> call echo message=$weather.structuredContent.city\nRome\n");
    // Arguments that come after a result are still known.
    screen.keys(&["call add a=$weather.structuredContent.celsius b", "Tab", "1", "C-a", "C-k"]);
    let shown = screen.shows("Contexture demo>");
    assert!(!shown.contains("vars"), "no verbs are proposed in the middle: {shown}");
}

/// Values of a schema: those that it lists, and yes or no. A name that would do something to the terminal is not proposed.
#[test]
fn tab_knows_what_a_schema_lists() {
    let screen = super::Screen::open();
    let path = screen.home().join("server.py");
    std::fs::write(&path, SERVER).expect("it is written");
    screen.run("contexture shell -- python3 server.py");
    screen.shows("lister>");
    screen.keys(&["call pa", "Tab", "colour=r", "Tab", "da", "Tab", "t", "Tab", "Enter"]);
    screen.shows("lister> call paint colour='red as wine' dark=true\npainted\n");
    screen.keys(&["call ", "Tab", "Tab"]);
    screen.keys(&["C-c"]);
    let shown = screen.text();
    assert!(!shown.contains("evil"), "{shown}");
}

const SERVER: &str = r#"
import json, sys
TOOLS = [
    {"name": "paint", "inputSchema": {"type": "object", "properties": {
        "colour": {"enum": ["red as wine", "blue"]}, "dark": {"type": "boolean"}}}},
    {"name": "evil\u001b[2J", "inputSchema": {"type": "object"}},
]
for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    if "id" not in message:
        continue
    if method == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "lister", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": TOOLS}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": "painted"}]}
    elif method == "ping":
        result = {}
    else:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no"}}), flush=True)
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;
