//! What belongs to no call: said once, to whoever listens, and never in answer to anything.

use contexture::model::{CreateMessageParams, ElicitParams};
use contexture::server::Session;
use contexture::{Context, Policy, Server, resource, tool};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::support::{LEGACY, POLLED, Peer, Site, change, server};

fn watched() -> Server {
    let mut server = server().0;
    for number in 0..8 {
        server = server.resource(resource(format!("test://{number}")).name(format!("{number}")).text("x"));
    }
    server
}

async fn subscribe(peer: &Peer) {
    for number in 0..8 {
        let answer = peer.call("resources/subscribe", json!({ "uri": format!("test://{number}") })).await;
        assert!(answer["result"].is_object(), "{answer}");
    }
}

fn uri_of(message: &Value) -> String {
    assert_eq!(message["method"], "notifications/resources/updated");
    message["params"]["uri"].as_str().expect("a URI").to_owned()
}

// covers: HTTP-GET-SERVER-MSGS, HTTP-GET-NO-RESPONSES
#[tokio::test]
async fn changes_and_questions_come_by_the_stream() {
    let site = Site::of(watched().tool(tool("ping").handler(|ctx: Context| async move {
        ctx.session().expect("a session").ping().await.map(|()| "answered")
    })))
    .await;
    for revision in LEGACY {
        let peer = Peer::of(&site, revision).await;
        subscribe(&peer).await;
        let mut general = peer.listen().await;
        site.registry.resource_updated("test://3");
        assert_eq!(uri_of(&general.next().await), "test://3");
        change(&site, &format!("more-{revision}"));
        assert_eq!(general.next().await["method"], "notifications/tools/list_changed");
        // Outside of any call, even if a call is the reason.
        let call = peer.request("tools/call", json!({ "name": "ping", "arguments": {} }));
        let reply = tokio::spawn(peer.post(&call).send());
        let ping = general.next().await;
        assert_eq!(ping["method"], "ping");
        assert_eq!(peer.reply(&ping, json!({})).await, 202);
        let mut reply = reply.await.expect("a response");
        assert!(reply.is_json(), "nothing but the answer was said there");
        assert_eq!(super::support::text_of(&reply.json().await), "answered");
        // Calls are not answered here.
        for _ in 0..3 {
            assert_eq!(peer.tool("now").await, "now");
        }
        site.registry.resource_updated("test://4");
        assert_eq!(uri_of(&general.next().await), "test://4");
    }
}

type Told = mpsc::UnboundedReceiver<String>;

/// A server that asks everything there is to ask as soon as it may, and tells what it heard.
fn curious() -> (Server, Told) {
    async fn ask(session: Session) -> String {
        session.ping().await.expect("an answer");
        let roots = session.roots().await.map_or(0, |roots| roots.len());
        let sample: CreateMessageParams = serde_json::from_value(json!({
            "messages": [{ "role": "user", "content": { "type": "text", "text": "?" } }], "maxTokens": 5,
        }))
        .expect("a question");
        let model = session.sample(sample).await.map_or_else(|_| "none".to_owned(), |answer| answer.model);
        let form: ElicitParams = serde_json::from_value(json!({
            "message": "name?", "requestedSchema": { "type": "object", "properties": {} },
        }))
        .expect("a form");
        let person = session.elicit(form).await.is_ok();
        format!("{roots} {model} {person}")
    }
    let (tell, told) = mpsc::unbounded_channel();
    let server = server().0.on_initialized(move |session| {
        let tell = tell.clone();
        async move { tell.send(ask(session).await).expect("the test waits") }
    });
    (server, told)
}

