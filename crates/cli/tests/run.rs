//! `contexture run` and `contexture bridge`: the binary, with real servers behind it, from configuration to the end.
#![cfg(unix)]

#[path = "run/bridge.rs"]
mod bridge;
#[path = "../../host/tests/operations/collector.rs"]
mod collector;
#[path = "run/document.rs"]
mod document;
#[path = "run/drain.rs"]
mod drain;
#[path = "run/listen.rs"]
mod listen;
#[path = "run/logs.rs"]
mod logs;
#[path = "run/protect.rs"]
mod protect;
#[path = "run/reload.rs"]
mod reload;
#[path = "run/stage.rs"]
mod stage;
#[path = "run/stdio.rs"]
mod stdio;
#[path = "run/terminal.rs"]
mod terminal;
#[path = "run/traces.rs"]
mod traces;
#[path = "run/trust.rs"]
mod trust;
#[path = "run/trusting.rs"]
mod trusting;
#[path = "run/two_commands.rs"]
mod two_commands;
