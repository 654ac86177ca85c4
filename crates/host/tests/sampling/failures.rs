//! Keys, choices, and providers that fail in every way.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use contexture::model::{CreateMessageParams, IncludeContext, ModelPreferences, code};
use contexture_host::sampling::{Models, SamplingConfig};
use serde_json::{Value, json};

use crate::scripted::{Script, Scripted};
use crate::{models, one, question};

/// A key in a file that is gone after the test.
struct Key(PathBuf);

impl Key {
    fn new(text: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("contexture-key-{}-{count}", std::process::id()));
        std::fs::write(&path, text).expect("a file");
        Self(path)
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn with_key(kind: &str, url: &str, key: &Key) -> Value {
    let mut config = one(kind, url);
    config["providers"]["p"]["keyFile"] = json!(key.0);
    config
}

fn said() -> Value {
    json!({ "choices": [{ "message": { "content": "x" } }], "content": [{ "type": "text", "text": "x" }] })
}

#[tokio::test]
async fn keys_go_to_their_provider_and_can_be_replaced() {
    let key = Key::new("  first-key\n");
    for (kind, header, prefix) in [("openai", "authorization", "Bearer "), ("anthropic", "x-api-key", "")] {
        std::fs::write(&key.0, "  first-key\n").expect("a file");
        let server = Scripted::saying(said()).await;
        let models = models(with_key(kind, &server.url, &key));
        models.create(question()).await.expect("an answer");
        std::fs::write(&key.0, "second-key").expect("a file");
        models.create(question()).await.expect("an answer");
        let shown: Vec<_> =
            server.heard().iter().map(|heard| heard.header(header).map(str::to_owned)).collect();
        assert_eq!(shown, [Some(format!("{prefix}first-key")), Some(format!("{prefix}second-key"))]);
        assert!(!format!("{models:?}").contains("first-key"));
    }
}

#[tokio::test]
async fn without_its_key_nothing_is_sent() {
    let server = Scripted::saying(said()).await;
    let empty = Key::new(" \n");
    let odd = Key::new("a\nb");
    let mut unset = one("openai", &server.url);
    unset["providers"]["p"]["keyEnv"] = "CONTEXTURE_TEST_NO_SUCH_KEY".into();
    let mut gone = one("openai", &server.url);
    gone["providers"]["p"]["keyFile"] = "/nowhere/at/all".into();
    for config in
        [unset, gone, with_key("openai", &server.url, &empty), with_key("anthropic", &server.url, &odd)]
    {
        let refused = models(config).create(question()).await.expect_err("no key");
        assert_eq!(refused.message, "the model could not be asked: its provider is not set up");
    }
    assert!(server.heard().is_empty());
}

/// A key never goes where it was not meant to, and never stands in an error.
#[tokio::test]
async fn keys_are_not_sent_elsewhere_and_not_repeated() {
    let key = Key::new("sk-very-secret");
    let elsewhere = Scripted::saying(said()).await;
    let server = Scripted::new(Script::Redirects(elsewhere.url.clone())).await;
    let refused =
        models(with_key("openai", &server.url, &key)).create(question()).await.expect_err("a redirect");
    assert!(refused.message.contains("307"), "{refused}");
    assert!(elsewhere.heard().is_empty());
    let echo = json!({ "error": { "message": "Incorrect API key provided: sk-very-secret" } }).to_string();
    let server = Scripted::new(Script::Says(401, echo)).await;
    let refused =
        models(with_key("openai", &server.url, &key)).create(question()).await.expect_err("refused");
    let told = serde_json::to_string(&refused).expect("JSON");
    assert!(told.contains("401") && !told.contains("secret"), "{told}");
}

// covers: SAMP-ERRORS
#[tokio::test]
async fn a_provider_that_fails_is_an_error_that_says_little() {
    let nobody = format!("http://127.0.0.1:{}/v1", unused_port());
    assert_eq!(failure(one("openai", &nobody)).await, "cannot be reached");
    let cases = [
        (Script::Says(500, "<html>".into()), "refused with status 500"),
        (
            Script::Says(429, json!({ "error": { "message": "slow down" } }).to_string()),
            "refused with status 429",
        ),
        (Script::Says(200, "no JSON".into()), "gave an answer that cannot be understood"),
        (Script::Says(200, "{}".into()), "gave an answer that cannot be understood"),
        (
            Script::Says(200, r#"{"choices": [], "content": [{"type": "text"}]}"#.into()),
            "gave an answer that cannot be understood",
        ),
        (Script::Floods, "answered with too much"),
        (Script::Breaks, "broke off"),
    ];
    for (script, wanted) in cases {
        for kind in ["openai", "anthropic"] {
            let server = Scripted::new(script.clone()).await;
            assert_eq!(failure(one(kind, &server.url)).await, wanted, "{kind} {script:?}");
        }
    }
}

#[tokio::test]
async fn a_provider_that_never_answers_is_given_up() {
    let server = Scripted::new(Script::Sleeps).await;
    let mut config = one("openai", &server.url);
    config["timeoutSeconds"] = 1.into();
    assert_eq!(failure(config).await, "did not answer in time");
    assert_eq!(server.heard().len(), 1, "it was asked once");
}

async fn failure(config: Value) -> String {
    let error = models(config).create(question()).await.expect_err("a failure");
    assert_eq!((error.code, error.data), (code::INTERNAL_ERROR, None));
    let told = error.message.strip_prefix("the model could not be asked: its provider ");
    told.unwrap_or_else(|| panic!("{}", error.message)).to_owned()
}

fn unused_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

// covers: SAMP-HINT-MAP, SAMP-MAXTOKENS, SAMP-INCLUDE-CONTEXT, SEC-SERVER-ISOLATION
#[tokio::test]
async fn the_model_that_suits_is_asked_and_not_for_more_than_is_allowed() {
    let (one, other) = (Scripted::saying(said()).await, Scripted::saying(said()).await);
    let models = models(json!({
        "providers": { "one": { "kind": "openai", "url": one.url }, "other": { "kind": "anthropic", "url": other.url } },
        "models": [
            { "name": "big", "provider": "one", "intelligence": 0.9, "speed": 0.1 },
            { "name": "small", "provider": "other", "hints": ["haiku"], "intelligence": 0.2, "speed": 0.9 } ],
        "maxTokens": 20,
    }));
    let wanting = |preferences: ModelPreferences| question().model_preferences(preferences);
    let hinted = wanting(ModelPreferences::new().hint("claude-3-haiku"));
    assert_eq!(models.create(hinted.clone()).await.expect("an answer").model, "small");
    let clever = wanting(ModelPreferences::new().intelligence_priority(1.0).expect("in range"));
    assert_eq!(models.create(clever).await.expect("an answer").model, "big");
    let greedy = CreateMessageParams { max_tokens: 5, ..hinted.include_context(IncludeContext::AllServers) };
    models.create(greedy).await.expect("an answer");
    let heard = other.heard();
    assert_eq!((&heard[0].body["max_tokens"], &heard[1].body["max_tokens"]), (&json!(20), &json!(5)));
    assert_eq!(heard[0].body["messages"], heard[1].body["messages"], "no context is added");
}

#[tokio::test]
async fn without_models_nobody_can_be_asked() {
    let none = Models::default();
    assert!(!none.is_configured());
    assert!(none.create(question()).await.is_err());
    assert!(models(one("openai", "http://127.0.0.1:1")).is_configured());
}

#[test]
fn a_table_with_a_mistake_is_none() {
    let provider = |fields: Value| json!({ "providers": { "p": fields } });
    let wrong = [
        (json!({ "models": [{ "name": "m", "provider": "x" }] }), "not among `providers`"),
        (provider(json!({ "kind": "openai", "url": "http://example.org/v1" })), "in the clear"),
        (provider(json!({ "kind": "openai", "url": "http://127.0.0.1.example.org/v1" })), "in the clear"),
        (provider(json!({ "kind": "openai", "url": "ftp://example.org" })), "must be https"),
        (provider(json!({ "kind": "openai", "url": "nonsense" })), "is none"),
        (provider(json!({ "kind": "openai", "url": "https://user:word@example.org" })), "credentials"),
        (
            provider(
                json!({ "kind": "openai", "url": "https://example.org", "keyEnv": "A", "keyFile": "b" }),
            ),
            "both",
        ),
    ];
    for (config, fault) in wrong {
        let config: SamplingConfig = serde_json::from_value(config).expect("it reads");
        let told = Models::new(&config).expect_err("it is wrong");
        assert!(told.contains(fault) && !told.contains("word"), "{told}");
    }
    for unreadable in [
        provider(json!({ "kind": "openai", "url": "https://example.org", "key": "sk-1" })),
        provider(json!({ "kind": "telepathy", "url": "https://example.org" })),
        json!({ "model": [] }),
    ] {
        assert!(serde_json::from_value::<SamplingConfig>(unreadable.clone()).is_err(), "{unreadable}");
    }
}
