//! Outcomes as lines on the wire, in the words of the peer's revision.

use serde::Serialize;

use super::exchange::Outcome;
use super::operation::Reply;
use super::serving::Serving;
use crate::json_rpc::{self, RequestId};
use crate::model::{
    CallToolResult, CompleteResult, Completion, Content, DiscoverResult, EmptyResult, ErrorObject,
    GetPromptResult, InputRequiredResult, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, Meta, Method, ReadResourceResult, key,
};
use crate::revision::{Lower, Rules};

/// A result as it is sent.
trait Sent: Serialize + Lower {
    fn meta(&mut self) -> &mut Option<Meta>;

    fn write(&self, out: &mut Vec<u8>) -> serde_json::Result<()> {
        serde_json::to_writer(out, self)
    }
}

macro_rules! sent {
    ($($result:ty),* $(,)?) => {
        $(impl Sent for $result {
            fn meta(&mut self) -> &mut Option<Meta> {
                &mut self.meta
            }
        })*
    };
}

impl Sent for CallToolResult {
    fn meta(&mut self) -> &mut Option<Meta> {
        &mut self.meta
    }

    fn write(&self, out: &mut Vec<u8>) -> serde_json::Result<()> {
        self.write_json(out)
    }
}

sent! {
    CompleteResult, DiscoverResult, EmptyResult, GetPromptResult, InputRequiredResult,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, ReadResourceResult,
}

/// Another server's result, as it came: on one line, which is all that a line may be.
fn write_forwarded(id: &RequestId, result: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    id.write(out);
    out.extend_from_slice(br#","result":"#);
    let start = out.len();
    out.extend_from_slice(result);
    // Inside of strings they are escaped, so those that are left mean no more than a space does.
    for byte in &mut out[start..] {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    out.push(b'}');
}

/// Completers of one's own may find more than can be sent.
fn limit(completion: &mut Completion) {
    let found = completion.values.len();
    if found > Completion::MAX_VALUES {
        completion.values.truncate(Completion::MAX_VALUES);
        completion.total.get_or_insert(found as u64);
        completion.has_more = Some(true);
    }
}

impl Serving {
    /// Writes the final response of an exchange.
    pub(super) fn write_outcome(&self, id: &RequestId, rules: &Rules, outcome: Outcome, out: &mut Vec<u8>) {
        match outcome {
            Outcome::Complete(reply) => self.write_reply(id, rules, reply, out),
            Outcome::InputRequired(result) => self.write_result(id, rules, result, out),
            Outcome::Error(mut error) => {
                error.lower(rules);
                json_rpc::error_line(Some(id), false, &error, out);
            }
            Outcome::Cancelled => {}
        }
    }

    fn write_reply(&self, id: &RequestId, rules: &Rules, reply: Reply, out: &mut Vec<u8>) {
        match reply {
            Reply::Tool(result) => {
                self.warn_of_embedded(&result);
                self.write_result(id, rules, result, out);
            }
            Reply::Encoded(result) => self.write_encoded(id, rules, &result, out),
            // In another revision it has become one of the others by now.
            Reply::Forwarded { result, .. } => write_forwarded(id, &result, out),
            Reply::Tools(result) => self.write_result(id, rules, result, out),
            Reply::Prompts(result) => self.write_result(id, rules, result, out),
            Reply::Prompt(result) => self.write_result(id, rules, result, out),
            Reply::Resources(result) => self.write_result(id, rules, result, out),
            Reply::ResourceTemplates(result) => self.write_result(id, rules, result, out),
            Reply::Resource(mut result) => {
                result.ttl_ms = result.ttl_ms.or(Some(0));
                self.write_result(id, rules, result, out);
            }
            Reply::Completion(mut result) => {
                limit(&mut result.completion);
                self.write_result(id, rules, result, out);
            }
            Reply::Discovered(result) => self.write_result(id, rules, *result, out),
            Reply::Subscribed(_)
            | Reply::Unsubscribed(_)
            | Reply::MayTell(_)
            | Reply::LevelSet(_)
            | Reply::Listening(_) => self.write_result(id, rules, EmptyResult::default(), out),
        }
    }

    /// Who embeds resources should offer resources, so that clients know what to do with them.
    fn warn_of_embedded(&self, result: &CallToolResult) {
        let embeds = result.content.iter().any(|block| matches!(block, Content::Resource(_)));
        if embeds && !self.answers(Method::ResourcesRead) {
            tracing::warn!("a tool embeds a resource, but this server offers no resources");
        }
    }

    fn write_result<T: Sent>(&self, id: &RequestId, rules: &Rules, mut result: T, out: &mut Vec<u8>) {
        result.lower(rules);
        let mut append_meta = false;
        if rules.has_server_info_meta {
            match result.meta() {
                Some(meta) => meta.set(key::SERVER_INFO, &self.info),
                None => append_meta = true,
            }
        }
        if let Err(error) = json_rpc::result_line_with(id, |out| result.write(out), out) {
            let error = ErrorObject::internal(format!("the result cannot be encoded: {error}"));
            return json_rpc::error_line(Some(id), false, &error, out);
        }
        if append_meta {
            self.append_meta(out);
        }
    }

    fn write_encoded(&self, id: &RequestId, rules: &Rules, result: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
        id.write(out);
        out.extend_from_slice(br#","result":"#);
        out.extend_from_slice(result);
        out.push(b'}');
        if rules.has_server_info_meta {
            self.append_meta(out);
        }
    }

    /// Puts who we are behind the last member of a result, which is never empty in that era.
    fn append_meta(&self, out: &mut Vec<u8>) {
        out.truncate(out.len() - 2);
        out.extend_from_slice(&self.result_end);
    }
}
