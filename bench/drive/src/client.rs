//! A client under test, against a bare server: it says when it begins and when it is done, and between the
//! two its CPU time is read. The client has core 0, the server core 1.

use crate::args::Args;
use crate::http::PATH;
use crate::pipe::Piped;
use crate::proc::{self, Cpu};
use crate::served::Served;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// Calls by which the rate is guessed.
const FIRST: usize = 500;
const MOST: usize = 1_000_000;

/// Runs the verb.
pub fn run(args: &Args) -> Result<Value, String> {
    let bare = args.need("target")?;
    let (_server, _pinned, target) = match args.need("transport")? {
        "http" => {
            let command = [bare, "http", "{port}"].map(str::to_owned);
            let server = Served::start(&command, "modern", "1")?;
            let url = format!("http://127.0.0.1:{}{PATH}", server.port);
            (Some(server), None, url)
        }
        _ => {
            let pinned = Pinned::new(bare)?;
            let path = pinned.0.to_string_lossy().into_owned();
            (None, Some(pinned), path)
        }
    };
    let seconds: f64 = args.number("seconds", 1.0)?;
    let mut calls: usize = args.number("calls", 0)?;
    if calls == 0 {
        let guess = once(args, &target, FIRST)?;
        calls = ((guess["rps"].as_f64().unwrap_or_default() * seconds) as usize).clamp(FIRST, MOST);
    }
    proc::wait_for_quiet(args.number("wait", 20)?)?;
    once(args, &target, calls)
}

/// One run of the client.
fn once(args: &Args, target: &str, calls: usize) -> Result<Value, String> {
    let mut command: Vec<String> = ["taskset", "-c", "0"].map(str::to_owned).to_vec();
    command.extend(args.command.iter().cloned());
    let (calls_text, window) = (calls.to_string(), args.get("window").unwrap_or("1"));
    let words = ["client", args.need("era")?, args.need("transport")?, target, &calls_text, window];
    command.extend(words.map(str::to_owned));
    command.extend(args.has("tuned").then(|| "--tuned".to_owned()));
    let mut client = Piped::spawn(&command)?;
    said(&mut client, "begin")?;
    let before = Cpu::of(client.pid)?;
    let end = said(&mut client, "end")?;
    let cpu = Cpu::of(client.pid)?.since(&before);
    let figures: Value = serde_json::from_str(&end).map_err(|e| format!("the client said `{end}`: {e}"))?;
    let elapsed = figures["elapsed_s"].as_f64().filter(|seconds| *seconds > 0.0).ok_or("no `elapsed_s`")?;
    if figures["calls"] != calls {
        return Err(format!("{} calls were made, not {calls}", figures["calls"]));
    }
    Ok(json!({
        "rps": calls as f64 / elapsed,
        "p50_us": figures["p50_us"],
        "p99_us": figures["p99_us"],
        "cpu_us": cpu / calls as f64 * 1e6,
        "rss_mb": proc::memory(client.pid, "VmRSS")? / 1024.0,
        "calls": calls,
    }))
}

/// Reads up to the line that begins with the word, and returns what follows it.
fn said(client: &mut Piped, word: &str) -> Result<String, String> {
    loop {
        let line = client.receive().map_err(|error| format!("before `{word}`: {error}"))?;
        let line = String::from_utf8_lossy(line);
        if let Some(rest) = line.trim().strip_prefix(word) {
            return Ok(rest.trim().to_owned());
        }
    }
}

/// A program that starts the bare server on core 1: clients are told a path and nothing else.
struct Pinned(PathBuf);

impl Pinned {
    fn new(program: &str) -> Result<Self, String> {
        let path = std::env::temp_dir().join(format!("drive-{}-server", std::process::id()));
        let failed = |e: std::io::Error| format!("{}: {e}", path.display());
        std::fs::write(&path, format!("#!/bin/sh\nexec taskset -c 1 '{program}' \"$@\"\n"))
            .map_err(failed)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).map_err(failed)?;
        Ok(Self(path))
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // It fails only when it is gone already.
        let _ = std::fs::remove_file(&self.0);
    }
}
