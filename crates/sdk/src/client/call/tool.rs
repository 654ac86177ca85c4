//! What is special about calling a tool: approval before it, a record around it, checks after it.

use std::time::Duration;

use serde_json::value::RawValue;
use tokio::time::Instant;

use super::reply::ToolReply;
use super::{Exchanges, approved};
use crate::client::Client;
use crate::client::approval::ToolCall;
use crate::client::events::{CallOutcome, Event};
use crate::client::live::Live;
use crate::client::payload::Payload;
use crate::model::{CallToolResult, ToolAnnotations};
use crate::{Error, Result};

/// Calls a tool.
pub(super) async fn run(tool: &str, live: &Live, exchanges: &mut Exchanges<'_>) -> Result<ToolReply> {
    let mut record = Record::new(exchanges.client, live, tool)?;
    let approved = approved::ask(live, exchanges).await;
    if let Err(Error::Declined) = approved {
        record.outcome = CallOutcome::Denied;
    }
    approved?;
    record.started();
    let reply = exchange(tool, live, exchanges, record.began).await;
    record.outcome = match &reply {
        Ok(reply) if reply.is_error() => CallOutcome::ToolFailed,
        Ok(_) => CallOutcome::Succeeded,
        Err(Error::Cancelled) => CallOutcome::Cancelled,
        Err(error) => CallOutcome::Failed(error.to_string()),
    };
    reply
}

async fn exchange(
    tool: &str,
    live: &Live,
    exchanges: &mut Exchanges<'_>,
    began: Instant,
) -> Result<ToolReply> {
    let client = exchanges.client;
    let (result, _): (CallToolResult, _) = exchanges.run().await?;
    if result.structured_content.is_some() && client.hub().tools.is_strange(tool).is_some() {
        let patience = exchanges.options.patience;
        let time = patience.idle.min(patience.total.saturating_sub(began.elapsed()));
        Box::pin(exchanges.options.cancel.unless(get_to_know(client, tool, time))).await?;
    }
    finish(client, live, tool, exchanges.payload, result)
}

/// The schema of a result comes with the list of tools. If nobody has listed them, the first structured
/// result leads to it: once, until the list changes.
async fn get_to_know(client: &Client, tool: &str, time: Duration) {
    let tools = &client.hub().tools;
    let _one_at_a_time = tools.listing.lock().await;
    let Some(changes) = tools.is_strange(tool) else { return };
    if !matches!(client.live().link.in_time(time, client.tools()).await, Some(Ok(_))) {
        tracing::warn!(tool, "the tools cannot be listed; results are not checked");
    }
    tools.listed(changes);
}

/// The call as hooks see it.
pub(super) fn describe(client: &Client, live: &Live, tool: &str, payload: &Payload) -> Result<ToolCall> {
    let config = &client.hub().config;
    let known = client.hub().tools.get(tool);
    // What an untrusted server says about its tools must not even be seen where decisions are made.
    let annotations = known.as_ref().filter(|_| config.trusted).and_then(|tool| tool.annotations.clone());
    let harmless = annotations.as_ref().is_some_and(ToolAnnotations::is_read_only);
    let server = live.session()?.server.clone();
    let arguments = payload.member("arguments").map(|text| RawValue::from_string(text.to_owned()));
    // The text of a payload is JSON.
    let arguments = arguments.transpose().map_err(|error| Error::Misuse(error.to_string()))?;
    let mut call = ToolCall {
        server,
        tool: tool.to_owned(),
        arguments,
        listed: known.and_then(|tool| tool.shown.clone()),
        annotations,
        trusted: config.trusted,
        sensitive: !harmless,
    };
    if let Some(sensitivity) = &config.sensitivity {
        call.sensitive = sensitivity(&call);
    }
    Ok(call)
}

/// Checks and filters the result of a tool.
fn finish(
    client: &Client,
    live: &Live,
    tool: &str,
    payload: &Payload,
    result: CallToolResult,
) -> Result<ToolReply> {
    let checked = match client.hub().tools.get(tool) {
        Some(known) => known.check(tool, &result)?,
        None => false,
    };
    let reply = ToolReply::new(result, checked);
    match &client.hub().config.filter {
        Some(filter) => filter(&describe(client, live, tool, payload)?, reply),
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
        let event = || Event::CallStarted { call: self.call, tool: self.tool.to_owned() };
        self.client.hub().emit_with(event);
    }
}

impl Drop for Record<'_> {
    fn drop(&mut self) {
        let took: Duration = self.began.elapsed();
        let Self { server, tool, call, outcome, .. } = self;
        tracing::info!(target: "contexture::audit", server, tool, call, ?outcome, ?took, "tool call");
        self.client.hub().emit_with(|| {
            let (tool, outcome) = (self.tool.to_owned(), self.outcome.clone());
            Event::CallFinished { call: self.call, tool, outcome, took }
        });
    }
}
