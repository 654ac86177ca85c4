//! Judging whole connections: which revision is spoken, and what each message answers.

use std::collections::HashMap;
use std::io::Write;

use serde_json::{Value, json};

use crate::{Judge, REVISIONS};

const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";

/// Who sent a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum From {
    /// The client.
    Client,
    /// The server.
    Server,
}

/// Follows a connection and judges what one side, the one under test, sends.
#[derive(Debug)]
pub struct Watch {
    judged: From,
    /// What `initialize` settled on.
    session: Option<String>,
    /// Requests by sender and id: their method, and the revision that they spoke.
    asked: HashMap<(bool, String), (String, Option<String>)>,
    counts: HashMap<String, usize>,
}

impl Watch {
    /// Judges what this side sends.
    pub fn new(judged: From) -> Self {
        Self { judged, session: None, asked: HashMap::new(), counts: HashMap::new() }
    }

    /// How many messages were judged.
    pub fn judged(&self) -> usize {
        self.counts.values().sum()
    }

    /// Takes the next message. Panics if it is one of the judged side and not valid.
    #[track_caller]
    pub fn message(&mut self, from: From, message: &Value) {
        if let Value::Array(batch) = message {
            batch.iter().for_each(|message| self.message(from, message));
            return;
        }
        let revision = self.revision_of(from, message);
        if from == self.judged
            && let Some(revision) = &revision
            && let Some(judge) = Judge::of(revision)
        {
            self.judge(&judge, from, message);
            *self.counts.entry(revision.clone()).or_default() += 1;
        }
    }

    /// The revision that a message speaks, as far as it can be known. Also remembers what it asks.
    fn revision_of(&mut self, from: From, message: &Value) -> Option<String> {
        let by_client = from == From::Client;
        let id = message.get("id").map(Value::to_string);
        let Some(method) = message.get("method").and_then(Value::as_str) else {
            let (method, revision) = self.asked.get(&(!by_client, id?))?.clone();
            if method == "initialize"
                && let Some(settled) = message["result"]["protocolVersion"].as_str()
            {
                self.session = Some(settled.to_owned());
                return self.session.clone();
            }
            return revision.or_else(|| self.session.clone());
        };
        let own = message["params"]["_meta"][VERSION_KEY].as_str();
        let own = own.filter(|date| REVISIONS.contains(date)).map(str::to_owned);
        let revision = own.or_else(|| match method {
            "initialize" => {
                let offered = message["params"]["protocolVersion"].as_str();
                offered.filter(|date| REVISIONS.contains(date)).map(str::to_owned)
            }
            _ => self.notified(message).or_else(|| self.session.clone()),
        });
        if let Some(id) = id {
            self.asked.insert((by_client, id), (method.to_owned(), revision.clone()));
        }
        revision
    }

    /// Notifications name the request that they belong to, or the stream.
    fn notified(&self, message: &Value) -> Option<String> {
        let params = &message["params"];
        let named = [&params["_meta"]["io.modelcontextprotocol/subscriptionId"], &params["requestId"]];
        let modern = *REVISIONS.last()?;
        named
            .into_iter()
            .filter(|id| !id.is_null())
            .filter_map(|id| self.asked.get(&(true, id.to_string())))
            .find_map(|(_, revision)| revision.clone())
            .or_else(|| (self.session.is_none() && message.get("id").is_none()).then(|| modern.to_owned()))
    }

    #[track_caller]
    fn judge(&self, judge: &Judge, from: From, message: &Value) {
        if let Some(method) = message.get("method").and_then(Value::as_str) {
            let Some(definition) = judge.definition_of(method) else {
                panic!("{method} does not exist in this revision: {message:#}");
            };
            // Open envelopes: `jsonrpc` and `id` are judged by the envelope's own definition.
            let envelope = if message.get("id").is_some() { "JSONRPCRequest" } else { "JSONRPCNotification" };
            judge.check(envelope, message);
            judge.check(&format!("{definition}/properties/method"), &message["method"]);
            if let (Some(path), Some(params)) = (judge.params_path(definition), message.get("params")) {
                judge.check(&path, params);
            } else if judge.requires_params(definition) {
                panic!("{method} needs params: {message:#}");
            }
        } else if message.get("error").is_some() {
            // JSON-RPC's null for an id that could not be read is older than these schemas.
            if !message["id"].is_null() {
                let name = ["JSONRPCErrorResponse", "JSONRPCError"].into_iter().find(|name| judge.has(name));
                // ok: every revision defines errors, and only tests run this
                judge.check(name.expect("errors are defined"), message);
            }
        } else {
            self.judge_result(judge, from, message);
        }
    }

    #[track_caller]
    fn judge_result(&self, judge: &Judge, from: From, message: &Value) {
        let id = message["id"].to_string();
        let asked = self.asked.get(&(from != From::Client, id));
        let Some((method, _)) = asked else { panic!("an answer to nothing that was asked: {message:#}") };
        let result = &message["result"];
        let definition = if result["resultType"] == "input_required" {
            Some("InputRequiredResult".to_owned())
        } else {
            judge.result_of(method)
        };
        let Some(definition) = definition else {
            panic!("{method} does not exist in this revision: {message:#}")
        };
        judge.check(&definition, result);
        assert_eq!(message["jsonrpc"], json!("2.0"));
    }
}

/// Adds what was judged to the record of the whole test run.
impl Drop for Watch {
    fn drop(&mut self) {
        let Some(directory) = std::env::var_os("CONTEXTURE_SCHEMA_COUNTS") else { return };
        let path = std::path::Path::new(&directory).join(format!("{}.txt", std::process::id()));
        let Ok(mut file) = std::fs::OpenOptions::new().create(true).append(true).open(path) else { return };
        for (revision, count) in &self.counts {
            writeln!(file, "{revision} {count}").ok();
        }
    }
}
