//! A server that listens, and clients of any revision whose every answer is judged.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use contexture::server::http::{Authorizer, Authorizing, Refused};
use contexture::server::{HttpServer, Registry, ToolEntry};
use contexture::{Context, Principal, Server, tool};
use contexture_judge::{From, Watch};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::raw::{Ask, Judged, Reply};

/// The revisions that open with `initialize`.
pub(crate) const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
/// The one that has batches.
pub(crate) const BATCHED: &str = "2025-03-26";
/// The first with a version header.
pub(crate) const VERSIONED: &str = "2025-06-18";
/// The one in which clients may be told to come back.
pub(crate) const POLLED: &str = "2025-11-25";
/// The stateless revision.
pub(crate) const MODERN: &str = "2026-07-28";
/// All revisions, oldest first.
pub(crate) const EVERY: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", MODERN];

/// A server that listens on this machine.
pub(crate) struct Site {
    pub(crate) address: SocketAddr,
    pub(crate) http: HttpServer,
    pub(crate) registry: Registry,
    stop: oneshot::Sender<()>,
    done: JoinHandle<contexture::Result<()>>,
}

impl Site {
    pub(crate) async fn of(server: Server) -> Self {
        Self::with(server, |http| http).await
    }

    /// A server with something to say about HTTP.
    pub(crate) async fn with(server: Server, change: impl FnOnce(HttpServer) -> HttpServer) -> Self {
        let registry = server.registry();
        let http = change(server.into_http().expect("a server that is put together correctly"));
        let bound = http.clone().bind("127.0.0.1:0").await.expect("a port");
        let address = bound.address();
        let (stop, stopped) = oneshot::channel();
        let done = tokio::spawn(bound.serve_until(async { drop(stopped.await) }));
        Self { address, http, registry, stop, done }
    }

    pub(crate) fn ask(&self, method: &str, target: &str) -> Ask {
        Ask::new(self.address, method, target)
    }

    /// A POST to the MCP endpoint with all that HTTP asks for.
    pub(crate) fn post(&self, message: &Value) -> Ask {
        self.ask("POST", "/mcp")
            .judged(&Arc::new(Mutex::new(Watch::new(From::Server))))
            .and("content-type", "application/json")
            .and("accept", "application/json, text/event-stream")
            .body(message.to_string())
    }

    /// Asks it to stop. The task ends when it has.
    pub(crate) fn stop(self) -> JoinHandle<contexture::Result<()>> {
        self.stop.send(()).expect("the server runs");
        self.done
    }
}

/// The parameters of a handshake.
pub(crate) fn hello(revision: &str, capabilities: Value) -> Value {
    let info = json!({ "name": "raw", "version": "0" });
    json!({ "protocolVersion": revision, "capabilities": capabilities, "clientInfo": info })
}

pub(crate) fn request(id: impl Into<Value>, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params })
}

pub(crate) fn notification(method: &str) -> Value {
    json!({ "jsonrpc": "2.0", "method": method })
}

/// A client of some revision.
pub(crate) struct Peer {
    address: SocketAddr,
    pub(crate) revision: &'static str,
    pub(crate) session: Option<String>,
    token: Option<String>,
    capabilities: Value,
    pub(crate) judged: Judged,
    ids: AtomicU64,
}

impl Peer {
    fn unopened(
        address: SocketAddr,
        revision: &'static str,
        capabilities: Value,
        token: Option<&str>,
    ) -> Self {
        Self {
            address,
            revision,
            session: None,
            token: token.map(str::to_owned),
            capabilities,
            judged: Arc::new(Mutex::new(Watch::new(From::Server))),
            ids: AtomicU64::new(0),
        }
    }

    /// A client that has opened its session, where there are sessions.
    pub(crate) async fn of(site: &Site, revision: &'static str) -> Self {
        Self::able(site, revision, json!({})).await
    }

