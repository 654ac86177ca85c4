//! What is offered, by whom, and what is not; and how to use it.

use std::process::Command;

use contexture::Client;
use contexture::revision::Era;
use serde_json::{Value, json};

use crate::stage::Stage;
use crate::upstream::{ERAS, Upstream};

fn names(tools: &[contexture::model::Tool]) -> Vec<String> {
    tools.iter().map(|tool| tool.name.to_string()).collect()
}

// covers: TOOLS-UI-EXPOSED, SEC-USER-CONTROL
#[tokio::test]
async fn what_is_offered_is_listed_by_server() {
    for (client, server) in ERAS.into_iter().flat_map(|client| ERAS.map(|server| (client, server))) {
        let (all, few) = (Upstream::start("all", server).await, Upstream::start("few", server).await);
        let (off, quiet) = (Upstream::start("off", server).await, Upstream::start("quiet", server).await);
        let servers = json!({
            "all": all.entry(),
            "few": few.entry_with(json!({ "tools": { "include": ["look", "t*"], "exclude": ["tell"] } })),
            "off": off.entry_with(json!({ "enabled": false })),
            "quiet": quiet.entry_with(json!({ "tools": [], "prompts": [], "resources": [] })),
        });
        let stage = Stage::new(servers, json!({ "policy": { "default": "allow" } }));
        let front = stage.client(client, Client::builder()).await;
        let tools = names(&front.tools().await.expect("tools"));
        let of = |server: &str| -> Vec<String> {
            let prefix = format!("{server}__");
            tools.iter().filter_map(|name| name.strip_prefix(&prefix).map(str::to_owned)).collect()
        };
        let mut every = of("all");
        every.sort();
        let own = ["ask", "log", "log_later", "look", "repeat", "tell", "think", "wait", "where", "write"];
        assert_eq!(every, own, "{client:?} {server:?}");
        let mut chosen = of("few");
        chosen.sort();
        assert_eq!(chosen, ["look", "think"], "{client:?} {server:?}");
        assert_eq!(tools.len(), own.len() + 2, "nothing else: {tools:?}");
        assert!(front.resources().await.expect("resources").iter().all(|it| !it.uri.starts_with("quiet")));
        assert!(front.prompts().await.expect("prompts").iter().all(|it| !it.name.starts_with("quiet")));

        // What is not offered cannot be had, either.
        assert_eq!(front.text("all__tell", json!({})).await, "SECRET-OF-ALL");
        for hidden in ["few__tell", "off__look", "quiet__look"] {
            assert!(front.call(hidden, ()).await.is_err(), "{hidden}");
        }
        assert!(front.read("quiet+note://secret").await.is_err());
        for upstream in [&few, &quiet] {
            assert_eq!(upstream.heard.of("tools/call").len(), 0, "{client:?} {server:?}");
            assert_eq!(upstream.heard.of("resources/read").len(), 0, "{client:?} {server:?}");
        }
        assert!(off.heard.all().is_empty(), "one that is switched off is left alone");
    }
}

// covers: TOOLS-UI-EXPOSED
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_see_it_with_the_verb_for_it() {
    let (one, two) = (Upstream::start("one", Era::Legacy).await, Upstream::start("two", Era::Modern).await);
    let two_entry = two.entry_with(json!({ "tools": ["look"] }));
    let stage = Stage::new(json!({ "one": one.entry(), "two": two_entry }), json!({}));
    let listening = stage.listen(&[]);
    let url = listening.url.clone();
    let listed = tokio::task::spawn_blocking(move || {
        Command::new(env!("CARGO_BIN_EXE_contexture"))
            .args(["tools", "list", "--format", "json", "--", &url])
            .output()
            .expect("it runs")
    });
    let output = listed.await.expect("no panic");
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success(), "{text} {}", String::from_utf8_lossy(&output.stderr));
    let listed: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let tools = listed["tools"].as_array().or(listed.as_array()).expect("tools");
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert!(names.contains(&"one__write") && names.contains(&"two__look"), "{names:?}");
    assert!(!names.contains(&"two__write"), "{names:?}");
}

// covers: LIFE-INSTRUCTIONS-USE
#[tokio::test]
async fn instructions_of_all_servers_come_with_their_names() {
    for (client, server) in ERAS.into_iter().flat_map(|client| ERAS.map(|server| (client, server))) {
        let (one, two) = (Upstream::start("one", server).await, Upstream::start("two", server).await);
        let stage = Stage::new(json!({ "one": one.entry(), "two": two.entry() }), json!({}));
        let front = stage.client(client, Client::builder()).await;
        let instructions = front.instructions().unwrap_or_default();
        for words in ["How to use one.", "How to use two."] {
            assert!(instructions.contains(words), "{client:?} {server:?}: {instructions:?}");
        }
    }
}
