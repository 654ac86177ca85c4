//! `replay`: says again what a client said, and shows what the server answers otherwise.
//!
//! Everything is said in the order of the transcript, and not before that has come which had come then. What the server asks is
//! answered as it was. Messages that belong to different exchanges may come in another order.

use std::collections::{BTreeMap, HashMap};
use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use contexture::transport::Side;
use serde_json::{Value, json};

use super::compare::compare;
use super::session::{Got, Session, refused};
use super::shape::{Finding, Report, Shape};
use crate::connect::bare;
use crate::exit::Failure;
use crate::options::{Replaying, Target};
use crate::place::Place;
use crate::terminal::note;
use crate::transcript::{Ending, Entry, Event, Kind, Transcript};

/// How long an answer may take, if nothing else is said.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long is waited for what no answer follows.
const TRAILING: Duration = Duration::from_secs(5);
/// How long a server that is left may still have something to say.
const LEAVING: Duration = Duration::from_secs(3);

pub(super) async fn run(replaying: &Replaying, place: &Place) -> Result<(), Failure> {
    let transcript = Transcript::load(&replaying.file)?;
    if transcript.is_cut {
        note("contexture: the last line of the transcript was cut off, and is left out");
    }
    let mut replay = Replay {
        place,
        target: &replaying.target,
        ignored: &replaying.ignore,
        sessions: BTreeMap::new(),
        asked: HashMap::new(),
        owed: Vec::new(),
        report: Report::default(),
    };
    for (at, entry) in transcript.entries.iter().enumerate() {
        replay.step(entry, &transcript.entries[at + 1..]).await?;
    }
    let open: Vec<u32> = replay.sessions.keys().copied().collect();
    for connection in open {
        replay.leave(connection).await;
    }
    replay.settle();
    replay.report.print(replaying.target.format)
}

struct Replay<'a> {
    place: &'a Place,
    target: &'a Target,
    ignored: &'a [String],
    sessions: BTreeMap<u32, Session>,
    /// Methods of requests by connection and id, for those who read the report.
    asked: HashMap<(u32, String), String>,
    /// What has not come when it was its turn, and may still come.
    owed: Vec<(u32, usize, Value)>,
    report: Report,
}

