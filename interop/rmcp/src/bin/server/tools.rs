//! What the tools do, on one request of rmcp's.
//!
//! An ask is a real request on a legacy connection and an input round on a modern one;
//! rmcp leaves the choice to its users, so `Call::ask` makes it.

use std::sync::atomic::Ordering;
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, InputRequest, InputRequests,
    InputRequiredResult, LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam,
    ResourceUpdatedNotificationParam,
};
use rmcp::service::{RequestContext, RoleServer, ServiceError};
use serde_json::{Value, json};

use crate::{Change, Demo, is_modern, offer, typed};

/// One tools/call.
pub struct Call<'a> {
    pub demo: &'a Demo,
    pub params: CallToolRequestParams,
    pub context: RequestContext<RoleServer>,
}

/// An answer to an ask, or the round that asks for it.
enum Answer {
    Given(Value),
    Pending(InputRequiredResult),
}

fn said(text: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

fn failed(text: impl Into<String>) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text)])
}

fn broken(error: ServiceError) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

impl Call<'_> {
    /// Runs the tool.
    pub async fn run(self) -> Result<CallToolResponse, ErrorData> {
        let name = self.params.name.to_string();
        let result = match name.as_str() {
            "echo" => said(self.text("message")?),
            "add" => self.add()?,
            "weather" => self.weather()?,
            "greet" => return self.greet().await,
            "ask_model" => return self.ask_model().await,
            "list_roots" => return self.list_roots().await,
            "countdown" => self.countdown().await?,
            "log_lines" => self.log_lines().await?,
            "sleep" => self.sleep().await?,
            "kinds" => CallToolResult::success(typed(offer::kinds())?),
            "fail" => failed(self.text("message")?),
            "toggle" => self.toggle().await?,
            "touch" => self.touch().await?,
            "extra" if self.demo.extra.load(Ordering::SeqCst) => said("extra"),
            _ => return Err(ErrorData::invalid_params(format!("unknown tool {name}"), None)),
        };
        Ok(result.into())
    }

    fn argument(&self, name: &str) -> Option<&Value> {
        self.params.arguments.as_ref()?.get(name)
    }

    fn text(&self, name: &str) -> Result<&str, ErrorData> {
        let missing = || ErrorData::invalid_params(format!("{name} is not a string"), None);
        self.argument(name).and_then(Value::as_str).ok_or_else(missing)
    }

    fn integer(&self, name: &str) -> Result<i64, ErrorData> {
        let missing = || ErrorData::invalid_params(format!("{name} is not an integer"), None);
        self.argument(name).and_then(Value::as_i64).ok_or_else(missing)
    }

    fn millis(&self, name: &str) -> Result<Duration, ErrorData> {
        Ok(Duration::from_millis(self.integer(name)?.unsigned_abs()))
    }

    fn add(&self) -> Result<CallToolResult, ErrorData> {
        let sum = self.integer("a")? + self.integer("b")?;
        let mut result = said(sum.to_string());
        result.structured_content =
            Some(if is_modern(&self.context) { json!(sum) } else { json!({ "result": sum }) });
        Ok(result)
    }

    fn weather(&self) -> Result<CallToolResult, ErrorData> {
        let report = json!({ "city": self.text("city")?, "celsius": 21.5, "sky": "clear" });
        let mut result = said(report.to_string());
        result.structured_content = Some(report);
        Ok(result)
    }

    /// Asks the client: `request` is the wire form of one of the three kinds.
    async fn ask(&self, key: &str, request: Value) -> Result<Answer, ErrorData> {
        if let Some(answer) = self.params.input_responses.as_ref().and_then(|answers| answers.get(key)) {
            return Ok(Answer::Given(answer.clone()));
        }
        let request: InputRequest = typed(request)?;
        if is_modern(&self.context) {
            let requests = InputRequests::from([(key.to_owned(), request)]);
            return Ok(Answer::Pending(InputRequiredResult::from_input_requests(requests)));
        }
        let peer = &self.context.peer;
        let answer = match request {
            InputRequest::CreateMessage(asked) => {
                serde_json::to_value(peer.create_message(asked.params).await.map_err(broken)?)
            }
            InputRequest::Elicitation(asked) => {
                serde_json::to_value(peer.create_elicitation(asked.params).await.map_err(broken)?)
            }
            InputRequest::ListRoots(_) => serde_json::to_value(peer.list_roots().await.map_err(broken)?),
            _ => return Err(ErrorData::internal_error("rmcp has a new kind of ask", None)),
        };
        answer.map(Answer::Given).map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }

    async fn greet(self) -> Result<CallToolResponse, ErrorData> {
        let greeting = self.text("greeting")?;
        let params = json!({
            "mode": "form",
            "message": "Who is there?",
            "requestedSchema": offer::form(&[("name", "string")]),
        });
        let reply = match self.ask("who", json!({ "method": "elicitation/create", "params": params })).await?
        {
            Answer::Given(reply) => reply,
            Answer::Pending(round) => return Ok(round.into()),
        };
        Ok(match (reply["action"].as_str(), reply["content"]["name"].as_str()) {
            (Some("accept"), Some(name)) => said(format!("{greeting}, {name}!")),
            _ => failed(format!("nobody said who they are: {}", reply["action"])),
        }
        .into())
    }

    async fn ask_model(self) -> Result<CallToolResponse, ErrorData> {
        let question =
            json!({ "role": "user", "content": { "type": "text", "text": self.text("question")? } });
        let params = json!({ "messages": [question], "maxTokens": 100 });
        let reply =
            match self.ask("model", json!({ "method": "sampling/createMessage", "params": params })).await? {
                Answer::Given(reply) => reply,
                Answer::Pending(round) => return Ok(round.into()),
            };
        let content = reply["content"].get(0).unwrap_or(&reply["content"]);
        Ok(said(content["text"].as_str().unwrap_or_default()).into())
    }

    async fn list_roots(self) -> Result<CallToolResponse, ErrorData> {
        let reply = match self.ask("roots", json!({ "method": "roots/list" })).await? {
            Answer::Given(reply) => reply,
            Answer::Pending(round) => return Ok(round.into()),
        };
        let roots = reply["roots"].as_array().into_iter().flatten();
        let blocks = roots.map(|root| ContentBlock::text(root["uri"].as_str().unwrap_or_default()));
        Ok(CallToolResult::success(blocks.collect()).into())
    }

    async fn countdown(&self) -> Result<CallToolResult, ErrorData> {
        let steps = self.integer("steps")?;
        let delay =
            if self.argument("delay_ms").is_some() { self.millis("delay_ms")? } else { Duration::ZERO };
        for step in 1..=steps {
            tokio::time::sleep(delay).await;
            let Some(token) = self.context.meta.get_progress_token() else { continue };
            let report = ProgressNotificationParam::new(token, step as f64)
                .with_total(steps as f64)
                .with_message(format!("{step} of {steps}"));
            self.context.peer.notify_progress(report).await.map_err(broken)?;
        }
        Ok(said("liftoff"))
    }

    /// Logs at every level that the client wants: rmcp leaves the choice to its users.
    async fn log_lines(&self) -> Result<CallToolResult, ErrorData> {
        let wanted = match self.context.meta.log_level() {
            Some(level) => Some(level),
            None if is_modern(&self.context) => None,
            None => Some(*self.demo.level.lock().await),
        };
        let rank = |level: LoggingLevel| {
            let name = serde_json::to_value(level).unwrap_or_default();
            offer::LEVELS.iter().position(|known| name == *known)
        };
        let lowest = wanted.map_or(offer::LEVELS.len(), |level| rank(level).unwrap_or(0));
        for name in &offer::LEVELS[lowest..] {
            let data = json!(format!("a line at {name}"));
            let line = LoggingMessageNotificationParam::new(typed(json!(name))?, data).with_logger("demo");
            self.context.peer.notify_logging_message(line).await.map_err(broken)?;
        }
        Ok(said("logged"))
    }

    async fn sleep(&self) -> Result<CallToolResult, ErrorData> {
        tokio::select! {
            () = tokio::time::sleep(self.millis("ms")?) => Ok(said("slept")),
            () = self.context.ct.cancelled() => {
                eprintln!("cancelled");
                Err(ErrorData::internal_error("cancelled", None))
            }
        }
    }

    async fn toggle(&self) -> Result<CallToolResult, ErrorData> {
        let here = !self.demo.extra.fetch_not(Ordering::SeqCst);
        self.demo.publish(Change::Tools);
        if !is_modern(&self.context) {
            self.context.peer.notify_tool_list_changed().await.map_err(broken)?;
        }
        Ok(said(if here { "extra is here" } else { "extra is gone" }))
    }

    async fn touch(&self) -> Result<CallToolResult, ErrorData> {
        self.demo.touched.fetch_add(1, Ordering::SeqCst);
        self.demo.publish(Change::Clock);
        if self.demo.watched.lock().await.contains(offer::CLOCK) {
            let update = ResourceUpdatedNotificationParam::new(offer::CLOCK);
            self.context.peer.notify_resource_updated(update).await.map_err(broken)?;
        }
        Ok(said("touched"))
    }
}
