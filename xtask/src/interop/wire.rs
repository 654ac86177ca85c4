//! The bytes of a relayed connection as HTTP/1.1 exchanges, and their bodies as messages.
//!
//! Reads what well-behaved programs say to each other on loopback: no compression, no upgrade. What it cannot read
//! is an error that fails the column, never a guess.

use super::relay::Heard;
use serde_json::Value;

/// One request and what became of it.
#[derive(Debug, Default)]
pub struct Exchange {
    /// `POST`, `GET`, `DELETE`.
    pub verb: String,
    /// Path and query.
    pub path: String,
    /// The request's headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The messages in the request.
    pub asked: Vec<Value>,
    /// 0 if the request was given up before there was one.
    pub status: u16,
    /// The response's headers, names in lower case.
    pub answer_headers: Vec<(String, String)>,
    /// The response's body.
    pub answer: Vec<u8>,
    /// Whether the server ended the body, and nobody cut it off.
    pub whole: bool,
    /// When the request had been sent; moments are counted over all connections.
    pub sent: usize,
    /// When the response, as far as it got, had come.
    pub answered: usize,
    /// Whether the client closed the connection on it, and not because the run was over.
    pub given_up: bool,
}

/// An event of a stream.
#[derive(Debug, PartialEq)]
pub struct Event {
    /// `message` if it has no name.
    pub name: String,
    /// Its data.
    pub data: String,
}

/// A body, and whether it is all of it.
struct Taken {
    body: Vec<u8>,
    whole: bool,
}

impl Exchange {
    /// A header of the request.
    pub fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }

    /// A header of the response.
    pub fn answer_header(&self, name: &str) -> Option<&str> {
        find(&self.answer_headers, name)
    }

    /// Whether the response is a stream of events.
    pub fn is_stream(&self) -> bool {
        self.answer_header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"))
    }

    /// The events of the response, if it is a stream.
    pub fn events(&self) -> Vec<Event> {
        if self.is_stream() { events(&String::from_utf8_lossy(&self.answer)) } else { Vec::new() }
    }

    /// Whether the response is a stream that can be taken up again: one with ids.
    pub fn is_resumable(&self) -> bool {
        let text = String::from_utf8_lossy(&self.answer);
        self.is_stream() && text.lines().any(|line| line.starts_with("id:"))
    }

    /// The messages of the response, whichever form it has.
    pub fn answers(&self) -> Vec<Value> {
        if self.is_stream() {
            let messages = self.events().into_iter().filter(|event| event.name == "message");
            return messages.filter_map(|event| serde_json::from_str(&event.data).ok()).collect();
        }
        messages(&self.answer)
    }

    /// Whether one of the request's messages has this method.
    pub fn asks(&self, method: &str) -> bool {
        self.asked.iter().any(|message| message["method"] == method)
    }

    /// Whether the request calls this tool.
    pub fn calls(&self, tool: &str) -> bool {
        self.asks("tools/call") && self.asked.iter().any(|message| message["params"]["name"] == tool)
    }
}

fn find<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

/// A body as messages; what is no JSON has none.
fn messages(body: &[u8]) -> Vec<Value> {
    match serde_json::from_slice(body) {
        Ok(Value::Array(batch)) => batch,
        Ok(message) => vec![message],
        Err(_) => Vec::new(),
    }
}

fn events(text: &str) -> Vec<Event> {
    let (mut found, mut name, mut data) = (Vec::new(), "message".to_owned(), Vec::new());
    for line in text.lines() {
        if line.is_empty() {
            if !data.is_empty() {
                found.push(Event { name: std::mem::take(&mut name), data: data.join("\n") });
            }
            name = "message".to_owned();
            data.clear();
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => name = value.to_owned(),
            "data" => data.push(value),
            _ => {}
        }
    }
    found
}