impl Replay<'_> {
    async fn step(&mut self, entry: &Entry, later: &[Entry]) -> Result<(), Failure> {
        let connection = entry.connection;
        match &entry.event {
            Event::Said { from: Side::Client, text, headers, .. } => {
                let headers = headers.iter().filter(|(name, _)| name.starts_with("mcp-param-"));
                let headers = headers.map(|(name, value)| (name.clone(), value.clone())).collect();
                self.say(connection, text, &entry.event.value(), headers).await?;
            }
            Event::Said { from: Side::Server, text, .. } => {
                let value = entry.event.value();
                let value = if value.is_null() { Value::from(text.as_str()) } else { value };
                self.hear(connection, entry.line, &value, later).await?;
            }
            Event::Failed(refusal) => {
                self.hear(connection, entry.line, &refused(refusal), later).await?;
            }
            Event::Withdrawn(id) => {
                if let Some(session) = self.sessions.get_mut(&connection) {
                    session.withdraw(id);
                }
            }
            Event::End(Ending::Server) => self.expect_end(connection, entry.line).await,
            Event::End(Ending::Client) => self.close(connection, later),
            _ => {}
        }
        Ok(())
    }

    /// Says what the client said, with what this server calls things.
    async fn say(
        &mut self,
        connection: u32,
        text: &str,
        message: &Value,
        headers: Vec<(String, String)>,
    ) -> Result<(), Failure> {
        let mut is_first = false;
        if !self.sessions.contains_key(&connection) {
            let transport = bare(self.place, self.target, None, false).await?;
            self.sessions.insert(connection, Session::new(transport, false));
            is_first = true;
        }
        let Some(session) = self.sessions.get_mut(&connection) else { return Ok(()) };
        let mut message = message.clone();
        let mut changed = session.fresh.renew(&mut message);
        match Kind::of(&message) {
            Kind::Answer { id } => {
                // A question that was not asked needs no answer.
                let Some(now) = session.questions.remove(&id.to_string()) else { return Ok(()) };
                changed |= now != id;
                message["id"] = now;
            }
            Kind::Request { id, method } => {
                let about =
                    ["/params/name", "/params/uri"].iter().find_map(|at| message.pointer(at)?.as_str());
                let what = about.map_or_else(|| method.clone(), |about| format!("{method} {about}"));
                self.asked.insert((connection, id.to_string()), what);
            }
            _ => {}
        }
        let changed_text = changed.then(|| message.to_string());
        let text = changed_text.as_deref().unwrap_or(text);
        session.opening = is_first.then(|| (text.to_owned(), message.clone()));
        session.say(text, &message, headers);
        self.report.messages += 1;
        Ok(())
    }

    /// Waits for what came then, and compares.
    async fn hear(
        &mut self,
        connection: u32,
        line: usize,
        recorded: &Value,
        later: &[Entry],
    ) -> Result<(), Failure> {
        self.report.messages += 1;
        let shape = Shape::of(recorded);
        let later = expected(connection, later);
        let mut got = self.wait(connection, &shape, recorded, &later).await;
        if recorded.get("error").is_none()
            && let Some(Got::Refused(refusal)) = &got
        {
            let is_first = self.sessions.get(&connection).is_some_and(|session| session.opening.is_some());
            if is_first && refusal.status.is_none() {
                return Err(Failure::unreachable(refusal.why.clone()));
            }
            if refusal.status.is_some_and(|status| status < 500) && self.step_back(connection).await {
                got = self.wait(connection, &shape, recorded, &later).await;
            }
        }
        let Some(got) = got else {
            // Over HTTP nothing is heard after the end; over a pipe servers have last words.
            if !self.sessions.get(&connection).is_some_and(Session::is_deaf) {
                self.owed.push((connection, line, recorded.clone()));
            }
            return Ok(());
        };
        let now = self.adapted(connection, recorded, &got);
        if let Some(session) = self.sessions.get_mut(&connection) {
            session.fresh.learn(recorded, &got.value());
        }
        let differences = compare(&shape.comparable(recorded), &now, self.ignored);
        if !differences.is_empty() {
            let what = self.describe(connection, recorded);
            self.report.findings.push(Finding::differs(line, what, differences));
        }
        Ok(())
    }

    /// A server that refuses the first word may speak HTTP+SSE. Says whether it was tried.
    async fn step_back(&mut self, connection: u32) -> bool {
        let Some(session) = self.sessions.get(&connection) else { return false };
        let Some((text, message)) = session.opening.clone() else { return false };
        if session.is_older || self.place.url().is_none() {
            return false;
        }
        let Ok(transport) = bare(self.place, self.target, None, true).await else { return false };
        let mut session = Session::new(transport, true);
        session.say(&text, &message, Vec::new());
        self.sessions.insert(connection, session);
        true
    }

    /// What came, as far as it can be compared: questions have the names of then.
    fn adapted(&mut self, connection: u32, recorded: &Value, got: &Got) -> Value {
        let now = got.value();
        if let (Kind::Request { id: then, .. }, Kind::Request { id, .. }) =
            (Kind::of(recorded), Kind::of(&now))
            && let Some(session) = self.sessions.get_mut(&connection)
        {
            session.questions.insert(then.to_string(), id);
        }
        // Over another transport a refusal has another form.
        let is_bare = |value: &Value| value.pointer("/error/status").is_some();
        let is_refused = now.get("error").is_some() && is_bare(recorded) != is_bare(&now);
        if is_refused || (is_bare(recorded) && self.place.url().is_none()) {
            return recorded.clone();
        }
        Shape::of(recorded).comparable(&now)
    }

    /// The message of this shape: the very same if it came, else one that nothing else is waiting for.
    async fn wait(
        &mut self,
        connection: u32,
        shape: &Shape,
        recorded: &Value,
        later: &[Value],
    ) -> Option<Got> {
        let follows = later.iter().map(Shape::of).find(Shape::is_answer);
        let patience = self.target.timeout.unwrap_or(PATIENCE);
        let patience = if shape.is_answer() || follows.is_some() { patience } else { patience.min(TRAILING) };
        let ignored = self.ignored;
        let session = self.sessions.get_mut(&connection)?;
        let waiting = poll_fn(|cx| {
            loop {
                if let Some(at) = shape.choose(&session.inbox, recorded, later, ignored) {
                    return Poll::Ready(Some(session.inbox.remove(at)));
                }
                let is_past = follows
                    .as_ref()
                    .is_some_and(|next| !shape.is_answer() && session.inbox.iter().any(|got| next.fits(got)));
                if session.is_over || is_past || session.is_deaf() {
                    return Poll::Ready(None);
                }
                refuse_unexpected(session, shape, later);
                std::task::ready!(session.poll(cx));
            }
        });
        match tokio::time::timeout(patience, waiting).await {
            Ok(found) => found,
            Err(_) => {
                // Who does not answer one request is not asked to answer a hundred more.
                if shape.is_answer()
                    && let Some(session) = self.sessions.get_mut(&connection)
                {
                    session.is_over = true;
                }
                None
            }
        }
    }

    async fn expect_end(&mut self, connection: u32, line: usize) {
        let Some(session) = self.sessions.get_mut(&connection) else { return };
        let ended = poll_fn(|cx| {
            while !session.is_over {
                std::task::ready!(session.poll(cx));
            }
            Poll::Ready(())
        });
        if tokio::time::timeout(TRAILING, ended).await.is_err() {
            let what = "the end of the server".to_owned();
            self.report.findings.push(Finding::missing(line, what, &Value::Null));
        }
        self.leave(connection).await;
    }

    /// Ends our side. What has come until then and is not expected any more was not there then.
    fn close(&mut self, connection: u32, later: &[Entry]) {
        let later = expected(connection, later);
        let Some(session) = self.sessions.get_mut(&connection) else { return };
        if std::mem::replace(&mut session.is_closing, true) {
            return;
        }
        let came = std::mem::take(&mut session.inbox);
        let (wanted, others): (Vec<Got>, Vec<Got>) =
            came.into_iter().partition(|got| later.iter().any(|value| Shape::of(value).fits(got)));
        session.inbox = wanted;
        for got in others {
            self.leftover(connection, &got.value(), true);
        }
    }

    /// Ends a connection. Whoever has ended it may have missed what came after that, so only what is missing is looked for.
    async fn leave(&mut self, connection: u32) {
        self.close(connection, &[]);
        let Some(mut session) = self.sessions.remove(&connection) else { return };
        let leaving = poll_fn(|cx| {
            let closed = session.poll_close(cx).is_ready();
            loop {
                match session.poll(cx) {
                    Poll::Ready(()) if !session.is_over => {}
                    _ if session.is_over || (closed && session.is_deaf()) => return Poll::Ready(()),
                    _ => return Poll::Pending,
                }
            }
        });
        let _ = tokio::time::timeout(LEAVING, leaving).await;
        for got in std::mem::take(&mut session.inbox) {
            self.leftover(connection, &got.value(), false);
        }
    }

    /// Something that nobody waited for: it may have come late.
    fn leftover(&mut self, connection: u32, value: &Value, tells: bool) {
        let shape = Shape::of(value);
        let owed = self.owed.iter().position(|(on, _, recorded)| {
            *on == connection
                && shape.fits_value(recorded)
                && compare(recorded, value, self.ignored).is_empty()
        });
        match owed {
            Some(at) => drop(self.owed.remove(at)),
            None if tells => {
                let what = self.describe(connection, value);
                self.report.findings.push(Finding::extra(what, value));
            }
            None => {}
        }
    }

    /// What never came.
    fn settle(&mut self) {
        for (connection, line, recorded) in std::mem::take(&mut self.owed) {
            let what = self.describe(connection, &recorded);
            self.report.findings.push(Finding::missing(line, what, &recorded));
        }
        self.report.findings.sort_by_key(|finding| finding.line.unwrap_or(usize::MAX));
    }

    fn describe(&self, connection: u32, message: &Value) -> String {
        match Kind::of(message) {
            Kind::Answer { id } => match self.asked.get(&(connection, id.to_string())) {
                Some(asked) => format!("the answer to {asked}"),
                None => "an answer to nothing".to_owned(),
            },
            Kind::Request { method, .. } => format!("the question {method}"),
            Kind::Notification { method } => method,
            Kind::Other if message.is_array() => "a batch".to_owned(),
            Kind::Other => "a line that is no message".to_owned(),
        }
    }
}

/// What the server says next on a connection, as far as one has to look.
fn expected(connection: u32, later: &[Entry]) -> Vec<Value> {
    let said = later.iter().filter(|entry| entry.connection == connection);
    said.filter(|entry| entry.event.from() == Some(Side::Server))
        .take(200)
        .map(|entry| entry.event.value())
        .collect()
}

/// A question that nobody was asked then has no answer.
fn refuse_unexpected(session: &mut Session, shape: &Shape, later: &[Value]) {
    let is_expected = |got: &Got| shape.fits(got) || later.iter().any(|value| Shape::of(value).fits(got));
    let unexpected: Vec<Value> = session
        .inbox
        .iter()
        .filter(|got| !is_expected(got))
        .filter_map(|got| match Kind::of(&got.value()) {
            Kind::Request { id, .. } => Some(id),
            _ => None,
        })
        .filter(|id| !session.refused.contains(&id.to_string()))
        .collect();
    for id in unexpected {
        session.refused.insert(id.to_string());
        let error = json!({ "code": -32601, "message": "the transcript has no answer to this" });
        let answer = json!({ "jsonrpc": "2.0", "id": id, "error": error });
        session.say(&answer.to_string(), &answer, Vec::new());
    }
}
