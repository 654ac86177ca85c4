//! The limit of stdio: reads a line, writes a canned answer; or, as a client, the other way round. It parses no JSON,
//! checks next to nothing and blocks; what it costs is what the pipes cost.

mod client;

use canned::{Canned, LINES, Load, Options, Outcome};
use std::io::{self, BufRead, BufReader, StdoutLock, Write};

const USAGE: &str = "usage: bare-loop stdio [--tuned] [--tools N]
       bare-loop client 2025-06-18|2026-07-28 stdio PROGRAM CALLS WINDOW [--tuned]";

fn main() -> Outcome {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.split_first() {
        Some((mode, rest)) if mode == "stdio" => {
            let options = Options::read(rest).ok_or(USAGE)?;
            Ok(serve(&Canned::new(LINES, options.tools))?)
        }
        Some((mode, rest)) if mode == "client" => client::run(&Load::read("stdio", rest).ok_or(USAGE)?),
        _ => Err(USAGE.into()),
    }
}

fn serve(canned: &Canned) -> io::Result<()> {
    let mut input = BufReader::with_capacity(1 << 16, io::stdin().lock());
    let mut output = io::stdout().lock();
    let (mut line, mut reply) = (Vec::new(), Vec::new());
    while input.read_until(b'\n', &mut line)? > 0 {
        canned.answer(&line, &mut reply);
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
