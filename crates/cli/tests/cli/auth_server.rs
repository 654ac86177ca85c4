//! The authorization server for development, alone and beside the demo.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStderr};

use serde_json::Value;

use crate::{Run, command, run};

const CALLBACK: &str = "http://127.0.0.1:5000/cb";
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/// A program that serves, and is gone with this.
struct Serving {
    child: Child,
    stderr: BufReader<ChildStderr>,
}

impl Serving {
    fn new(arguments: &[&str]) -> Self {
        let mut child = command(arguments).spawn().expect("the binary runs");
        let stderr = BufReader::new(child.stderr.take().expect("standard error"));
        Self { child, stderr }
    }

    /// What follows this at the beginning of the next line.
    fn says(&mut self, start: &str) -> String {
        let mut line = String::new();
        self.stderr.read_line(&mut line).expect("text");
        line.trim_end().strip_prefix(start).unwrap_or_else(|| panic!("{line:?}")).to_owned()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.child.kill().expect("it was alive");
        self.child.wait().expect("it is gone");
    }
}

/// The answer to one request: its head and its body.
fn ask(method: &str, url: &str, headers: &[(&str, &str)], body: &str) -> (String, String) {
    let rest = url.strip_prefix("http://").expect("plain HTTP");
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let mut stream = TcpStream::connect(host).expect("connected");
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-length: {length}\r\n"
    )
    .expect("sent");
    for (name, value) in headers {
        write!(stream, "{name}: {value}\r\n").expect("sent");
    }
    write!(stream, "\r\n{body}").expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    (head.to_owned(), body.to_owned())
}

/// The value of a header.
fn header<'a>(head: &'a str, name: &str) -> &'a str {
    let mut pairs = head.lines().filter_map(|line| line.split_once(": "));
    pairs.find(|(known, _)| known.eq_ignore_ascii_case(name)).unwrap_or_else(|| panic!("no {name}: {head}")).1
}

fn post(url: &str, cookie: &str, form: &str) -> (String, String) {
    let kind = ("content-type", "application/x-www-form-urlencoded");
    ask("POST", url, &[kind, ("cookie", cookie)], form)
}

fn cookie(head: &str) -> String {
    header(head, "set-cookie").split(';').next().expect("a cookie").to_owned()
}

fn field<'a>(page: &'a str, name: &str) -> &'a str {
    let rest =
        page.split_once(&format!("name={name} value=\"")).unwrap_or_else(|| panic!("no {name}: {page}")).1;
    rest.split_once('"').expect("a value").0
}

