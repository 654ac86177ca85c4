//! The server on rmcp: its `ServerHandler`, both eras, on one pipe or one URL.
//!
//! `rmcp-server` serves stdio; `rmcp-server --listen 127.0.0.1:PORT` serves Streamable HTTP at `/mcp`, with
//! sessions in the legacy era, and says where on stderr. With `--stateless` it has none, and answers with JSON.
//!
//! Uses the handler trait rather than the tool macros: these have no word for resources,
//! subscriptions or asks in both eras. What the tools do is in `tools.rs`, what they look
//! like in `offer.rs`.

#![allow(deprecated, reason = "rmcp deprecates what only the legacy era has; it is to be tried too")]

mod offer;
mod tools;

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, GetPromptRequestParams,
    GetPromptResponse, GetPromptResult, Implementation, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, LoggingLevel, PaginatedRequestParams, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Reference, ServerConfig,
    SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, ServerHandler, ServiceExt, transport};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::{Mutex, broadcast};

/// What subscribers are told of.
#[derive(Clone, Copy)]
enum Change {
    Tools,
    Clock,
}

/// The server's state.
struct Demo {
    extra: AtomicBool,
    touched: AtomicU64,
    level: Mutex<LoggingLevel>,
    watched: Mutex<HashSet<String>>,
    changes: broadcast::Sender<Change>,
    /// Receivers for the listen streams about to open, taken before rmcp acknowledges them.
    opening: std::sync::Mutex<Vec<broadcast::Receiver<Change>>>,
}

impl Demo {
    fn new() -> Self {
        Self {
            extra: AtomicBool::new(false),
            touched: AtomicU64::new(0),
            level: Mutex::new(LoggingLevel::Debug),
            watched: Mutex::default(),
            changes: broadcast::channel(64).0,
            opening: std::sync::Mutex::default(),
        }
    }

    /// Tells the listen streams; that there may be none is no error.
    fn publish(&self, change: Change) {
        let _ = self.changes.send(change);
    }
}

/// Wire JSON of ours as one of rmcp's types.
fn typed<T: DeserializeOwned>(wire: Value) -> Result<T, ErrorData> {
    serde_json::from_value(wire).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

/// A final result. rmcp strips the mark again for the legacy era, but adds none to what it did not build.
fn complete<T: DeserializeOwned>(mut wire: Value) -> Result<T, ErrorData> {
    wire["resultType"] = json!("complete");
    typed(wire)
}

/// Whether the request came in the modern era.
fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version() == Some(ProtocolVersion::V_2026_07_28)
}

impl ServerHandler for Demo {
    fn get_info(&self) -> ServerConfig {
        let capabilities = json!({
            "tools": { "listChanged": true },
            "resources": { "subscribe": true },
            "prompts": {},
            "completions": {},
            "logging": {},
        });
        ServerConfig::new(serde_json::from_value(capabilities).unwrap_or_default())
            .with_server_info(Implementation::new("rmcp", "1.0.0"))
            .with_instructions(offer::INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        complete(offer::tools(is_modern(&context), self.extra.load(Ordering::SeqCst)))
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        tools::Call { demo: self, params, context }.run().await
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        complete(offer::resources())
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        complete(offer::templates())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let result: ReadResourceResult =
            complete(offer::read(&request.uri, self.touched.load(Ordering::SeqCst))?)?;
        Ok(result.into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.watched.lock().await.insert(request.uri);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.watched.lock().await.remove(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        // rmcp acknowledges before it calls `listen`: a receiver made there could miss a change.
        self.opening.lock().unwrap_or_else(PoisonError::into_inner).push(self.changes.subscribe());
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let opened = self.opening.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut changes = opened.unwrap_or_else(|| self.changes.subscribe());
        loop {
            let change = tokio::select! {
                () = context.cancelled() => return Ok(()),
                change = changes.recv() => change,
            };
            // A refusal means that this stream did not ask for that change.
            let _ = match change {
                Ok(Change::Tools) => context.sink().notify_tool_list_changed().await,
                Ok(Change::Clock) => context.sink().notify_resource_updated(offer::CLOCK).await,
                Err(_) => return Ok(()),
            };
        }
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        complete(offer::prompts())
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let result: GetPromptResult =
            complete(offer::prompt(&request.name, &request.arguments.unwrap_or_default())?)?;
        Ok(result.into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let of = match &request.r#ref {
            Reference::Prompt(prompt) => prompt.name.as_str(),
            Reference::Resource(template) => template.uri.as_str(),
            _ => "",
        };
        complete(offer::complete(of, &request.argument.name, &request.argument.value))
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        *self.level.lock().await = request.level;
        Ok(())
    }
}

/// Serves HTTP until it is killed. rmcp makes a handler for each session and for each modern request: all
/// share one state.
async fn listen(address: &str, stateless: bool) -> Result<(), Box<dyn std::error::Error>> {
    let demo = Arc::new(Demo::new());
    // rmcp forgets a stream with its answer: a client that waits the usual three seconds comes too late.
    let retry = Some(Duration::from_millis(100));
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.sse_retry = retry;
    let service: StreamableHttpService<Arc<Demo>, LocalSessionManager> = StreamableHttpService::new(
        move || Ok(Arc::clone(&demo)),
        Arc::new(sessions),
        StreamableHttpServerConfig::default()
            .with_sse_retry(retry)
            .with_legacy_session_mode(!stateless)
            .with_json_response(stateless),
    );
    let listener = tokio::net::TcpListener::bind(address).await?;
    eprintln!("listening on http://{}/mcp", listener.local_addr()?);
    Ok(axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => {
            let server = Demo::new().serve(transport::stdio()).await?;
            server.waiting().await?;
            Ok(())
        }
        ["--listen", address] => listen(address, false).await,
        ["--stateless", "--listen", address] => listen(address, true).await,
        _ => Err("usage: rmcp-server [[--stateless] --listen 127.0.0.1:PORT]".into()),
    }
}
