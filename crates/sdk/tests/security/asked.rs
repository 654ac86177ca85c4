//! Five things that need consent: calling a tool, reading a resource, asking the model, asking the person, and
//! showing roots. A person who says no to all of them, one who says yes, and an application that offers none.

use contexture::client::{
    Approval, Builder, ElicitAnswer, Elicitation, Question, ResourceRead, Roots, Sampling, SamplingApproval,
    SamplingQuestion, SamplingReview, ToolCall,
};
use contexture::model::{CreateMessageParams, CreateMessageResult, OneOrMany, Root};
use contexture::model::{SamplingContent, SamplingMessage};
use contexture::testing::{Story, stories};
use contexture::{Client, Context, Error, Server, resource, tool};
use serde_json::Value;

use crate::support::{Shown, answer_text, judge, sent, told};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Name {
    name: String,
}

/// A server that wants everything.
fn curious() -> Server {
    let outcome =
        |outcome: Result<String, Error>| outcome.unwrap_or_else(|error| format!("nothing: {error}"));
    let model = tool("ask_model").handler(move |ctx: Context| async move {
        let words = OneOrMany::One(SamplingContent::text("What do you know?"));
        let words = CreateMessageParams::new(vec![SamplingMessage::user(words)], 100);
        outcome(ctx.sample("model", words).await.map(|answer| answer_text(&answer)))
    });
    let person = tool("ask_person").handler(move |ctx: Context| async move {
        outcome(ctx.elicit::<Name>("person", "Who are you?").await.map(|name| name.name))
    });
    let roots = tool("ask_roots").handler(move |ctx: Context| async move {
        let uris = |roots: &[Root]| roots.iter().map(|root| root.uri.clone()).collect::<Vec<_>>().join(" ");
        outcome(ctx.roots("roots").await.map(|roots| uris(&roots)))
    });
    Server::new("curious", "1.0.0")
        .tool(model)
        .tool(person)
        .tool(roots)
        .tool(tool("act").handler(|| async { "done" }))
        .resource(resource("curious://diary").name("diary").text("Dear diary"))
}

/// What a server must not learn from a person who says no.
const SECRETS: [&str; 3] = ["secret-of-the-model", "secret-of-the-person", "secret-of-the-disk"];

/// An application that asks its person about everything, and notes what they were asked about.
fn asking(person: bool, shown: &Shown<(&'static str, String, String)>) -> Builder {
    let note = |what: &'static str| {
        let shown = shown.clone();
        move |server: &str, about: String| shown.add((what, server.to_owned(), about))
    };
    let (act, read, sample, elicit, see) =
        (note("act"), note("read"), note("sample"), note("elicit"), note("roots"));
    let verdict = if person { Approval::Allow } else { Approval::Deny };
    let model = async |_| Ok::<_, String>(CreateMessageResult::new("m", SamplingContent::text(SECRETS[0])));
    let sampling = Sampling::new(model).approve(move |question: SamplingQuestion| {
        let asked = question.params.messages[0].content.as_slice().len();
        sample(question.server.display_name(), format!("{asked} block"));
        async move { if person { SamplingApproval::Allow } else { SamplingApproval::Deny("no".into()) } }
    });
    let elicitation = Elicitation::new(move |question: Question| {
        elicit(question.server().display_name(), question.message().to_owned());
        async move { if person { ElicitAnswer::accept([("name", SECRETS[1])]) } else { ElicitAnswer::Decline } }
    });
    let roots = Roots::new().with(Root::new(format!("file:///{}", SECRETS[2]))).expect("a root");
    let roots = roots.consent(move |server| {
        see(server.display_name(), String::new());
        async move { person }
    });
    Client::builder()
        .server_name("mine")
        .approve_tools(move |call: ToolCall| {
            // What the server asks during a call is asked about by itself.
            let verdict = if call.tool.starts_with("ask_") { Approval::Allow } else { verdict };
            if call.tool == "act" {
                act(call.server.display_name(), call.tool);
            }
            async move { verdict }
        })
        .approve_reads(move |about: ResourceRead| {
            read(about.server.display_name(), about.uri);
            async move { verdict }
        })
        .sampling(sampling)
        .elicitation(elicitation)
        .roots(roots)
}

/// What the server learned from a question, or nothing if the call was given up for it.
async fn learned(story: &Story, tool: &str) -> Option<String> {
    match story.client.call(tool, ()).await {
        Ok(reply) => Some(reply.text()),
        Err(Error::Declined) => None,
        Err(other) => panic!("{}: {tool}: {other}", story.revision),
    }
}

fn elicits(story: &Story) -> bool {
    story.revision.rules().has_elicitation()
}

/// What everybody was asked about, in this order.
fn expected(story: &Story) -> Vec<(&'static str, String, String)> {
    let all = [
        ("act", "act"),
        ("read", "curious://diary"),
        ("sample", "1 block"),
        ("elicit", "Who are you?"),
        ("roots", ""),
    ];
    let all = all.into_iter().filter(|(what, _)| *what != "elicit" || elicits(story));
    all.map(|(what, about)| (what, "mine".to_owned(), about.to_owned())).collect()
}

