//! One client in front of a book: what was heard so far, and what is to be said next.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::book::{Book, Part, SUBSCRIPTION, Step, key};
use crate::transcript::{Kind, named_revision, progress_token};

/// What of a request is shown to whoever asked it in vain.
const SHOWN: usize = 200;
/// Questions that wait for an answer, and answers that wait for a question.
const MOST: usize = 10_000;
const INVALID_PARAMS: i64 = -32602;
const METHOD_NOT_FOUND: i64 = -32601;

/// Something to say.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) text: String,
    /// The client's id of the request on whose way it is said.
    pub(super) of: Option<Value>,
    /// Whether it is the answer to that request.
    pub(super) is_answer: bool,
}

/// One client's way through a book.
pub(super) struct Player {
    book: Arc<Book>,
    /// The recorded connection that is played.
    connection: Option<u32>,
    /// The revision that its session began with.
    revision: Option<String>,
    /// Parts that were played.
    used: HashSet<usize>,
    /// Recorded ids of requests and tokens, and what this client calls them.
    ids: HashMap<String, Value>,
    tokens: HashMap<String, Value>,
    /// Parts that wait for an answer: which, and where.
    waiting: Vec<(usize, usize)>,
    answered: HashSet<String>,
}

#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

impl Player {
    pub(super) fn new(book: Arc<Book>) -> Self {
        Self {
            book,
            connection: None,
            revision: None,
            used: HashSet::new(),
            ids: HashMap::new(),
            tokens: HashMap::new(),
            waiting: Vec::new(),
            answered: HashSet::new(),
        }
    }

    /// What is said before anything is heard.
    pub(super) fn begin(&mut self) -> Vec<Said> {
        let book = Arc::clone(&self.book);
        let say = |step: &Step| match step {
            Step::Say { text, of } => Some(self.adapted(text, of.as_ref())),
            Step::Await(_) => None,
        };
        book.prologue.iter().filter_map(say).collect()
    }

    /// What is said because of this.
    pub(super) fn hear(&mut self, line: &[u8]) -> Vec<Said> {
        let Ok(message) = serde_json::from_slice::<Value>(line) else {
            return vec![refused(&Value::Null, -32700, "this is no JSON")];
        };
        let kind = Kind::of(&message);
        if let Kind::Answer { id } = &kind {
            if self.answered.len() < MOST {
                self.answered.insert(id.to_string());
            }
            return self.go_on();
        }
        match (self.find(&message, &kind), kind) {
            (Some(at), kind) => self.play(at, &message, &kind),
            (None, Kind::Request { id, method }) if method == "ping" => {
                vec![answer(&id, "\"result\":{}")]
            }
            (None, Kind::Request { id, method }) => vec![self.unknown(&id, &method, &message)],
            (None, Kind::Notification { method }) if method == "notifications/cancelled" => {
                self.forget(message.pointer("/params/requestId"));
                Vec::new()
            }
            (None, _) => Vec::new(),
        }
    }

    /// The part that follows from a message: the first that was not played, or else the last that fits; of the same
    /// conversation, or else of any.
    fn find(&mut self, message: &Value, kind: &Kind) -> Option<usize> {
        if kind.method() == Some("initialize") {
            let at = self.book.opening(message)?;
            let part = &self.book.parts[at];
            (self.connection, self.revision) = (Some(part.connection), part.revision.clone());
            return Some(at);
        }
        let key = key(message);
        let named = named_revision(message);
        let revision = named.or(self.revision.as_deref());
        let fits = || self.book.parts.iter().enumerate().filter(|(_, part)| part.key == key);
        // Of the same session, of the same revision, of any.
        let near: [&dyn Fn(&Part) -> bool; 3] = [
            &|part| named.is_none() && self.connection == Some(part.connection),
            &|part| part.revision.as_deref() == revision,
            &|_| true,
        ];
        let found = near.iter().find_map(|is_near| {
            let near = || fits().filter(|(_, part)| is_near(part));
            near().find(|(at, _)| !self.used.contains(at)).or_else(|| near().next_back())
        });
        let discovers = kind.method() == Some("server/discover");
        let discovery = |(_, part): &(usize, &Part)| discovers && part.method.as_deref() == kind.method();
        found.or_else(|| self.book.parts.iter().enumerate().find(discovery)).map(|(at, _)| at)
    }

