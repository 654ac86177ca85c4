//! Many clients at one gateway: what is one's own stays so.

use std::sync::{Arc, Mutex};

use contexture::Client;
use contexture::client::Builder;
use contexture::model::LoggingLevel;
use contexture::revision::Era;
use serde_json::{Value, json};

use crate::stage::{Stage, until};
use crate::upstream::{ERAS, Upstream, revisions};

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

fn words(log: &Log) -> Vec<String> {
    let lines = log.lock().expect("whole").clone();
    lines.iter().filter_map(|(.., data)| data["word"].as_str().map(str::to_owned)).collect()
}

// covers: LOG-SEC-ACCESS, LOG-CLIENT-USE
#[tokio::test]
async fn log_messages_reach_those_whose_call_it_was() {
    for (client, server) in ERAS.into_iter().flat_map(|client| ERAS.map(|server| (client, server))) {
        let files = Upstream::start("files", server).await;
        let stage =
            Stage::new(json!({ "files": files.entry() }), json!({ "policy": { "default": "allow" } }));
        let gateway = stage.listen(&[]);
        let ((one, one_log), (two, two_log)) = (listening(client), listening(client));
        let one = one.connect(&gateway.url).await.expect("a client");
        let two = two.connect(&gateway.url).await.expect("a client");
        for client in [&one, &two] {
            client.set_log_level(LoggingLevel::Info).await.expect("a level");
        }
        one.call("files__log", json!({ "word": "first" })).await.expect("an answer");
        two.call("files__log", json!({ "word": "second" })).await.expect("an answer");
        one.call("files__log", json!({ "word": "third" })).await.expect("an answer");
        until("all messages", || words(&one_log).len() >= 2 && !words(&two_log).is_empty()).await;
        two.ping_or_list().await;
        assert_eq!(words(&one_log), ["first", "third"], "{client:?} {server:?}");
        assert_eq!(words(&two_log), ["second"], "{client:?} {server:?}");
        let (logger, level, _) = one_log.lock().expect("whole")[0].clone();
        assert_eq!(
            (logger.as_deref(), level),
            (Some("files"), LoggingLevel::Warning),
            "as the server said it"
        );
    }
}

// covers: LOG-SEC-ACCESS
#[tokio::test]
async fn also_while_others_have_calls_at_the_same_server() {
    for (client, server) in ERAS.into_iter().flat_map(|client| ERAS.map(|server| (client, server))) {
        let files = Upstream::start("files", server).await;
        let stage =
            Stage::new(json!({ "files": files.entry() }), json!({ "policy": { "default": "allow" } }));
        let gateway = stage.listen(&[]);
        let ((one, one_log), (two, two_log)) = (listening(client), listening(client));
        let one = one.connect(&gateway.url).await.expect("a client");
        let two = two.connect(&gateway.url).await.expect("a client");
        for client in [&one, &two] {
            client.set_log_level(LoggingLevel::Info).await.expect("a level");
        }
        let logs = one.call("files__log_later", json!({ "word": "mine" })).start();
        files.is_called("log_later", 1).await;
        let waits = two.call("files__wait", ()).start();
        files.is_called("wait", 1).await;
        files.gate.send_replace(true);
        logs.await.expect("an answer");
        waits.await.expect("an answer");
        two.ping_or_list().await;
        assert_eq!(words(&two_log), Vec::<String>::new(), "{client:?} {server:?}: of somebody else");
        until("the message", || words(&one_log) == ["mine"]).await;
    }
}

/// One more exchange: what came before it has arrived after it.
trait Settles {
    async fn ping_or_list(&self);
}

impl Settles for Client {
    async fn ping_or_list(&self) {
        self.tools().await.expect("tools");
    }
}
