//! Clients that were led astray by the servers that they talked to.

use std::sync::{Arc, Mutex};

use contexture::auth::{Authorization, CallbackParams, MemoryStore, Visit, Visiting, Visitor};
use contexture::{AuthorizationStep, Client, Error};
use serde_json::{Value, json};

use crate::played::{Canary, Played, Reply, document, private_address, redirect, reply};
use crate::support::{metadata, origin, path};

/// What the person brings back, made from the `state` that they left with.
type Back = fn(&str) -> String;

/// A person who does what they are told, and brings something back.
#[derive(Clone)]
struct Person {
    visits: Arc<Mutex<Vec<String>>>,
    back: Back,
}

impl Person {
    fn bringing(back: Back) -> Self {
        Self { visits: Arc::default(), back }
    }

    fn visits(&self) -> Vec<String> {
        self.visits.lock().expect("the log").clone()
    }
}

impl Visitor for Person {
    fn prepare<'a>(&'a self, _registered: Option<&'a str>) -> Visiting<'a, Box<dyn Visit>> {
        let visit: Box<dyn Visit> = Box::new(self.clone());
        Box::pin(async move { Ok(visit) })
    }
}

impl Visit for Person {
    fn redirect_uri(&self) -> &str {
        "http://127.0.0.1:1/callback"
    }

    fn go<'a>(self: Box<Self>, url: &'a str, state: &'a str) -> Visiting<'a, CallbackParams> {
        self.visits.lock().expect("the log").push(url.into());
        Box::pin(async move { CallbackParams::parse(&(self.back)(state)) })
    }
}

/// A server and its issuer in one, whose documents were changed by `lie`; `served` answers whoever shows the token.
async fn hostile(
    lie: impl Fn(&mut Value) + Send + Sync + 'static,
    served: impl Fn() -> Reply + Send + Sync + 'static,
) -> Played {
    Played::start(move |request| {
        let origin = origin(request);
        let told = |mut document: Value| {
            lie(&mut document);
            document
        };
        match path(request) {
            "/mcp" if request.contains("Bearer the-token") => served(),
            "/mcp" => {
                let usual = format!("{origin}/.well-known/oauth-protected-resource/mcp");
                let named = told(json!({ "resource_metadata": usual }))["resource_metadata"].clone();
                let header = format!("www-authenticate: Bearer resource_metadata={named}\r\n");
                reply("401 Unauthorized", &header, "")
            }
            "/.well-known/oauth-protected-resource/mcp" => {
                let resource =
                    json!({ "resource": format!("{origin}/mcp"), "authorization_servers": [origin] });
                document(&told(resource).to_string())
            }
            "/.well-known/oauth-authorization-server" => document(&told(metadata(&origin)).to_string()),
            "/register" => {
                let body = request.split_once("\r\n\r\n").map_or("", |(_, body)| body);
                let mut answer: Value = serde_json::from_str(body).expect("a registration");
                answer["client_id"] = json!("client-1");
                reply("201 Created", "content-type: application/json\r\n", &answer.to_string())
            }
            "/token" => document(
                &json!({ "access_token": "the-token", "token_type": "Bearer", "expires_in": 300 })
                    .to_string(),
            ),
            _ => reply("404 Not Found", "", ""),
        }
    })
    .await
}

/// How an attempt to connect ends.
async fn connect(server: &Played, person: &Person) -> Error {
    let authorization = Authorization::visitor(person.clone()).store(MemoryStore::new());
    let result = Client::builder().authorization(authorization).connect(server.at("/mcp").as_str()).await;
    result.expect_err("nobody gets in")
}

fn step(error: &Error) -> Option<AuthorizationStep> {
    match error {
        Error::Authorization(failure) => Some(failure.step),
        _ => None,
    }
}

/// Paths of the requests that a server got.
fn paths(server: &Played) -> Vec<String> {
    server.requests().iter().map(|request| path(request).to_owned()).collect()
}

fn honest(_: &mut Value) {}

fn refused() -> Reply {
    reply("500 Internal Server Error", "", "")
}

/// The person comes back with what they should have.
fn well(state: &str) -> String {
    format!("code=the-code&state={state}")
}

/// Replaces a member, if the document has it.
fn set(document: &mut Value, name: &str, value: Value) {
    if let Some(member) = document.get_mut(name) {
        *member = value;
    }
}

/// rmcp: metadata about another resource was believed, so tokens for that one were asked for.
#[tokio::test]
async fn ghsa_33f5_2c5q_wgwj_metadata_about_another_resource() {
    for other in ["https://bank.example/mcp", "https://bank.example", "http://127.0.0.1:1/mcp", "", "*"] {
        let server = hostile(move |document| set(document, "resource", json!(other)), refused).await;
        let person = Person::bringing(well);
        let error = connect(&server, &person).await;
        assert_eq!(step(&error), Some(AuthorizationStep::Discovery), "{other}: {error}");
        assert!(person.visits().is_empty(), "{other}");
        assert!(!paths(&server).iter().any(|path| path == "/register" || path == "/token"), "{other}");
    }
}

