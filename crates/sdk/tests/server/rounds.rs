//! Input rounds: what is asked travels together, what was done is not done again, and the state in
//! between opens for the same call only.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use contexture::model::{CreateMessageParams, SamplingContent, SamplingMessage};
use contexture::{Args, Context, Error, Policy, Server, prompt, resource, tool};
use serde_json::{Value, json};

use super::spoken::{Spoken, text_of};
use super::support::{LEGACY, MODERN};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Name {
    name: String,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Order {
    item: String,
}

fn can() -> Value {
    json!({ "elicitation": { "form": {} }, "sampling": {}, "roots": {} })
}

fn hello() -> CreateMessageParams {
    CreateMessageParams::new(vec![SamplingMessage::user(SamplingContent::text("hello?"))], 10)
}

fn named(name: &str) -> Value {
    json!({ "action": "accept", "content": { "name": name } })
}

fn said(text: &str) -> Value {
    json!({ "role": "assistant", "content": { "type": "text", "text": text }, "model": "m" })
}

/// A tool that orders once, then asks twice, one after the other.
fn ordering(orders: &Arc<AtomicUsize>) -> Server {
    let orders = Arc::clone(orders);
    let order = tool("order").handler(move |ctx: Context, Args(order): Args<Order>| {
        let orders = Arc::clone(&orders);
        async move {
            let number = ctx.once("order", || async move { orders.fetch_add(1, Ordering::SeqCst) + 1 }).await;
            let who: Name = ctx.elicit("who", "Your name?").await?;
            let pay: Name = ctx.elicit("card", "Whose card?").await?;
            Ok::<_, Error>(format!("{number}: {} for {} by {}", order.item, who.name, pay.name))
        }
    });
    Server::new("test", "1.0.0").tool(order)
}

fn order(item: &str) -> Value {
    json!({ "name": "order", "arguments": { "item": item } })
}

/// The same parameters, with answers and the state of the last round.
fn retry(mut params: Value, round: &Value, answers: Value) -> Value {
    assert_eq!(round["result"]["resultType"], "input_required", "{round}");
    params["requestState"] = round["result"]["requestState"].clone();
    params["inputResponses"] = answers;
    params
}

#[tokio::test]
async fn one_question_after_the_other() {
    let orders = Arc::default();
    let mut peer = Spoken::to(ordering(&orders), MODERN, can()).await;
    let first = peer.ask("tools/call", order("tea")).await;
    let asked = &first["result"]["inputRequests"];
    assert_eq!(asked.as_object().map(|asked| asked.len()), Some(1));
    assert_eq!(asked["who"]["method"], "elicitation/create");
    assert_eq!(asked["who"]["params"]["message"], "Your name?");
    assert_eq!(asked["who"]["params"]["requestedSchema"]["required"], json!(["name"]));
    let second = peer.ask("tools/call", retry(order("tea"), &first, json!({ "who": named("Ann") }))).await;
    assert!(second["result"]["inputRequests"]["card"].is_object(), "{second}");
    // The answer of the first round is in the state; the client need not repeat it.
    let done = peer.ask("tools/call", retry(order("tea"), &second, json!({ "card": named("Bob") }))).await;
    assert_eq!(text_of(&done), "1: tea for Ann by Bob");
    assert_eq!(orders.load(Ordering::SeqCst), 1, "once is once");
    assert_eq!(done["result"].get("requestState"), None);
}

#[tokio::test]
async fn questions_joined_travel_together() {
    let server = || {
        Server::new("test", "1.0.0").tool(tool("all").handler(|ctx: Context| async move {
            let (who, said, roots) = tokio::try_join!(
                ctx.elicit::<Name>("who", "Name?"),
                ctx.sample("say", hello()),
                ctx.roots("dirs")
            )?;
            Ok::<_, Error>(format!("{} {} {}", who.name, said.model, roots.len()))
        }))
    };
    let params = json!({ "name": "all", "arguments": {} });
    let mut peer = Spoken::to(server(), MODERN, can()).await;
    let round = peer.ask("tools/call", params.clone()).await;
    let asked = round["result"]["inputRequests"].as_object().expect("questions");
    let methods: Vec<_> = asked.iter().map(|(key, asked)| (key.as_str(), asked["method"].as_str())).collect();
    assert_eq!(
        methods,
        [
            ("dirs", Some("roots/list")),
            ("say", Some("sampling/createMessage")),
            ("who", Some("elicitation/create")),
        ]
    );
    assert!(asked.values().all(|asked| asked.get("id").is_none() && asked["params"].get("_meta").is_none()));
    let answers =
        json!({ "dirs": { "roots": [{ "uri": "file:///a" }] }, "say": said("hi"), "who": named("Ann") });
    let done = peer.ask("tools/call", retry(params.clone(), &round, answers)).await;
    assert_eq!(text_of(&done), "Ann m 1");

    // What is missing is asked again, and only that.
    let round = peer.ask("tools/call", params.clone()).await;
    let some = json!({ "say": said("hi"), "who": named("Ann"), "unknown": 7 });
    let again = peer.ask("tools/call", retry(params.clone(), &round, some)).await;
    let asked = again["result"]["inputRequests"].as_object().expect("questions");
    assert_eq!(asked.keys().collect::<Vec<_>>(), ["dirs"]);
    let rest = json!({ "dirs": { "roots": [] } });
    let done = peer.ask("tools/call", retry(params, &again, rest)).await;
    assert_eq!(text_of(&done), "Ann m 0");
}

#[tokio::test]
async fn prompts_and_resources_ask_as_tools_do() {
    let server = || {
        Server::new("test", "1.0.0")
            .prompt(prompt("greet").handler(|ctx: Context| async move {
                let who: Name = ctx.elicit("who", "Name?").await?;
                Ok::<_, Error>(format!("Hello {}", who.name))
            }))
            .resource(resource("note://{n}").handler(|ctx: Context| async move {
                let who: Name = ctx.elicit("who", "Name?").await?;
                Ok::<_, Error>(format!("Note of {}", who.name))
            }))
    };
    let asked =
        [("prompts/get", json!({ "name": "greet" })), ("resources/read", json!({ "uri": "note://1" }))];
    let text = |answer: &Value| {
        let result = &answer["result"];
        let text = result.pointer("/messages/0/content/text").or(result.pointer("/contents/0/text"));
        text.and_then(Value::as_str).unwrap_or_else(|| panic!("no text: {answer}")).to_owned()
    };
    for (method, params) in asked.clone() {
        let mut peer = Spoken::to(server(), MODERN, can()).await;
        let round = peer.ask(method, params.clone()).await;
        let done = peer.ask(method, retry(params, &round, json!({ "who": named("Ann") }))).await;
        assert!(text(&done).ends_with("Ann"));
        assert_eq!(done["result"]["resultType"], "complete");
    }
    for revision in &LEGACY[2..] {
        for (method, params) in asked.clone() {
            let mut peer = Spoken::to(server(), revision, json!({ "elicitation": {} })).await;
            let id = peer.begin(method, params).await;
            let question = peer.expect("elicitation/create").await.expect("a question");
            peer.answer(&question, named("Bob")).await.expect("is sent");
            assert!(text(&peer.response(&id).await.expect("a response")).ends_with("Bob"));
        }
    }
}

#[tokio::test]
async fn state_opens_for_the_same_call_only() {
    let server = || {
        let other = tool("other").handler(|ctx: Context, Args(_): Args<Order>| async move {
            ctx.elicit::<Name>("who", "Name?").await.map(|who| who.name)
        });
        ordering(&Arc::default()).tool(other)
    };
    let mut peer = Spoken::to(server(), MODERN, can()).await;
    let round = peer.ask("tools/call", order("tea")).await;
    let answers = json!({ "who": named("Ann") });
    let state = round["result"]["requestState"].as_str().expect("a state").to_owned();

    let mut tampered = retry(order("tea"), &round, answers.clone());
    let flipped = if state.ends_with('A') { "B" } else { "A" };
    tampered["requestState"] = json!(format!("{}{flipped}", &state[..state.len() - 1]));
    let mut cut = tampered.clone();
    cut["requestState"] = json!(state[..state.len() / 2]);
    let mut invented = tampered.clone();
    invented["requestState"] = json!("eyJtZW1vIjp7fX0");
    let mut long = tampered.clone();
    long["requestState"] = json!("A".repeat(1024 * 1024));
    let mut of_another_server = tampered.clone();
    let elsewhere = Spoken::to(server(), MODERN, can()).await.ask("tools/call", order("tea")).await;
    of_another_server["requestState"] = elsewhere["result"]["requestState"].clone();
    let mut other_tool = retry(order("tea"), &round, answers.clone());
    other_tool["name"] = json!("other");
    let other_arguments = retry(order("gold"), &round, answers.clone());
    for wrong in [tampered, cut, invented, long, of_another_server, other_tool, other_arguments] {
        assert_eq!(peer.refused("tools/call", wrong.clone()).await, -32602, "{wrong:.200}");
    }
    let right = peer.ask("tools/call", retry(order("tea"), &round, answers)).await;
    assert_eq!(right["result"]["resultType"], "input_required", "the untouched one still opens: {right}");
}

#[tokio::test]
async fn state_grows_old_and_has_a_bound() {
    let mut policy = Policy::default();
    policy.request_state_age = Duration::ZERO;
    let mut peer = Spoken::to(ordering(&Arc::default()).policy(policy), MODERN, can()).await;
    let round = peer.ask("tools/call", order("tea")).await;
    let params = retry(order("tea"), &round, json!({ "who": named("Ann") }));
    assert_eq!(peer.refused("tools/call", params).await, -32602, "expired");

    let mut policy = Policy::default();
    policy.request_state_bytes = 1000;
    let server =
        Server::new("test", "1.0.0").policy(policy).tool(tool("much").handler(|ctx: Context| async move {
            ctx.once("all", || async { "x".repeat(2000) }).await;
            ctx.elicit::<Name>("who", "Name?").await.map(|who| who.name)
        }));
    let mut peer = Spoken::to(server, MODERN, can()).await;
    assert_eq!(peer.refused("tools/call", json!({ "name": "much", "arguments": {} })).await, -32603);
}

#[tokio::test]
async fn too_many_answers_are_refused() {
    let mut policy = Policy::default();
    policy.input_requests = 3;
    let mut peer = Spoken::to(ordering(&Arc::default()).policy(policy), MODERN, can()).await;
    let round = peer.ask("tools/call", order("tea")).await;
    let many: serde_json::Map<_, _> = (0..4).map(|key| (key.to_string(), named("x"))).collect();
    assert_eq!(peer.refused("tools/call", retry(order("tea"), &round, Value::Object(many))).await, -32602);
    for wrong in [json!([]), json!("who")] {
        assert_eq!(peer.refused("tools/call", retry(order("tea"), &round, wrong)).await, -32602);
    }
}

#[tokio::test]
async fn an_answer_that_is_none_is_an_error_of_the_request() {
    let mut peer = Spoken::to(ordering(&Arc::default()), MODERN, can()).await;
    for wrong in [json!(7), json!({ "action": "perhaps" }), json!({}), json!(null)] {
        let round = peer.ask("tools/call", order("tea")).await;
        let params = retry(order("tea"), &round, json!({ "who": wrong }));
        assert_eq!(peer.refused("tools/call", params).await, -32602, "{wrong}");
    }
}

#[tokio::test]
async fn a_client_is_asked_only_for_what_it_declared() {
    for (declared, code) in [
        (json!({}), Some(-32021)),
        (json!({ "elicitation": { "url": {} } }), Some(-32021)),
        (json!({ "elicitation": {} }), None),
    ] {
        let mut peer = Spoken::to(ordering(&Arc::default()), MODERN, declared.clone()).await;
        let answer = peer.ask("tools/call", order("tea")).await;
        assert_eq!(answer["error"]["code"].as_i64(), code, "{declared}: {answer}");
        if code.is_some() {
            let required = json!({ "requiredCapabilities": { "elicitation": { "form": {} } } });
            assert_eq!(answer["error"]["data"], required);
        }
    }
}

#[tokio::test]
async fn two_questions_with_one_key_are_a_mistake() {
    let server = Server::new("test", "1.0.0").tool(tool("twice").handler(|ctx: Context| async move {
        let both = tokio::try_join!(ctx.elicit::<Name>("who", "Yours?"), ctx.elicit::<Name>("who", "Hers?"));
        both.map(|(yours, hers)| yours.name + &hers.name)
    }));
    let mut peer = Spoken::to(server, MODERN, can()).await;
    let answer = peer.call("twice", json!({})).await;
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert!(text_of(&answer).contains("two questions have the key"), "{answer}");
}

#[tokio::test]
async fn a_rehearsal_repeats_handlers_where_they_could_wait() {
    for rehearse in [true, false] {
        let runs = Arc::<AtomicUsize>::default();
        let orders = Arc::default();
        let counting = Arc::clone(&runs);
        let count = tool("count").handler(move |ctx: Context| {
            counting.fetch_add(1, Ordering::SeqCst);
            async move { ctx.elicit::<Name>("who", "Name?").await.map(|who| who.name) }
        });
        let server = ordering(&orders).tool(count);
        let server = if rehearse { server.rehearse() } else { server };
        let mut peer = Spoken::to(server, "2025-06-18", json!({ "elicitation": {} })).await;
        let id = peer.begin("tools/call", json!({ "name": "count", "arguments": {} })).await;
        let question = peer.expect("elicitation/create").await.expect("a question");
        peer.answer(&question, named("Ann")).await.expect("is sent");
        assert_eq!(text_of(&peer.response(&id).await.expect("a response")), "Ann");
        assert_eq!(runs.load(Ordering::SeqCst), if rehearse { 2 } else { 1 });

        let id = peer.begin("tools/call", order("tea")).await;
        for name in ["Ann", "Bob"] {
            let question = peer.expect("elicitation/create").await.expect("a question");
            peer.answer(&question, named(name)).await.expect("is sent");
        }
        assert_eq!(text_of(&peer.response(&id).await.expect("a response")), "1: tea for Ann by Bob");
        assert_eq!(orders.load(Ordering::SeqCst), 1);
        assert!(peer.heard("elicitation/create").await.is_empty(), "nothing is asked twice");
    }
}

#[tokio::test]
async fn a_key_is_one_question_in_every_era() {
    for (rehearse, revision) in [(false, "2025-11-25"), (true, "2025-11-25"), (false, MODERN)] {
        let server = Server::new("twice", "1").tool(tool("twice").handler(|ctx: Context| async move {
            ctx.roots("same").await?;
            ctx.roots("same").await.map(|_| "never")
        }));
        let server = if rehearse { server.rehearse() } else { server };
        let mut peer = super::support::Peer::speaking(server, revision, json!({ "roots": {} })).await;
        let mut params = json!({ "name": "twice" });
        let answer = if revision == MODERN {
            let asked = peer.call("tools/call", params.clone()).await;
            params["requestState"] = asked["result"]["requestState"].clone();
            params["inputResponses"] = json!({ "same": { "roots": [] } });
            peer.call("tools/call", params).await
        } else {
            let id = peer.start("tools/call", params).await.expect("sent");
            let asked = peer.expect("roots/list").await.expect("asked once");
            peer.answer(&asked, json!({ "roots": [] })).await.expect("sent");
            peer.response(&json!(id)).await.expect("an answer")
        };
        assert_eq!(answer["result"]["isError"], true, "{revision} {answer}");
        assert!(answer.to_string().contains("two questions have the key"), "{revision} {answer}");
    }
}
