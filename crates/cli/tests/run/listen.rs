//! Over HTTP: both eras at one address, the doors beside it, and who may knock.

use contexture::revision::Revision;
use serde_json::{Value, json};

use crate::stage::{Gateway, Home};

fn body(answer: &str) -> Value {
    let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

#[tokio::test]
async fn both_eras_are_served_at_one_address() {
    let home = Home::new();
    let config = home.config(&json!({ "one": home.demo(), "two": home.demo() }));
    let gateway = Gateway::start(&home, &["run", "--config", &config, "--listen", "127.0.0.1:0"]);
    for revision in Revision::ALL {
        let client = gateway.client_of(&[revision]).await;
        let reply =
            client.call("one__echo", json!({ "message": revision.as_str() })).await.expect("an answer");
        assert_eq!(reply.text(), revision.as_str());
    }
}

#[tokio::test]
async fn only_the_servers_that_are_wanted_are_there() {
    let home = Home::new();
    let config = home.config(&json!({ "one": home.demo(), "two": home.demo() }));
    let gateway =
        Gateway::start(&home, &["run", "--config", &config, "--only", "two", "--listen", "127.0.0.1:0"]);
    let tools = gateway.tools().await;
    assert!(!tools.is_empty() && tools.iter().all(|tool| tool.starts_with("two__")), "{tools:?}");
}

#[tokio::test]
async fn a_server_that_does_not_start_is_seen_from_outside_and_hides_no_other() {
    let home = Home::new();
    let secret = "hunter2";
    let broken = json!({ "command": "/nowhere/at/all", "args": [secret], "env": { "KEY": secret } });
    let config = home.config(&json!({ "broken": broken, "one": home.demo() }));
    let gateway = Gateway::start(&home, &["run", "--config", &config, "--listen", "127.0.0.1:0"]);
    assert!(gateway.tools().await.iter().all(|tool| tool.starts_with("one__")));
    let client = gateway.client().await;
    client.call("one__echo", json!({ "message": "x" })).await.expect("an answer");
    let (health, ready) = (gateway.get("/healthz", None), gateway.get("/readyz", None));
    assert!(health.starts_with("HTTP/1.1 200"), "{health}");
    assert!(ready.starts_with("HTTP/1.1 200"), "{ready}");
    let ready = body(&ready);
    assert_eq!((&ready["ready"], &ready["servers"]), (&json!(true), &json!(2)), "{ready}");
    assert_eq!(ready["degraded"][0]["server"], "broken", "{ready}");
    let metrics = gateway.get("/metrics", None);
    let calls = r#"contexture_upstream_calls_total{server="one",method="tools/call",outcome="ok"} 1"#;
    assert!(metrics.lines().any(|line| line == calls), "{metrics}");
    assert!(metrics.contains(r#"contexture_upstream_up{server="broken"} 0"#), "{metrics}");
    assert!(!metrics.contains(secret) && !ready.to_string().contains(secret));
}

/// Row J28 of the threats: a log that loses lines is seen from outside, as many times as it does.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn lines_that_the_audit_lost_are_counted_where_operators_look() {
    let home = Home::new();
    let content =
        json!({ "servers": { "one": home.demo() }, "policy": { "default": "allow" }, "audit": "/dev/full" });
    let config = home.write("contexture.json", &content);
    let gateway = Gateway::start(&home, &["run", "--config", &config, "--listen", "127.0.0.1:0"]);
    let lost = || {
        let page = gateway.get("/metrics", None);
        let line = page
            .lines()
            .find_map(|line| line.strip_prefix(r#"contexture_dropped_total{what="audit_line"} "#));
        line.and_then(|count| count.parse::<u64>().ok()).unwrap_or_else(|| panic!("not counted: {page}"))
    };
    assert_eq!(lost(), 0);
    let client = gateway.client().await;
    client.call("one__echo", json!({ "message": "x" })).await.expect("an answer");
    assert_eq!(lost(), 2, "what was decided, and how it ended");
}

#[tokio::test]
async fn doors_have_the_guard_of_the_endpoint() {
    let home = Home::new();
    let config = home.config(&json!({ "one": home.demo() }));
    let gateway = Gateway::start(&home, &["run", "--config", &config, "--listen", "127.0.0.1:0"]);
    for path in ["/healthz", "/readyz", "/metrics"] {
        let answer = gateway.get(path, Some("evil.example"));
        assert!(answer.starts_with("HTTP/1.1 403"), "{path}: {answer}");
    }
}

/// Another name takes nothing away from those of this machine for itself, behind which health is looked after.
#[tokio::test]
async fn names_are_added_to_those_of_this_machine() {
    let home = Home::new();
    let config = home.config(&json!({ "one": home.demo() }));
    let server = home.server();
    let run: &[&str] = &["run", "--config", &config, "--listen", "127.0.0.1:0"];
    let bridge: &[&str] = &["bridge", "--listen", "127.0.0.1:0"];
    let cases: [(&[&str], &[&str], &[&str]); 3] = [
        (run, &["--host", "my.box"], &[]),
        (run, &["--public-url", "https://my.box/mcp"], &[]),
        (bridge, &["--host", "my.box"], &["--", &server, "demo"]),
    ];
    for (before, names, after) in cases {
        let gateway = Gateway::start(&home, &[before, names, after].concat());
        for host in [None, Some("localhost"), Some("[::1]"), Some("my.box")] {
            let answer = gateway.get("/healthz", host);
            assert!(answer.starts_with("HTTP/1.1 200"), "{names:?} {host:?}: {answer}");
        }
        assert!(!gateway.tools().await.is_empty(), "{names:?}");
        let answer = gateway.get("/healthz", Some("evil.example"));
        assert!(answer.starts_with("HTTP/1.1 403") && answer.contains("--host"), "{names:?}: {answer}");
    }
}

#[test]
fn other_machines_are_not_served_unless_somebody_says_so() {
    let home = Home::new();
    let config = home.config(&json!({ "one": home.demo() }));
    for address in ["0.0.0.0:0", "[::]:0"] {
        let run = home
            .command(&["run", "--config", &config, "--listen", address])
            .output()
            .expect("the binary runs");
        let said = String::from_utf8(run.stderr).expect("text");
        assert_eq!(run.status.code(), Some(1), "{said}");
        assert!(said.contains("--protect") && said.contains("--allow-anonymous"), "{said}");
    }
    assert_eq!(home.running(), 0);
}
