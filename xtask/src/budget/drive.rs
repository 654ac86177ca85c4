//! The calls that are counted, as bytes: written one after the other over a pipe or one connection, each when the
//! one before was answered. It knows as much of HTTP as our own answers need.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Child;
use std::time::{Duration, Instant};

const META: &str = concat!(
    r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
    r#""io.modelcontextprotocol/clientCapabilities":{},"#,
    r#""io.modelcontextprotocol/clientInfo":{"name":"budget","version":"1"}"#
);
const INITIALIZE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","#,
    r#""capabilities":{},"clientInfo":{"name":"budget","version":"1"}}}"#
);
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
/// How long a server under callgrind may take to listen, and to answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// How the server is spoken to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Stdio,
    Session,
    Stateless,
    Http,
}

/// What is called.
#[derive(Clone, Copy)]
enum Tool {
    Echo(usize),
    Steps,
}

/// A kind of call whose instructions are counted.
pub(super) struct Work {
    pub(super) name: &'static str,
    way: Way,
    modern: bool,
    tool: Tool,
    /// In the larger of the two runs.
    pub(super) calls: usize,
}

const fn work(name: &'static str, way: Way, modern: bool, tool: Tool, calls: usize) -> Work {
    Work { name, way, modern, tool, calls }
}

/// The same as those whose allocations are counted (`crates/sdk/tests/allocations.rs`), under the same names.
pub(super) const WORKS: [Work; 7] = [
    work("stdio, 2025-06-18, echo", Way::Stdio, false, Tool::Echo(64), 2_000),
    work("stdio, 2026-07-28, echo", Way::Stdio, true, Tool::Echo(64), 2_000),
    work("http, 2025-06-18 with a session, echo", Way::Session, false, Tool::Echo(64), 2_000),
    work("http, 2025-06-18 without sessions, echo", Way::Stateless, false, Tool::Echo(64), 2_000),
    work("http, 2026-07-28, echo", Way::Http, true, Tool::Echo(64), 2_000),
    work("http, 2026-07-28, echo of 64 KiB", Way::Http, true, Tool::Echo(64 * 1024), 200),
    work("http, 2026-07-28, ten steps as events", Way::Http, true, Tool::Steps, 1_000),
];

