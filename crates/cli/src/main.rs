//! The binary `contexture`.
//!
//! Each verb is a module of its own; this file only finds out which one is meant.

mod arguments;
mod auth_server;
mod connect;
mod demo;
mod door;
mod events;
mod exit;
mod gateway;
mod manual;
mod mock;
mod nearest;
mod options;
mod place;
mod recording;
mod render;
mod story;
mod tape;
mod terminal;
mod trace;
mod transcript;
mod trip;
mod verbs;

use std::process::ExitCode;

use clap::error::ErrorKind;

use exit::Failure;
use options::{Format, Verb};

fn main() -> ExitCode {
    let command = match manual::parse() {
        Ok(command) => command,
        Err(error) => return misread(&error),
    };
    match &command.verb {
        Some(Verb::Run(_) | Verb::Bridge(_)) => trace::start_serving(),
        _ => trace::start(),
    }
    match &command.verb {
        Some(Verb::Demo { page_size, listen, protect }) => {
            serve_demo(*page_size, listen.as_deref(), protect.as_ref())
        }
        Some(Verb::Run(running)) => ended(&verbs::serve(&running.face, verbs::run::run(running))),
        Some(Verb::Bridge(bridging)) => ended(&verbs::serve(&bridging.face, verbs::bridge::bridge(bridging))),
        Some(Verb::AuthServer(issuing)) => ended(&verbs::together(auth_server::serve(issuing))),
        Some(verb) => verbs::run(verb),
        None => story::tell(),
    }
}

async fn listen_at(options: demo::Options, address: &str) -> Result<(), Failure> {
    let server = demo::server(options).into_http()?.bind(address).await?;
    terminal::note(&format!("listening on {}", server.url()));
    Ok(server.serve().await?)
}

/// Help is no failure; a command line that cannot be understood is one of usage.
fn misread(error: &clap::Error) -> ExitCode {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return match terminal::print(error.render().to_string().as_bytes()) {
            Ok(_) => ExitCode::SUCCESS,
            Err(error) => Failure::from(error).report(Format::Text),
        };
    }
    let arguments: Vec<_> = std::env::args_os().skip(1).take_while(|argument| argument != "--").collect();
    let wants_json = arguments.iter().any(|argument| argument == "--format=json" || argument == "-ojson")
        || arguments.windows(2).any(|pair| (pair[0] == "--format" || pair[0] == "-o") && pair[1] == "json");
    if wants_json {
        return Failure::usage(error.render().to_string()).report(Format::Json);
    }
    terminal::note(error.render().to_string().trim_end());
    ExitCode::FAILURE
}

/// One connection is served fastest by the thread that reads it; many share all threads.
fn serve_demo(page_size: Option<u32>, listen: Option<&str>, protect: Option<&Option<String>>) -> ExitCode {
    let page_size = page_size.map(|entries| entries as usize);
    let options = demo::Options { page_size, guarded: protect.is_some(), is_guest: false };
    // The server itself drains on SIGTERM. A handler that blocks a thread does not keep the process.
    ended(&match (listen, protect) {
        (None, _) => verbs::alone(async { Ok(demo::server(options).serve_stdio().await?) }),
        (Some(address), None) => verbs::together(listen_at(options, address)),
        (Some(address), Some(issuer)) => {
            verbs::together(auth_server::serve_protected(options, address, issuer.as_deref()))
        }
    })
}

fn ended(served: &Result<(), Failure>) -> ExitCode {
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(Format::Text),
    }
}
