//! A gateway that asks for tokens.

use std::io::{BufRead as _, BufReader};
use std::process::Command;

use serde_json::json;

use crate::stage::{Gateway, Home, until};

/// GET, and where it leads.
fn visit(url: &str) -> (String, Option<String>) {
    use std::io::{Read as _, Write as _};
    let rest = url.strip_prefix("http://").expect("on this machine");
    let (authority, target) = rest.split_at(rest.find('/').expect("a path"));
    let mut stream = std::net::TcpStream::connect(authority).expect("it listens");
    let request = format!("GET {target} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("text");
    let location = answer.lines().find_map(|line| line.strip_prefix("location: ")).map(str::to_owned);
    (answer, location)
}

/// `contexture login`, with somebody at a browser who agrees.
fn log_in(mut login: Command) {
    let mut login = login.spawn().expect("the binary runs");
    let mut stderr = BufReader::new(login.stderr.take().expect("a pipe")).lines();
    let address = stderr.find_map(|line| line.ok().filter(|line| line.trim().starts_with("http")));
    let (page, back) = visit(address.expect("an address").trim());
    visit(&back.unwrap_or_else(|| panic!("no way back: {page}")));
    assert!(login.wait().expect("a child").success());
}

/// Somebody without a token learns where to get one; somebody with one is called by their name.
#[tokio::test]
async fn whoever_calls_has_to_say_who_they_are() {
    let home = Home::new();
    let issuer = Gateway::start(&home, &["auth-server", "--listen", "127.0.0.1:0", "--approve-all", "ada"]);
    let config = home.config(&json!({ "one": home.demo() }));
    let mut command =
        home.command(&["run", "--config", &config, "--listen", "127.0.0.1:0", "--protect", &issuer.url]);
    command.env("RUST_LOG", "contexture_host=debug");
    let gateway = Gateway::of(command);
    let call = ["call", "one__echo", "message=hello", "--", gateway.url.as_str()];
    let refused = home.command(&call).output().expect("the binary runs");
    assert_eq!(refused.status.code(), Some(3), "{}", String::from_utf8_lossy(&refused.stderr));
    assert_eq!(home.running(), 0, "nothing was started for them");
    assert!(gateway.get("/readyz", None).starts_with("HTTP/1.1 200"), "doors need no token");

    log_in(home.command(&["login", &gateway.url, "--headless"]));
    let called = home.command(&call).output().expect("the binary runs");
    assert_eq!(
        String::from_utf8_lossy(&called.stdout),
        "hello\n",
        "{}",
        String::from_utf8_lossy(&called.stderr)
    );
    until("the call is told with a name", async || {
        gateway.said().iter().any(|line| line.contains("tools/call") && line.contains("ada"))
    })
    .await;
}

/// With an issuer to vouch for them, people may come from other machines.
#[test]
fn a_protected_gateway_may_be_reached_by_others() {
    let home = Home::new();
    let issuer = Gateway::start(&home, &["auth-server", "--listen", "127.0.0.1:0"]);
    let config = home.config(&json!({ "one": home.demo() }));
    let public = "https://mcp.example.com/mcp";
    let gateway = Gateway::start(
        &home,
        &[
            "run",
            "--config",
            &config,
            "--listen",
            "127.0.0.1:0",
            "--protect",
            &issuer.url,
            "--public-url",
            public,
        ],
    );
    let metadata = gateway.get("/.well-known/oauth-protected-resource/mcp", Some("mcp.example.com"));
    assert!(metadata.contains(public) && metadata.contains(&issuer.url), "{metadata}");
    assert!(gateway.said().iter().any(|line| line.contains(public)), "the entry has the public address");
}
