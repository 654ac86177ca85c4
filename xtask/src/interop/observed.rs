//! Checks of HTTP itself, made on what passed between client and server: sessions, headers, statuses, and the
//! streams on which things arrived. The same for every peer and for us; neither side's report is asked.
//!
//! Judges what the transports of the revisions require or recommend and nothing about the messages: these are the
//! programs' own checks.

use super::Over;
use super::wire::Exchange;
use serde_json::{Value, json};

/// The names, in the order of the table.
pub const CHECKS: [&str; 10] = [
    "http session id",
    "http headers",
    "http 202 for notifications",
    "http progress on its stream",
    "http question in a call",
    "http list_changed stream",
    "http cancel",
    "http resumption",
    "http DELETE",
    "http+sse endpoint",
];

/// Why a check did not pass.
#[derive(Debug, PartialEq)]
pub enum Failure {
    /// The transport or the era has no such thing.
    Absent(String),
    /// It has, and it was not so.
    Wrong(String),
}

type Outcome = Result<String, Failure>;

fn absent(why: &str) -> Outcome {
    Err(Failure::Absent(why.to_owned()))
}

fn wrong(what: impl Into<String>) -> Failure {
    Failure::Wrong(what.into())
}

/// Everything that passed in one run.
pub struct Observed {
    over: Over,
    /// Whether the server is ours: what other servers do in their own way is no failure of anybody's here.
    ours_serves: bool,
    exchanges: Vec<Exchange>,
}

impl Observed {
    /// Takes the exchanges of all connections.
    pub fn new(over: Over, ours_serves: bool, exchanges: Vec<Exchange>) -> Self {
        Self { over, ours_serves, exchanges }
    }

    /// One line for each check, as the programs print them.
    pub fn report(&self) -> String {
        let line = |check: &&str| {
            let (status, detail) = match self.run(check) {
                Ok(detail) => ("ok", detail),
                Err(Failure::Absent(why)) => ("absent", why),
                Err(Failure::Wrong(what)) => ("fail", what),
            };
            format!("{}\n", json!({ "check": check, "status": status, "detail": detail }))
        };
        CHECKS.iter().map(line).collect()
    }

    fn run(&self, check: &str) -> Outcome {
        if self.exchanges.is_empty() {
            return Err(wrong("nothing passed between client and server"));
        }
        let needs_stream = [
            "http progress on its stream",
            "http question in a call",
            "http list_changed stream",
            "http resumption",
        ];
        if self.over == Over::HttpStateless && needs_stream.contains(&check) {
            return absent("the server answers with JSON, and opens no stream");
        }
        match check {
            "http session id" => self.session_id(),
            "http headers" => self.headers(),
            "http 202 for notifications" => self.accepted(),
            "http progress on its stream" => self.progress(),
            "http question in a call" => self.question(),
            "http list_changed stream" => self.list_changed(),
            "http cancel" => self.cancel(),
            "http resumption" => self.resumption(),
            "http DELETE" => self.delete(),
            "http+sse endpoint" => self.endpoint(),
            _ => Err(wrong("there is no such check")),
        }
    }

    /// What was posted, but for attempts at Streamable HTTP on the way to HTTP+SSE.
    fn posts(&self) -> impl Iterator<Item = &Exchange> {
        let attempt = |exchange: &Exchange| self.is_sse() && exchange.path == Over::HttpSse.path();
        self.exchanges.iter().filter(move |exchange| exchange.verb == "POST" && !attempt(exchange))
    }

    fn is_sse(&self) -> bool {
        self.over == Over::HttpSse
    }

    /// The exchange that opened a session, which only the legacy era has, and the revision settled on.
    fn opening(&self) -> Option<(&Exchange, String)> {
        let opened = |exchange: &Exchange| {
            let answers = exchange.answers();
            answers.iter().find_map(|answer| Some(answer["result"]["protocolVersion"].as_str()?.to_owned()))
        };
        let asked = self.exchanges.iter().filter(|exchange| exchange.asks("initialize"));
        asked.filter_map(|exchange| Some((exchange, opened(exchange)?))).next_back()
    }

    /// What was sent after the opening; an exchange that had no session yet is a probe or the opening itself.
    fn within(&self) -> impl Iterator<Item = &Exchange> {
        self.exchanges
            .iter()
            .filter(|exchange| !exchange.asks("initialize") && !exchange.asks("server/discover"))
    }

