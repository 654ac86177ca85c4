//! Two people, and two of the same name: what is one's is not the other's, whatever they present.

use serde_json::{Value, json};

use super::issuer::Issuer;
use super::protected::Protected;
use super::support::{LEGACY, POLLED, Peer, change, hello, request, text_of};

/// Ada here, Bob here, and an Ada whom another issuer knows.
async fn three() -> (Protected, String, [String; 2]) {
    let other = Issuer::start().await;
    let protected = Protected::with(|protection| protection.issuer(other.url.as_str())).await;
    let ada = protected.token("ada", "");
    let others = [protected.token("bob", ""), other.token("ada", &protected.resource, "")];
    (protected, ada, others)
}

// covers: SEC-SESSION-BIND-USER, SEC-SESSION-NOT-AUTH, AUTH-NO-DATA-LEAK
#[tokio::test]
async fn a_session_is_its_owners() {
    let (protected, ada, others) = three().await;
    for revision in LEGACY {
        let peer = Peer::known(&protected.site, revision, &ada).await;
        let call = peer.request("tools/call", json!({ "name": "open", "arguments": {} }));
        let ran = protected.ran();
        for token in &others {
            let stolen = |ask: super::raw::Ask| ask.with("authorization", &format!("Bearer {token}"));
            for ask in [
                peer.post(&call),
                peer.post(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } })),
                peer.post(&json!({ "jsonrpc": "2.0", "id": 1, "result": {} })),
                peer.get(),
                peer.delete(),
            ] {
                let mut refused = stolen(ask).unjudged().send().await;
                assert_eq!(refused.status, 404, "{revision}");
                assert!(!refused.text().await.contains("ada"), "{revision}");
            }
        }
        assert_eq!(protected.ran(), ran, "{revision}");
        assert_eq!(peer.tool("open").await, "open", "{revision}: it goes on");
    }
}

// covers: SEC-SESSION-BIND-USER, AUTH-NO-DATA-LEAK
#[tokio::test]
async fn streams_and_events_are_their_owners() {
    let (protected, ada, others) = three().await;
    let peer = Peer::known(&protected.site, POLLED, &ada).await;
    let mut stream = peer.listen().await;
    let event = stream.event().await.expect("an event").id.expect("an id");
    for token in &others {
        let theirs = Peer::known(&protected.site, POLLED, token).await;
        let as_other = |ask: super::raw::Ask| ask.with("authorization", &format!("Bearer {token}"));
        assert_eq!(as_other(peer.get().and("last-event-id", &event)).status().await, 404);
        let status = theirs.get().and("last-event-id", &event).status().await;
        assert!([400, 404].contains(&status), "events of others: {status}");
    }
    change(&protected.site, "news");
    let told: Value = stream.next().await;
    assert_eq!(told["method"], "notifications/tools/list_changed", "the stream is still its owner's");
    // Its owner comes back for it with a new token.
    let renewed = protected.token("ada", "more");
    drop(stream);
    let resumed = peer.resume(&event).await;
    assert_eq!(resumed.status, 200);
    drop(resumed);
    let ask = peer.get().and("last-event-id", &event).with("authorization", &format!("Bearer {renewed}"));
    assert_eq!(ask.status().await, 200, "who it is counts, not by which token");
}

// covers: SEC-SESSION-BIND-USER
#[tokio::test]
async fn the_older_pair_is_its_owners() {
    let (protected, ada, others) = three().await;
    let get = protected.site.ask("GET", "/sse").and("accept", "text/event-stream");
    let mut stream = get.and("authorization", &format!("Bearer {ada}")).send().await;
    let endpoint = stream.event().await.expect("an event").data;
    let hello = request("hello", "initialize", hello(LEGACY[0], json!({})));
    let post = |token: &str| {
        protected.site.post(&hello).to(&endpoint).and("authorization", &format!("Bearer {token}"))
    };
    for token in &others {
        assert_eq!(post(token).status().await, 404);
    }
    assert_eq!(post(&ada).status().await, 202);
    assert!(stream.event().await.expect("an answer").data.contains("protocolVersion"));
}

/// Who has the same name at another issuer is somebody else.
#[tokio::test]
async fn two_of_one_name_are_two() {
    let (protected, ada, others) = three().await;
    let who = |token: String| {
        let protected = &protected;
        async move { text_of(&protected.who(&token).await.json().await) }
    };
    let first = who(ada).await;
    let [bob, other_ada] = others;
    let (bob, other_ada) = (who(bob).await, who(other_ada).await);
    assert!(first != bob && first != other_ada && bob != other_ada);
    assert!(other_ada.ends_with(" ada []") && first.ends_with(" ada []"));
}
