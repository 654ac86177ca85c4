//! Names: whose tool is called (J01 to J03), and what of a request is passed on (J05, J09).

use serde_json::{Value, json};

use crate::stage::{ERAS, Folder, Gateway, Pipe, allowing, call, meta, text, tools, until};
use crate::upstream::Upstream;

/// The line that a server was told, as its own echo says.
fn line_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[tokio::test]
async fn j01_no_two_tools_have_one_name() {
    let folder = Folder::new();
    let first = Upstream::new(&folder, "first", "legacy only c search");
    let second = Upstream::new(&folder, "second", "legacy only b_c search");
    let third = Upstream::new(&folder, "third", "legacy only b__c search");
    let servers = json!({ "a_b": first.entry, "a": second.entry, "a__b": third.entry });
    let gateway = Gateway::with(folder, allowing(servers), &[], &[]).await;
    for revision in ERAS {
        let client = gateway.client(revision).await;
        let names = tools(&client).await;
        assert_eq!(names.len(), 6, "J01: {names:?}");
        let mut distinct: Vec<_> = names.iter().map(|name| name.to_lowercase()).collect();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), 6, "J01: {names:?}");
        assert_eq!(names, tools(&client).await, "J01: the order changes");
        let before = [&first, &second, &third].map(|server| server.heard().len());
        for name in &names {
            text(&client, name, json!({})).await;
        }
        for (server, before) in [&first, &second, &third].iter().zip(before) {
            let heard = server.heard();
            let calls = heard[before..].iter().filter(|it| it["method"] == "tools/call").count();
            assert_eq!(calls, 2, "J01: each server gets its own two calls: {names:?}");
        }
    }
}

#[tokio::test]
async fn j01_names_do_not_depend_on_neighbours() {
    let folder = Folder::new();
    let one = Upstream::new(&folder, "one", "legacy only search b_c");
    let alone = Gateway::start(allowing(json!({ "a": one.entry }))).await;
    let names = tools(&alone.client(ERAS[0]).await).await;
    let other = Upstream::new(&folder, "other", "legacy only search c");
    let together =
        Gateway::start(allowing(json!({ "A": other.entry, "a": one.entry, "a_b": other.entry }))).await;
    let all = tools(&together.client(ERAS[0]).await).await;
    assert!(names.iter().all(|name| all.contains(name)), "J01: {names:?} {all:?}");
    assert_eq!(all.len(), 6, "J01: {all:?}");
}

#[tokio::test]
async fn j02_the_first_keeps_its_name() {
    let folder = Folder::new();
    let first = Upstream::new(&folder, "first", "legacy only echo add").with("prefix", json!(false));
    let second = Upstream::new(&folder, "second", "legacy only other add2").with("prefix", json!(false));
    let servers = json!({ "first": first.entry, "second": second.entry });
    let gateway = Gateway::with(folder, allowing(servers), &[], &[]).await;
    let client = gateway.client(ERAS[0]).await;
    assert_eq!(tools(&client).await.len(), 4);
    // The second one now claims what is the first one's.
    text(&client, "add", json!({ "tool": "other" })).await;
    let lists = || first.heard().iter().filter(|it| it["method"] == "tools/list").count();
    until("J02: the change is seen", || lists() >= 2).await;
    tools(&client).await;
    text(&client, "other", json!({})).await;
    assert_eq!((first.calls("other"), second.calls("other")), (0, 1), "J02: a name was taken over");
    let names = tools(&client).await;
    assert_eq!(names.iter().filter(|name| *name == "other").count(), 1, "J02: {names:?}");
    let log = gateway.log.text();
    assert!(log.contains("other"), "J02: nobody is warned: {log}");
}

#[tokio::test]
async fn j03_twins_are_told_apart() {
    let folder = Folder::new();
    let one = Upstream::new(&folder, "one", "legacy only search Search se\u{430}rch \u{ff53}earch");
    let gateway = Gateway::with(folder, allowing(json!({ "one": one.entry })), &[], &[]).await;
    let client = gateway.client(ERAS[0]).await;
    let names = tools(&client).await;
    let mut distinct = names.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), names.len(), "J03: {names:?}");
    for name in &names {
        let told = line_of(&text(&client, name, json!({})).await);
        let original = told["params"]["name"].as_str().expect("a name").to_owned();
        assert_eq!(one.calls(&original), 1, "J03: {name} is two tools");
    }
    assert!(names.contains(&"one__search".to_owned()), "J03: {names:?}");
    let log = gateway.log.text();
    assert!(log.to_lowercase().contains("search"), "J03: nobody is warned: {log}");
}

#[tokio::test]
async fn j03_hostile_names_are_harmless_or_left_out() {
    let folder = Folder::new();
    let bad = Upstream::new(&folder, "bad", "legacy hostile");
    let good = Upstream::new(&folder, "good", "legacy only echo");
    let gateway =
        Gateway::with(folder, allowing(json!({ "bad": bad.entry, "good": good.entry })), &[], &[]).await;
    for revision in ERAS {
        let client = gateway.client(revision).await;
        let names = tools(&client).await;
        for name in &names {
            let plain = |char: char| char.is_ascii_alphanumeric() || "_-.".contains(char);
            // Hosts put `mcp__contexture__` before a name, and models take 64 characters.
            assert!(name.chars().all(plain) && (1..=47).contains(&name.len()), "J03 {revision}: {name:?}");
        }
        let mut distinct = names.clone();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), names.len(), "J03 {revision}: {names:?}");
        let before = (good.calls("echo"), bad.heard().len());
        text(&client, "good__echo", json!({})).await;
        assert_eq!(
            (good.calls("echo"), bad.heard().len()),
            (before.0 + 1, before.1),
            "J03: the wrong one was called"
        );
        let harmful = ["exit", "hang", "deaf", "ask", "url", "garbage", "flood", "later", "first"];
        for name in names.iter().filter(|name| name.starts_with("bad__")) {
            if harmful.iter().all(|bad| !name.ends_with(bad)) {
                let told = call(&client, name, json!({})).await;
                told.unwrap_or_else(|error| panic!("J03 {revision} {name}: listed, and not there: {error}"));
            }
        }
    }
    let log = gateway.log.text();
    assert!(!log.contains('\u{1b}') && !log.contains('\u{202e}'), "J03: {log}");
}

