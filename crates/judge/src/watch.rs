//! Judging whole connections: which revision is spoken, and what each message answers.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

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
    /// Messages by the revision whose schema has judged them.
    counts: HashMap<String, usize>,
    /// Messages of the judged side whose revision is known.
    attributed: usize,
    /// The revision of the message that is being judged: still there if it was found wrong.
    judging: Option<String>,
}

impl Watch {
    /// Judges what this side sends.
    pub fn new(judged: From) -> Self {
        Self {
            judged,
            session: None,
            asked: HashMap::new(),
            counts: HashMap::new(),
            attributed: 0,
            judging: None,
        }
    }

    /// How many messages were judged. Those whose schema is missing count too: that is said elsewhere, and is no
    /// fault of whoever sent them.
    pub fn judged(&self) -> usize {
        self.attributed
    }

    /// Takes the next message. Panics if it is one of the judged side and not valid.
    #[track_caller]
    pub fn message(&mut self, from: From, message: &Value) {
        if let Value::Array(batch) = message {
            batch.iter().for_each(|message| self.message(from, message));
            return;
        }
        let revision = self.revision_of(from, message);
        let Some(revision) = revision.filter(|_| from == self.judged) else { return };
        self.attributed += 1;
        if let Some(judge) = Judge::of(&revision) {
            self.judging = Some(revision.clone());
            self.judge(&judge, from, message);
            self.judging = None;
            *self.counts.entry(revision).or_default() += 1;
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

/// Adds what was judged to the record of the whole test run; also that something was found wrong, because the
/// panic may be lost with the thread or the process in which it happened.
impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(directory) = std::env::var_os("CONTEXTURE_SCHEMA_COUNTS") {
            record(Path::new(&directory), &self.counts, self.judging.as_deref());
        }
    }
}

/// In one write, because the tests of a process share a file.
fn record(directory: &Path, counts: &HashMap<String, usize>, invalid: Option<&str>) {
    let mut lines: String = counts.iter().map(|(date, count)| format!("{date} {count}\n")).collect();
    if let Some(revision) = invalid {
        writeln!(lines, "invalid message of {revision}").ok();
    }
    let path = directory.join(format!("{}.txt", std::process::id()));
    if let Ok(mut file) = std::fs::OpenOptions::new().create(true).append(true).open(path) {
        file.write_all(lines.as_bytes()).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Not through a watch, which would write to the record of the run that this test is a part of.
    fn recorded(name: &str, watches: impl FnOnce(&Path)) -> Vec<String> {
        let directory = std::env::temp_dir().join(format!("contexture-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a directory");
        watches(&directory);
        let file = directory.join(format!("{}.txt", std::process::id()));
        let text = std::fs::read_to_string(file).expect("a record");
        std::fs::remove_dir_all(&directory).expect("removed");
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn records_of_many_threads_do_not_mix() {
        let counts = REVISIONS.iter().map(|date| ((*date).to_owned(), 15)).collect();
        let lines = recorded("counts", |directory| {
            std::thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| {
                        for _ in 0..200 {
                            record(directory, &counts, None);
                        }
                    });
                }
            });
        });
        assert_eq!(lines.len(), 8 * 200 * REVISIONS.len());
        let bad = lines.iter().find(|line| !REVISIONS.iter().any(|date| **line == format!("{date} 15")));
        assert_eq!(bad, None);
    }

    #[test]
    fn a_message_that_was_found_wrong_is_on_the_record() {
        let lines = recorded("invalid", |directory| {
            record(directory, &HashMap::new(), Some("2025-06-18"));
        });
        assert_eq!(lines, ["invalid message of 2025-06-18"]);
    }
}
