//! rmcp as the checks see it: one connection, its responders, and results as wire JSON.
//!
//! Knows no check. Everything that the server sends unasked ends in one of the lists of `Heard`.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    ArgumentInfo, CallToolRequestParams, ClientConfig, ClientRequest, CompleteRequestParams,
    CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams, ElicitResult,
    GetPromptRequestParams, Implementation, ListRootsResult, LoggingMessageNotificationParam, PingRequest,
    ProgressNotificationParam, ProtocolVersion, ReadResourceRequestParams, Reference, RequestMetaObject,
    ResourceUpdatedNotificationParam, ServerNotification, SetLevelRequestParams, SubscribeRequestParams,
    SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient, RunningService, ServiceError};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt, ErrorData};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::sync::{Mutex, oneshot};
use tokio::task::JoinHandle;

/// The roots that the client has.
pub const ROOTS: [&str; 2] = ["file:///srv/one", "file:///srv/two"];

/// Why a check did not pass.
pub enum Failure {
    /// The SDK, or this era, has no such feature.
    Absent(String),
    /// A JSON-RPC error from the server.
    Refused(i32, String),
    /// Anything else that is not as the contract says.
    Wrong(String),
}

impl From<ServiceError> for Failure {
    fn from(error: ServiceError) -> Self {
        match error {
            ServiceError::McpError(error) => Self::Refused(error.code.0, error.message.into_owned()),
            other => Self::Wrong(other.to_string()),
        }
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::Wrong(error.to_string())
    }
}

/// Which era to speak.
#[derive(Clone, Copy)]
pub enum Era {
    Legacy,
    Modern,
    Auto,
}

/// What came in, and what the user answers next.
#[derive(Default)]
pub struct Heard {
    pub logged: Mutex<Vec<Value>>,
    pub progress: Mutex<Vec<Value>>,
    pub changes: Mutex<Vec<Value>>,
    pub sampled: Mutex<Vec<Value>>,
    pub elicited: Mutex<Vec<Value>>,
    pub reply: Mutex<Value>,
}

/// The client's side of the protocol.
#[derive(Clone, Default)]
struct Responders(Arc<Heard>);