    fn play(&mut self, at: usize, message: &Value, kind: &Kind) -> Vec<Said> {
        let book = Arc::clone(&self.book);
        let part = &book.parts[at];
        self.used.insert(at);
        if let (Some(recorded), Kind::Request { id, .. }) = (&part.id, kind) {
            self.ids.insert(recorded.to_string(), id.clone());
        }
        if let (Some(recorded), Some(token)) = (&part.token, progress_token(message)) {
            self.tokens.insert(recorded.to_string(), token.clone());
        }
        for step in &part.steps {
            // Asked again, a question waits for its answer again.
            if let Step::Await(question) = step {
                self.answered.remove(&question.to_string());
            }
        }
        self.run(at, 0)
    }

    fn go_on(&mut self) -> Vec<Said> {
        let waiting = std::mem::take(&mut self.waiting);
        waiting.into_iter().flat_map(|(part, step)| self.run(part, step)).collect()
    }

    fn run(&mut self, at: usize, from: usize) -> Vec<Said> {
        let book = Arc::clone(&self.book);
        let mut said = Vec::new();
        for (step, what) in book.parts[at].steps.iter().enumerate().skip(from) {
            match what {
                Step::Await(question) if !self.answered.contains(&question.to_string()) => {
                    if self.waiting.len() >= MOST {
                        self.waiting.remove(0);
                    }
                    self.waiting.push((at, step));
                    break;
                }
                Step::Await(_) => {}
                Step::Say { text, of } => said.push(self.adapted(text, of.as_ref())),
            }
        }
        said
    }

    /// A client that gave up hears no more of it.
    fn forget(&mut self, request: Option<&Value>) {
        let (book, ids) = (Arc::clone(&self.book), &self.ids);
        let is_called =
            |part: &usize| book.parts[*part].id.as_ref().and_then(|id| ids.get(&id.to_string())) == request;
        self.waiting.retain(|(part, _)| request.is_none() || !is_called(part));
    }

    /// What was recorded, with the ids and tokens of this client.
    fn adapted(&self, text: &str, of: Option<&Value>) -> Said {
        let of = of.and_then(|id| self.ids.get(&id.to_string())).cloned();
        let mut message: Value = serde_json::from_str(text).unwrap_or_default();
        match (Kind::of(&message), serde_json::from_str::<Answer<'_>>(text)) {
            (Kind::Answer { .. }, Ok(Answer { result: Some(result), .. })) if of.is_some() => {
                let id = of.clone().unwrap_or_default();
                Said { of, is_answer: true, ..answer(&id, &format!("\"result\":{}", result.get())) }
            }
            (Kind::Answer { .. }, Ok(Answer { error: Some(error), .. })) if of.is_some() => {
                let id = of.clone().unwrap_or_default();
                Said { of, is_answer: true, ..answer(&id, &format!("\"error\":{}", error.get())) }
            }
            _ => {
                let token = replace(&mut message, "/params/progressToken", &self.tokens);
                let stream = replace(&mut message, SUBSCRIPTION, &self.ids);
                let text = if token || stream { message.to_string() } else { text.to_owned() };
                Said { text, of, is_answer: false }
            }
        }
    }

    /// Says what the transcript has instead.
    fn unknown(&self, id: &Value, method: &str, message: &Value) -> Said {
        let same: Vec<&Part> =
            self.book.parts.iter().filter(|part| part.method.as_deref() == Some(method)).collect();
        if same.is_empty() {
            return refused(id, METHOD_NOT_FOUND, &format!("nobody asked {method} in this transcript"));
        }
        let asked = shown(message.get("params"));
        let known: Vec<String> = same.iter().take(5).map(|part| shown(part.key.get("params"))).collect();
        let what =
            format!("nobody asked {method} with {asked} in this transcript, but with {}", known.join(", "));
        refused(id, INVALID_PARAMS, &what)
    }
}

/// Whether something stood there that has another name now.
fn replace(message: &mut Value, pointer: &str, names: &HashMap<String, Value>) -> bool {
    let Some(place) = message.pointer_mut(pointer) else { return false };
    let Some(name) = names.get(&place.to_string()) else { return false };
    *place = name.clone();
    true
}

fn shown(params: Option<&Value>) -> String {
    let mut params = params.cloned().unwrap_or_else(|| json!({}));
    if let Some(members) = params.as_object_mut() {
        members.remove("_meta");
    }
    crate::terminal::text::cut(&params.to_string(), SHOWN)
}

fn answer(id: &Value, member: &str) -> Said {
    let text = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{member}}}");
    Said { text, of: Some(id.clone()), is_answer: true }
}

fn refused(id: &Value, code: i64, message: &str) -> Said {
    answer(id, &format!("\"error\":{}", json!({ "code": code, "message": message })))
}
