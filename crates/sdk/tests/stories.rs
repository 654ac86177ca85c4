//! Whole servers and whole clients: each story in every revision, over memory, over pipes and over HTTP.
//!
//! Every message that either side sends is judged by the schema of its revision.

#[path = "stories/fixtures.rs"]
mod fixtures;

use contexture::client::{Client, ElicitAnswer, Elicitation};
use contexture::model::{Content, LoggingLevel};
use contexture::testing::{Side, Transcript, connect_with, stories};
use contexture::{Args, Context, Error, Json, Server, prompt, resource, tool};
use contexture_judge::{From, Watch};
use serde_json::json;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema, PartialEq, Debug)]
struct Weather {
    city: String,
    celsius: f64,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Name {
    name: String,
}

fn server() -> Server {
    Server::new("story", "1.0.0")
        .instructions("Tell a story.")
        .tool(tool("add").handler(|Args(add): Args<Add>| async move { add.a + add.b }))
        .tool(tool("weather").handler(|| async { Json(Weather { city: "Bern".into(), celsius: 21.5 }) }))
        .tool(tool("fail").handler(|| async { Err::<String, _>("it did not work") }))
        .tool(tool("greet").handler(|ctx: Context| async move {
            let name: Name = ctx.elicit("who", "Your name?").await?;
            Ok::<_, Error>(format!("Hello, {}", name.name))
        }))
        .tool(tool("count").handler(|ctx: Context| async move {
            for step in 1..=3 {
                ctx.progress_message(f64::from(step), Some(3.0), format!("{step} of 3"));
            }
            ctx.logger("count").log(LoggingLevel::Warning, "done");
            "counted"
        }))
        .tool(tool("kinds").handler(|| async {
            vec![
                Content::text("text"),
                Content::image([1, 2, 3], "image/png"),
                Content::audio([4], "audio/wav"),
            ]
        }))
        .resource(resource("story://readme").name("readme").mime_type("text/plain").text("read me"))
        .resource(
            resource("story://notes/{name}")
                .name("note")
                .handler(|Args(note): Args<Name>| async move { note.name }),
        )
        .prompt(prompt("ask").handler(|Args(who): Args<Name>| async move { format!("Ask {}", who.name) }))
}

fn client() -> contexture::client::Builder {
    Client::builder()
        .name("story", "1.0.0")
        .elicitation(Elicitation::new(|_| async { ElicitAnswer::accept([("name", "Ada")]) }))
}

/// Judges both sides of everything that was said.
fn judge(told: &[(contexture::revision::Revision, Transcript)]) {
    for judged in [From::Client, From::Server] {
        for (_, transcript) in told {
            let mut watch = Watch::new(judged);
            for entry in transcript.entries() {
                let from = if entry.from == Side::Server { From::Server } else { From::Client };
                watch.message(from, &entry.value());
            }
        }
    }
}

// covers: SCHEMA-AUTHORITATIVE, BASE-CUSTOM-TRANSPORT, BASE-CUSTOM-TRANSPORT-FORMAT, LIFE-OP-VERSION
#[tokio::test]
async fn the_whole_story_in_every_revision() {
    let told = stories(server, client, |story| async move {
        let client = &story.client;
        assert_eq!(client.revision(), story.revision);
        assert_eq!(client.instructions().as_deref(), Some("Tell a story."));
        let tools = client.tools().await.expect("a list");
        assert_eq!(tools.len(), 6);

        let sum = client.call("add", json!({"a": 1, "b": 2})).await.expect("an answer");
        assert_eq!(sum.text(), "3");
        if story.revision.rules().structured_output != contexture::revision::StructuredOutput::Absent {
            assert_eq!(sum.structured::<i64>().expect("a number"), 3);
            let weather = client.call("weather", json!({})).await.expect("an answer");
            let expected = Weather { city: "Bern".into(), celsius: 21.5 };
            assert_eq!(weather.structured::<Weather>().expect("weather"), expected);
        }
        let failed = client.call("fail", json!({})).await.expect("a result");
        assert!(failed.is_error() && failed.text() == "it did not work");
        client.call("kinds", json!({})).await.expect("content of all kinds");
        client.call("count", json!({})).await.expect("an answer");

        if story.revision.rules().has_elicitation() {
            let greeting = client.call("greet", json!({})).await.expect("an answer");
            assert_eq!(greeting.text(), "Hello, Ada");
        }
        client.read("story://readme").await.expect("the resource");
        client.read("story://notes/today").await.expect("the template");
        assert!(client.read("story://nothing").await.is_err());
        let prompt = client.prompt("ask", json!({"name": "Bo"})).await.expect("a prompt");
        assert_eq!(prompt.messages[0].content.as_text(), Some("Ask Bo"));
    })
    .await
    .expect("all stories begin");
    assert_eq!(told.len(), 5 * contexture::testing::Wiring::ALL.len());
    judge(&told);
}

#[tokio::test]
async fn what_was_recorded_can_be_replayed() {
    let told = stories(server, client, |story| async move {
        story.client.tools().await.expect("a list");
        story.client.call("add", json!({"a": 20, "b": 22})).await.expect("an answer");
    })
    .await
    .expect("all stories begin");
    for (revision, transcript) in told {
        let text = transcript.to_text();
        let again = Transcript::from_text(&text).expect("a transcript");
        again.replay(server()).await.unwrap_or_else(|error| panic!("{revision}: {error}"));
        let other = Server::new("story", "2.0.0").instructions("Tell a story.");
        assert!(again.replay(other).await.is_err(), "another server is noticed");
    }
}

#[tokio::test]
async fn a_test_may_bring_a_client_of_its_own() {
    let ask = tool("who").handler(|ctx: Context| async move {
        let name: Name = ctx.elicit("who", "Your name?").await?;
        Ok::<_, Error>(name.name)
    });
    let person = Elicitation::new(async |_| ElicitAnswer::accept([("name", "Ada")]));
    let client = Client::builder().elicitation(person);
    let client = connect_with(Server::new("asks", "1").tool(ask), client).await.expect("connected");
    let reply = client.call("who", ()).await.expect("a reply").ok().expect("no failure");
    assert_eq!(reply.text(), "Ada");
}
