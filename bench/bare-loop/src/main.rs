//! The limit: reads a line, finds its id, writes a canned answer line. It parses
//! no JSON, checks nothing and blocks; what it costs is what the pipes cost.

use std::io::{self, BufRead, BufReader, StdoutLock, Write};

const HANDSHAKE: &str = concat!(
    r#"{"protocolVersion":"2025-06-18","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"#,
    r#""serverInfo":{"name":"bare-loop","version":"1.0.0"}}"#
);

fn main() -> io::Result<()> {
    let mut input = BufReader::with_capacity(1 << 16, io::stdin().lock());
    let mut output = io::stdout().lock();
    let (mut line, mut reply) = (Vec::new(), Vec::new());
    while input.read_until(b'\n', &mut line)? > 0 {
        answer(&line, &mut reply);
        line.clear();
        // Answers go out when all that had arrived is answered: one write a batch.
        if !input.buffer().contains(&b'\n') {
            flush(&mut output, &mut reply)?;
        }
    }
    flush(&mut output, &mut reply)
}

/// Stdout is line-buffered: handing it whole batches makes one system call of each.
fn flush(output: &mut StdoutLock<'_>, reply: &mut Vec<u8>) -> io::Result<()> {
    output.write_all(reply)?;
    output.flush()?;
    reply.clear();
    Ok(())
}

/// Appends the answer to one line: the driver's messages have a fixed shape, so
/// the id and the payload are found by their neighbours.
fn answer(line: &[u8], reply: &mut Vec<u8>) {
    let Some(id) = between(line, b"\"id\":", b',') else { return };
    reply.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    reply.extend_from_slice(id);
    reply.extend_from_slice(b",\"result\":");
    match between(line, b"\"message\":\"", b'"') {
        Some(message) => {
            reply.extend_from_slice(
                b"{\"resultType\":\"complete\",\"content\":[{\"type\":\"text\",\"text\":\"",
            );
            reply.extend_from_slice(message);
            reply.extend_from_slice(b"\"}]}");
        }
        None => reply.extend_from_slice(HANDSHAKE.as_bytes()),
    }
    reply.extend_from_slice(b"}\n");
}

fn between<'a>(line: &'a [u8], before: &[u8], after: u8) -> Option<&'a [u8]> {
    let start = line.windows(before.len()).position(|w| w == before)? + before.len();
    let length = line[start..].iter().position(|b| *b == after)?;
    Some(&line[start..start + length])
}
