//! Broken servers that are reached by URL: what is on the way, and what answers at its end.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::PrivatePkcs8KeyDer;

use crate::site::{Answer, Request, Site, well};
use crate::stage::{Case, Home, Verdict};

const KEY: &str = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgoAS0OMUqGFm0tHZAcvRTDor3owfqobLp+6Xs5hLaaLChRANCAAS15tsn9GypV+5Ydz1Yd/L590tmXYJAYcvjTcR401RQweJh22fdEi9R+TSaF3D4nfMIwuaBTgBypFRWglBa/uql";
/// Self-signed, for localhost and 127.0.0.1, for a hundred years. It protects nothing.
const CERTIFICATE: &str = "MIIBsTCCAVigAwIBAgIUVmuTKihXKAU8vwibWw1p0aKMgQswCgYIKoZIzj0EAwIwITEfMB0GA1UEAwwWY29udGV4dHVyZSBkb2N0b3IgdGVzdDAgFw0yNjExMTUyMjE4MjlaGA8yMTI2MTAyMjIyMTgyOVowITEfMB0GA1UEAwwWY29udGV4dHVyZSBkb2N0b3IgdGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABLXm2yf0bKlX7lh3PVh38vn3S2ZdgkBhy+NNxHjTVFDB4mHbZ90SL1H5NJoXcPid8wjC5oFOAHKkVFaCUFr+6qWjbDBqMB0GA1UdDgQWBBQBZZ24+z8Hj7VABedO1+Yy8O1bODAfBgNVHSMEGDAWgBQBZZ24+z8Hj7VABedO1+Yy8O1bODAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwDAYDVR0TAQH/BAIwADAKBggqhkjOPQQDAgNHADBEAiB3maDDSPmc5QQlIWQzMOfNJek2uesZyDq4ontZVPkY8wIgVFIPfQNlyVUhOBolmk7+66X8lHuQ2szNnw1lhxUiipQ=";

/// A site of this kind, at this path, and what is said about it.
type Row = (fn(&Request) -> Answer, &'static str, Case);

const PAGE: &str = "<!doctype html><title>Welcome to Example</title>";

fn table() -> Vec<Row> {
    vec![
        (
            |_| Answer::of(200, "text/html; charset=utf-8", PAGE),
            "/",
            Case {
                name: "a website",
                step: "http.answer",
                exit: 1,
                seen: &["a page for people", "Welcome to Example"],
                next: "website",
            },
        ),
        (
            |request| if request.path == "/mcp" { well(request) } else { Answer::status(404) },
            "/",
            Case {
                name: "another path",
                step: "http.answer",
                exit: 1,
                seen: &["nothing is at this path"],
                next: "/mcp: use that address",
            },
        ),
        (
            |_| Answer::status(307).with("Location", "https://elsewhere.example/mcp"),
            "/mcp",
            Case {
                name: "sent elsewhere",
                step: "http.redirect",
                exit: 4,
                seen: &["https://elsewhere.example/mcp", "not followed"],
                next: "https://elsewhere.example/mcp",
            },
        ),
        (
            |_| Answer::status(401),
            "/mcp",
            Case {
                name: "locked, and nobody says by whom",
                step: "auth.issuer",
                exit: 3,
                seen: &["nobody says who issues tokens"],
                next: "--header 'Authorization: Bearer",
            },
        ),
        (
            |request| if request.method == "GET" { Answer::Hold } else { well(request) },
            "/mcp",
            Case {
                name: "a proxy that collects streams",
                step: "http.stream",
                exit: 5,
                seen: &["something holds it back"],
                next: "proxy_buffering off",
            },
        ),
        (
            |request| match request.method.as_str() {
                "GET" => Answer::of(200, "text/event-stream", ": well\n\n"),
                _ => well(request),
            },
            "/mcp",
            Case {
                name: "a stream that comes whole",
                step: "http.stream",
                exit: 5,
                seen: &["comes whole"],
                next: "proxy_buffering off",
            },
        ),
        (
            |request| {
                let body = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{{}}}}", request.id());
                Answer::of(200, "text/plain", &body)
            },
            "/mcp",
            Case {
                name: "another Content-Type",
                step: "http.answer",
                exit: 5,
                seen: &["Content-Type", "text/plain"],
                next: "application/json",
            },
        ),
        (
            |_| Answer::of(502, "text/html", "<title>502 Bad Gateway</title>"),
            "/mcp",
            Case {
                name: "a gateway alone",
                step: "http.answer",
                exit: 4,
                seen: &["a gateway answers with HTTP status 502", "502 Bad Gateway"],
                next: "the gateway is well and the server is not",
            },
        ),
        (
            |_| Answer::status(415),
            "/mcp",
            Case {
                name: "does not take JSON",
                step: "http.answer",
                exit: 5,
                seen: &["415"],
                next: "Content-Type",
            },
        ),
        (
            |_| Answer::of(403, "text/plain", "Invalid Host header"),
            "/mcp",
            Case {
                name: "refuses the name that it is called by",
                step: "http.answer",
                exit: 4,
                seen: &["403", "Invalid Host header"],
                next: "Host",
            },
        ),
        (
            |request| match request.asks("initialize") && request.header("origin").is_none() {
                true => well(request).with("Mcp-Session-Id", "one"),
                false => Answer::status(404),
            },
            "/mcp",
            Case {
                name: "forgets its sessions",
                step: "http.session",
                exit: 5,
                seen: &["404"],
                next: "sticky",
            },
        ),
        (
            |_| Answer::Hold,
            "/mcp",
            Case {
                name: "takes connections and says nothing",
                step: "http.answer",
                exit: 4,
                seen: &["no answer within"],
                next: "--timeout",
            },
        ),
        (
            |_| Answer::of(200, "application/json", "{\"status\":\"ok\"}"),
            "/mcp",
            Case {
                name: "another service",
                step: "http.answer",
                exit: 5,
                seen: &["no message of the protocol", "\"status\":\"ok\""],
                next: "JSON-RPC",
            },
        ),
    ]
}