    fn session_id(&self) -> Outcome {
        if self.is_sse() {
            return absent("HTTP+SSE tells its sessions apart by the endpoint");
        }
        let session = self.opening().filter(|_| self.over != Over::HttpStateless);
        let Some((opening, _)) = session else {
            let given = |exchange: &&Exchange| {
                exchange.header("mcp-session-id").or(exchange.answer_header("mcp-session-id")).is_some()
            };
            return match self.exchanges.iter().find(given) {
                Some(exchange) => Err(wrong(format!("an id without a session: {}", shown(exchange)))),
                None => Ok("none, as there are no sessions".to_owned()),
            };
        };
        let id = opening.answer_header("mcp-session-id");
        let id = id.ok_or_else(|| wrong("initialize was answered without an id"))?;
        match self.within().find(|exchange| exchange.header("mcp-session-id") != Some(id)) {
            Some(exchange) => Err(wrong(format!("without its id: {}", shown(exchange)))),
            None => Ok(format!("carried by {} requests", self.within().count())),
        }
    }

    fn headers(&self) -> Outcome {
        if self.is_sse() {
            return absent("HTTP+SSE is older than the headers");
        }
        if let Some((_, revision)) = self.opening() {
            let lacking = |exchange: &&Exchange| exchange.header("mcp-protocol-version") != Some(&revision);
            return match self.within().find(lacking) {
                Some(exchange) => Err(wrong(format!("without {revision}: {}", shown(exchange)))),
                None => Ok(format!("MCP-Protocol-Version: {revision}")),
            };
        }
        match self.exchanges.iter().find(|exchange| !is_mirrored(exchange)) {
            Some(exchange) => Err(wrong(format!("not mirrored: {}", shown(exchange)))),
            None => Ok("MCP-Protocol-Version, Mcp-Method, Mcp-Name".to_owned()),
        }
    }

    fn accepted(&self) -> Outcome {
        let posts = self.posts();
        // Everything that is posted over HTTP+SSE is answered elsewhere.
        let owed: Vec<&Exchange> = posts.filter(|exchange| self.is_sse() || !has_request(exchange)).collect();
        if owed.is_empty() {
            return absent("the client sent none: in 2026-07-28 nothing but requests is posted");
        }
        let taken =
            |exchange: &&&Exchange| exchange.status != 202 || !(self.is_sse() || exchange.answer.is_empty());
        match owed.iter().find(taken) {
            Some(exchange) => Err(wrong(format!("not an empty 202: {}", shown(exchange)))),
            None => Ok(format!("{} posts", owed.len())),
        }
    }

    fn countdown(&self, steps: u64) -> Result<&Exchange, Failure> {
        let counts = |message: &Value| message["params"]["arguments"]["steps"] == steps;
        let is_it = |exchange: &&Exchange| exchange.calls("countdown") && exchange.asked.iter().any(counts);
        let call = self.exchanges.iter().find(is_it);
        call.ok_or_else(|| wrong(format!("there was no countdown from {steps}")))
    }

    /// All that came on the stream that the countdown was answered on.
    fn stream_of_countdown(&self) -> Result<Vec<Value>, Failure> {
        let call = self.countdown(5)?;
        if !self.is_sse() {
            return if call.is_stream() {
                Ok(call.answers())
            } else {
                Err(wrong(format!("not answered by a stream: {}", shown(call))))
            };
        }
        Ok(self.event_stream()?.answers())
    }

    fn event_stream(&self) -> Result<&Exchange, Failure> {
        let mut gets =
            self.exchanges.iter().filter(|exchange| exchange.verb == "GET" && exchange.is_stream());
        gets.next_back().ok_or_else(|| wrong("there was no GET stream"))
    }

    fn progress(&self) -> Outcome {
        let came = self.stream_of_countdown()?;
        let is_progress = |message: &Value| message["method"] == "notifications/progress";
        let last =
            came.iter().rposition(is_progress).ok_or_else(|| wrong("no progress on the call's stream"))?;
        let liftoff = came.iter().position(|message| message.to_string().contains("liftoff"));
        match liftoff {
            Some(result) if result > last => Ok(format!(
                "{} notifications before the result",
                came.iter().filter(|message| is_progress(message)).count()
            )),
            Some(_) => Err(wrong("progress after the result")),
            None => Err(wrong("no result on the call's stream")),
        }
    }

