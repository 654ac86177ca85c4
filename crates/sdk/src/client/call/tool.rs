//! What is special about calling a tool: approval before it, a record around it, checks after it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::reply::ToolReply;
use super::{Exchanges, Finish, unless_cancelled};
use crate::client::Client;
use crate::client::approval::{Approval, ToolCall};
use crate::client::events::{CallOutcome, Event};
use crate::client::live::Live;
use crate::client::rounds::decode;
use crate::model::ToolAnnotations;
use crate::{Error, Result};

/// The tool that a call is for.
pub(in crate::client) struct ToolPart<T> {
    pub(in crate::client) tool: String,
    pub(in crate::client) arguments: Option<Box<RawValue>>,
    pub(in crate::client) failed: fn(&T) -> bool,
}

impl<T> ToolPart<T> {
    pub(super) async fn run(
        self,
        client: &Client,
        live: &Live,
        exchanges: Exchanges<'_>,
        finish: Finish<T>,
    ) -> Result<T> {
        let mut record = Record::new(client, live, &self.tool)?;
        if let Some(approve) = &client.hub().config.approve {
            let call = describe(client, live, &self.tool, self.arguments)?;
            let cancel = Arc::clone(&exchanges.options.cancel);
            let decided = unless_cancelled(&cancel, approve(call)).await?;
            if decided == Approval::Deny {
                record.outcome = CallOutcome::Denied;
                return Err(Error::Declined);
            }
        }
        record.started();
        let cancel = Arc::clone(&exchanges.options.cancel);
        let patience = exchanges.options.patience;
        let result = match exchanges.run().await {
            Ok((result, _)) => {
                let time = patience.idle.min(patience.total.saturating_sub(record.began.elapsed()));
                let known = unless_cancelled(&cancel, get_to_know(client, &self.tool, &result, time)).await;
                known.and_then(|()| finish(client, live, &result))
            }
            Err(error) => Err(error),
        };
        record.outcome = match &result {
            Ok(reply) if (self.failed)(reply) => CallOutcome::ToolFailed,
            Ok(_) => CallOutcome::Succeeded,
            Err(Error::Cancelled) => CallOutcome::Cancelled,
            Err(error) => CallOutcome::Failed(error.to_string()),
        };
        result
    }
}

/// The schema of a result comes with the list of tools. If nobody has listed them, the first structured
/// result leads to it: once, until the list changes.
async fn get_to_know(client: &Client, tool: &str, result: &Bytes, time: Duration) {
    #[derive(Deserialize)]
    struct Structured {
        #[serde(rename = "structuredContent")]
        _content: IgnoredAny,
    }
    let tools = &client.hub().tools;
    if tools.is_strange(tool).is_none() || serde_json::from_slice::<Structured>(result).is_err() {
        return;
    }
    let _one_at_a_time = tools.listing.lock().await;
    let Some(changes) = tools.is_strange(tool) else { return };
    if !matches!(tokio::time::timeout(time, client.tools()).await, Ok(Ok(_))) {
        tracing::warn!(tool, "the tools cannot be listed; results are not checked");
    }
    tools.listed(changes);
}

/// The call as hooks see it.
pub(super) fn describe(
    client: &Client,
    live: &Live,
    tool: &str,
    arguments: Option<Box<RawValue>>,
) -> Result<ToolCall> {
    let config = &client.hub().config;
    let known = client.hub().tools.get(tool);
    // What an untrusted server says about its tools must not even be seen where decisions are made.
    let annotations = known.filter(|_| config.trusted).and_then(|tool| tool.annotations.clone());
    let harmless = annotations.as_ref().is_some_and(ToolAnnotations::is_read_only);
    let server = live.session()?.server.clone();
    let mut call = ToolCall { server, tool: tool.to_owned(), arguments, annotations, sensitive: !harmless };
    if let Some(sensitivity) = &config.sensitivity {
        call.sensitive = sensitivity(&call);
    }
    Ok(call)
}

/// Decodes, checks and filters the result of a tool.
pub(in crate::client) fn finish(
    client: &Client,
    live: &Live,
    tool: &str,
    arguments: Option<Box<RawValue>>,
    result: &Bytes,
) -> Result<ToolReply> {
    let result = decode("tools/call", result)?;
    let checked = match client.hub().tools.get(tool) {
        Some(known) => known.check(tool, &result)?,
        None => false,
    };
    let reply = ToolReply::new(result, checked);
    match &client.hub().config.filter {
        Some(filter) => filter(&describe(client, live, tool, arguments)?, reply),
        None => Ok(reply),
    }
}

/// Tells of a call's beginning and, however it goes, of its end.
struct Record<'a> {
    client: &'a Client,
    tool: &'a str,
    server: &'a str,
    call: u64,
    began: Instant,
    /// A call that is dropped half-way was cancelled.
    outcome: CallOutcome,
}

impl<'a> Record<'a> {
    fn new(client: &'a Client, live: &'a Live, tool: &'a str) -> Result<Self> {
        let server = live.session()?.server.display_name();
        let call = client.hub().next_call();
        Ok(Self { client, tool, server, call, began: Instant::now(), outcome: CallOutcome::Cancelled })
    }

    fn started(&self) {
        self.client.hub().emit(Event::CallStarted { call: self.call, tool: self.tool.to_owned() });
    }
}

impl Drop for Record<'_> {
    fn drop(&mut self) {
        let took: Duration = self.began.elapsed();
        let Self { server, tool, call, outcome, .. } = self;
        tracing::info!(target: "contexture::audit", server, tool, call, ?outcome, ?took, "tool call");
        let (tool, outcome) = (self.tool.to_owned(), self.outcome.clone());
        self.client.hub().emit(Event::CallFinished { call: self.call, tool, outcome, took });
    }
}
