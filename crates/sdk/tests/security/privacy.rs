//! What people, models and servers say is nobody else's business: not the log's, either.

use contexture::client::{ElicitAnswer, Elicitation, Sampling};
use contexture::model::{CreateMessageParams, CreateMessageResult, LoggingLevel, OneOrMany};
use contexture::model::{SamplingContent, SamplingMessage};
use contexture::revision::Revision;
use contexture::testing::{Side, stories};
use contexture::{Args, Client, Context, Error, Server, prompt, resource, tool};
use contexture_judge::Events;
use serde_json::json;

use crate::strategies::{Keys, Open};
use crate::support::Shown;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Secret {
    secret: String,
}

/// All that can be said to a server and by it; whatever is private begins with `hush`.
fn confidant() -> Server {
    let ask = tool("ask").handler(|ctx: Context| async move {
        let words = OneOrMany::One(SamplingContent::text("hush-question"));
        ctx.sample("q", CreateMessageParams::new(vec![SamplingMessage::user(words)], 9)).await?;
        match ctx.elicit::<Secret>("p", "hush-message").await {
            Ok(_) | Err(Error::Unsupported(_)) => Ok("hush-result"),
            Err(error) => Err(error),
        }
    });
    let note = tool("note").handler(|ctx: Context, Args(note): Args<Secret>| async move {
        ctx.logger("notes").log(LoggingLevel::Error, json!({ "note": note.secret }));
        "noted"
    });
    Server::new("confidant", "1.0.0")
        .redact(|mut message| {
            message.data = json!("[redacted]");
            Some(message)
        })
        .tool(ask)
        .tool(note)
        .tool(tool("fail").handler(|| async { Err::<String, _>("hush-failure") }))
        .resource(resource("hush://resource").name("r").text("hush-contents"))
        .prompt(prompt("p").handler(|Args(it): Args<Secret>| async move { it.secret }))
}

fn client() -> contexture::client::Builder {
    let model =
        async |_| Ok::<_, String>(CreateMessageResult::new("m", SamplingContent::text("hush-answer")));
    let person = async |_| ElicitAnswer::accept([("secret", "hush-person")]);
    Client::builder()
        .sampling(Sampling::new(model).approve_all())
        .elicitation(Elicitation::new(person))
        // The other hook of this kind: what comes back can be looked at before anybody else does.
        .filter_results(|_, reply| match reply.text().contains("hush-failure") {
            true => Err(Error::Invalid("held back".into())),
            false => Ok(reply),
        })
}

async fn confide(client: &Client) {
    client.set_log_level(LoggingLevel::Debug).await.expect("is set");
    client.call("ask", ()).await.expect("a reply").ok().expect("no failure");
    client.call("note", json!({ "secret": "hush-argument" })).await.expect("a reply");
    assert!(matches!(client.call("fail", ()).await, Err(Error::Invalid(_))));
    client.call("note", json!({ "hush-name": 1 })).await.map(drop).unwrap_or_default();
    client.call("no-such-tool", json!({ "secret": "hush-argument" })).await.map(drop).unwrap_or_default();
    client.read("hush://resource").await.expect("a resource");
    client.read("hush://nothing").await.expect_err("there is none");
    client.prompt("p", json!({ "secret": "hush-words" })).await.expect("a prompt");
}

/// Both sides run on this thread, so everything that either tells its operator is heard, down to the last detail.
// covers: SEC-IMPL-PRIVACY
#[tokio::test]
async fn no_payload_is_logged_by_either_side() {
    let log = Events::on_this_thread();
    let told = stories(confidant, client, async |story| confide(&story.client).await);
    for (_, transcript) in told.await.expect("all stories begin") {
        let said = transcript.to_text();
        assert!(said.contains("hush-argument") && said.contains("hush-contents"), "it was said");
    }
    let open = Open::new(confidant(), |http| http.authorizer(Keys)).await;
    for revision in Revision::ALL {
        let builder = client().revisions(&[revision]).header("x-api-key", "key-of-hush");
        confide(&builder.connect(open.url.clone()).await.expect("connected")).await;
    }
    let lines = log.containing("");
    assert!(!lines.is_empty(), "something is logged");
    let leaks: Vec<_> = lines.iter().filter(|line| line.contains("hush")).collect();
    assert!(leaks.is_empty(), "{leaks:#?}");
}

/// What a server tells its client of its own accord passes a hook first.
// covers: SEC-IMPL-PRIVACY
#[tokio::test]
async fn what_is_logged_to_the_client_is_redacted_first() {
    let heard = Shown::new();
    let client = || {
        let heard = heard.clone();
        client().on_log(move |_, message| heard.add(message.data.clone()))
    };
    stories(confidant, client, async |story| {
        story.client.set_log_level(LoggingLevel::Debug).await.expect("is set");
        story.client.call("note", json!({ "secret": "hush-argument" })).await.expect("a reply");
        let said = story.transcript.sent_by(Side::Server);
        let logged: Vec<_> =
            said.iter().filter(|message| message["method"] == "notifications/message").collect();
        assert_eq!(logged.len(), 1, "{}", story.revision);
        assert_eq!(logged[0]["params"]["data"], "[redacted]");
        assert_eq!(heard.take(), [json!("[redacted]")]);
    })
    .await
    .expect("all stories begin");
}
