//! The five settings in which a row is played, and the check that every row ends with: the server lives,
//! answers the next valid request, and has run nothing that it should not have run.
//!
//! The tool that must not run is `toggle`: had it run, the next list of tools would show `extra`.

use serde_json::{Value, json};

use crate::child::{Demo, Line};

/// The revision that the peer speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// A legacy session of this revision.
    Session(&'static str),
    /// No session: every request carries its own metadata.
    Modern,
}

/// All of them, oldest first.
pub(crate) const STAGES: [Stage; 5] = [
    Stage::Session("2024-11-05"),
    Stage::Session("2025-03-26"),
    Stage::Session("2025-06-18"),
    Stage::Session("2025-11-25"),
    Stage::Modern,
];

/// The newest of each era, for tests in which nothing else depends on the revision.
pub(crate) const NEWEST: [Stage; 2] = [Stage::Session("2025-11-25"), Stage::Modern];

/// The metadata of a modern request, as the members of `_meta`.
pub(crate) const META: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}"#;

impl Stage {
    /// Starts a server and opens the session, or shows that there will be none.
    pub(crate) fn start(self) -> Demo {
        self.start_with(&[])
    }

    /// The same with arguments for the server.
    pub(crate) fn start_with(self, arguments: &[&str]) -> Demo {
        let mut demo = Demo::with(arguments, &[]);
        if let Self::Session(revision) = self {
            let answer = demo.ask(initialize(revision), "0");
            assert_eq!(answer.json["result"]["protocolVersion"], revision);
            demo.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        } else {
            // Before the first request nobody knows which revision is spoken.
            demo.ask(self.request("0", "server/discover", ""), "0");
        }
        demo
    }