/// Every exchange of a connection, in order.
pub fn exchanges(heard: &Heard) -> Result<Vec<Exchange>, String> {
    let (mut asked, mut answered) = (heard.asked.as_slice(), heard.answered.as_slice());
    let mut found = Vec::new();
    while !asked.is_empty() {
        let Some(head) = Head::take(&mut asked)? else { break };
        let mut words = head.first.split(' ').map(str::to_owned);
        let (verb, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let body = take_body(&head.headers, &mut asked, true)?.body;
        let mut exchange =
            Exchange { verb, path, asked: messages(&body), headers: head.headers, ..Exchange::default() };
        exchange.sent = moment(&heard.asked_by, heard.asked.len() - asked.len());
        if let Some(answer) = Head::take(&mut answered)? {
            let status = answer.first.split(' ').nth(1).and_then(|status| status.parse().ok());
            exchange.status = status.ok_or_else(|| format!("no status in `{}`", answer.first))?;
            if !matches!(exchange.status, 204 | 304) {
                let taken = take_body(&answer.headers, &mut answered, false)?;
                (exchange.answer, exchange.whole) = (taken.body, taken.whole);
            }
            exchange.answer_headers = answer.headers;
            exchange.answered = moment(&heard.answered_by, heard.answered.len() - answered.len());
        }
        found.push(exchange);
    }
    if let Some(last) = found.last_mut() {
        last.given_up = heard.given_up;
    }
    Ok(found)
}

/// When so much had passed.
fn moment(passed_by: &[(usize, usize)], length: usize) -> usize {
    passed_by.iter().find(|(passed, _)| *passed >= length).map_or(0, |(_, moment)| *moment)
}

/// A first line and headers.
struct Head {
    first: String,
    headers: Vec<(String, String)>,
}

impl Head {
    /// Takes one off the bytes; none if they end before it does.
    fn take(bytes: &mut &[u8]) -> Result<Option<Self>, String> {
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { return Ok(None) };
        let text = std::str::from_utf8(&bytes[..end]).map_err(|error| format!("a head: {error}"))?;
        let mut lines = text.split("\r\n");
        let first = lines.next().unwrap_or_default().to_owned();
        let header = |line: &str| {
            let (name, value) = line.split_once(':').ok_or_else(|| format!("no header: `{line}`"))?;
            Ok((name.to_ascii_lowercase(), value.trim().to_owned()))
        };
        let headers = lines.map(header).collect::<Result<_, String>>()?;
        *bytes = &bytes[end + 4..];
        Ok(Some(Self { first, headers }))
    }
}

/// Takes a body off the bytes; one that was cut off is as long as it got.
fn take_body(headers: &[(String, String)], bytes: &mut &[u8], request: bool) -> Result<Taken, String> {
    if find(headers, "transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked")) {
        return take_chunks(bytes);
    }
    let length = match find(headers, "content-length") {
        Some(length) => length.parse().map_err(|_| format!("a length of `{length}`"))?,
        None if request => 0,
        // To the end of the connection.
        None => bytes.len(),
    };
    let (body, rest) = bytes.split_at(length.min(bytes.len()));
    *bytes = rest;
    Ok(Taken { body: body.to_vec(), whole: body.len() == length })
}

fn take_chunks(bytes: &mut &[u8]) -> Result<Taken, String> {
    let mut body = Vec::new();
    while let Some(end) = bytes.windows(2).position(|two| two == b"\r\n") {
        let line = String::from_utf8_lossy(&bytes[..end]);
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16).map_err(|_| format!("a chunk of `{line}`"))?;
        let (start, after) = (end + 2, end + 2 + size);
        body.extend_from_slice(&bytes[start..after.min(bytes.len())]);
        *bytes = &bytes[(after + 2).min(bytes.len())..];
        if size == 0 {
            return Ok(Taken { body, whole: true });
        }
    }
    Ok(Taken { body, whole: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(asked: &str, answered: &str) -> Vec<Exchange> {
        let (asked_by, answered_by) = (vec![(10, 3), (asked.len(), 5)], vec![(answered.len(), 7)]);
        let heard = Heard {
            asked: asked.into(),
            answered: answered.into(),
            asked_by,
            answered_by,
            ..Heard::default()
        };
        exchanges(&heard).expect("readable")
    }

    #[test]
    fn exchanges_of_one_connection_are_told_apart() {
        let asked = "POST /mcp HTTP/1.1\r\nContent-Length: 17\r\n\r\n{\"method\":\"ping\"}\
                     GET /mcp HTTP/1.1\r\nAccept: text/event-stream\r\n\r\n";
        let answered = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n{\"result\":1}\
                        HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n";
        let found = heard(asked, answered);
        assert_eq!(found.len(), 2);
        assert!(found[0].asks("ping"));
        assert_eq!((found[0].status, found[0].answers()), (200, vec![serde_json::json!({ "result": 1 })]));
        assert_eq!((found[1].verb.as_str(), found[1].status), ("GET", 405));
        assert_eq!((found[0].sent, found[0].answered, found[1].sent), (5, 7, 5));
        assert_eq!(found[1].header("accept"), Some("text/event-stream"));
    }

    #[test]
    fn a_chunked_stream_is_read_as_far_as_it_got() {
        let answered = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n\
                        11\r\nevent: endpoint\r\n\r\nf\r\ndata: /messages\r\n2\r\n\n\n\r\n\
                        1e\r\n: ping\n\nid: 1\ndata: {\"id\":2}\n\n\r\n40\r\ndata: cut";
        let found = heard("GET /sse HTTP/1.1\r\n\r\n", answered);
        let events = found[0].events();
        assert_eq!(events[0], Event { name: "endpoint".into(), data: "/messages".into() });
        assert_eq!(found[0].answers(), [serde_json::json!({ "id": 2 })]);
        assert!(found[0].is_resumable() && !found[0].whole);
    }

    #[test]
    fn a_request_that_was_given_up_has_no_status() {
        assert_eq!(heard("DELETE /mcp HTTP/1.1\r\n\r\n", "")[0].status, 0);
    }

    #[test]
    fn what_is_not_http_is_an_error() {
        let heard = Heard { asked: b"POST /mcp HTTP/1.1\r\nno header\r\n\r\n".to_vec(), ..Heard::default() };
        assert!(exchanges(&heard).is_err());
    }
}
