//! What people do with one server, verb by verb: what they type, and what they must see.

use super::scene::Scene;
use super::servers::Server;
use super::{Story, Told};
use serde_json::{Value, json};

/// In the order in which they are played: the server is added first and removed last.
pub const ALL: [Story; 27] = [
    ("add", add),
    ("list, get", list),
    ("disable, enable", disable),
    ("tools list", tools),
    ("tools list -o json", tools_json),
    ("resources list", resources),
    ("prompts list", prompts),
    ("call", call),
    ("call, refused before it is sent", refused),
    ("call -o json", call_json),
    ("read", read),
    ("prompt", prompt),
    ("complete", complete),
    ("subscribe", subscribe),
    ("logs", logs),
    ("ping", ping),
    ("raw", raw),
    ("doctor", doctor),
    ("shell", shell),
    ("bench", bench),
    ("bridge", bridge),
    ("run", run),
    ("export, import", export),
    ("policy, trust, config", consent),
    ("login, auth, logout", login),
    ("completions, man, help, version", manual),
    ("remove", remove),
];

const NONE: Told = Ok(Some("the server has none"));

fn ok(shown: Result<String, String>) -> Told {
    shown.map(|_| None)
}

fn name_of(call: &str) -> &str {
    call.split(' ').next().unwrap_or_default()
}

fn add(scene: &Scene, server: &Server) -> Told {
    scene.plays(&format!("contexture add {} -- ./serve", server.name), 0, &["added"])?;
    // Twice is a mistake.
    ok(scene.plays(&format!("contexture add {} -- ./serve", server.name), 1, &["already"]))
}

fn list(scene: &Scene, server: &Server) -> Told {
    scene.plays("contexture list", 0, &[server.name, "./serve"])?;
    ok(scene.plays(&format!("contexture get {}", server.name), 0, &["./serve"]))
}

fn disable(scene: &Scene, server: &Server) -> Told {
    let name = server.name;
    scene.plays(&format!("contexture disable {name}"), 0, &[name])?;
    scene.plays(&format!("contexture tools list {name}"), 1, &["disabled"])?;
    ok(scene.plays(&format!("contexture enable {name}"), 0, &[name]))
}

fn tools(scene: &Scene, server: &Server) -> Told {
    ok(scene.plays(&format!("contexture tools list {}", server.name), 0, &[name_of(server.call[0])]))
}

fn tools_json(scene: &Scene, server: &Server) -> Told {
    let line = format!("contexture tools list {} -o json >out 2>said", server.name);
    scene.plays(&line, 0, &[])?;
    let found = document(scene)?;
    let tools = found["tools"].as_array().ok_or_else(|| format!("no tools in {found}"))?;
    match tools.iter().any(|tool| tool["name"] == name_of(server.call[0])) {
        true => Ok(None),
        false => Err(format!("no such tool in {found}")),
    }
}

fn resources(scene: &Scene, server: &Server) -> Told {
    let Some([uri, _]) = server.resource else { return NONE };
    ok(scene.plays(&format!("contexture resources list {}", server.name), 0, &[uri]))
}

fn prompts(scene: &Scene, server: &Server) -> Told {
    let Some([prompt, _]) = server.prompt else { return NONE };
    ok(scene.plays(&format!("contexture prompts list {}", server.name), 0, &[name_of(prompt)]))
}

fn call(scene: &Scene, server: &Server) -> Told {
    let [line, answer, _] = server.call;
    scene.plays(&format!("contexture call {} {line}", server.name), 0, &[answer])?;
    // The same without a name, by its command.
    ok(scene.plays(&format!("contexture call {line} -- ./serve"), 0, &[answer]))
}

fn refused(scene: &Scene, server: &Server) -> Told {
    let [_, _, wrong] = server.call;
    let argument = wrong.split([' ', '=', ':']).nth(1).unwrap_or_default();
    scene.plays(&format!("contexture call {} {wrong}", server.name), 1, &[argument])?;
    let line = format!("contexture call {} no-such-tool -o json", server.name);
    let (code, kind) = server.unknown;
    ok(scene.plays(&line, code, &[&format!("\"exit\":{code}"), &format!("\"kind\":\"{kind}\"")]))
}

fn call_json(scene: &Scene, server: &Server) -> Told {
    let [line, answer, _] = server.call;
    scene.plays(&format!("contexture call {} {line} -o json >out 2>said", server.name), 0, &[])?;
    let found = document(scene)?;
    let text = found["content"][0]["text"].as_str().unwrap_or_default();
    if text.contains(answer) { Ok(None) } else { Err(format!("not the answer: {found}")) }
}

fn read(scene: &Scene, server: &Server) -> Told {
    let Some([uri, text]) = server.resource else { return NONE };
    ok(scene.plays(&format!("contexture read {} {uri}", server.name), 0, &[text]))
}

fn prompt(scene: &Scene, server: &Server) -> Told {
    let Some([prompt, text]) = server.prompt else { return NONE };
    ok(scene.plays(&format!("contexture prompt {} {prompt}", server.name), 0, &[text]))
}

fn complete(scene: &Scene, server: &Server) -> Told {
    let Some([typed, value]) = server.completion else { return NONE };
    ok(scene.plays(&format!("contexture complete {} {typed}", server.name), 0, &[value]))
}

fn subscribe(scene: &Scene, server: &Server) -> Told {
    let Some(uri) = server.followed else { return NONE };
    let line = format!("contexture subscribe {} {uri}", server.name);
    scene.goes_on(&line, "Ctrl-C ends")?;
    scene.keys(&["C-c"])?;
    ok(scene.ends(&line, 0, &["following"]))
}

