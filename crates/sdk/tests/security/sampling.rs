//! A server asks the model, and the person decides whether, what, and what comes back.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use contexture::client::{Sampling, SamplingApproval, SamplingQuestion, SamplingReview};
use contexture::model::{CreateMessageParams, CreateMessageResult, OneOrMany};
use contexture::model::{SamplingContent, SamplingMessage};
use contexture::testing::{Side, Story, stories};
use contexture::{Client, Context, Error, Server, tool};

use crate::support::{Shown, answer_text, judge, told};

/// A server whose tool asks the model, and says what it was told.
fn server() -> Server {
    let ask = tool("ask").handler(|ctx: Context| async move {
        let words = OneOrMany::One(SamplingContent::text("the whole question"));
        let words =
            CreateMessageParams::new(vec![SamplingMessage::user(words)], 100).system_prompt("Be rude.");
        match ctx.sample("q", words).await {
            Ok(answer) => format!("told: {}", answer_text(&answer)),
            Err(error) => format!("refused: {error}"),
        }
    });
    Server::new("asking", "1.0.0").tool(ask)
}

/// A model that counts how often it is asked.
fn model(asked: &Arc<AtomicUsize>) -> Sampling {
    let asked = Arc::clone(asked);
    Sampling::new(move |_| {
        asked.fetch_add(1, Ordering::Relaxed);
        async { Ok::<_, String>(CreateMessageResult::new("m", SamplingContent::text("the-answer"))) }
    })
}

/// The server was told no: by an error to its own request, or by a call that is not taken up again.
async fn assert_refused(story: &Story) {
    let before = told(&story.transcript).len();
    match story.client.call("ask", ()).await {
        Ok(reply) => assert!(reply.text().starts_with("refused: "), "{}", reply.text()),
        Err(error) => assert!(matches!(error, Error::Declined), "{error}"),
    }
    let after = told(&story.transcript).split_off(before);
    assert!(!after.contains("the-answer") && !after.contains("inputResponses"), "{after}");
    if story.revision.rules().has_server_requests {
        let errors = story.transcript.sent_by(Side::Client).into_iter();
        let errors: Vec<_> = errors.filter(|message| message.get("error").is_some()).collect();
        assert!(!errors.is_empty() && errors.iter().all(|error| error["error"]["code"] == -1), "{errors:?}");
    }
}

// covers: SEC-SAMPLING-CONSENT
#[tokio::test]
async fn the_model_is_not_asked_unless_somebody_agreed() {
    let asked = Arc::new(AtomicUsize::new(0));
    let deny = || model(&asked).approve(async |_| SamplingApproval::Deny("not now".into()));
    let nobody_decides = || model(&asked);
    for sampling in [&deny as &dyn Fn() -> Sampling, &nobody_decides] {
        let client = || Client::builder().sampling(sampling());
        let told = stories(server, client, async |story| {
            assert_refused(&story).await;
            assert_refused(&story).await;
        });
        told.await.expect("all stories begin").iter().for_each(|(_, transcript)| judge(transcript));
    }
    assert_eq!(asked.load(Ordering::Relaxed), 0);
}

// covers: SEC-SAMPLING-CONSENT
#[tokio::test]
async fn every_question_is_approved_by_itself() {
    let (asked, shown) = (Arc::new(AtomicUsize::new(0)), Shown::new());
    let client = || {
        let shown = shown.clone();
        let sampling = model(&asked).approve(move |question: SamplingQuestion| {
            shown.add(question);
            async { SamplingApproval::Allow }
        });
        Client::builder().sampling(sampling)
    };
    stories(server, client, async |story| {
        for _ in 0..3 {
            let reply = story.client.call("ask", ()).await.expect("a reply");
            assert_eq!(reply.text(), "told: the-answer");
        }
        let shown = shown.take();
        assert_eq!((shown.len(), asked.swap(0, Ordering::Relaxed)), (3, 3));
        for question in shown {
            assert_eq!(question.server.display_name(), "asking");
            assert_eq!(question.params.system_prompt.as_deref(), Some("Be rude."), "all of it is shown");
            assert!(format!("{:?}", question.params.messages).contains("the whole question"));
        }
    })
    .await
    .expect("all stories begin");
}

// covers: SEC-SAMPLING-USER-CONTROL
#[tokio::test]
async fn the_person_decides_whether_what_is_asked_and_what_is_told() {
    // Whether at all.
    stories(server, Client::builder, async |story| {
        let reply = story.client.call("ask", ()).await.expect("a reply");
        assert!(reply.text().contains("does not support"), "{}", reply.text());
    })
    .await
    .expect("all stories begin");
    // What the model is asked, and what the server is told.
    let shown = Shown::new();
    let client = || {
        let shown = shown.clone();
        let model = move |question: SamplingQuestion| {
            shown.add(question.params);
            async { Ok::<_, String>(CreateMessageResult::new("m", SamplingContent::text("the-answer"))) }
        };
        let sampling = Sampling::new(model)
            .approve(async |question: SamplingQuestion| {
                let mut edited = question.params;
                edited.system_prompt = None;
                edited.messages = vec![SamplingMessage::user(OneOrMany::One(SamplingContent::text("half")))];
                SamplingApproval::Edit(Box::new(edited))
            })
            .review(async |_, mut answer: CreateMessageResult| {
                answer.content = OneOrMany::One(SamplingContent::text("half an answer"));
                SamplingReview::Edit(Box::new(answer))
            });
        Client::builder().sampling(sampling)
    };
    let stories = stories(server, client, async |story| {
        let reply = story.client.call("ask", ()).await.expect("a reply");
        assert_eq!(reply.text(), "told: half an answer");
        let asked = shown.take().pop().expect("the model was asked");
        assert_eq!(asked.system_prompt, None);
        assert!(!format!("{:?}", asked.messages).contains("the whole question"));
        assert!(!told(&story.transcript).contains("the-answer"), "the server sees what it was given only");
    });
    stories.await.expect("all stories begin").iter().for_each(|(_, transcript)| judge(transcript));
}