// covers: SEC-CONSENT-OPERATIONS, SEC-USER-CONTROL, SEC-DATA-CONSENT, SEC-REVIEW-UI
#[tokio::test]
async fn a_person_who_says_no_keeps_everything_to_themselves() {
    let shown = Shown::new();
    let stories = stories(
        curious,
        || asking(false, &shown),
        async |story| {
            assert!(matches!(story.client.call("act", ()).await, Err(Error::Declined)));
            assert!(matches!(story.client.read("curious://diary").await, Err(Error::Declined)));
            let raw = story.client.request("resources/read", serde_json::json!({ "uri": "curious://diary" }));
            assert!(matches!(raw.await, Err(Error::Declined)), "no other door either");
            for tool in ["ask_model", "ask_person", "ask_roots"] {
                let learned = learned(&story, tool).await.unwrap_or_default();
                let nothing = learned.is_empty() || learned.starts_with("nothing: ");
                assert!(nothing, "{}: {tool}: {learned}", story.revision);
            }
            assert!(sent(&story.transcript, "resources/read").is_empty());
            let calls = sent(&story.transcript, "tools/call");
            assert!(!calls.is_empty() && calls.iter().all(|call| call["params"]["name"] != "act"));
            let told = told(&story.transcript);
            assert!(!SECRETS.iter().any(|secret| told.contains(secret)), "{}: {told}", story.revision);
            let mut expected = expected(&story);
            expected.insert(1, expected[1].clone());
            assert_eq!(shown.take(), expected, "{}: each was asked about", story.revision);
        },
    );
    stories.await.expect("all stories begin").iter().for_each(|(_, transcript)| judge(transcript));
}

// covers: SEC-CONSENT-OPERATIONS, SEC-REVIEW-UI
#[tokio::test]
async fn a_person_who_says_yes_is_asked_first() {
    let shown = Shown::new();
    let stories = stories(
        curious,
        || asking(true, &shown),
        async |story| {
            story.client.call("act", ()).await.expect("approved");
            assert_eq!(story.client.read("curious://diary").await.expect("approved").text(), "Dear diary");
            let learned = async |tool| learned(&story, tool).await.expect("an answer");
            assert_eq!(learned("ask_model").await, SECRETS[0]);
            if elicits(&story) {
                assert_eq!(learned("ask_person").await, SECRETS[1]);
            }
            assert_eq!(learned("ask_roots").await, format!("file:///{}", SECRETS[2]));
            assert_eq!(sent(&story.transcript, "resources/read").len(), 1);
            assert_eq!(shown.take(), expected(&story), "{}", story.revision);
        },
    );
    stories.await.expect("all stories begin").iter().for_each(|(_, transcript)| judge(transcript));
}

/// What was kept of an earlier read is no way around the person, who may have changed their mind.
// covers: SEC-CONSENT-OPERATIONS
#[tokio::test]
async fn what_was_kept_is_not_read_without_consent_either() {
    use contexture::model::{ReadResourceResult, ResourceContents};
    let diary = || {
        let kept = resource("curious://diary").name("diary").handler(|| async {
            let mut result = ReadResourceResult::new(vec![ResourceContents::text("curious://diary", "Dear")]);
            result.ttl_ms = Some(3_600_000);
            result
        });
        Server::new("curious", "1.0.0").resource(kept)
    };
    let answers: Shown<Approval> = Shown::new();
    let client = || {
        let answers = answers.clone();
        Client::builder().approve_reads(move |_| {
            let answer = answers.take().pop().unwrap_or(Approval::Deny);
            async move { answer }
        })
    };
    stories(diary, client, async |story| {
        for _ in 0..2 {
            answers.add(Approval::Allow);
            story.client.read("curious://diary").await.expect("approved");
        }
        let asked = if story.revision.rules().has_cache_hints { 1 } else { 2 };
        assert_eq!(sent(&story.transcript, "resources/read").len(), asked);
        assert!(matches!(story.client.read("curious://diary").await, Err(Error::Declined)));
        assert_eq!(sent(&story.transcript, "resources/read").len(), asked);
    })
    .await
    .expect("all stories begin");
}

/// What is offered is decided for each server by itself, and a server is told nothing else.
// covers: SEC-USER-CONTROL
#[tokio::test]
async fn each_server_is_offered_what_the_person_switched_on_for_it() {
    let declared = |story: &Story| -> Value {
        let first = story.transcript.sent_by(contexture::testing::Side::Client).remove(0);
        let meta = &first["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
        if meta.is_object() { meta.clone() } else { first["params"]["capabilities"].clone() }
    };
    let names =
        |value: &Value| -> Vec<String> { value.as_object().expect("capabilities").keys().cloned().collect() };
    stories(curious, Client::builder, async |story| {
        assert!(names(&declared(&story)).is_empty(), "{}: by default nothing", story.revision);
        for tool in ["ask_model", "ask_person", "ask_roots"] {
            let learned = learned(&story, tool).await.expect("a reply");
            assert!(learned.starts_with("nothing: the client does not support"), "{learned}");
        }
    })
    .await
    .expect("all stories begin");
    let only_roots = || Client::builder().roots(Roots::new());
    stories(curious, only_roots, async |story| {
        assert_eq!(names(&declared(&story)), ["roots"]);
        assert_eq!(learned(&story, "ask_roots").await.as_deref(), Some(""));
        let learned = learned(&story, "ask_model").await.expect("a reply");
        assert!(learned.starts_with("nothing: the client does not support"), "{learned}");
    })
    .await
    .expect("all stories begin");
}

/// An answer of the model is the person's until they let it go.
// covers: SEC-DATA-CONSENT
#[tokio::test]
async fn an_answer_that_the_person_holds_back_stays_here() {
    let model = async |_| Ok::<_, String>(CreateMessageResult::new("m", SamplingContent::text(SECRETS[0])));
    let client = || {
        let held =
            Sampling::new(model).approve_all().review(async |_, _| SamplingReview::Deny("mine".into()));
        Client::builder().sampling(held)
    };
    stories(curious, client, async |story| {
        let learned = learned(&story, "ask_model").await.unwrap_or_else(|| "nothing: ".into());
        assert!(learned.starts_with("nothing: "), "{learned}");
        assert!(!told(&story.transcript).contains(SECRETS[0]));
    })
    .await
    .expect("all stories begin");
}
