//! `doctor` on what is broken and on what is well: it names the true cause, and the next thing to do.
#![cfg(unix)]

#[path = "doctor/commands.rs"]
mod commands;
#[path = "doctor/configurations.rs"]
mod configurations;
#[path = "doctor/healthy.rs"]
mod healthy;
#[path = "doctor/locked.rs"]
mod locked;
#[path = "doctor/processes.rs"]
mod processes;
#[path = "screen/mod.rs"]
mod screen;
#[path = "doctor/site.rs"]
mod site;
#[path = "doctor/sites.rs"]
mod sites;
#[path = "doctor/stage.rs"]
mod stage;
#[path = "doctor/terminal.rs"]
mod terminal;