    /// `params` with these members, and with the metadata where the revision wants it.
    pub(crate) fn params(self, members: &str) -> String {
        match self {
            Self::Session(_) => format!("{{{members}}}"),
            Self::Modern if members.is_empty() => format!(r#"{{"_meta":{{{META}}}}}"#),
            Self::Modern => format!(r#"{{{members},"_meta":{{{META}}}}}"#),
        }
    }

    /// A request; id and members of `params` as they are to be written.
    pub(crate) fn request(self, id: &str, method: &str, members: &str) -> String {
        let params = self.params(members);
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
    }

    /// A call of a tool.
    pub(crate) fn call(self, id: &str, tool: &str, arguments: &str) -> String {
        self.request(id, "tools/call", &format!(r#""name":"{tool}","arguments":{arguments}"#))
    }

    /// The `params` of the call that must not run.
    pub(crate) fn forbidden(self) -> String {
        self.params(r#""name":"toggle","arguments":{}"#)
    }

    /// What stands for an id that could not be read: null in the older revisions and where none is known,
    /// nothing from 2025-11-25 on.
    pub(crate) fn unreadable_id(self) -> Option<&'static str> {
        if matches!(self, Self::Session("2025-11-25") | Self::Modern) { None } else { Some("null") }
    }

    /// Whether arrays are batches here.
    pub(crate) fn has_batches(self) -> bool {
        self == Self::Session("2025-03-26")
    }

    /// The code for a resource that does not exist.
    pub(crate) fn not_found(self) -> i64 {
        if self == Self::Modern { -32602 } else { -32002 }
    }

    /// Whether arguments that fail the schema are a result for the model rather than an error.
    pub(crate) fn bad_arguments_are_results(self) -> bool {
        matches!(self, Self::Session("2025-11-25") | Self::Modern)
    }

    /// Reads until this many responses have come, proves that the server is alive and that there are no
    /// more of them, and returns them.
    pub(crate) fn settle(self, demo: &mut Demo, expected: usize, row: &str) -> Vec<Line> {
        let mut seen = Vec::new();
        demo.send(self.request(r#""alive""#, "tools/list", ""));
        let mut alive = false;
        while !alive || seen.len() < expected {
            let line = demo.next();
            if !line.is_response() {
                continue;
            }
            if line.raw_id().as_deref() == Some(r#""alive""#) {
                self.unharmed(&line, row);
                alive = true;
            } else {
                seen.push(line);
            }
        }
        demo.send(self.request(r#""quiet""#, "tools/list", ""));
        loop {
            let line = demo.next();
            if line.raw_id().as_deref() == Some(r#""quiet""#) {
                self.unharmed(&line, row);
                return seen;
            }
            if line.is_response() {
                seen.push(line);
            }
        }
    }

    fn unharmed(self, list: &Line, row: &str) {
        let tools = list.json["result"]["tools"].as_array();
        let tools = tools.unwrap_or_else(|| panic!("{self:?} {row}: the next request failed: {}", list.text));
        assert!(tools.iter().all(|tool| tool["name"] != "extra"), "{self:?} {row}: the tool was run");
    }
}

/// The opening request of a session, with id 0 and every capability.
pub(crate) fn initialize(revision: &str) -> String {
    let params = json!({
        "protocolVersion": revision,
        "capabilities": {"roots": {"listChanged": true}, "sampling": {}, "elicitation": {}},
        "clientInfo": {"name": "stranger", "version": "0"},
    });
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).to_string()
}

/// What a row leads to.
#[derive(Clone, Debug)]
pub(crate) enum Want {
    /// No response.
    Silence,
    /// One error with one of these codes, for nobody: its id could not be read.
    Refused(&'static [i64]),
    /// One error with one of these codes, for this id.
    RefusedFor(&'static str, &'static [i64]),
    /// One error with one of these codes; the id is the one that can still be read, or none.
    RefusedMaybeFor(&'static str, &'static [i64]),
    /// One result, for this id as written.
    Served(&'static str),
}

/// A row: its name in the catalogue, its bytes (`$P` stands for the `params` of the forbidden call, `$M` for
/// `params` with nothing but what the revision demands), and what it leads to.
pub(crate) struct Row {
    /// Name in the catalogue.
    pub(crate) name: &'static str,
    /// The line.
    pub(crate) input: Vec<u8>,
    /// Its effect.
    pub(crate) want: Want,
}

/// A row whose line is text.
pub(crate) fn row(name: &'static str, input: impl Into<Vec<u8>>, want: Want) -> Row {
    Row { name, input: input.into(), want }
}

/// Plays rows one after the other on one server for each stage: each must find it alive. Then all of it again
/// over HTTP.
pub(crate) fn play(stages: &[Stage], rows: &[Row]) {
    for &stage in stages {
        let mut demo = stage.start();
        for row in rows {
            demo.send(fill(&row.input, stage));
            let expected = usize::from(!matches!(row.want, Want::Silence));
            let seen = stage.settle(&mut demo, expected, row.name);
            judge(stage, row, &seen);
        }
        demo.finish();
    }
    crate::http_bodies::play(stages, rows);
}

/// The row's bytes in this stage.
pub(crate) fn fill(input: &[u8], stage: Stage) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(input) else { return input.to_vec() };
    text.replace("$P", &stage.forbidden()).replace("$M", &stage.params("")).into_bytes()
}

fn judge(stage: Stage, row: &Row, seen: &[Line]) {
    let context = || {
        let input = String::from_utf8_lossy(&row.input[..row.input.len().min(300)]).into_owned();
        let seen: Vec<_> = seen.iter().map(|line| line.text.chars().take(300).collect::<String>()).collect();
        format!("{} {stage:?}\n input {input}\n wanted {:?}\n got {seen:?}", row.name, row.want)
    };
    let Want::Silence = row.want else {
        assert_eq!(seen.len(), 1, "{}", context());
        return judge_one(stage, row, &seen[0], &context());
    };
    assert!(seen.is_empty(), "{}", context());
}

fn judge_one(stage: Stage, row: &Row, line: &Line, context: &str) {
    let id = line.raw_id();
    let code = line.code().unwrap_or_default();
    let nobody = stage.unreadable_id();
    match row.want {
        Want::Silence => unreachable!("nothing to judge"),
        Want::Refused(codes) => {
            assert!(codes.contains(&code), "{context}");
            assert_eq!(id.as_deref(), nobody, "{context}");
        }
        Want::RefusedFor(wanted, codes) => {
            assert!(codes.contains(&code), "{context}");
            assert_eq!(id.as_deref(), Some(wanted), "{context}");
        }
        Want::RefusedMaybeFor(wanted, codes) => {
            assert!(codes.contains(&code), "{context}");
            assert!(id.as_deref() == Some(wanted) || id.as_deref() == nobody, "{context}");
        }
        Want::Served(wanted) => {
            assert_eq!(id.as_deref(), Some(wanted), "{context}");
            assert!(line.json.get("result").is_some_and(Value::is_object), "{context}");
        }
    }
}