/// Registers, signs in, agrees, and gets a token for what the query asks for.
fn token(issuer: &str, asked: &str) -> String {
    let registration = format!(r#"{{"redirect_uris":["{CALLBACK}"],"token_endpoint_auth_method":"none"}}"#);
    let (_, body) =
        ask("POST", &format!("{issuer}/register"), &[("content-type", "application/json")], &registration);
    let client: Value = serde_json::from_str(&body).expect("JSON");
    let id = client["client_id"].as_str().expect("an id");
    let query = format!(
        "response_type=code&client_id={id}&redirect_uri={CALLBACK}&{asked}&code_challenge={CHALLENGE}&code_challenge_method=S256"
    );
    let (head, page) = ask("GET", &format!("{issuer}/authorize?{query}"), &[], "");
    let form = format!("request={}&token={}", field(&page, "request"), field(&page, "token"));
    let (head, page) = post(&format!("{issuer}/login"), &cookie(&head), &format!("{form}&name=ada"));
    let form = format!("request={}&token={}", field(&page, "request"), field(&page, "token"));
    let (head, _) = post(&format!("{issuer}/consent"), &cookie(&head), &format!("{form}&decision=allow"));
    let location = header(&head, "location");
    let code = location.split_once("code=").expect("a code").1.split('&').next().expect("a code");
    let form = format!("grant_type=authorization_code&client_id={id}&code={code}&code_verifier={VERIFIER}");
    let (_, body) = post(&format!("{issuer}/token"), "", &form);
    let tokens: Value = serde_json::from_str(&body).expect("JSON");
    tokens["access_token"].as_str().unwrap_or_else(|| panic!("{body}")).to_owned()
}

fn with_token(url: &str, token: &str, arguments: &[&str]) -> Run {
    let header = format!("Authorization: Bearer {token}");
    run(&[arguments, &["-H", &header, "--", url]].concat())
}

#[test]
fn it_says_what_it_is_and_where() {
    let mut server =
        Serving::new(&["auth-server", "--scope", "a", "--approve-all", "ada", "--token-seconds", "7"]);
    let issuer = server.says("listening on ");
    assert!(issuer.starts_with("http://127.0.0.1:"), "{issuer}");
    assert!(server.says("This authorization server is for development").contains("never"));
    assert!(server.says("Every request is approved").contains("ada"));
    let (_, body) = ask("GET", &format!("{issuer}/.well-known/oauth-authorization-server"), &[], "");
    let document: Value = serde_json::from_str(&body).expect("JSON");
    assert_eq!(document["issuer"], issuer);
    assert_eq!(document["scopes_supported"][0], "a");
}

#[test]
fn it_listens_on_this_machine_only() {
    let refused = run(&["auth-server", "--listen", "0.0.0.0:0"]);
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    assert!(refused.stderr.contains("for development"), "{}", refused.stderr);
    assert_eq!(run(&["demo", "--protect"]).code, Some(1), "only over HTTP");
    assert_eq!(run(&["auth-server", "--client", "no-redirect"]).code, Some(1));
}

#[test]
fn the_protected_demo_wants_a_token_and_for_one_tool_a_better_one() {
    let mut demo = Serving::new(&["demo", "--listen", "127.0.0.1:0", "--protect"]);
    let url = demo.says("listening on ");
    let issuer = demo.says("authorization server for development: ");
    let nobody = run(&["call", "echo", "message=hi", "--no-input", "--", &url]);
    assert_eq!(nobody.code, Some(3), "{}", nobody.stderr);

    let token_of_all = token(&issuer, "scope=demo:use");
    let echo = with_token(&url, &token_of_all, &["call", "echo", "message=hi"]);
    assert_eq!((echo.code, echo.stdout.as_str()), (Some(0), "hi\n"), "{}", echo.stderr);
    for era in ["legacy", "modern"] {
        let refused = with_token(&url, &token_of_all, &["call", "sign_guestbook", "--era", era]);
        assert_eq!(refused.code, Some(3), "{era}: {}", refused.stderr);
    }
    let better = token(&issuer, "scope=demo:use+demo:sign");
    for era in ["legacy", "modern"] {
        let signed = with_token(&url, &better, &["call", "sign_guestbook", "--era", era]);
        assert_eq!(
            (signed.code, signed.stdout.as_str()),
            (Some(0), "ada was here\n"),
            "{era}: {}",
            signed.stderr
        );
    }
    let older = url.replace("/mcp", "/sse");
    let echo = with_token(&older, &token_of_all, &["call", "echo", "message=hi", "--revision", "2024-11-05"]);
    assert_eq!((echo.code, echo.stdout.as_str()), (Some(0), "hi\n"), "{}", echo.stderr);
    let refused = with_token(&older, &token_of_all, &["call", "sign_guestbook", "--revision", "2024-11-05"]);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    let foreign = with_token(&url, "e30.e30.AAAA", &["tools", "list"]);
    assert_eq!(foreign.code, Some(3), "{}", foreign.stderr);
}

#[test]
fn the_demo_takes_tokens_of_another_issuer_if_they_are_for_it() {
    let mut server = Serving::new(&["auth-server"]);
    let issuer = server.says("listening on ");
    let mut demo = Serving::new(&["demo", "--listen", "127.0.0.1:0", &format!("--protect={issuer}")]);
    let url = demo.says("listening on ");
    let good = token(&issuer, &format!("scope=demo:use&resource={url}"));
    let echo = with_token(&url, &good, &["call", "echo", "message=hi"]);
    assert_eq!((echo.code, echo.stdout.as_str()), (Some(0), "hi\n"), "{}", echo.stderr);
    for asked in [
        "scope=demo:use",
        "scope=demo:use&resource=http://127.0.0.1:1/mcp",
        &format!("scope=other&resource={url}"),
    ] {
        let refused = with_token(&url, &token(&issuer, asked), &["call", "echo", "message=hi"]);
        assert_eq!(refused.code, Some(3), "{asked}: {}", refused.stderr);
    }
}
