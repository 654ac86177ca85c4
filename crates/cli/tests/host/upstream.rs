//! A server behind the gateway that keeps all that reaches it: every message and every header, as they came.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use contexture::model::{
    Content, CreateMessageParams, IncludeContext, LoggingLevel, PromptMessage, SamplingContent,
    SamplingMessage,
};
use contexture::revision::{Era, Revision};
use contexture::server::Choices;
use contexture::{Args, Context, Error, Server, prompt, resource, tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::stage::until;

pub(crate) const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];

pub(crate) fn revisions(era: Era) -> &'static [Revision] {
    match era {
        Era::Legacy => &[Revision::V2025_06_18],
        Era::Modern => &Revision::MODERN,
    }
}

/// One message that reached a server.
#[derive(Debug, Clone)]
pub(crate) struct Arrival {
    /// The headers, one on each line.
    pub(crate) head: String,
    pub(crate) text: String,
    pub(crate) message: Value,
}

/// All that reached a server.
#[derive(Debug, Clone, Default)]
pub(crate) struct Heard(Arc<Mutex<Vec<Arrival>>>);

impl Heard {
    fn lock(&self) -> MutexGuard<'_, Vec<Arrival>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn all(&self) -> Vec<Arrival> {
        self.lock().clone()
    }

    /// Messages of this method.
    pub(crate) fn of(&self, method: &str) -> Vec<Value> {
        self.all().into_iter().map(|it| it.message).filter(|message| message["method"] == method).collect()
    }

    /// Calls of this tool.
    pub(crate) fn calls(&self, tool: &str) -> Vec<Value> {
        self.of("tools/call").into_iter().filter(|call| call["params"]["name"] == tool).collect()
    }

    /// What it was answered when it asked: results and errors of legacy questions, answers of modern rounds.
    pub(crate) fn answers(&self) -> Vec<Value> {
        let mut answers = Vec::new();
        for Arrival { message, .. } in self.all() {
            // What has no body has no message.
            if message.is_object() && message.get("method").is_none() {
                answers.push(
                    message.get("result").or_else(|| message.get("error")).cloned().unwrap_or_default(),
                );
            }
            if let Some(given) = message["params"]["inputResponses"].as_object() {
                answers.extend(given.values().cloned());
            }
        }
        answers
    }

    /// Everything, headers too, as text.
    pub(crate) fn text(&self) -> String {
        self.all().iter().map(|it| format!("{}\n{}\n", it.head, it.text)).collect()
    }
}

/// A server that listens on this machine.
pub(crate) struct Upstream {
    pub(crate) url: String,
    pub(crate) heard: Heard,
    /// Lets go of calls of `wait`.
    pub(crate) gate: Arc<watch::Sender<bool>>,
}

impl Upstream {
    /// With everything that the tests use, in an era of its own.
    pub(crate) async fn start(name: &str, era: Era) -> Self {
        let gate = Arc::new(watch::Sender::new(false));
        let server = server(name, era, &gate);
        Self { gate, ..Self::of(server).await }
    }

    /// Any server.
    pub(crate) async fn of(server: Server) -> Self {
        let heard = Heard::default();
        let http = server.into_http().expect("a server that is put together correctly");
        let router = Router::new().route_service("/mcp", http).layer(from_fn_with_state(heard.clone(), keep));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, heard, gate: Arc::new(watch::Sender::new(false)) }
    }

    /// What the configuration says about it: where it is.
    pub(crate) fn entry(&self) -> Value {
        json!({ "url": self.url })
    }

    /// The same, and more.
    pub(crate) fn entry_with(&self, more: Value) -> Value {
        let mut entry = self.entry();
        for (key, value) in more.as_object().expect("an object") {
            entry[key] = value.clone();
        }
        entry
    }

    /// Waits for calls of a tool.
    pub(crate) async fn is_called(&self, tool: &str, times: usize) {
        until(&format!("{times} calls of {tool}"), || self.heard.calls(tool).len() >= times).await;
    }
}

