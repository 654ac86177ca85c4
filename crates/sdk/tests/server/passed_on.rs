//! What another server asks, logs and reports, passed on: in place in the legacy era, in rounds in the modern one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use contexture::model::{CallToolResult, InputRequest, LoggingLevel, LoggingMessageParams, ProgressParams};
use contexture::server::{Operation, Reply, Session};
use contexture::{Capability, Context, Error, Policy, Server};
use futures_util::future::join;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::elsewhere::Elsewhere;
use super::spoken::{ALL, Spoken, text_of};
use super::support::{LEGACY, MODERN};

/// Does this for every call; what it says is the result.
fn calling<F>(work: impl Fn(Context) -> F + Send + Sync + 'static) -> Server
where
    F: Future<Output = Result<String, Error>> + Send + 'static,
{
    Elsewhere::new(move |Operation { context, .. }: Operation| {
        let work = work(context);
        async move {
            let said = work.await.unwrap_or_else(|error| format!("{error:?}"));
            Ok(Reply::Tool(CallToolResult::text(said)))
        }
    })
    .server()
}

fn asking(request: Value) -> InputRequest {
    serde_json::from_value(request).expect("a question")
}

fn form(message: &str) -> InputRequest {
    let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
    let params = json!({ "mode": "form", "message": message, "requestedSchema": schema });
    asking(json!({ "method": "elicitation/create", "params": params }))
}

fn sampling() -> InputRequest {
    let message = json!({ "role": "user", "content": { "type": "text", "text": "?" } });
    let params = json!({ "messages": [message], "maxTokens": 5 });
    asking(json!({ "method": "sampling/createMessage", "params": params }))
}

fn roots() -> InputRequest {
    asking(json!({ "method": "roots/list" }))
}

fn can() -> Value {
    json!({ "elicitation": { "form": {} }, "sampling": {}, "roots": {} })
}

/// Answers with members that no type of ours has: they are none of our business.
fn answers() -> [(InputRequest, Value); 3] {
    let named = json!({ "action": "accept", "content": { "name": "Ann" }, "more": [1] });
    let said =
        json!({ "role": "assistant", "content": { "type": "text", "text": "!" }, "model": "m", "more": 1 });
    [(form("who?"), named), (sampling(), said), (roots(), json!({ "roots": [], "more": {} }))]
}

fn params() -> Value {
    json!({ "name": "t", "arguments": { "a": 1 } })
}

fn retry(round: &Value, answers: Value) -> Value {
    assert_eq!(round["result"]["resultType"], "input_required", "{round}");
    let mut params = params();
    params["requestState"] = round["result"]["requestState"].clone();
    params["inputResponses"] = answers;
    params
}

#[tokio::test]
async fn a_question_is_asked_in_place_and_its_answer_is_not_touched() {
    for revision in LEGACY {
        for (question, answer) in answers() {
            let method = question.method().as_str();
            if method == "elicitation/create" && revision < "2025-06-18" {
                continue;
            }
            let server = calling(move |ctx: Context| {
                let question = question.clone();
                async move {
                    assert!(!ctx.is_replayed());
                    ctx.pass_on("q", question).await.map(|answer| answer.to_string())
                }
            });
            let mut peer = Spoken::to(server, revision, can()).await;
            let id = peer.begin("tools/call", params()).await;
            let asked = peer.expect(method).await.expect("a question");
            peer.answer(&asked, answer.clone()).await.expect("is sent");
            let response = peer.response(&id).await.expect("a response");
            let got: Value = serde_json::from_str(text_of(&response)).expect("JSON");
            assert_eq!(got, answer, "{revision} {method}");
        }
    }
}

#[tokio::test]
async fn a_client_that_refuses_is_heard() {
    let server =
        calling(
            |ctx: Context| async move { ctx.pass_on("q", sampling()).await.map(|answer| answer.to_string()) },
        );
    let mut peer = Spoken::to(server, LEGACY[3], can()).await;
    let id = peer.begin("tools/call", params()).await;
    let asked = peer.expect("sampling/createMessage").await.expect("a question");
    let refusal = json!({ "code": -1, "message": "the person said no" });
    peer.send(json!({ "jsonrpc": "2.0", "id": asked["id"], "error": refusal })).await.expect("is sent");
    let response = peer.response(&id).await.expect("a response");
    assert!(text_of(&response).contains("the person said no"), "{response}");
}

/// A call that asks in two rounds, as another server would: two questions together, then one more.
async fn in_rounds(ctx: Context, runs: Arc<AtomicUsize>) -> Result<String, Error> {
    assert!(ctx.is_replayed());
    runs.fetch_add(1, Ordering::SeqCst);
    let round: u32 = ctx.recall("round").unwrap_or(0);
    if round == 0 {
        ctx.keep("round", &1)?;
    }
    let (first, second) = join(ctx.pass_on("1:a", form("a?")), ctx.pass_on("1:b", roots())).await;
    if round < 2 {
        ctx.keep("round", &2)?;
        ctx.keep("state", &json!({ "opaque": "from elsewhere" }))?;
    }
    let third = ctx.pass_on("2:a", sampling()).await?;
    let state: Value = ctx.recall("state").expect("was kept");
    Ok(json!([first?, second?, third, state, round]).to_string())
}

#[tokio::test]
async fn questions_of_the_modern_era_travel_in_rounds() {
    let runs: Arc<AtomicUsize> = Arc::default();
    let counted = Arc::clone(&runs);
    let server = calling(move |ctx| in_rounds(ctx, Arc::clone(&counted)));
    let mut peer = Spoken::to(server, MODERN, can()).await;
    let first = peer.ask("tools/call", params()).await;
    let asked = first["result"]["inputRequests"].as_object().expect("questions");
    assert_eq!(asked.keys().collect::<Vec<_>>(), ["1:a", "1:b"]);
    assert_eq!(asked["1:a"]["params"]["message"], "a?");
    let [(_, named), (_, said), (_, listed)] = answers();
    let second = retry(&first, json!({ "1:a": named, "1:b": listed }));
    let second = peer.ask("tools/call", second).await;
    assert_eq!(second["result"]["inputRequests"].as_object().map(|asked| asked.len()), Some(1), "{second}");
    let last = peer.ask("tools/call", retry(&second, json!({ "2:a": said }))).await;
    let got: Value = serde_json::from_str(text_of(&last)).expect("JSON");
    assert_eq!(got, json!([named, listed, said, { "opaque": "from elsewhere" }, 2]));
    assert_eq!(runs.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn what_a_client_cannot_be_asked_it_is_not_asked() {
    let url = json!({ "mode": "url", "message": "go", "url": "https://example.com/", "elicitationId": "e" });
    let many = json!({ "type": "array", "items": { "type": "string", "enum": ["a", "b"] } });
    let choice = json!({ "type": "object", "properties": { "many": many } });
    let choice = json!({ "mode": "form", "message": "which?", "requestedSchema": choice });
    let questions = [
        (form("?"), Capability::Elicitation, json!({ "sampling": {}, "roots": {} }), &ALL[..]),
        (sampling(), Capability::Sampling, json!({ "elicitation": {}, "roots": {} }), &ALL[..]),
        (roots(), Capability::Roots, json!({ "elicitation": {}, "sampling": {} }), &ALL[..]),
        (form("?"), Capability::Elicitation, can(), &ALL[..2]),
        (
            asking(json!({ "method": "elicitation/create", "params": choice })),
            Capability::Elicitation,
            can(),
            &ALL[..3],
        ),
        (
            asking(json!({ "method": "elicitation/create", "params": url })),
            Capability::UrlElicitation,
            can(),
            &ALL[..],
        ),
    ];
    for (question, lacking, capabilities, revisions) in questions {
        for revision in revisions {
            let question = question.clone();
            let server = calling(move |ctx: Context| {
                let question = question.clone();
                async move {
                    match ctx.pass_on("q", question).await {
                        Err(Error::Unsupported(capability)) => Ok(format!("lacks {capability}")),
                        other => Ok(format!("{other:?}")),
                    }
                }
            });
            let mut peer = Spoken::to(server, revision, capabilities.clone()).await;
            let answer = peer.ask("tools/call", params()).await;
            assert_eq!(text_of(&answer), format!("lacks {lacking}"), "{revision}");
        }
    }
}

#[tokio::test]
async fn one_key_is_one_question() {
    for revision in [LEGACY[3], MODERN] {
        let server = calling(|ctx: Context| async move {
            let (_, second) = join(ctx.pass_on("q", roots()), ctx.pass_on("q", form("?"))).await;
            second.map(|answer| answer.to_string())
        });
        let mut peer = Spoken::to(server, revision, can()).await;
        let id = peer.begin("tools/call", params()).await;
        let mut answer = Value::Null;
        if revision == MODERN {
            let round = peer.response(&id).await.expect("a round");
            answer = peer.ask("tools/call", retry(&round, json!({ "q": { "roots": [] } }))).await;
        } else {
            let asked = peer.expect("roots/list").await.expect("a question");
            peer.answer(&asked, json!({ "roots": [] })).await.expect("is sent");
        }
        if answer.is_null() {
            answer = peer.response(&id).await.expect("a response");
        }
        assert!(text_of(&answer).contains("two questions"), "{answer}");
    }
}

/// A gateway has to make rounds of what it is asked: it hears which questions are one.
#[tokio::test]
async fn who_passes_questions_on_hears_which_belong_together() {
    for revision in &LEGACY[2..] {
        for passes_on in [true, false] {
            let server = calling(|ctx: Context| async move {
                let (first, second) = join(ctx.pass_on("a", form("?")), ctx.pass_on("b", roots())).await;
                first.and(second)?;
                ctx.pass_on("c", sampling()).await.map(|answer| answer.to_string())
            });
            let mut can = can();
            if passes_on {
                can["experimental"] = json!({ "contexture/questions": {} });
            }
            let mut peer = Spoken::to(server, revision, can).await;
            let id = peer.begin("tools/call", params()).await;
            let asked = [
                (["elicitation/create", "roots/list"].as_slice(), ["a", "b"].as_slice()),
                (&["sampling/createMessage"], &["c"]),
            ];
            for (methods, keys) in asked {
                for (method, key) in methods.iter().zip(keys) {
                    let question = peer.expect(method).await.expect("a question");
                    let said = json!({ "contexture/question": key, "contexture/together": keys });
                    let said = if passes_on { said } else { Value::Null };
                    assert_eq!(question["params"]["_meta"], said, "{revision} {question}");
                    let (_, answer) = answers()
                        .into_iter()
                        .find(|(asked, _)| asked.method().as_str() == *method)
                        .expect("one of these");
                    peer.answer(&question, answer).await.expect("is sent");
                }
            }
            let response = peer.response(&id).await.expect("a response");
            assert!(text_of(&response).contains("assistant"), "{response}");
        }
    }
}

/// One that nobody waits for any more belongs to nothing, and is not asked.
#[tokio::test]
async fn a_question_that_was_dropped_is_not_waited_for() {
    let server = calling(|ctx: Context| async move {
        let mut dropped = Box::pin(ctx.pass_on("a", roots()));
        std::future::poll_fn(|cx| {
            assert!(dropped.as_mut().poll(cx).is_pending());
            std::task::Poll::Ready(())
        })
        .await;
        drop(dropped);
        ctx.pass_on("b", roots()).await.map(|answer| answer.to_string())
    });
    let mut can = can();
    can["experimental"] = json!({ "contexture/questions": {} });
    let mut peer = Spoken::to(server, LEGACY[3], can).await;
    let id = peer.begin("tools/call", params()).await;
    let question = peer.expect("roots/list").await.expect("a question");
    assert_eq!(question["params"]["_meta"]["contexture/together"], json!(["b"]), "{question}");
    peer.answer(&question, json!({ "roots": [] })).await.expect("is sent");
    peer.response(&id).await.expect("a response");
}

#[tokio::test]
async fn a_round_has_no_more_questions_than_can_be_answered() {
    let mut policy = Policy::default();
    policy.input_requests = 2;
    let server = calling(|ctx: Context| async move {
        let (_, (_, third)) =
            join(ctx.pass_on("1", roots()), join(ctx.pass_on("2", roots()), ctx.pass_on("3", roots()))).await;
        third.map(|answer| answer.to_string())
    });
    let mut peer = Spoken::to(server.policy(policy), MODERN, can()).await;
    let round = peer.ask("tools/call", params()).await;
    let asked = round["result"]["inputRequests"].as_object().expect("questions");
    assert_eq!(asked.len(), 2, "{round}");
}

#[tokio::test]
async fn no_more_is_kept_than_a_state_can_hold() {
    for revision in ALL {
        let mut policy = Policy::default();
        policy.request_state_bytes = 4096;
        let server = calling(|ctx: Context| async move {
            ctx.keep("small", &1)?;
            let refused = ctx.keep("small", &"x".repeat(4096));
            assert!(matches!(refused, Err(Error::TooMuch(_))), "{refused:?}");
            let refused = ctx.keep("large", &"x".repeat(4096));
            assert!(matches!(refused, Err(Error::TooMuch(_))), "{refused:?}");
            // As much as fits can be sealed, too.
            let mut length = 4096;
            while ctx.keep("most", &"x".repeat(length)).is_err() {
                length -= 1;
            }
            ctx.pass_on("q", roots()).await?;
            let most: String = ctx.recall("most").expect("was kept");
            let small: u32 = ctx.recall("small").expect("was kept");
            Ok(format!("{small} {:?} {}", ctx.recall::<String>("large"), most.len() == length))
        });
        let mut peer = Spoken::to(server.policy(policy), revision, can()).await;
        let id = peer.begin("tools/call", params()).await;
        if revision == MODERN {
            let round = peer.response(&id).await.expect("a round");
            let state = round["result"]["requestState"].as_str().unwrap_or_else(|| panic!("{round}"));
            assert!(state.len() <= 4096, "{}", state.len());
        } else {
            let asked = peer.expect("roots/list").await.expect("a question");
            peer.answer(&asked, json!({ "roots": [] })).await.expect("is sent");
            let answer = peer.response(&id).await.expect("a response");
            assert_eq!(text_of(&answer), "1 None true");
        }
    }
}

#[tokio::test]
async fn sessions_have_numbers_of_their_own() {
    let server = calling(|ctx: Context| async move { Ok(format!("{:?}", ctx.session_number())) });
    let server = server.build().expect("a server");
    let mut seen = Vec::new();
    for revision in ALL {
        for _ in 0..2 {
            let mut peer = Spoken::to_built(&server, revision, can()).await;
            let number = text_of(&peer.ask("tools/call", params()).await).to_owned();
            let again = text_of(&peer.ask("tools/call", params()).await).to_owned();
            assert_eq!(number, again, "{revision}");
            assert_eq!(number == "None", revision == MODERN);
            assert!(number == "None" || !seen.contains(&number), "{number} {seen:?}");
            // A stateless request belongs to no session, whoever else uses the connection.
            let stateless = peer.modern("tools/call", params(), json!({})).await;
            assert_eq!(text_of(&stateless), "None");
            seen.push(number);
        }
    }
}

fn message(level: LoggingLevel) -> LoggingMessageParams {
    LoggingMessageParams::new(level, json!({ "any": ["data"] })).logger("elsewhere")
}

#[tokio::test]
async fn log_messages_go_on_from_the_level_that_is_wanted() {
    for revision in ALL {
        let server = calling(|ctx: Context| async move {
            for level in LoggingLevel::ALL {
                ctx.pass_log(message(level));
            }
            Ok(format!("{:?}", ctx.log_level()))
        });
        let mut peer = Spoken::to(server, revision, can()).await;
        let mut params = params();
        if revision == MODERN {
            let answer = peer.ask("tools/call", params.clone()).await;
            assert_eq!(text_of(&answer), "None", "nobody asked for any");
            params["_meta"] = json!({ "io.modelcontextprotocol/logLevel": "error" });
        } else {
            peer.ask("logging/setLevel", json!({ "level": "error" })).await;
        }
        let answer = peer.ask("tools/call", params).await;
        assert_eq!(text_of(&answer), "Some(Error)");
        let heard = peer.heard("notifications/message").await;
        let levels: Vec<_> = heard.iter().filter_map(|said| said["params"]["level"].as_str()).collect();
        assert_eq!(levels, ["error", "critical", "alert", "emergency"], "{revision}");
        assert!(heard.iter().all(|said| said["params"]["logger"] == "elsewhere"));
    }
}

#[tokio::test]
async fn progress_goes_on_under_the_token_of_the_client() {
    for revision in ALL {
        let server = calling(|ctx: Context| async move {
            for (done, total) in [(1.0, Some(4.0)), (1.0, None), (f64::NAN, None), (2.5, Some(f64::INFINITY))]
            {
                let mut progress = ProgressParams::new(77.into(), done).message("on the way");
                progress.total = total;
                ctx.pass_progress(&progress);
            }
            Ok(ctx.wants_progress().to_string())
        });
        let mut peer = Spoken::to(server, revision, can()).await;
        assert_eq!(text_of(&peer.ask("tools/call", params()).await), "false");
        let mut params = params();
        params["_meta"] = json!({ "progressToken": "ours" });
        assert_eq!(text_of(&peer.ask("tools/call", params).await), "true");
        let heard = peer.heard("notifications/progress").await;
        let told: Vec<_> = heard.iter().map(|said| &said["params"]).collect();
        assert_eq!(told.len(), 2, "what does not grow is not told: {heard:?}");
        assert!(told.iter().all(|told| told["progressToken"] == "ours"));
        assert_eq!(told[0]["total"], 4, "{revision}");
        assert_eq!(told[1]["progress"].as_f64(), Some(2.5));
        assert_eq!(told[1].get("total"), None, "there is no such number");
        assert_eq!(told[0].get("message").is_some(), revision != LEGACY[0]);
    }
}

/// A server that hands over its sessions.
fn handing_over() -> (Server, mpsc::UnboundedReceiver<Session>) {
    let (sender, sessions) = mpsc::unbounded_channel();
    let server = calling(|_| async { Ok(String::new()) });
    let server = server.on_initialized(move |session| {
        sender.send(session).ok();
        std::future::ready(())
    });
    (server, sessions)
}

#[tokio::test]
async fn a_session_can_be_spoken_to_until_it_is_over() {
    for revision in LEGACY {
        let (server, mut sessions) = handing_over();
        let mut peer = Spoken::to(server, revision, can()).await;
        let session = sessions.recv().await.expect("a session");
        assert!(session.is_open() && session.number().is_some());
        let (question, answer) = &answers()[1];
        let asked = tokio::spawn({
            let (session, question) = (session.clone(), question.clone());
            async move { session.pass_on(question).await }
        });
        let request = peer.expect("sampling/createMessage").await.expect("a question");
        peer.answer(&request, answer.clone()).await.expect("is sent");
        assert_eq!(asked.await.expect("no panic").expect("an answer"), *answer, "{revision}");
        session.pass_log(message(LoggingLevel::Debug));
        session.pass_log(message(LoggingLevel::Error));
        let heard = peer.heard("notifications/message").await;
        assert_eq!(heard.len(), 1, "nobody wants to debug: {heard:?}");
        let closed = tokio::spawn({
            let session = session.clone();
            async move { session.closed().await }
        });
        drop(peer);
        closed.await.expect("no panic");
        assert!(!session.is_open());
        session.closed().await;
        let late = session.timeout(Duration::from_secs(600)).pass_on(roots()).await;
        assert!(matches!(late, Err(Error::Closed(_))), "{late:?}");
    }
}