    /// A client that can do something.
    pub(crate) async fn able(site: &Site, revision: &'static str, capabilities: Value) -> Self {
        Self::opened(site.address, revision, capabilities, None).await
    }

    /// A client of whatever listens there.
    pub(crate) async fn at(address: SocketAddr, revision: &'static str) -> Self {
        Self::opened(address, revision, json!({}), None).await
    }

    /// A client who says who it is.
    pub(crate) async fn known(site: &Site, revision: &'static str, token: &str) -> Self {
        Self::opened(site.address, revision, json!({}), Some(token)).await
    }

    async fn opened(
        address: SocketAddr,
        revision: &'static str,
        capabilities: Value,
        token: Option<&str>,
    ) -> Self {
        let mut peer = Self::unopened(address, revision, capabilities, token);
        if revision != MODERN {
            let mut reply = peer.initialize().await;
            assert_eq!(reply.status, 200, "{revision}");
            assert_eq!(reply.json().await["result"]["protocolVersion"], revision);
            peer.session = reply.header("mcp-session-id").map(str::to_owned);
            assert_eq!(peer.tell(&notification("notifications/initialized")).await, 202);
        }
        peer
    }

    /// Sends the handshake's first message.
    pub(crate) async fn initialize(&self) -> Reply {
        let hello = hello(self.revision, self.capabilities.clone());
        self.post(&request("hello", "initialize", hello)).without("mcp-protocol-version").send().await
    }

    fn head(&self, method: &str) -> Ask {
        let mut ask = Ask::new(self.address, method, "/mcp").judged(&self.judged);
        if let Some(session) = &self.session {
            ask = ask.and("mcp-session-id", session);
        }
        if let Some(token) = &self.token {
            ask = ask.and("authorization", &format!("Bearer {token}"));
        }
        if LEGACY.iter().position(|known| *known == self.revision).is_none_or(|at| at > 1) {
            ask = ask.and("mcp-protocol-version", self.revision);
        }
        ask
    }

    /// A POST of this message, ready to be sent or spoiled.
    pub(crate) fn post(&self, message: &Value) -> Ask {
        let mut ask = self
            .head("POST")
            .and("content-type", "application/json")
            .and("accept", "application/json, text/event-stream")
            .body(message.to_string());
        if self.revision == MODERN {
            if let Some(method) = message["method"].as_str() {
                ask = ask.and("mcp-method", method);
            }
            let params = &message["params"];
            let name = params["name"].as_str().or_else(|| params["uri"].as_str());
            if let Some(name) = name {
                ask = ask.and("mcp-name", name);
            }
        }
        ask
    }

    /// A GET that listens.
    pub(crate) fn get(&self) -> Ask {
        self.head("GET").and("accept", "text/event-stream")
    }

    /// Opens a stream for what belongs to no call.
    pub(crate) async fn listen(&self) -> Reply {
        let reply = self.get().send().await;
        assert_eq!(reply.status, 200);
        assert!(reply.is_events());
        reply
    }

    /// Takes a stream up again.
    pub(crate) async fn resume(&self, last: &str) -> Reply {
        self.get().and("last-event-id", last).send().await
    }

    pub(crate) fn delete(&self) -> Ask {
        self.head("DELETE")
    }

    /// A request in the words of this revision.
    pub(crate) fn request(&self, method: &str, mut params: Value) -> Value {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        if self.revision == MODERN {
            let meta = &mut params["_meta"];
            meta["io.modelcontextprotocol/protocolVersion"] = json!(MODERN);
            meta["io.modelcontextprotocol/clientCapabilities"] = self.capabilities.clone();
            meta["io.modelcontextprotocol/clientInfo"] = json!({ "name": "raw", "version": "0" });
        }
        request(id, method, params)
    }

    /// Sends a request and waits for the head of the response.
    pub(crate) async fn start(&self, method: &str, params: Value) -> Reply {
        self.post(&self.request(method, params)).send().await
    }