/// Rows A09 to A12 and others that two readers may read differently: `$T` is the tool that is allowed, `$D` the one that
/// is denied.
const DIFFERENT: [&str; 14] = [
    r#""name":"$T","name":"$D""#,
    r#""name":"$D","name":"$T""#,
    r#""name":"$T","arguments":{},"arguments":{"x":1}"#,
    r#""name":"$T","arguments":{"x":1,"x":2}"#,
    r#""name":"$T","arguments":{"a":{"x":1,"x":2}}"#,
    r#""name":"$T","Name":"$D""#,
    r#""Name":"$D","name":"$T""#,
    r#""name":"$T","NAME":"$D","nAme":"$D""#,
    r#""name":"$T","name\u0000":"$D""#,
    r#""name":"$T","\u006eame":"$D""#,
    r#""name":["$D"],"name":"$T""#,
    r#""name":{"name":"$D"}"#,
    r#""name":"$T","__proto__":{"name":"$D"}"#,
    r#""name":"$T ","arguments":{}"#,
];

#[tokio::test]
async fn j05_what_is_decided_on_is_what_is_sent() {
    for modern in [false, true] {
        let folder = Folder::new();
        let one = Upstream::new(&folder, "one", if modern { "modern" } else { "legacy" });
        let mut config = allowing(json!({ "one": one.entry }));
        config["policy"]["rules"] = json!([{ "server": "one", "tool": "fds", "decision": "deny" }]);
        let mut pipe = Pipe::start(folder, &config);
        for (number, row) in DIFFERENT.iter().enumerate() {
            let members = row.replace("$T", "one__echo").replace("$D", "one__fds");
            let meta = meta();
            let line = format!(
                r#"{{"jsonrpc":"2.0","id":{number},"method":"tools/call","params":{{{members},"_meta":{meta}}}}}"#
            );
            pipe.send(format!("{line}\n").as_bytes()).await;
            let answer = pipe.answer(&json!(number)).await;
            assert_eq!(one.calls("fds"), 0, "J05 {row}: what is denied was done");
            if let Some(told) = answer["result"]["content"][0]["text"].as_str() {
                let raw = told;
                let told = line_of(told);
                assert_eq!(told["params"]["name"], "echo", "J05 {row}: {told}");
                assert!(!raw.contains("fds"), "J05 {row}: what was not decided on is passed on: {raw}");
            }
        }
        let id = json!("direct");
        let line = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": { "name": "one__fds", "arguments": {}, "_meta": meta() } });
        pipe.send(format!("{line}\n").as_bytes()).await;
        let answer = pipe.answer(&id).await;
        assert!(answer["error"].is_object() || answer["result"]["isError"] == true, "J05: {answer}");
        assert_eq!(one.calls("fds"), 0, "J05: denied");
    }
}

#[tokio::test]
async fn j05_arguments_arrive_as_they_were_written() {
    let arguments = r#"{"a":1.0,"b":1e2,"c":100000000000000000000000001,"d":"\u00e9\ud83d\ude00\/","e":-0.0,"é":null,"z":[1,2,{"k":"v"}],"A":"a"}"#;
    for era in ["legacy", "modern"] {
        let folder = Folder::new();
        let one = Upstream::new(&folder, "one", era);
        let mut pipe = Pipe::start(folder, &allowing(json!({ "one": one.entry })));
        let meta = meta();
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"arguments":{arguments},"name":"one__echo","_meta":{meta}}}}}"#
        );
        pipe.send(format!("{line}\n").as_bytes()).await;
        let answer = pipe.answer(&json!(7)).await;
        let told = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
        assert!(told.contains(arguments), "J05 {era}: {told}");
    }
}

#[tokio::test]
async fn j09_what_callers_write_is_not_expanded() {
    let folder = Folder::new();
    let one = Upstream::new(&folder, "one", "legacy");
    let config = allowing(json!({ "one": one.entry }));
    let gateway = Gateway::with(folder, config, &[], &[("CANARY", "the-secret")]).await;
    for revision in ERAS {
        let client = gateway.client(revision).await;
        for trap in ["${CANARY}", "${env:CANARY}", "$CANARY", "{{CANARY}}", "%CANARY%", "${input:CANARY}"] {
            let told = text(&client, "one__echo", json!({ "x": trap })).await;
            assert!(told.contains(trap) && !told.contains("the-secret"), "J09 {trap}: {told}");
            let uri = format!("one+test://{trap}");
            let read = crate::stage::within("read", client.read(&uri).into_future()).await;
            assert!(!format!("{read:?}").contains("the-secret"), "J09 {uri}: {read:?}");
        }
    }
    assert!(one.heard().iter().all(|it| !it.to_string().contains("the-secret")), "J09");
}
