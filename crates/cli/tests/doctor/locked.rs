//! Servers that want to know who asks: each step on the way to a login, and what is missing.

use serde_json::{Value, json};

use crate::healthy::Demo;
use crate::site::{Answer, Request, Site};
use crate::stage::{Case, Home, Verdict};

#[test]
fn the_way_to_a_login_is_walked_to_the_missing_step() {
    let (home, demo) = (Home::new(), Demo::listen(&["--protect"]));
    let verdict = home.doctor(&[&demo.url]);
    for step in ["http.answer", "auth.challenge", "auth.resource", "auth.issuer", "auth.registration"] {
        assert_eq!(verdict.step(step)["state"], "passed", "{:#}", verdict.document);
    }
    assert!(Verdict::words(verdict.step("auth.challenge")).contains("oauth-protected-resource"));
    let case = Case {
        name: "nobody is logged in",
        step: "auth.login",
        exit: 3,
        seen: &["nobody is logged in"],
        next: "contexture login http://127.0.0.1:",
    };
    case.holds(&verdict);
}

/// A server and its issuer at one address: what each document says, where the server says that its metadata is.
struct Documents {
    resource: fn(&str) -> Value,
    issuer: fn(&str) -> Value,
}

impl Documents {
    fn serve(self) -> Site {
        Site::new(move |request: &Request| {
            let origin = format!("http://{}", request.header("host").unwrap_or_default());
            let document = |document: Value| match document.is_null() {
                true => Answer::status(404),
                false => Answer::of(200, "application/json", &document.to_string()),
            };
            match request.path.as_str() {
                "/about" => document((self.resource)(&origin)),
                "/.well-known/oauth-authorization-server" => document((self.issuer)(&origin)),
                "/mcp" => {
                    let wanted = format!("Bearer resource_metadata=\"{origin}/about\", scope=\"read\"");
                    Answer::status(401).with("WWW-Authenticate", &wanted)
                }
                _ => Answer::status(404),
            }
        })
    }
}

fn resource(origin: &str) -> Value {
    json!({ "resource": format!("{origin}/mcp"), "authorization_servers": [origin] })
}

fn issuer(origin: &str) -> Value {
    json!({
        "issuer": origin,
        "authorization_endpoint": format!("{origin}/authorize"),
        "token_endpoint": format!("{origin}/token"),
        "registration_endpoint": format!("{origin}/register"),
        "response_types_supported": ["code"],
        "code_challenge_methods_supported": ["S256"],
    })
}

#[test]
fn each_document_that_is_wrong_is_named() {
    let case = |name, step, seen, next| Case { name, step, exit: 3, seen, next };
    let table: [(Documents, Case); 5] = [
        (
            Documents { resource: |_| Value::Null, issuer },
            case("no metadata", "auth.resource", &["/about", "404"], "operator"),
        ),
        (
            Documents {
                resource: |origin| json!({ "resource": "https://other.example/mcp", "authorization_servers": [origin] }),
                issuer,
            },
            case(
                "metadata of another",
                "auth.resource",
                &["another resource", "https://other.example/mcp"],
                "operator",
            ),
        ),
        (
            Documents {
                resource: |origin| json!({ "resource": format!("{origin}/mcp"), "authorization_servers": [] }),
                issuer,
            },
            case("nobody is named", "auth.issuer", &["names no authorization server"], "operator"),
        ),
        (
            Documents {
                resource,
                issuer: |origin| {
                    let mut document = issuer(origin);
                    document["issuer"] = json!("https://impostor.example");
                    document
                },
            },
            case("an impostor", "auth.issuer", &["https://impostor.example"], "oauth-authorization-server"),
        ),
        (
            Documents {
                resource,
                issuer: |origin| {
                    let mut document = issuer(origin);
                    document["code_challenge_methods_supported"] = json!(["plain"]);
                    document
                },
            },
            case("no PKCE", "auth.registration", &["protects logins"], "S256"),
        ),
    ];
    for (documents, case) in table {
        let site = documents.serve();
        case.holds(&Home::new().doctor(&[&site.url("/mcp")]));
    }
}

#[test]
fn an_issuer_that_takes_no_registrations_needs_a_client_id() {
    let documents = Documents {
        resource,
        issuer: |origin| {
            let mut document = issuer(origin);
            document["registration_endpoint"] = Value::Null;
            document
        },
    };
    let site = documents.serve();
    let verdict = Home::new().doctor(&[&site.url("/mcp")]);
    let step = verdict.step("auth.registration");
    assert_eq!(step["state"], "warning", "{step:#}");
    assert!(step["next"].as_str().is_some_and(|next| next.contains("--client-id")), "{step:#}");
    assert!(Verdict::words(verdict.step("auth.challenge")).contains("scopes read"));
    assert_eq!(verdict.failed()["id"], "auth.login");
}