    /// Calls a tool, with a token for progress.
    pub(crate) async fn begin(&self, tool: &str, token: &str) -> Reply {
        let meta = json!({ "progressToken": token });
        self.start("tools/call", json!({ "name": tool, "arguments": {}, "_meta": meta })).await
    }

    /// Sends a request and waits for its response.
    pub(crate) async fn call(&self, method: &str, params: Value) -> Value {
        self.start(method, params).await.answer().await
    }

    /// Calls a tool; the text that it answers.
    pub(crate) async fn tool(&self, name: &str) -> String {
        text_of(&self.call("tools/call", json!({ "name": name, "arguments": {} })).await)
    }

    /// Sends what is not answered; the status.
    pub(crate) async fn tell(&self, message: &Value) -> u16 {
        self.post(message).status().await
    }

    /// How many messages of the server were judged.
    pub(crate) fn judgements(&self) -> usize {
        self.judged.lock().expect("none was found wrong").judged()
    }

    /// Answers a question of the server's; the status.
    pub(crate) async fn reply(&self, question: &Value, result: Value) -> u16 {
        self.tell(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": result })).await
    }
}

/// The text of a tool's answer.
#[track_caller]
pub(crate) fn text_of(answer: &Value) -> String {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer:#}")).to_owned()
}

/// One call of the tool `wait`.
pub(crate) struct Waiting {
    pub(crate) context: Context,
    /// Lets it finish.
    pub(crate) go: oneshot::Sender<()>,
    /// Resolves when the handler is gone: to a value if it was allowed to finish.
    pub(crate) gone: oneshot::Receiver<()>,
}

pub(crate) type Calls = mpsc::UnboundedReceiver<Waiting>;

/// A tool that works until it is told to finish.
pub(crate) fn wait() -> (ToolEntry, Calls) {
    let (calls, called) = mpsc::unbounded_channel();
    let tool = tool("wait").handler(move |context: Context| {
        let ((go, may_go), (tell, gone)) = (oneshot::channel(), oneshot::channel());
        calls.send(Waiting { context, go, gone }).ok();
        async move {
            may_go.await.ok();
            tell.send(()).ok();
            "waited"
        }
    });
    (tool, called)
}

/// A server with a tool that answers at once, one that reports on the way, and one that waits.
pub(crate) fn server() -> (Server, Calls) {
    let (wait, called) = wait();
    let server = Server::new("test", "1.0.0").tool(wait).tool(tool("now").handler(|| async { "now" })).tool(
        tool("steps").handler(|context: Context| async move {
            for step in 1..=3 {
                context.progress(f64::from(step), Some(3.0));
            }
            "done"
        }),
    );
    (server, called)
}

/// Adds a tool, so that every client that listens is told.
pub(crate) fn change(site: &Site, name: &str) {
    site.registry.add_tool(tool(name).handler(|| async { "x" })).expect("a tool");
}

/// Knows whoever comes with a token: its subject is the token. Refuses everybody else.
pub(crate) struct Tokens;

impl Authorizer for Tokens {
    fn authorize<'a>(&'a self, head: &'a http::request::Parts) -> Authorizing<'a> {
        Box::pin(async move {
            let token = head.headers.get("authorization").and_then(|value| value.to_str().ok());
            match token.and_then(|token| token.strip_prefix("Bearer ")) {
                Some("weak") => Err(Refused::forbidden(Some("Bearer error=\"insufficient_scope\"".into()))),
                Some("later") => Err(Refused::unavailable(7)),
                Some(token) if !token.is_empty() => Ok(Principal::new("test", token)),
                _ => Err(Refused::unauthorized(CHALLENGE)),
            }
        })
    }
}

/// What the authorizer says to strangers.
pub(crate) const CHALLENGE: &str = "Bearer resource_metadata=\"http://127.0.0.1/.well-known/x\"";