/// Notes a request and passes it on.
async fn keep(State(heard): State<Heard>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, 1 << 24).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&body).into_owned();
    let head: Vec<String> = parts.headers.iter().map(|(name, value)| format!("{name}: {value:?}")).collect();
    let message = serde_json::from_slice(&body).unwrap_or_default();
    heard.lock().push(Arrival { head: head.join("\n"), text, message });
    next.run(Request::from_parts(parts, Body::from(body))).await
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "what it is called with is looked at on the wire")]
struct Write {
    /// Where.
    path: String,
    /// What.
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct Name {
    /// What people call you.
    #[schemars(title = "Your name")]
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Word {
    word: String,
}

/// What only this server knows.
pub(crate) fn secret(name: &str) -> String {
    format!("SECRET-OF-{}", name.to_uppercase())
}

fn server(name: &str, era: Era, gate: &Arc<watch::Sender<bool>>) -> Server {
    let server = Server::new(format!("{name}-server"), "1.2.3")
        .title(format!("The {name} server"))
        .instructions(format!("How to use {name}."))
        .revisions(revisions(era));
    let (tells, reads) = (secret(name), secret(name));
    let server = server
        .tool(
            tool("write")
                .description("Writes a text to a path.")
                .destructive(true)
                .title("Write it down")
                .handler(|Args(Write { .. }): Args<Write>| async { "written" }),
        )
        .tool(tool("look").read_only().handler(|| async { "seen" }))
        .tool(tool("tell").handler(move || {
            let secret = tells.clone();
            async move { secret }
        }))
        .tool(tool("repeat").handler(|Args(Word { word }): Args<Word>| async move { word }))
        .prompt(prompt("greet").handler(|Args(Word { word }): Args<Word>| async move {
            vec![PromptMessage::user(Content::text(format!("Greet {word}")))]
        }))
        .complete_prompt("greet", "word", Choices::new(["confidential-ada", "confidential-alan"]))
        .resource(resource("note://plain").name("plain").text("a plain note"))
        .resource(resource("note://secret").name("secret").handler(move || {
            let secret = reads.clone();
            async move { Ok::<_, Error>(secret) }
        }));
    signalling(asking(server), name, gate)
}

fn asking(server: Server) -> Server {
    server
        .tool(tool("ask").handler(|context: Context| async move {
            let who: Name = context.elicit("who", "Whom do I write to?").await?;
            Ok::<_, Error>(format!("it is {}", who.name))
        }))
        .tool(tool("think").handler(|context: Context| async move {
            let message = SamplingMessage::user(SamplingContent::text("What is in the letter?"));
            let mut params = CreateMessageParams::new(vec![message], 50);
            params.system_prompt = Some("You read letters.".to_owned());
            params.include_context = Some(IncludeContext::AllServers);
            let answer = context.sample("thought", params).await?;
            let text = answer.content.as_slice().iter().find_map(|content| match content {
                SamplingContent::Text(text) => Some(text.text.clone()),
                _ => None,
            });
            Ok::<_, Error>(text.unwrap_or_default())
        }))
        .tool(tool("where").handler(|context: Context| async move {
            let roots = context.roots("roots").await?;
            Ok::<_, Error>(roots.iter().map(|root| root.uri.clone()).collect::<Vec<_>>().join(" "))
        }))
}

fn signalling(server: Server, name: &str, gate: &Arc<watch::Sender<bool>>) -> Server {
    let (waits, logs) = (gate.subscribe(), gate.subscribe());
    let name = name.to_owned();
    server
        .tool(tool("wait").handler(move || {
            let mut gate = waits.clone();
            async move {
                // It ends with the test, if nobody opens.
                let _ = gate.wait_for(|open| *open).await;
                "waited"
            }
        }))
        .tool(tool("log").handler(move |context: Context, Args(Word { word }): Args<Word>| {
            let name = name.clone();
            async move {
                context.logger(name).log(LoggingLevel::Warning, json!({ "word": word }));
                "logged"
            }
        }))
        .tool(tool("log_later").handler(move |context: Context, Args(Word { word }): Args<Word>| {
            let mut gate = logs.clone();
            async move {
                let _ = gate.wait_for(|open| *open).await;
                context.logger("later").log(LoggingLevel::Warning, json!({ "word": word }));
                "logged"
            }
        }))
}
