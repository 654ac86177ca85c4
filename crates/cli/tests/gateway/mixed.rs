//! Callers that use the same ids, tokens and subscriptions, servers that answer others, and questions across eras (J10, J11, J30).

use std::sync::{Arc, Mutex};

use contexture::client::{ElicitAnswer, Elicitation, Question};
use contexture::revision::Revision;
use contexture::{Client, Error};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::stage::{ERAS, Folder, Gateway, Pipe, allowing, call, is_alive, meta, text, until, within};
use crate::upstream::Upstream;

async fn one(era: &str) -> (Gateway, Upstream) {
    let folder = Folder::new();
    let one = Upstream::new(&folder, "one", era);
    let config = allowing(json!({ "one": one.entry }));
    (Gateway::with(folder, config, &[], &[]).await, one)
}

/// A modern call by hand, with this id and this progress token: everything that came back.
async fn by_hand(port: u16, id: Value, token: Value, word: String) -> String {
    let mut meta = meta();
    meta["progressToken"] = token;
    let arguments = json!({ "steps": 3, "word": word });
    let params = json!({ "name": "one__progress", "arguments": arguments, "_meta": meta });
    let body = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string();
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.expect("it listens");
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAccept: application/json, text/event-stream\r\n\
         Content-Type: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n\
         Mcp-Name: one__progress\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).await.expect("sent");
    let mut answer = String::new();
    within("an answer", stream.read_to_string(&mut answer)).await.expect("readable");
    answer
}

