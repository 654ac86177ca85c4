//! The command line as it is described: in help, in manual pages, in completions and in the documentation, from the same
//! definitions.

mod examples;
mod facts;
mod groups;
mod reference;

use clap::{CommandFactory as _, FromArgMatches as _};
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};

use crate::options::Command;
use crate::place;

pub(crate) use reference::reference;

/// The variable by which a shell asks what could come next.
pub(crate) const COMPLETE: &str = "COMPLETE";

/// What was said to this process.
pub(crate) fn parse() -> Result<Command, clap::Error> {
    CompleteEnv::with_factory(described).var(COMPLETE).complete();
    let mut described = described();
    let matches = described.try_get_matches_from_mut(std::env::args_os())?;
    Command::from_arg_matches(&matches).map_err(|error| error.format(&mut described))
}

/// All that can be said, with all that is to be said about it.
pub(crate) fn described() -> clap::Command {
    let command = Command::command().long_version(facts::FACTS.as_str());
    // Before it is built: whether there is more to say than the short help has is found out then.
    let command = groups::described(command.mut_subcommands(examples::described));
    command.mut_subcommands(completed)
}

/// Where a server is meant, its name can be completed. Nothing is started for that.
fn completed(verb: clap::Command) -> clap::Command {
    let verb = verb.mut_args(|argument| match argument.get_id().as_str() {
        "server" => argument.add(ArgValueCandidates::new(servers)),
        _ => argument,
    });
    verb.mut_subcommands(completed)
}

fn servers() -> Vec<CompletionCandidate> {
    // A project can call its servers what it likes, and shells run what they are given.
    let is_plain = |name: &String| {
        let is_harmless = |char: char| char.is_ascii_alphanumeric() || "-_.:@+".contains(char);
        !name.starts_with('-') && name.chars().all(is_harmless)
    };
    place::known().into_iter().filter(is_plain).map(CompletionCandidate::new).collect()
}
