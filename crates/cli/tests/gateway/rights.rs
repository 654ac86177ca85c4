//! Who may do what, and what is written down about it (J04, J16, J28), and what annotations are worth (I16).

use contexture::Error;
use serde_json::{Value, json};

use crate::stage::{ERAS, Folder, Gateway, allowing, call, read, text, tools, within};
use crate::upstream::Upstream;

#[tokio::test]
async fn j04_what_is_denied_is_neither_seen_nor_reached() {
    for era in ["legacy", "modern"] {
        let folder = Folder::new();
        let secret = Upstream::new(&folder, "secret", era);
        let open = Upstream::new(&folder, "open", "legacy");
        let mut config = allowing(json!({ "open": open.entry, "secret": secret.entry }));
        config["policy"]["rules"] =
            json!([{ "server": "secret", "decision": "deny", "reason": "not yours" }]);
        let gateway = Gateway::with(folder, config, &[], &[]).await;
        for revision in ERAS {
            let client = gateway.client(revision).await;
            for tool in ["secret__echo", "secret__env"] {
                let outcome = call(&client, tool, json!({})).await;
                assert!(outcome.is_err(), "J04 {revision}: {outcome:?}");
            }
            let outcome = within("read", client.read("secret+test://one").into_future()).await;
            assert!(outcome.is_err(), "J04 {revision}: {outcome:?}");
            let outcome = within("prompt", client.prompt("secret__greet", json!({})).into_future()).await;
            assert!(outcome.is_err(), "J04 {revision}: {outcome:?}");
            let reference = json!({ "type": "ref/prompt", "name": "secret__greet" });
            let params = json!({ "ref": reference, "argument": { "name": "a", "value": "b" } });
            let outcome =
                within("complete", client.request("completion/complete", params).into_future()).await;
            assert!(outcome.is_err(), "J04 {revision}: {outcome:?}");
            let outcome = within("subscribe", client.subscribe("secret+test://one")).await;
            assert!(outcome.is_err(), "J04 {revision}: {outcome:?}");
            let methods =
                ["tools/call", "resources/read", "prompts/get", "completion/complete", "resources/subscribe"];
            let reached: Vec<Value> = secret
                .heard()
                .into_iter()
                .filter(|it| it["method"].as_str().is_some_and(|method| methods.contains(&method)))
                .collect();
            assert!(reached.is_empty(), "J04 {era} {revision}: {reached:?}");
            text(&client, "open__echo", json!({})).await;
        }
    }
}

#[tokio::test]
async fn j04_what_is_denied_is_not_listed() {
    let folder = Folder::new();
    let secret = Upstream::new(&folder, "secret", "legacy");
    let open = Upstream::new(&folder, "open", "legacy");
    let mut config = allowing(json!({ "open": open.entry, "secret": secret.entry }));
    config["policy"]["rules"] = json!([{ "server": "secret", "decision": "deny" }]);
    let gateway = Gateway::with(folder, config, &[], &[]).await;
    for revision in ERAS {
        let client = gateway.client(revision).await;
        let names = tools(&client).await;
        assert!(names.iter().any(|name| name.starts_with("open__")), "J04: {names:?}");
        assert!(names.iter().all(|name| !name.starts_with("secret")), "J04 {revision}: {names:?}");
        let resources = within("resources", client.resources()).await.expect("a list");
        assert!(resources.iter().all(|it| !it.uri.contains("secret")), "J04 {revision}: {resources:?}");
        let prompts = within("prompts", client.prompts()).await.expect("a list");
        assert!(prompts.iter().all(|it| !it.name.contains("secret")), "J04 {revision}: {prompts:?}");
    }
}

