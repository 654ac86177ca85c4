//! Many clients at one gateway: what a server logs for one of them is for nobody else.

use std::sync::{Arc, Mutex};

use contexture::Client;
use contexture::client::Builder;
use contexture::model::LoggingLevel;
use contexture::revision::Era;
use serde_json::{Value, json};

use crate::stage::{Listening, Stage, until};
use crate::upstream::{ERAS, Upstream, child, revisions};

/// How often they talk.
const TALK: usize = 10;

/// Who it was that logged, how grave and what.
type Log = Arc<Mutex<Vec<(Option<String>, LoggingLevel, Value)>>>;

fn listening(era: Era) -> (Builder, Log) {
    let log = Log::default();
    let kept = Arc::clone(&log);
    let builder = Client::builder().revisions(revisions(era)).on_log(move |_, message| {
        let line = (message.logger.clone(), message.level, message.data.clone());
        kept.lock().expect("whole").push(line);
    });
    (builder, log)
}

/// Two clients of one gateway, and what they hear of the server's log.
struct Two {
    clients: [Client; 2],
    logs: [Log; 2],
    _gateway: Listening,
    _stage: Stage,
}

impl Two {
    /// With a word about the level that they want, or without.
    async fn of(entry: Value, era: Era, level: Option<LoggingLevel>) -> Self {
        let stage = Stage::new(json!({ "files": entry }), json!({ "policy": { "default": "allow" } }));
        let gateway = stage.listen(&[]);
        let ((one, first), (two, second)) = (listening(era), listening(era));
        let one = one.connect(&gateway.url).await.expect("a client");
        let two = two.connect(&gateway.url).await.expect("a client");
        for client in [&one, &two] {
            if let Some(level) = level {
                client.set_log_level(level).await.expect("a level");
            }
        }
        Self { clients: [one, two], logs: [first, second], _gateway: gateway, _stage: stage }
    }

    /// Both at the same time, again and again, each with words of its own.
    async fn talk(&self) {
        let [one, two] = &self.clients;
        for number in 0..TALK {
            let word = |who: &str| json!({ "word": format!("{who}-{number}") });
            let one = async { one.call("files__log", word("one")).await };
            let two = async { two.call("files__log", word("two")).await };
            let (one, two) = tokio::join!(one, two);
            assert!(one.expect("an answer").text() == "logged" && two.expect("an answer").text() == "logged");
        }
        // One more exchange each: what came before it has arrived after it.
        for client in &self.clients {
            client.tools().await.expect("tools");
        }
    }

    fn heard(&self) -> [Vec<String>; 2] {
        self.logs.each_ref().map(|log| {
            let lines = log.lock().expect("whole").clone();
            lines.iter().filter_map(|(.., data)| data["word"].as_str().map(str::to_owned)).collect()
        })
    }
}

fn all_of(who: &str) -> Vec<String> {
    (0..TALK).map(|number| format!("{who}-{number}")).collect()
}

// covers: LOG-SEC-ACCESS, LOG-CLIENT-USE
#[tokio::test]
async fn log_messages_reach_those_whose_call_it_was() {
    for (client, server) in ERAS.into_iter().flat_map(|client| ERAS.map(|server| (client, server))) {
        let upstream = Upstream::start("files", server).await;
        for (way, entry) in [("http", upstream.entry()), ("pipe", child(server))] {
            let two = Two::of(entry, client, Some(LoggingLevel::Info)).await;
            two.talk().await;
            let all = || two.heard().iter().all(|words| words.len() >= TALK);
            until(&format!("all messages, {client:?} {server:?} {way}"), all).await;
            assert_eq!(two.heard(), [all_of("one"), all_of("two")], "{client:?} {server:?} {way}");
            let (logger, level, _) = two.logs[0].lock().expect("whole")[0].clone();
            let said = (logger.as_deref(), level);
            assert_eq!(said, (Some("files"), LoggingLevel::Warning), "as the server said it");
        }
    }
}

// covers: LOG-SEC-ACCESS
#[tokio::test]
async fn whoever_did_not_ask_for_them_hears_none_of_others() {
    for server in ERAS {
        let upstream = Upstream::start("files", server).await;
        for (way, entry) in [("http", upstream.entry()), ("pipe", child(server))] {
            // In this era servers log without being asked to.
            let two = Two::of(entry, Era::Legacy, None).await;
            two.talk().await;
            let [one, two] = two.heard();
            assert!(one.iter().all(|word| word.starts_with("one")), "{server:?} {way}: {one:?}");
            assert!(two.iter().all(|word| word.starts_with("two")), "{server:?} {way}: {two:?}");
        }
    }
}

// covers: LOG-SEC-ACCESS
#[tokio::test]
async fn others_have_calls_at_the_same_server_meanwhile() {
    for (client, server) in ERAS.into_iter().flat_map(|client| ERAS.map(|server| (client, server))) {
        let files = Upstream::start("files", server).await;
        let both = Two::of(files.entry(), client, Some(LoggingLevel::Info)).await;
        let [one, two] = &both.clients;
        let logs = one.call("files__log_later", json!({ "word": "mine" })).start();
        files.is_called("log_later", 1).await;
        let waits = two.call("files__wait", ()).start();
        files.is_called("wait", 1).await;
        files.gate.send_replace(true);
        logs.await.expect("an answer");
        waits.await.expect("an answer");
        two.tools().await.expect("tools");
        until("the message", || both.heard()[0] == ["mine"]).await;
        assert_eq!(both.heard()[1], Vec::<String>::new(), "{client:?} {server:?}: of somebody else");
    }
}