/// Wire JSON of ours as one of rmcp's types.
fn typed<T: DeserializeOwned>(wire: Value) -> Result<T, ErrorData> {
    serde_json::from_value(wire).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

async fn note(list: &Mutex<Vec<Value>>, what: impl Serialize) {
    list.lock().await.push(serde_json::to_value(what).unwrap_or_default());
}

impl ClientHandler for Responders {
    fn get_info(&self) -> ClientConfig {
        let capabilities =
            json!({ "sampling": {}, "elicitation": { "form": {} }, "roots": { "listChanged": true } });
        let capabilities = serde_json::from_value(capabilities).unwrap_or_default();
        ClientConfig::new(capabilities, Implementation::new("rmcp", "1.0.0"))
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        note(&self.0.sampled, params).await;
        let content = json!({ "type": "text", "text": "It is 42." });
        typed(json!({ "role": "assistant", "content": content, "model": "a-model", "stopReason": "endTurn" }))
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        note(&self.0.elicited, params).await;
        typed(self.0.reply.lock().await.clone())
    }

    async fn list_roots(&self, _context: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        typed(json!({ "roots": ROOTS.map(|uri| json!({ "uri": uri })) }))
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        note(&self.0.progress, params).await;
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        note(&self.0.logged, params).await;
    }

    async fn on_resource_updated(
        &self,
        params: ResourceUpdatedNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        note(&self.0.changes, params.uri).await;
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        note(&self.0.changes, "tools").await;
    }
}

/// What to watch for changes.
#[derive(Clone, Copy)]
pub enum Watched {
    Tools,
    Resource(&'static str),
}

/// A listen stream being copied into `Heard::changes`; nothing on legacy connections.
pub struct Watch(Watched, Option<(oneshot::Sender<()>, JoinHandle<()>)>);

/// The connection.
pub struct Peer {
    service: RunningService<RoleClient, Responders>,
    pub heard: Arc<Heard>,
    pub modern: bool,
    pub by_url: bool,
}

impl Peer {
    /// Starts the server, or reaches it by its URL, and shakes hands with it.
    pub async fn connect(target: &[String], era: Era) -> Result<Self, String> {
        let (first, arguments) = target.split_first().ok_or("no command")?;
        let modern = vec![ProtocolVersion::V_2026_07_28];
        let lifecycle = match era {
            Era::Legacy => ClientLifecycleMode::Initialize,
            Era::Modern => ClientLifecycleMode::Discover { preferred_versions: modern },
            Era::Auto => ClientLifecycleMode::Auto { preferred_versions: modern, legacy_version: None },
        };
        let responders = Responders::default();
        let heard = responders.0.clone();
        let by_url = first.starts_with("http://");
        let connected = if by_url {
            let transport = StreamableHttpClientTransport::from_uri(first.as_str());
            responders.serve_with_lifecycle(transport, lifecycle).await
        } else {
            let mut command = Command::new(first);
            command.args(arguments);
            let process = TokioChildProcess::new(command).map_err(|error| error.to_string())?;
            responders.serve_with_lifecycle(process, lifecycle).await
        };
        let service = connected.map_err(|error| format!("{error:?}"))?;
        let modern =
            service.peer_info().is_some_and(|info| info.protocol_version == ProtocolVersion::V_2026_07_28);
        Ok(Self { service, heard, modern, by_url })
    }

    /// Closes the server's stdin and waits for its end; over HTTP, ends the session.
    pub async fn close(self) -> Result<(), Failure> {
        self.service.cancel().await.map(drop).map_err(|error| Failure::Wrong(error.to_string()))
    }

    /// What the server said of itself.
    pub fn hello(&self) -> Result<Value, Failure> {
        let info = self.service.peer_info().ok_or_else(|| Failure::Wrong("no peer info".to_owned()))?;
        Ok(serde_json::to_value(&*info)?)
    }

    pub async fn ping(&self) -> Result<(), Failure> {
        self.service.send_request(ClientRequest::PingRequest(PingRequest::default())).await?;
        Ok(())
    }

    pub async fn tools(&self) -> Result<Value, Failure> {
        Ok(serde_json::to_value(self.service.list_all_tools().await?)?)
    }

    pub async fn resources(&self) -> Result<Value, Failure> {
        Ok(serde_json::to_value(self.service.list_all_resources().await?)?)
    }

    pub async fn templates(&self) -> Result<Value, Failure> {
        Ok(serde_json::to_value(self.service.list_all_resource_templates().await?)?)
    }

    pub async fn prompts(&self) -> Result<Value, Failure> {
        Ok(serde_json::to_value(self.service.list_all_prompts().await?)?)
    }

    pub async fn call(&self, name: &'static str, arguments: Value) -> Result<Value, Failure> {
        self.call_logging(name, arguments, None).await
    }

    /// A call that, in the modern era, opts in to log messages from a level up.
    pub async fn call_logging(
        &self,
        name: &'static str,
        arguments: Value,
        level: Option<&str>,
    ) -> Result<Value, Failure> {
        let mut params = CallToolRequestParams::new(name);
        params.arguments = arguments.as_object().cloned();
        if let Some(level) = level {
            let mut meta = RequestMetaObject::new();
            meta.set_log_level(serde_json::from_value(json!(level))?);
            params.meta = Some(meta);
        }
        Ok(serde_json::to_value(self.service.call_tool(params).await?)?)
    }

    /// Calls a tool and abandons the call, which rmcp turns into a cancellation.
    pub async fn abandon(
        &self,
        name: &'static str,
        arguments: Value,
        after: Duration,
    ) -> Result<(), Failure> {
        match tokio::time::timeout(after, self.call(name, arguments)).await {
            Ok(Ok(answer)) => Err(Failure::Wrong(format!("answered before the cancellation: {answer}"))),
            Ok(Err(failure)) => Err(failure),
            Err(_) => Ok(()),
        }
    }

    pub async fn read(&self, uri: &str) -> Result<Value, Failure> {
        let result = self.service.read_resource(ReadResourceRequestParams::new(uri)).await?;
        Ok(serde_json::to_value(result)?)
    }

    pub async fn prompt(&self, name: &str, arguments: Value) -> Result<Value, Failure> {
        let mut params = GetPromptRequestParams::new(name);
        params.arguments = arguments.as_object().cloned();
        Ok(serde_json::to_value(self.service.get_prompt(params).await?)?)
    }

    pub async fn complete(&self, of: Reference, argument: &str, value: &str) -> Result<Value, Failure> {
        let params = CompleteRequestParams::new(of, ArgumentInfo::new(argument, value));
        Ok(serde_json::to_value(self.service.complete(params).await?)?)
    }

    pub async fn set_level(&self, level: &str) -> Result<(), Failure> {
        let level = serde_json::from_value(json!(level))?;
        Ok(self.service.set_level(SetLevelRequestParams::new(level)).await?)
    }

    /// Sees to it that changes arrive in `Heard::changes`.
    pub async fn watch(&self, watched: Watched) -> Result<Watch, Failure> {
        let filter = match watched {
            Watched::Tools => SubscriptionFilter::builder().tools_list_changed(),
            Watched::Resource(uri) => SubscriptionFilter::builder().resource_subscription(uri),
        };
        if !self.modern {
            if let Watched::Resource(uri) = watched {
                self.service.subscribe(SubscribeRequestParams::new(uri)).await?;
            }
            return Ok(Watch(watched, None));
        }
        let mut stream = self.service.listen(filter.build()).await?;
        let heard = self.heard.clone();
        let (stop, mut stopped) = oneshot::channel();
        let copying = tokio::spawn(async move {
            loop {
                let event = tokio::select! {
                    event = stream.next() => event,
                    _ = &mut stopped => break,
                };
                match event {
                    Ok(Some(ServerNotification::ResourceUpdatedNotification(update))) => {
                        note(&heard.changes, update.params.uri).await;
                    }
                    Ok(Some(ServerNotification::ToolListChangedNotification(_))) => {
                        note(&heard.changes, "tools").await;
                    }
                    Ok(Some(_)) => {}
                    Ok(None) | Err(_) => break,
                }
            }
            // The stream may have ended by itself.
            let _ = stream.cancel().await;
        });
        Ok(Watch(watched, Some((stop, copying))))
    }

    /// Ends what `watch` began.
    pub async fn unwatch(&self, Watch(watched, listening): Watch) -> Result<(), Failure> {
        if let Some((stop, copying)) = listening {
            drop(stop);
            return copying.await.map_err(|error| Failure::Wrong(error.to_string()));
        }
        if let Watched::Resource(uri) = watched {
            self.service.unsubscribe(UnsubscribeRequestParams::new(uri)).await?;
        }
        Ok(())
    }
}