#[test]
fn each_cause_is_named() {
    let cases = table();
    std::thread::scope(|scope| {
        for (handler, path, case) in &cases {
            scope.spawn(move || {
                let (site, home) = (Site::new(*handler), Home::new());
                let patience = if case.name.contains("says nothing") { "1" } else { "4" };
                case.holds(&home.doctor(&["--timeout", patience, &site.url(path)]));
            });
        }
    });
}

#[test]
fn nobody_at_a_port_is_told_from_a_name_that_is_not_known() {
    let home = Home::new();
    let closed =
        std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let table = [
        (
            format!("http://{closed}/mcp"),
            Case {
                name: "nobody listens",
                step: "http.connect",
                exit: 4,
                seen: &["nobody can be reached", "refused"],
                next: "is the server running",
            },
        ),
        (
            "http://no-such-name.invalid/mcp".to_owned(),
            Case {
                name: "no such name",
                step: "http.connect",
                exit: 4,
                seen: &["the name no-such-name.invalid is not known"],
                next: "spelled right",
            },
        ),
    ];
    for (url, case) in &table {
        case.holds(&home.doctor(&[url]));
    }
}

#[test]
fn a_certificate_that_nobody_vouches_for_is_named() {
    let (certificate, key) =
        (STANDARD.decode(CERTIFICATE).expect("base64"), STANDARD.decode(KEY).expect("base64"));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.into()], PrivatePkcs8KeyDer::from(key).into())
        .expect("a certificate");
    let config = Arc::new(config);
    let site = Site::raw(move |mut stream, _| {
        let Ok(mut connection) = rustls::ServerConnection::new(Arc::clone(&config)) else { return };
        // Whether the other side goes on is up to it.
        let _ = connection.complete_io(&mut stream);
    });
    let home = Home::new();
    let case = Case {
        name: "self-signed",
        step: "http.tls",
        exit: 4,
        seen: &["self-signed"],
        next: "SSL_CERT_FILE",
    };
    let verdict = home.doctor(&[&format!("https://localhost:{}/mcp", site.port())]);
    case.holds(&verdict);
    assert_eq!(
        verdict.failed()["seen"],
        "its certificate is self-signed",
        "and it is known which of the two"
    );
}

#[test]
fn a_port_without_tls_is_named() {
    let (site, home) = (Site::new(well), Home::new());
    let case =
        Case { name: "no TLS", step: "http.tls", exit: 4, seen: &["handshake of TLS"], next: "http://" };
    case.holds(&home.doctor(&[&site.url("/mcp").replace("http:", "https:")]));
}

#[test]
fn a_redirect_within_the_origin_is_followed_and_told() {
    let site = Site::new(|request| match request.path.as_str() {
        "/old" => Answer::status(308).with("Location", "/mcp"),
        _ => well(request),
    });
    let verdict = Home::new().doctor(&[&site.url("/old")]);
    assert_eq!(verdict.code, 0, "{:#}", verdict.document);
    let step = verdict.step("http.redirect");
    assert_eq!(step["state"], "warning");
    assert!(Verdict::words(step).contains("/mcp"), "{step:#}");
}

#[test]
fn a_server_that_answers_to_every_page_is_warned_of() {
    let site = Site::new(|request| match request.asks("initialize") {
        true => {
            let result = r#"{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"open","version":"1"}}"#;
            let body = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{result}}}", request.id());
            Answer::of(200, "application/json", &body)
        }
        false => well(request),
    });
    let verdict = Home::new().doctor(&[&site.url("/mcp")]);
    assert_eq!(verdict.step("http.origin")["state"], "warning", "{:#}", verdict.document);
}

#[test]
fn a_header_that_is_refused_is_the_cause() {
    let site = Site::new(|_| Answer::status(401).with("WWW-Authenticate", "Bearer error=\"invalid_token\""));
    let home = Home::new();
    let header = "Authorization: Bearer s3cret-s3cret";
    let verdict = home.doctor(&["--header", header, &site.url("/mcp")]);
    let case = Case {
        name: "a token that is refused",
        step: "auth.login",
        exit: 3,
        seen: &["Authorization", "invalid_token"],
        next: "token",
    };
    case.holds(&verdict);
    assert!(!verdict.document.to_string().contains("s3cret"));
}
