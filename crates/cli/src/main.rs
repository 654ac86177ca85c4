//! The binary `contexture`.
//!
//! Each verb is a module of its own; this file only finds out which one is meant.

mod demo;
mod trace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The Model Context Protocol, whole: any client, any server, any era.
#[derive(Debug, Parser)]
#[command(name = "contexture", version, about)]
struct Command {
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Serves the demo over standard input and output.
    Demo {
        /// Entries on one page of a list.
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        page_size: Option<u32>,
    },
}

fn main() -> ExitCode {
    let command = Command::parse();
    trace::start();
    match command.verb {
        Some(Verb::Demo { page_size }) => serve_demo(page_size),
        None => ExitCode::SUCCESS,
    }
}

/// One connection is served fastest by the thread that reads it.
fn serve_demo(page_size: Option<u32>) -> ExitCode {
    let options = demo::Options { page_size: page_size.map(|entries| entries as usize) };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error),
    };
    let served = runtime.block_on(demo::server(options).serve_stdio());
    // A handler that still blocks a thread is no reason to stay.
    runtime.shutdown_background();
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

fn failed(error: &dyn std::error::Error) -> ExitCode {
    eprintln!("contexture: {error}");
    ExitCode::FAILURE
}
