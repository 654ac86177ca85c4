//! E18: the same token leads to the same decision, whichever revision, transport and form a request has.

use serde_json::{Value, json};

use super::protected::{NEEDED, Protected, challenged};
use super::raw::{Ask, Reply};
use super::support::{BATCHED, EVERY, LEGACY, Peer, hello, notification, request};

/// How a request travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Streamable,
    Batch,
    Pair,
    BatchOverPair,
}

/// What is asked for: a method, its parameters, and the same for something that needs nothing.
fn targets() -> [(&'static str, Value, Value); 3] {
    let tool = |name: &str| json!({ "name": name, "arguments": {} });
    let (prompt, resource) = (|name: &str| json!({ "name": name }), |uri: &str| json!({ "uri": uri }));
    [
        ("tools/call", tool("write"), tool("open")),
        ("prompts/get", prompt("write"), prompt("open")),
        ("resources/read", resource("test://write"), resource("test://open")),
    ]
}

/// A client of HTTP+SSE.
struct Old {
    stream: Reply,
    endpoint: String,
}

impl Old {
    async fn opened(protected: &Protected, revision: &str, token: &str) -> Self {
        let authorization = format!("Bearer {token}");
        let get = protected.site.ask("GET", "/sse").and("accept", "text/event-stream");
        let mut stream = get.and("authorization", &authorization).send().await;
        assert_eq!(stream.status, 200);
        let endpoint = stream.event().await.expect("an event").data;
        let mut old = Self { stream, endpoint };
        let hello = request("hello", "initialize", hello(revision, json!({})));
        assert_eq!(old.post(protected, &hello, token).status().await, 202);
        assert_eq!(old.next().await["result"]["protocolVersion"], revision);
        let ready = notification("notifications/initialized");
        assert_eq!(old.post(protected, &ready, token).status().await, 202);
        old
    }

    fn post(&self, protected: &Protected, message: &Value, token: &str) -> Ask {
        let ask = protected.site.post(message).unjudged().to(&self.endpoint);
        ask.and("authorization", &format!("Bearer {token}"))
    }

    async fn next(&mut self) -> Value {
        serde_json::from_str(&self.stream.event().await.expect("the stream goes on").data).expect("JSON")
    }
}

/// The ways that a revision has.
fn ways(revision: &str) -> Vec<Way> {
    let mut ways = vec![Way::Streamable];
    if LEGACY.contains(&revision) {
        ways.push(Way::Pair);
    }
    if revision == BATCHED {
        ways.extend([Way::Batch, Way::BatchOverPair]);
    }
    ways
}

/// Asks with this token in a session that was opened with a broader one; the status, and what is wanted.
async fn decision(
    protected: &Protected,
    (revision, way): (&'static str, Way),
    (method, params, harmless): (&str, Value, Value),
    scope: &str,
) -> (u16, Option<String>) {
    let (broad, token) = (protected.token("ada", NEEDED), protected.token("ada", scope));
    let peer = Peer::known(&protected.site, revision, &broad).await;
    let message = peer.request(method, params);
    let first = peer.request(method, harmless);
    let batch = json!([first, message]);
    let is_batch = matches!(way, Way::Batch | Way::BatchOverPair);
    let body = if is_batch { &batch } else { &message };
    if matches!(way, Way::Streamable | Way::Batch) {
        let ask = peer.post(body).with("authorization", &format!("Bearer {token}"));
        let reply = ask.unjudged().send().await;
        return (reply.status, challenged(&reply, "scope"));
    }
    let mut old = Old::opened(protected, revision, &broad).await;
    let reply = old.post(protected, body, &token).send().await;
    if reply.status == 202 {
        let answer = old.next().await;
        assert!(!answer.to_string().contains("\"error\""), "{answer}");
        return (200, None);
    }
    (reply.status, challenged(&reply, "scope"))
}

// covers: AUTH-STATUS-403, SEC-VERIFY-ALL-REQUESTS
#[tokio::test]
async fn one_token_one_decision() {
    let protected = Protected::start().await;
    for revision in EVERY {
        for way in ways(revision) {
            for (method, params, harmless) in targets() {
                for (scope, status, wanted, runs) in [
                    ("", 403, Some("files:write"), 0),
                    ("x", 403, Some("files:write x"), 0),
                    (NEEDED, 200, None, 1),
                    ("files:write x", 200, None, 1),
                ] {
                    let case = format!("E18 {revision} {way:?} {method} with {scope:?}");
                    let ran = protected.ran();
                    let target = (method, params.clone(), harmless.clone());
                    let decided = decision(&protected, (revision, way), target, scope).await;
                    assert_eq!(decided, (status, wanted.map(str::to_owned)), "{case}");
                    let is_batch = matches!(way, Way::Batch | Way::BatchOverPair);
                    let expected = if is_batch { 2 * runs } else { runs };
                    assert_eq!(protected.ran() - ran, expected, "{case}: what ran");
                }
            }
        }
    }
}

/// E18: without a good token the decision is the same, too.
// covers: AUTH-TOKEN-INVALID-401, SEC-SESSION-NOT-AUTH
#[tokio::test]
async fn no_token_one_decision() {
    let protected = Protected::start().await;
    let broad = protected.token("ada", NEEDED);
    for revision in EVERY {
        let peer = Peer::known(&protected.site, revision, &broad).await;
        for (method, params, _) in targets() {
            let message = peer.request(method, params);
            for (token, status) in [("Bearer garbage", 401), ("Bearer", 400), ("Basic YTpi", 401)] {
                let decided = peer.post(&message).with("authorization", token).status().await;
                assert_eq!(decided, status, "E18 {revision} {method} {token}");
            }
        }
    }
    for revision in LEGACY {
        let old = Old::opened(&protected, revision, &broad).await;
        let message = request(7, "tools/call", json!({ "name": "write", "arguments": {} }));
        let ask = protected.site.post(&message).to(&old.endpoint);
        assert_eq!(ask.clone().status().await, 401, "E18 {revision}: the address of a stream proves nothing");
        assert_eq!(ask.with("authorization", "Bearer garbage").status().await, 401, "E18 {revision}");
    }
    assert_eq!(protected.ran(), 0);
}

/// Over HTTP+SSE, too, handlers learn who sent the message and not who opened the stream with what.
#[tokio::test]
async fn messages_of_a_stream_have_their_own_scopes() {
    let protected = Protected::start().await;
    let (broad, low) = (protected.token("ada", NEEDED), protected.token("ada", "x"));
    let mut old = Old::opened(&protected, LEGACY[0], &broad).await;
    for (id, token, scopes) in [(1, &broad, "files:write"), (2, &low, "x"), (3, &broad, "files:write")] {
        let message = request(id, "tools/call", json!({ "name": "who", "arguments": {} }));
        assert_eq!(old.post(&protected, &message, token).status().await, 202);
        let answer = old.next().await;
        let who = answer["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned();
        assert!(who.ends_with(&format!("ada [{scopes}]")), "{who}");
    }
}
