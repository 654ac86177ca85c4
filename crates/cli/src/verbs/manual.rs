//! `completions`, `man`, and the page of the documentation.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use clap_complete::env::Shells;
use clap_mangen::Man;

use super::ended;
use crate::exit::Failure;
use crate::manual::{COMPLETE, described, reference};
use crate::options::{Completions, Format, Manual};
use crate::terminal;

/// The name by which shells find this program.
const NAME: &str = "contexture";

pub(super) fn completions(options: &Completions) -> ExitCode {
    ended(Format::Text, registration(&options.shell))
}

/// What a shell has to know to ask us: it gets the words from the program itself, each time.
fn registration(shell: &str) -> Result<(), Failure> {
    let shells = Shells::builtins();
    let Some(known) = shells.completer(shell) else {
        let names: Vec<&str> = shells.names().collect();
        return Err(Failure::usage(format!(
            "no completions for {shell:?}; there are some for {}",
            names.join(", ")
        )));
    };
    let mut script = Vec::new();
    known.write_registration(COMPLETE, NAME, NAME, NAME, &mut script)?;
    terminal::print(&script)?;
    Ok(())
}

pub(super) fn man(options: &Manual) -> ExitCode {
    let outcome = match &options.to {
        Some(folder) => pages(folder),
        None => page(without_help(described())).and_then(|page| Ok(terminal::print(&page).map(|_| ())?)),
    };
    ended(Format::Text, outcome)
}

fn page(command: clap::Command) -> Result<Vec<u8>, Failure> {
    let mut page = Vec::new();
    Man::new(command).manual("Contexture").render(&mut page)?;
    Ok(page)
}

fn pages(folder: &Path) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::usage(format!("{}: {error}", folder.display()));
    fs::create_dir_all(folder).map_err(failed)?;
    clap_mangen::generate_to(without_help(described()), folder).map_err(failed)
}

/// `help` explains the other verbs, and needs no page.
fn without_help(command: clap::Command) -> clap::Command {
    command.mut_subcommands(|verb| {
        let verb = without_help(verb);
        if verb.get_name() == "help" { verb.hide(true) } else { verb }
    })
}

pub(super) fn print_reference() -> ExitCode {
    ended(Format::Text, terminal::print(reference().as_bytes()).map(|_| ()).map_err(Failure::from))
}