// covers: HTTP-GET-SERVER-MSGS
#[tokio::test]
async fn a_server_speaks_first() {
    for (revision, elicits) in LEGACY.into_iter().zip([false, false, true, true]) {
        let (server, mut told) = curious();
        let site = Site::of(server).await;
        let able = json!({ "roots": {}, "sampling": {}, "elicitation": {} });
        let peer = Peer::able(&site, revision, able).await;
        // It asked before anybody listened: the question waits.
        let mut general = peer.listen().await;
        let answers = [
            ("ping", json!({})),
            ("roots/list", json!({ "roots": [{ "uri": "file:///a" }] })),
            (
                "sampling/createMessage",
                json!({ "role": "assistant", "model": "m", "content": { "type": "text", "text": "!" } }),
            ),
            ("elicitation/create", json!({ "action": "accept", "content": {} })),
        ];
        for (method, answer) in &answers[..if elicits { 4 } else { 3 }] {
            let question = general.next().await;
            assert_eq!(question["method"], *method, "{revision}");
            assert_eq!(peer.reply(&question, answer.clone()).await, 202);
        }
        assert_eq!(told.recv().await, Some(format!("1 m {elicits}")), "{revision}");
    }
}

// covers: HTTP-ONE-STREAM-PER-MSG, HTTP-GET-CLIENT-CLOSE, HTTP-MULTI-STREAMS
#[tokio::test]
async fn each_message_is_said_once() {
    let site = Site::of(watched()).await;
    for revision in LEGACY {
        let peer = Peer::of(&site, revision).await;
        subscribe(&peer).await;
        let mut first = peer.listen().await;
        let mut second = peer.listen().await;
        for number in 0..3 {
            site.registry.resource_updated(&format!("test://{number}"));
            assert_eq!(uri_of(&first.next().await), format!("test://{number}"));
        }
        drop(first);
        // The other one takes over; of what was said before it hears nothing.
        site.registry.resource_updated("test://7");
        let heard = uri_of(&second.next().await);
        assert_eq!(heard, "test://7", "{revision}");
    }
}

// covers: HTTP-ONE-STREAM-PER-MSG
#[tokio::test]
async fn sessions_hear_only_their_own() {
    let site = Site::of(watched()).await;
    for revision in LEGACY {
        let (peer, other) = (Peer::of(&site, revision).await, Peer::of(&site, revision).await);
        let answer = peer.call("resources/subscribe", json!({ "uri": "test://1" })).await;
        assert!(answer["result"].is_object());
        let answer = other.call("resources/subscribe", json!({ "uri": "test://2" })).await;
        assert!(answer["result"].is_object());
        let (mut own, mut others) = (peer.listen().await, other.listen().await);
        for uri in ["test://2", "test://1", "test://3"] {
            site.registry.resource_updated(uri);
        }
        assert_eq!(uri_of(&own.next().await), "test://1");
        assert_eq!(uri_of(&others.next().await), "test://2");
        let answer = peer.call("resources/unsubscribe", json!({ "uri": "test://1" })).await;
        assert!(answer["result"].is_object());
        site.registry.resource_updated("test://1");
        change(&site, &format!("end-{revision}"));
        assert_eq!(own.next().await["method"], "notifications/tools/list_changed");
        assert_eq!(others.next().await["method"], "notifications/tools/list_changed");
    }
}

#[tokio::test]
async fn a_session_has_so_many_streams() {
    let site = Site::of(watched()).await;
    let peer = Peer::of(&site, POLLED).await;
    let mut streams = Vec::new();
    let refused = loop {
        let reply = peer.get().send().await;
        if reply.status != 200 {
            break reply;
        }
        streams.push(reply);
        assert!(streams.len() < 100, "there is no bound");
    };
    assert_eq!(refused.status, 429);
    assert!(refused.header("retry-after").is_some());
    let other = Peer::of(&site, POLLED).await;
    drop(other.listen().await);
}

#[tokio::test]
async fn streams_of_everybody_together_are_bounded() {
    let mut policy = Policy::default();
    policy.streams = 2;
    let site = Site::of(watched().policy(policy)).await;
    let first = Peer::of(&site, POLLED).await.listen().await;
    let sse = site.ask("GET", "/sse").and("accept", "text/event-stream").send().await;
    assert_eq!(sse.status, 200);
    let peer = Peer::of(&site, POLLED).await;
    let refused = peer.get().send().await;
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    assert_eq!(site.ask("GET", "/sse").and("accept", "text/event-stream").status().await, 503);
    assert_eq!(peer.tool("now").await, "now", "calls are no streams");
    drop((first, sse));
}