#[tokio::test]
async fn i16_annotations_of_strangers_allow_nothing() {
    for (trusted, allowed) in [(false, false), (true, true)] {
        let folder = Folder::new();
        let one = Upstream::new(&folder, "one", "legacy").with("trusted", json!(trusted));
        let config = json!({
            "servers": { "one": one.entry },
            "policy": { "default": "deny",
                        "rules": [{ "annotations": { "readOnlyHint": true }, "decision": "allow" }] },
        });
        let gateway = Gateway::with(folder, config, &[], &[]).await;
        let client = gateway.client(ERAS[0]).await;
        let outcome = call(&client, "one__read_only", json!({})).await;
        assert_eq!(outcome.is_ok(), allowed, "I16 trusted {trusted}: {outcome:?}");
        assert!(call(&client, "one__echo", json!({})).await.is_err(), "I16");
        assert_eq!(one.calls("read_only"), usize::from(allowed), "I16");
    }
}

#[tokio::test]
async fn j16_one_caller_has_so_many_calls() {
    let folder = Folder::new();
    let one = Upstream::new(&folder, "one", "legacy");
    let mut config = allowing(json!({ "one": one.entry }));
    config["limits"] = json!({ "callsPerSecond": 5 });
    let gateway = Gateway::with(folder, config, &[], &[]).await;
    let client = gateway.client(ERAS[1]).await;
    let mut refused = 0;
    for _ in 0..100 {
        match call(&client, "one__echo", json!({})).await {
            Ok(_) => {}
            Err(Error::Remote(_) | Error::Http(_)) => refused += 1,
            Err(error) => panic!("J16: {error}"),
        }
    }
    assert!(refused > 0, "J16: nobody was limited");
    assert_eq!(one.calls("echo"), 100 - refused, "J16: what is over the limit is not done");
}

#[tokio::test]
async fn j28_what_is_written_down_is_one_line_each() {
    let folder = Folder::new();
    let audit = folder.path("audit.jsonl");
    let one = Upstream::new(&folder, "one", "legacy");
    let mut config = allowing(json!({ "one": one.entry }));
    config["audit"] = json!({ "path": audit, "arguments": true });
    config["policy"]["rules"] = json!([{ "tool": "env", "decision": "deny" }]);
    let gateway = Gateway::with(folder, config, &[], &[]).await;
    let forged = "x\r\n{\"forged\":true}\n\u{2028}\u{85}\u{1b}[2J";
    for revision in ERAS {
        let client = gateway.client(revision).await;
        text(&client, "one__echo", json!({ "x": forged })).await;
        assert!(call(&client, "one__env", json!({ "x": forged })).await.is_err());
        let _ = call(&client, &format!("one__{forged}"), json!({})).await;
        let _ = within("read", client.read(format!("one+test://{forged}")).into_future()).await;
    }
    let written = || {
        let text = read(&audit);
        text.lines()
            .map(|line| {
                serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("J28 {error}: {line}"))
            })
            .collect::<Vec<_>>()
    };
    crate::stage::until("J28: it is written down", || written().len() >= 4).await;
    for line in written() {
        assert!(line.is_object() && line.get("forged").is_none(), "J28: {line}");
    }
    assert!(!read(&audit).contains('\u{1b}') && !read(&audit).contains('\r'), "J28");
}

#[tokio::test]
async fn j28_what_must_be_written_down_and_cannot_is_not_done() {
    for required in [true, false] {
        let folder = Folder::new();
        let one = Upstream::new(&folder, "one", "legacy");
        let mut config = allowing(json!({ "one": one.entry }));
        // A device that is always full.
        config["audit"] = json!({ "path": "/dev/full", "required": required });
        let file = folder.path("contexture.json");
        std::fs::write(&file, config.to_string()).expect("written");
        let started = tokio::time::timeout(
            std::time::Duration::from_secs(20),
            tokio::spawn(Gateway::with(folder, config, &[], &[])),
        )
        .await;
        let Ok(Ok(gateway)) = started else {
            assert!(required, "J28: it does not start, though it might");
            continue;
        };
        let client = gateway.client(ERAS[0]).await;
        let outcome = call(&client, "one__echo", json!({})).await;
        assert_eq!(outcome.is_err(), required, "J28 required {required}: {outcome:?}");
        assert_eq!(one.calls("echo"), usize::from(!required), "J28 required {required}");
    }
}