fn logs(scene: &Scene, server: &Server) -> Told {
    if !server.logs {
        return NONE;
    }
    let line = format!("contexture logs {}", server.name);
    scene.goes_on(&line, "Ctrl-C ends")?;
    scene.keys(&["C-c"])?;
    ok(scene.ends(&line, 0, &[]))
}

fn ping(scene: &Scene, server: &Server) -> Told {
    ok(scene.plays(&format!("contexture ping {}", server.name), 0, &[" ms"]))
}

fn raw(scene: &Scene, server: &Server) -> Told {
    let line = format!("contexture raw {} tools/list '{{}}'", server.name);
    ok(scene.plays(&line, 0, &["\"tools\"", "\"inputSchema\"", name_of(server.call[0])]))
}

fn doctor(scene: &Scene, server: &Server) -> Told {
    ok(scene.plays(&format!("contexture doctor {}", server.name), 0, &["handshake"]))
}

fn shell(scene: &Scene, server: &Server) -> Told {
    let [call, answer, _] = server.call;
    let line = format!("contexture shell {}", server.name);
    scene.goes_on(&line, "Ctrl-D ends")?;
    scene.says(&format!("call {call}"), &format!("($1)\n{}>", server.name))?;
    // Tab completes the verb and the tool.
    let (start, _) = name_of(call).split_at(3);
    scene.keys(&["cal", "Tab", start, "Tab"])?;
    scene.shows_again(&format!("> call {}", name_of(call)))?;
    scene.keys(&["C-u", "C-d"])?;
    ok(scene.ends(&line, 0, &[answer]))
}

fn bench(scene: &Scene, server: &Server) -> Told {
    let [call, ..] = server.call;
    ok(scene.plays(&format!("contexture bench {} {call} -n 20 -c 2", server.name), 0, &["20", "p99"]))
}

/// One address for a server that has none.
fn bridge(scene: &Scene, server: &Server) -> Told {
    let [call, answer, _] = server.call;
    scene.serving("contexture bridge --listen 127.0.0.1:0 -- ./serve", |url| {
        ok(scene.plays(&format!("contexture call {url} {call}"), 0, &[answer]))
    })
}

/// The gateway has the server's tools, by its name.
fn run(scene: &Scene, server: &Server) -> Told {
    let [call, answer, _] = server.call;
    let servers = json!({ server.name: { "command": "./serve" } });
    let config = json!({ "servers": servers, "policy": { "default": "allow" } });
    std::fs::write(scene.home().join("gateway.json"), config.to_string())
        .map_err(|error| error.to_string())?;
    scene.serving("contexture run --config gateway.json --listen 127.0.0.1:0", |url| {
        scene.plays(&format!("contexture tools list {url}"), 0, &[name_of(call)])?;
        ok(scene.plays(&format!("contexture call {url} {}__{call}", server.name), 0, &[answer]))
    })
}

fn export(scene: &Scene, server: &Server) -> Told {
    let name = server.name;
    scene.plays(&format!("contexture export {name} --to cursor --yes"), 0, &[name])?;
    scene.plays("cat .cursor/mcp.json", 0, &["mcpServers", name])?;
    scene.plays(&format!("contexture call cursor:{name} {}", server.call[0]), 0, &[server.call[1]])?;
    scene.plays(&format!("contexture remove {name}"), 0, &[name])?;
    scene.plays("contexture import cursor --yes", 0, &[name])?;
    ok(scene.plays(&format!("contexture call {name} {}", server.call[0]), 0, &[server.call[1]]))
}

fn consent(scene: &Scene, server: &Server) -> Told {
    scene.plays("contexture config show", 0, &[server.name])?;
    scene.plays("contexture config schema >schema.json", 0, &[])?;
    let line = format!("contexture policy explain {} {}", server.name, name_of(server.call[0]));
    scene.plays(&line, 0, &[])?;
    ok(scene.plays("contexture trust --list", 0, &[]))
}

/// The whole way is `cargo xtask oauth`.
fn login(scene: &Scene, _: &Server) -> Told {
    scene.plays("contexture auth http://127.0.0.1:9/mcp", 3, &["nobody is logged in"])?;
    scene.plays("contexture login --headless http://127.0.0.1:9/mcp", 4, &[])?;
    ok(scene.plays("contexture logout http://127.0.0.1:9/mcp", 0, &["nobody is logged in"]))
}

fn manual(scene: &Scene, _: &Server) -> Told {
    scene.plays("contexture --version", 0, &["contexture "])?;
    scene.plays("contexture help call", 0, &["Usage: contexture call"])?;
    scene.plays("contexture man | head -3", 0, &[".TH"])?;
    for shell in ["bash", "zsh", "fish", "powershell"] {
        scene.plays(&format!("contexture completions {shell} | grep -c contexture"), 0, &[])?;
    }
    scene.plays("source <(contexture completions bash)", 0, &[])?;
    ok(scene.plays("complete -p contexture", 0, &["contexture"]))
}

fn remove(scene: &Scene, server: &Server) -> Told {
    scene.plays(&format!("contexture remove {}", server.name), 0, &[server.name])?;
    let gone = scene.plays("contexture list", 0, &[])?;
    match gone.contains("contexture.json") && gone.contains("./serve") {
        true => Err(format!("it is still there: {gone}")),
        false => Ok(None),
    }
}

/// What was printed to the file `out`, as one document.
fn document(scene: &Scene) -> Result<Value, String> {
    let text = std::fs::read_to_string(scene.home().join("out")).map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| format!("not one document ({error}): {text}"))
}