#[tokio::test]
async fn j10_the_same_ids_and_tokens_of_two_callers_do_not_meet() {
    for era in ["legacy", "modern"] {
        let (gateway, _one) = one(era).await;
        by_hand(gateway.port, json!(0), json!("t"), "warm".into()).await;
        let calls: Vec<_> = (0..20)
            .map(|number| {
                let port = gateway.port;
                tokio::spawn(async move {
                    let word = format!("word-{number}-");
                    (word.clone(), by_hand(port, json!(1), json!("token"), word).await)
                })
            })
            .collect();
        for call in calls {
            let (word, answer) = call.await.expect("no panic");
            assert!(answer.contains(&word), "J10 {era}: {answer}");
            let others: Vec<String> =
                (0..20).map(|number| format!("word-{number}-")).filter(|other| *other != word).collect();
            assert!(others.iter().all(|other| !answer.contains(other)), "J10 {era} {word}: {answer}");
            assert!(answer.contains(r#""progressToken":"token""#), "J10 {era}: no progress: {answer}");
        }
    }
}

#[tokio::test]
async fn j10_a_cancelled_call_is_the_only_one() {
    for era in ["legacy", "modern"] {
        for revision in ERAS {
            let (gateway, one) = one(era).await;
            let (first, second) = (gateway.client(revision).await, gateway.client(revision).await);
            text(&first, "one__echo", json!({})).await;
            text(&second, "one__echo", json!({})).await;
            let slow = tokio::spawn({
                let second = second.clone();
                async move { call(&second, "one__sleep", json!({ "ms": 1500 })).await }
            });
            until("J10: it is under way", || one.calls("sleep") == 1).await;
            let mut gone = Box::pin(call(&first, "one__hang", json!({})));
            let hanging = async {
                until("J10: it hangs", || one.calls("hang") == 1).await;
            };
            tokio::select! {
                outcome = &mut gone => panic!("J10: {outcome:?}"),
                () = hanging => {}
            }
            drop(gone);
            let cancelled = || {
                let all = one.heard();
                let hang = all.iter().find(|it| it["params"]["name"] == "hang").map(|it| it["id"].clone());
                let told = |it: &&Value| it["method"] == "notifications/cancelled";
                let ids: Vec<Value> =
                    all.iter().filter(told).map(|it| it["params"]["requestId"].clone()).collect();
                (hang.expect("it was called"), ids)
            };
            until("J10: the server is told", || !cancelled().1.is_empty()).await;
            let (hang, ids) = cancelled();
            assert!(ids.iter().all(|id| *id == hang), "J10 {era} {revision}: {ids:?}, but it was {hang}");
            let reply = slow.await.expect("no panic");
            assert_eq!(reply.expect("J10: the other goes on").text(), "slept");
        }
    }
}

#[tokio::test]
async fn j11_answers_that_nobody_waits_for_reach_nobody() {
    for era in ["legacy", "modern"] {
        for revision in ERAS {
            let (gateway, _one) = one(era).await;
            let (first, second) = (gateway.client(revision).await, gateway.client(revision).await);
            text(&first, "one__echo", json!({})).await;
            assert_eq!(text(&first, "one__stray", json!({})).await, "mine", "J11 {era} {revision}");
            for client in [&first, &second] {
                let told = text(client, "one__echo", json!({ "x": "y" })).await;
                assert!(told.contains("\"x\"") && !told.contains("stolen"), "J11 {era}: {told}");
            }
        }
    }
}

fn answering(word: &'static str, asked: Arc<Mutex<Vec<String>>>) -> Elicitation {
    Elicitation::new(move |question| {
        let Question::Form { message, .. } = question else { panic!("no form: {question:?}") };
        asked.lock().expect("nobody panicked").push(message);
        async move { ElicitAnswer::accept([("word", word)]) }
    })
}

#[tokio::test]
async fn j30_questions_reach_the_person_whose_call_it_is() {
    for era in ["legacy", "modern"] {
        for revision in ERAS {
            let (gateway, _one) = one(era).await;
            let mut clients = Vec::new();
            for word in ["alpha", "beta"] {
                let asked = Arc::new(Mutex::new(Vec::new()));
                let builder =
                    Client::builder().revisions(&[revision]).elicitation(answering(word, Arc::clone(&asked)));
                clients.push((gateway.connect(builder).await, word, asked));
            }
            for _ in 0..3 {
                for (client, word, asked) in &clients {
                    let before = asked.lock().expect("nobody panicked").len();
                    let said = text(client, "one__ask", json!({})).await;
                    assert!(said.contains(word), "J30 {era} {revision}: {said}");
                    let asked = asked.lock().expect("nobody panicked").clone();
                    assert_eq!(asked.len(), before + 1, "J30 {era} {revision}");
                    assert!(asked[before].contains("one"), "J30: it is not said who asks: {asked:?}");
                }
            }
        }
    }
}

#[tokio::test]
async fn j30_questions_out_of_turn_reach_nobody_else() {
    for revision in ERAS {
        let (gateway, one) = one("legacy").await;
        let asked = Arc::new(Mutex::new(Vec::new()));
        let mut clients = Vec::new();
        for word in ["alpha", "beta"] {
            let builder =
                Client::builder().revisions(&[revision]).elicitation(answering(word, Arc::clone(&asked)));
            clients.push(gateway.connect(builder).await);
        }
        text(&clients[1], "one__echo", json!({})).await;
        assert_eq!(text(&clients[0], "one__later", json!({})).await, "done");
        let answers = || {
            let all = one.heard().into_iter();
            all.filter(|it| it["id"].as_str().is_some_and(|id| id.starts_with("later-")))
        };
        // Or it is given up: who comes next could be somebody else.
        let is_over = || one.pids().iter().any(|pid| !is_alive(*pid));
        until("J30: the server is answered", || answers().count() == 3 || is_over()).await;
        // Whoever else is there is not asked on behalf of somebody whose call is over.
        let said: Vec<Value> = answers().collect();
        assert!(said.iter().all(|it| !it.to_string().contains("beta")), "J30 {revision}: {said:?}");
        text(&clients[1], "one__echo", json!({})).await;
    }
}

#[tokio::test]
async fn j30_addresses_that_are_no_web_pages_are_passed_on_to_nobody() {
    let folder = Folder::new();
    let one = Upstream::new(&folder, "one", "legacy").with("callTimeout", json!("5s"));
    let mut pipe = Pipe::start(folder, &allowing(json!({ "one": one.entry })));
    let mut meta = meta();
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({ "elicitation": { "form": {}, "url": {} } });
    let bad = [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "data:text/html,x",
        "http://user:pw@127.0.0.1/",
        "no address",
    ];
    for (id, url) in bad.into_iter().chain(["https://example.com/x"]).enumerate() {
        let params = json!({ "name": "one__url", "arguments": { "url": url }, "_meta": meta });
        let line = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        pipe.send(format!("{line}\n").as_bytes()).await;
        let answer = pipe.answer(&json!(id)).await;
        let asks = answer["result"]["resultType"] == "input_required";
        assert_eq!(asks, url.starts_with("https:"), "J30 {url}: {answer}");
        // The same as an error (-32042).
        let id = json!(format!("first {id}"));
        let params = json!({ "name": "one__first", "arguments": { "url": url }, "_meta": meta });
        let line = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        pipe.send(format!("{line}\n").as_bytes()).await;
        let answer = pipe.answer(&id).await;
        assert!(answer["error"].is_object(), "J30 {url}: {answer}");
        assert_eq!(answer.to_string().contains(url), url.starts_with("https:"), "J30 {url}: {answer}");
        assert!(answer["error"].to_string().contains("one"), "J30: it is not said who asks: {answer}");
    }
}

#[tokio::test]
async fn j10_one_who_stops_listening_is_the_only_one() {
    for revision in ERAS {
        let (gateway, _one) = one("legacy").await;
        let (first, second) = (gateway.client(revision).await, gateway.client(revision).await);
        let mut news = second.events();
        for client in [&first, &second] {
            within("J10: subscribed", client.subscribe("one+test://one")).await.expect("J10: subscribed");
        }
        within("J10", first.unsubscribe("one+test://one")).await.expect("J10: unsubscribed");
        text(&first, "one__touch", json!({})).await;
        let told = within("J10: the other one is told", async {
            loop {
                if let Some(contexture::client::Event::ResourceUpdated(uri)) = news.next().await {
                    return uri;
                }
            }
        });
        assert_eq!(told.await, "one+test://one", "J10 {revision}");
    }
}

#[tokio::test]
async fn j30_who_cannot_be_asked_is_not_asked() {
    for era in ["legacy", "modern", "modern asking"] {
        for revision in ERAS {
            let (gateway, _one) = one(era).await;
            // Somebody else can be asked, and must not be.
            let asked = Arc::new(Mutex::new(Vec::new()));
            let builder =
                Client::builder().revisions(&[revision]).elicitation(answering("no", Arc::clone(&asked)));
            let other = gateway.connect(builder).await;
            text(&other, "one__echo", json!({})).await;
            let client = gateway.client(revision).await;
            let outcome = call(&client, "one__ask", json!({})).await;
            match &outcome {
                Err(Error::Remote(error)) if revision == Revision::V2026_07_28 && era == "modern" => {
                    assert_eq!(error.code, -32021, "J30 {era} {revision}: {error}");
                }
                // A legacy server is told that nobody can be asked, and answers as it likes.
                Ok(reply) => assert!(!reply.text().contains("\"word\""), "J30: {}", reply.text()),
                Err(_) => {}
            }
            assert!(
                asked.lock().expect("nobody panicked").is_empty(),
                "J30 {era} {revision}: somebody else was asked"
            );
        }
    }
}