impl Work {
    /// The server's command line.
    pub(super) fn arguments(&self, port: u16) -> Vec<String> {
        let port = port.to_string();
        let words: &[&str] = match self.way {
            Way::Stdio => &["stdio"],
            Way::Session | Way::Http => &["http", &port],
            Way::Stateless => &["http", &port, "--stateless"],
        };
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    /// Makes so many calls. A wrong answer is an error.
    pub(super) fn drive(&self, server: &mut Child, port: u16, calls: usize) -> Result<(), String> {
        let driven = if self.way == Way::Stdio {
            self.over_pipe(server, calls)
        } else {
            self.over_http(server, port, calls)
        };
        driven.map_err(|error| error.to_string())
    }

    fn over_pipe(&self, server: &mut Child, calls: usize) -> std::io::Result<()> {
        let (Some(input), Some(output)) = (&mut server.stdin, &mut server.stdout) else {
            return Err(std::io::Error::other("the server has no pipes"));
        };
        let mut output = BufReader::new(output);
        let mut answer = Vec::new();
        if !self.modern {
            input.write_all(format!("{INITIALIZE}\n").as_bytes())?;
            output.read_until(b'\n', &mut answer)?;
            input.write_all(format!("{INITIALIZED}\n").as_bytes())?;
        }
        for id in 1..=calls {
            input.write_all(format!("{}\n", self.call(id)).as_bytes())?;
            answer.clear();
            output.read_until(b'\n', &mut answer)?;
            self.check(id, &answer)?;
        }
        Ok(())
    }

    fn over_http(&self, server: &mut Child, port: u16, calls: usize) -> std::io::Result<()> {
        let mut connection = connect(server, port)?;
        let mut headers = if self.modern {
            format!(
                "mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: {}\r\n",
                self.tool.name()
            )
        } else {
            "mcp-protocol-version: 2025-06-18\r\n".to_owned()
        };
        if self.way == Way::Session {
            let (head, _) = exchange(&mut connection, "", INITIALIZE)?;
            let session = head.lines().find(|line| line.starts_with("mcp-session-id: "));
            let session = session.ok_or_else(|| std::io::Error::other("no session was opened"))?;
            headers.push_str(&format!("{session}\r\n"));
            exchange(&mut connection, &headers, INITIALIZED)?;
        }
        for id in 1..=calls {
            let (_, answer) = exchange(&mut connection, &headers, &self.call(id))?;
            self.check(id, &answer)?;
        }
        Ok(())
    }

    fn call(&self, id: usize) -> String {
        let (arguments, token) = match self.tool {
            Tool::Echo(bytes) => (format!(r#"{{"message":"{}"}}"#, "x".repeat(bytes)), String::new()),
            Tool::Steps => ("{}".to_owned(), format!(r#","progressToken":{id}"#)),
        };
        let meta = if self.modern { format!(r#","_meta":{{{META}{token}}}"#) } else { String::new() };
        let name = self.tool.name();
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{name}","arguments":{arguments}{meta}}}}}"#
        )
    }

    /// Whether everything that was asked for is in the answer.
    fn check(&self, id: usize, answer: &[u8]) -> std::io::Result<()> {
        let answer = String::from_utf8_lossy(answer);
        let right = match self.tool {
            Tool::Echo(bytes) => answer.contains(&format!("\"{}\"", "x".repeat(bytes))),
            Tool::Steps => {
                answer.matches("notifications/progress").count() == 10 && answer.contains("\"done\"")
            }
        };
        if right && answer.contains(&format!("\"id\":{id},")) {
            return Ok(());
        }
        let shown: String = answer.chars().take(200).collect();
        Err(std::io::Error::other(format!("the answer to call {id} is wrong: {shown}")))
    }
}

impl Tool {
    fn name(self) -> &'static str {
        match self {
            Self::Echo(_) => "echo",
            Self::Steps => "steps",
        }
    }
}

/// A port that nobody has at the moment.
pub(super) fn free_port() -> Result<u16, String> {
    let address = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    address.map(|address| address.port()).map_err(|error| format!("no port can be had: {error}"))
}

fn connect(server: &mut Child, port: u16) -> std::io::Result<TcpStream> {
    let began = Instant::now();
    loop {
        match TcpStream::connect(("127.0.0.1", port)) {
            Ok(connection) => {
                connection.set_nodelay(true)?;
                connection.set_read_timeout(Some(PATIENCE))?;
                return Ok(connection);
            }
            Err(error) if began.elapsed() > PATIENCE || server.try_wait()?.is_some() => return Err(error),
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

/// One POST and its answer, head and body. Chunks keep their sizes; nothing that is looked for is broken by them.
fn exchange(connection: &mut TcpStream, headers: &str, body: &str) -> std::io::Result<(String, Vec<u8>)> {
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\ncontent-length: {}\r\n{headers}\r\n",
        connection.peer_addr()?.port(),
        body.len()
    );
    // In one piece, so that it is read in one.
    connection.write_all(&[head.as_bytes(), body.as_bytes()].concat())?;
    let (mut answer, mut piece) = (Vec::new(), vec![0; 1 << 17]);
    loop {
        if let Some((head, body)) = complete(&answer) {
            return Ok((head, body.to_vec()));
        }
        match connection.read(&mut piece)? {
            0 => return Err(std::io::Error::other("the server hung up")),
            read => answer.extend_from_slice(&piece[..read]),
        }
    }
}

/// Head and body, once both are there.
fn complete(answer: &[u8]) -> Option<(String, &[u8])> {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    let body = &answer[end + 4..];
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok());
    let all_there = match length {
        Some(length) => body.len() >= length,
        None => !head.contains("transfer-encoding: chunked") || body.ends_with(b"\r\n0\r\n\r\n"),
    };
    all_there.then_some((head, body))
}
