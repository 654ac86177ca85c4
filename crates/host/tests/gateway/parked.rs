//! Calls that wait while a modern client gets the answer that a legacy server wants.

use std::time::Duration;

use contexture::Client;
use contexture::client::{Forwarded, InputRequired};
use contexture::engine::BUSY;
use contexture::model::{ClientCapabilities, ElicitationCapability, JsonObject, Method, code};
use contexture::revision::Era;
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use super::rich;
use super::support::{Gate, Site, Wire, at, config, named, refused, until};

pub(crate) fn forms() -> ClientCapabilities {
    let elicitation =
        ElicitationCapability { form: Some(JsonObject::new()), ..ElicitationCapability::default() };
    ClientCapabilities { elicitation: Some(elicitation), ..ClientCapabilities::default() }
}

pub(crate) fn raw(value: &serde_json::Value) -> Box<RawValue> {
    to_raw_value(value).expect("JSON")
}

/// One exchange by hand: what was asked is not answered.
async fn exchange(client: &Client, answers: Option<(&str, &RawValue)>) -> contexture::Result<Forwarded> {
    let params = raw(&json!({ "name": "up__ask", "arguments": {} }));
    let forward = client.forward(Method::ToolsCall, Some(&params)).capabilities(forms());
    match answers {
        Some((key, state)) => {
            let responses = raw(&json!({ key: { "action": "accept", "content": { "name": "Ada" } } }));
            forward.input(Some(&responses), Some(state)).await
        }
        None => forward.await,
    }
}

fn asked(forwarded: Forwarded) -> (String, Box<RawValue>) {
    let InputRequired { requests, state, .. } = forwarded.asked.expect("a question");
    assert_eq!(requests.len(), 1);
    (requests.into_keys().next().expect("one"), state.expect("a state"))
}

struct Scene {
    gate: Gate,
    _behind: Site,
}

async fn scene(change: impl FnOnce(&mut contexture_host::config::Config)) -> Scene {
    let behind = Site::of(rich::server(Era::Legacy)).await;
    let mut config = config(vec![at("up", &behind.url)]);
    change(&mut config);
    Scene { gate: Gate::known(config).await, _behind: behind }
}

#[tokio::test]
async fn a_call_is_taken_up_where_it_was() {
    let scene = scene(|_| {}).await;
    let client = scene.gate.connect(named("ada"), Era::Modern, Wire::Http).await;
    let (key, state) = asked(exchange(&client, None).await.expect("an exchange"));
    assert_eq!(scene.gate.host.parked(), 1);
    let done = exchange(&client, Some((&key, &state))).await.expect("an answer");
    assert!(done.asked.is_none());
    assert!(String::from_utf8_lossy(&done.result).contains("Hello, Ada"));
    assert_eq!(scene.gate.host.parked(), 0);
    let again = refused(exchange(&client, Some((&key, &state))).await);
    assert_eq!(again.code, code::INVALID_PARAMS, "it was taken up already: {again}");
    scene.gate.host.stop().await;
}

#[tokio::test]
async fn a_client_that_does_not_answer_is_asked_again() {
    let scene = scene(|_| {}).await;
    let client = scene.gate.connect(named("ada"), Era::Modern, Wire::Http).await;
    let (_, state) = asked(exchange(&client, None).await.expect("an exchange"));
    let (key, state) = asked(exchange(&client, Some(("another", &state))).await.expect("an exchange"));
    let done = exchange(&client, Some((&key, &state))).await.expect("an answer");
    assert!(String::from_utf8_lossy(&done.result).contains("Hello, Ada"));
    scene.gate.host.stop().await;
}

#[tokio::test]
async fn nobody_coming_back_cancels_the_call() {
    let scene = scene(|config| config.limits.park_time = Duration::from_millis(100)).await;
    let client = scene.gate.connect(named("ada"), Era::Modern, Wire::Http).await;
    let (key, state) = asked(exchange(&client, None).await.expect("an exchange"));
    until("it is given up", || async { (scene.gate.host.parked() == 0).then_some(()) }).await;
    until("nothing is in flight", || async { (scene.gate.host.health()[0].in_flight == 0).then_some(()) })
        .await;
    let late = refused(exchange(&client, Some((&key, &state))).await);
    assert_eq!(late.code, code::INVALID_PARAMS);
    assert!(late.message.contains("make it anew"), "{late}");
    scene.gate.host.stop().await;
}

#[tokio::test]
async fn another_cannot_take_it_up() {
    let scene = scene(|_| {}).await;
    let ada = scene.gate.connect(named("ada"), Era::Modern, Wire::Http).await;
    let bob = scene.gate.connect(named("bob"), Era::Modern, Wire::Http).await;
    let (key, state) = asked(exchange(&ada, None).await.expect("an exchange"));
    assert_eq!(refused(exchange(&bob, Some((&key, &state))).await).code, code::INVALID_PARAMS);
    let done = exchange(&ada, Some((&key, &state))).await.expect("it still waits");
    assert!(done.asked.is_none());
    scene.gate.host.stop().await;
}

#[tokio::test]
async fn as_many_wait_as_the_configuration_says() {
    let scene = scene(|config| config.limits.parked_calls = 2).await;
    let ada = scene.gate.connect(named("ada"), Era::Modern, Wire::Http).await;
    let bob = scene.gate.connect(named("bob"), Era::Modern, Wire::Http).await;
    asked(exchange(&ada, None).await.expect("an exchange"));
    let busy = match exchange(&ada, None).await {
        Err(contexture::Error::Http(refusal)) => refusal.error.expect("in words"),
        other => panic!("{other:?}"),
    };
    assert_eq!(busy.code, BUSY, "one principal has half of the places: {busy}");
    asked(exchange(&bob, None).await.expect("room for others"));
    assert_eq!(scene.gate.host.parked(), 2);
    scene.gate.host.stop().await;
    assert_eq!(scene.gate.host.parked(), 0);
}

#[tokio::test]
async fn what_is_given_up_is_written_down() {
    let path = std::env::temp_dir().join(format!("contexture-parked-{}.jsonl", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let audit = contexture_host::consent::AuditConfig::new(&path);
    let scene = scene(|config| {
        config.limits.park_time = Duration::from_millis(100);
        config.audit = Some(audit);
    })
    .await;
    let client = scene.gate.connect(named("ada"), Era::Modern, Wire::Http).await;
    asked(exchange(&client, None).await.expect("an exchange"));
    let line = until("a line about it", || async {
        let text = std::fs::read_to_string(&path).ok()?;
        let mut lines = text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        lines.find(|line| line["outcome"] == "cancelled")
    })
    .await;
    assert_eq!((&line["server"], &line["name"]), (&json!("up"), &json!("ask")), "{line}");
    assert_eq!(line["subject"], "ada", "{line}");
    scene.gate.host.stop().await;
    let _ = std::fs::remove_file(&path);
}
