//! Completions tell nothing to those who may not know.

use contexture::Client;
use contexture::model::Reference;
use serde_json::json;

use crate::stage::{DENIED, Stage, refused};
use crate::upstream::{ERAS, Upstream};

// covers: COMPL-SEC-DISCLOSURE
#[tokio::test]
async fn whoever_may_not_have_a_prompt_learns_nothing_of_its_values() {
    for (client, server) in ERAS.into_iter().flat_map(|client| ERAS.map(|server| (client, server))) {
        let (closed, open) = (Upstream::start("closed", server).await, Upstream::start("open", server).await);
        let rules = json!([{ "server": "closed", "prompt": "*", "decision": "deny" }]);
        let servers = json!({ "closed": closed.entry(), "open": open.entry() });
        let stage = Stage::new(servers, json!({ "policy": { "rules": rules } }));
        let front = stage.client(client, Client::builder()).await;
        let complete = |prompt: &str, argument: &'static str, typed: &'static str| {
            front.complete(Reference::prompt(prompt.to_owned()), argument, typed, Default::default())
        };
        let mut answers = Vec::new();
        for (argument, typed) in
            [("word", "confidential-a"), ("word", "nothing-like-it"), ("no-such-argument", "")]
        {
            answers.push(refused(complete("closed__greet", argument, typed).await));
        }
        assert_eq!(answers[0].0, DENIED, "{client:?} {server:?}");
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{client:?} {server:?}: {answers:?}");
        let known = complete("open__greet", "word", "confidential-a").await.expect("proposals");
        assert_eq!(known.values, ["confidential-ada", "confidential-alan"], "{client:?} {server:?}");
        assert_eq!(closed.heard.of("completion/complete").len(), 0, "{client:?} {server:?}");
        assert_eq!(open.heard.of("completion/complete").len(), 1, "{client:?} {server:?}");
    }
}
