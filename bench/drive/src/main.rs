//! Measures one server or one client of the Model Context Protocol and prints what it found as one line of JSON.
//!
//! It compares nothing and repeats nothing that was not disturbed: rounds, medians and verdicts are
//! `cargo xtask bench`'s. Linux only (`/proc`, `taskset`); HTTP load comes from wrk.
//!
//! ```text
//! drive stdio  --era E [--check | --sequential] [--seconds S] [--window N] -- COMMAND…
//! drive http   --setting sessions|stateless|modern --work WORK[:BYTES]@CONNECTIONS… [--seconds N] [--check]
//!              [--wait N] [--retries N] [--idle N] [--perf FILE] --script LUA -- COMMAND…
//! drive peak   --setting S --work WORK:BYTES -- COMMAND…
//! drive idle   --setting S --what sessions|streams --count N -- COMMAND…
//! drive client --era E --transport stdio|http --target BARE [--window N] [--seconds S] [--calls N] [--tuned] -- COMMAND…
//! ```
//!
//! In the commands of HTTP servers `{port}` stands for a free port. With `DRIVE_LOUD` in the environment one sees
//! what programs with pipes complain about.

mod args;
mod client;
mod http;
mod idle;
mod load;
mod message;
mod pipe;
mod proc;
mod served;
mod stdio;
mod work;

use args::Args;
use std::process::ExitCode;

fn main() -> ExitCode {
    match run() {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<serde_json::Value, String> {
    let mut words = std::env::args().skip(1);
    let verb = words.next().unwrap_or_default();
    let args = Args::parse(words)?;
    match verb.as_str() {
        "stdio" => stdio::run(&args),
        "http" => load::run(&args),
        "peak" => idle::peak(&args),
        "idle" => idle::run(&args),
        "client" => client::run(&args),
        _ => Err("usage: drive stdio|http|peak|idle|client OPTIONS -- COMMAND…".into()),
    }
}