/// The Inspector: an address that runs a script was opened, because a server had named it.
#[tokio::test]
async fn cve_2025_58444_addresses_that_are_programs() {
    for address in [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "java\tscript:alert(1)",
        "data:text/html,<script>alert(1)</script>",
        "vbscript:x",
        "file:///etc/passwd",
        "ms-msdt:/id",
        "http://evil.example/authorize",
        "https://as.example/\" & calc.exe & \"",
        "-https://as.example/",
    ] {
        let server =
            hostile(move |document| set(document, "authorization_endpoint", json!(address)), refused).await;
        let person = Person::bringing(well);
        let error = connect(&server, &person).await;
        assert_eq!(step(&error), Some(AuthorizationStep::Discovery), "{address}: {error}");
        assert!(person.visits().is_empty(), "{address}");
    }
}

/// LibreChat: what came back from a login was taken for whoever was waiting.
#[tokio::test]
async fn cve_2026_31944_what_comes_back_belongs_to_a_login() {
    let ways: [Back; 5] = [
        |_| "code=the-code&state=somebody-elses".into(),
        |_| "code=the-code".into(),
        |_| "code=the-code&state=".into(),
        |state| format!("code=the-code&state={state}x"),
        |_| "error=access_denied&error_description=hunter2&state=somebody-elses".into(),
    ];
    for (number, back) in ways.into_iter().enumerate() {
        let server = hostile(honest, refused).await;
        let person = Person::bringing(back);
        let error = connect(&server, &person).await;
        assert_eq!(step(&error), Some(AuthorizationStep::Login), "{number}: {error}");
        assert!(!error.to_string().contains("hunter2"), "{number}: {error}");
        assert_eq!(person.visits().len(), 1, "{number}");
        assert!(!paths(&server).iter().any(|path| path == "/token"), "{number}: the code goes nowhere");
    }
}

/// Addresses of the canary that nobody may send us to, not even from this machine.
fn forbidden(port: u16) -> Vec<String> {
    let own = private_address().map(|address| address.to_string());
    let hosts = ["0.0.0.0", "0", "[::]"].into_iter().map(str::to_owned).chain(own);
    hosts.flat_map(|host| [format!("http://{host}:{port}"), format!("https://{host}:{port}")]).collect()
}

/// ToolHive: the search for the issuer went wherever a server sent it.
#[tokio::test]
async fn cve_2026_58196_a_search_that_is_led_astray() {
    let mut canary = Canary::start().await;
    for origin in forbidden(canary.port) {
        for name in ["resource_metadata", "authorization_servers"] {
            let address = if name == "resource_metadata" { json!(origin) } else { json!([origin]) };
            let server = hostile(move |document| set(document, name, address.clone()), refused).await;
            let person = Person::bringing(well);
            let error = connect(&server, &person).await;
            assert_eq!(step(&error), Some(AuthorizationStep::Discovery), "{name} {origin}: {error}");
            assert!(person.visits().is_empty(), "{name} {origin}");
        }
    }
    canary.assert_alone().await;
}

/// Spring's mcp-security: so did registrations, and what followed.
#[tokio::test]
async fn cve_2026_45609_a_registration_that_is_led_astray() {
    let mut canary = Canary::start().await;
    for origin in forbidden(canary.port) {
        for name in ["registration_endpoint", "token_endpoint"] {
            let address = format!("{origin}/x");
            let server = hostile(move |document| set(document, name, json!(address)), refused).await;
            let person = Person::bringing(well);
            let error = connect(&server, &person).await;
            assert!(step(&error).is_some(), "{name} {origin}: {error}");
        }
    }
    canary.assert_alone().await;
}

/// rmcp: redirects were followed to other origins, with everything that the request carried.
#[tokio::test]
async fn cve_2026_64684_a_redirect_gets_no_token() {
    let mut canary = Canary::start().await;
    for status in [301, 302, 303, 307, 308] {
        let to = format!("http://127.0.0.1:{}/mcp", canary.port);
        let server = hostile(honest, move || redirect(status, &to)).await;
        let error = connect(&server, &Person::bringing(well)).await;
        assert!(matches!(error, Error::Redirected(_)), "{status}: {error}");
        assert!(server.requests().iter().any(|request| request.contains("Bearer the-token")), "{status}");
    }
    canary.assert_alone().await;
}

/// VS Code: redirects could leave HTTP, and credentials went along.
#[tokio::test]
async fn vs_code_320347_a_redirect_does_not_leave_http() {
    for to in [
        "file:///etc/passwd",
        "ftp://127.0.0.1/",
        "javascript:alert(1)",
        "data:application/json,{}",
        "vscode://x",
    ] {
        let server = hostile(honest, move || redirect(307, to)).await;
        let error = connect(&server, &Person::bringing(well)).await;
        assert!(matches!(error, Error::Redirected(_)), "{to}: {error}");
    }
}

/// LibreChat: what looked like a variable in a header became somebody's token.
#[tokio::test]
async fn cve_2026_31951_headers_are_not_templates() {
    let server = Played::start(|_| reply("404 Not Found", "", "")).await;
    let header = "${HOME} {{LIBRECHAT_OPENID_ACCESS_TOKEN}} $TOKEN %PATH%";
    let result = Client::builder().header("x-key", header).connect(server.at("/mcp").as_str()).await;
    assert!(result.is_err());
    let requests = server.requests();
    assert!(!requests.is_empty() && requests.iter().all(|request| request.contains(header)), "{requests:?}");
}