    fn question(&self) -> Outcome {
        let rounds = |exchange: &&Exchange| {
            exchange.calls("greet")
                && exchange.answers().iter().any(|answer| answer["result"]["resultType"] == "input_required")
        };
        if !self.is_sse() && self.opening().is_none() {
            self.exchanges.iter().find(rounds).ok_or_else(|| wrong("no input_required"))?;
            let answered = |message: &Value| message["params"]["inputResponses"].is_object();
            let retry = self.exchanges.iter().find(|exchange| exchange.asked.iter().any(answered));
            return retry.map(|_| "an input round".to_owned()).ok_or_else(|| wrong("no answer to it"));
        }
        let asks = |exchange: &&Exchange| {
            exchange.answers().iter().any(|message| message["method"] == "elicitation/create")
        };
        let asking = self.exchanges.iter().find(asks);
        let asking = asking.ok_or_else(|| wrong("elicitation/create came on no stream"))?;
        let id = |message: &Value| message["method"] == "elicitation/create";
        let question = asking.answers().into_iter().find(id).unwrap_or_default();
        let answers =
            |message: &Value| message["id"] == question["id"] && message["result"]["action"].is_string();
        let answer = self.exchanges.iter().find(|exchange| exchange.asked.iter().any(answers));
        let answer = answer.ok_or_else(|| wrong(format!("no answer was posted to {question}")))?;
        if answer.status != 202 {
            return Err(wrong(format!("the answer was not accepted: {}", shown(answer))));
        }
        Ok(if asking.verb == "GET" { "on the GET stream" } else { "on the stream of the call" }.to_owned())
    }

    fn list_changed(&self) -> Outcome {
        let told = |exchange: &Exchange| {
            let method = "notifications/tools/list_changed";
            exchange.is_stream() && exchange.answers().iter().any(|message| message["method"] == method)
        };
        let legacy = self.is_sse() || self.opening().is_some();
        let right = |exchange: &&Exchange| {
            told(exchange)
                && if legacy { exchange.verb == "GET" } else { exchange.asks("subscriptions/listen") }
        };
        if self.exchanges.iter().any(|exchange| right(&exchange)) {
            let stream = if legacy { "on the GET stream" } else { "on the stream of subscriptions/listen" };
            return Ok(stream.to_owned());
        }
        match self.exchanges.iter().find(|exchange| told(exchange)) {
            Some(exchange) => Err(wrong(format!("on another stream: {}", shown(exchange)))),
            None => Err(wrong("on no stream")),
        }
    }

    fn cancel(&self) -> Outcome {
        let call = self.exchanges.iter().find(|exchange| exchange.calls("sleep"));
        let call = call.ok_or_else(|| wrong("sleep was not called"))?;
        let notice = self.exchanges.iter().find(|exchange| exchange.asks("notifications/cancelled"));
        if !self.is_sse() && self.opening().is_none() {
            return match notice {
                Some(exchange) => Err(wrong(format!("by a notification: {}", shown(exchange)))),
                None if call.given_up => Ok("the client closed the stream of the call".to_owned()),
                None => Err(wrong("the client did not close the stream of the call")),
            };
        }
        let notice = notice.ok_or_else(|| wrong("no notifications/cancelled"))?;
        let ids = (&notice.asked[0]["params"]["requestId"], &call.asked[0]["id"]);
        if ids.0 != ids.1 {
            return Err(wrong(format!("of {}, but the call is {}", ids.0, ids.1)));
        }
        let answered = call.answers().iter().any(|message| message["id"] == *ids.1);
        let delete = self.exchanges.iter().find(|exchange| exchange.verb == "DELETE");
        let in_time = delete.is_none_or(|delete| call.answered < delete.sent);
        if call.whole && call.is_resumable() && !answered && in_time {
            // A client may take this for a stream that the server wants it to come back to.
            return Err(wrong(format!("the call's stream ends as one to be resumed: {}", shown(call))));
        }
        Ok("notifications/cancelled".to_owned())
    }

    /// The relay broke the connection of one call: the rest has to come on a stream that takes it up.
    fn resumption(&self) -> Outcome {
        if self.is_sse() {
            return absent("HTTP+SSE cannot take up a stream again");
        }
        if self.opening().is_none() {
            return absent("2026-07-28 cannot take up a stream again");
        }
        let broken = self.countdown(7)?;
        let again: Vec<&Exchange> =
            self.exchanges.iter().filter(|exchange| exchange.header("last-event-id").is_some()).collect();
        if again.is_empty() {
            return Err(wrong("the client did not come back with Last-Event-ID"));
        }
        let came = broken.answers().into_iter().chain(again.iter().flat_map(|exchange| exchange.answers()));
        let steps: Vec<u64> = came.filter_map(|message| step(&message)).collect();
        if steps == [1, 2, 2, 3, 4, 5, 6, 7, LIFTOFF] && !self.ours_serves {
            return absent("the server repeats the event after which it is to go on");
        }
        if steps != [1, 2, 3, 4, 5, 6, 7, LIFTOFF] {
            return Err(wrong(format!("not each once and in order: {steps:?}; {}", shown(again[0]))));
        }
        Ok(format!("from {}", again[0].header("last-event-id").unwrap_or_default()))
    }

    fn delete(&self) -> Outcome {
        if self.is_sse() {
            return absent("a session of HTTP+SSE ends with its stream");
        }
        if self.opening().is_none() {
            return absent("2026-07-28 has no sessions to end");
        }
        if self.over == Over::HttpStateless {
            return match self.exchanges.iter().find(|exchange| exchange.verb == "DELETE") {
                Some(_) => Err(wrong("the client ended a session that there is not")),
                None => absent("the server has no sessions to end"),
            };
        }
        match self.exchanges.iter().find(|exchange| exchange.verb == "DELETE") {
            None => Err(wrong("the client sent none")),
            Some(exchange) if exchange.status == 405 => absent("the server lets no client end a session"),
            Some(exchange) if !(200..300).contains(&exchange.status) => Err(wrong(shown(exchange))),
            Some(exchange) if exchange.header("mcp-session-id").is_none() => {
                Err(wrong("the client did not say which session"))
            }
            Some(exchange) => Ok(exchange.status.to_string()),
        }
    }

    fn endpoint(&self) -> Outcome {
        if !self.is_sse() {
            return absent("Streamable HTTP has one URL for everything");
        }
        let events = self.event_stream()?.events();
        let first = events.first().filter(|event| event.name == "endpoint");
        let Some(first) = first else {
            return Err(wrong(format!("the first event is {:?}", events.first())));
        };
        match self.posts().find(|exchange| !first.data.ends_with(&exchange.path)) {
            Some(exchange) => Err(wrong(format!("not to {}: {}", first.data, shown(exchange)))),
            None => Ok(first.data.split('?').next().unwrap_or_default().to_owned()),
        }
    }
}

/// Follows the last report of a countdown.
const LIFTOFF: u64 = 8;

/// Which step of a countdown a message reports.
fn step(message: &Value) -> Option<u64> {
    if message["method"] == "notifications/progress" {
        return message["params"]["progress"].as_f64().map(|progress| progress as u64);
    }
    message.get("result").map(|_| LIFTOFF)
}

fn has_request(exchange: &Exchange) -> bool {
    exchange.asked.iter().any(|message| message.get("method").is_some() && message.get("id").is_some())
}

/// Whether the headers say what the body says, as 2026-07-28 wants it.
fn is_mirrored(exchange: &Exchange) -> bool {
    let Some(message) = exchange.asked.first() else { return false };
    let params = &message["params"];
    let named = match message["method"].as_str() {
        Some("tools/call" | "prompts/get") => params["name"].as_str(),
        Some("resources/read") => params["uri"].as_str(),
        _ => None,
    };
    exchange.header("mcp-method") == message["method"].as_str()
        && (named.is_none() || exchange.header("mcp-name") == named)
        && exchange.header("mcp-protocol-version")
            == params["_meta"]["io.modelcontextprotocol/protocolVersion"].as_str()
}

/// An exchange in a line: enough to find it, and to see what is wrong with it.
fn shown(exchange: &Exchange) -> String {
    let asked = serde_json::to_string(&exchange.asked).unwrap_or_default();
    let cut = |text: &str| text.chars().take(200).collect::<String>();
    let ours = |name: &str| name.starts_with("mcp-");
    let headers: Vec<String> = exchange
        .headers
        .iter()
        .filter(|(name, _)| ours(name))
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    let answer = cut(&String::from_utf8_lossy(&exchange.answer));
    let Exchange { verb, path, status, .. } = exchange;
    format!("{verb} {path} [{}] {} → {status} {answer}", headers.join(", "), cut(&asked))
}

#[cfg(test)]
mod tests;
