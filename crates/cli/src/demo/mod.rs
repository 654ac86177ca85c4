//! The demo server: every feature of the protocol at least once.
//!
//! What it offers is a contract that tests and other people's clients rely on. It touches nothing outside
//! of its own memory, and knows no revision: the same handlers answer all of them.

mod asks;
mod changes;
mod guarded;
mod prompts;
mod resources;
mod tools;

use contexture::Server;
use contexture::server::Completing;

use changes::Clock;

/// How the demo is served.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Options {
    /// Entries on one page of a list; all, if nothing is said.
    pub(crate) page_size: Option<usize>,
    /// It asks for tokens, so there is also a tool that needs more than others.
    pub(crate) guarded: bool,
    /// It is served by a process whose standard output is for something else.
    pub(crate) is_guest: bool,
}

pub(crate) use guarded::{SIGN, USE};

const INSTRUCTIONS: &str = "Try `echo` and `add` first. `greet`, `survey` and `plan_trip` ask the person, `ask_model` \
     asks the model, `countdown` reports progress, `log_lines` logs. Read demo://readme for the rest.";

/// The demo, ready to be served.
pub(crate) fn server(options: Options) -> Server {
    let server = Server::new("contexture-demo", env!("CARGO_PKG_VERSION"))
        .title("Contexture demo")
        .description("Every feature of the Model Context Protocol at least once")
        .instructions(INSTRUCTIONS);
    let server = match options.page_size {
        Some(entries) => server.page_size(entries),
        None => server,
    };
    let server = server.state(Clock::default());
    let server = tools::register(server, options.is_guest);
    let server = asks::register(server);
    let server = changes::register(server);
    let server = resources::register(server);
    let server = prompts::register(server);
    if options.guarded { guarded::register(server) } else { server }
}

/// Proposes those of the values that begin with what was typed.
fn beginning_with(
    values: &'static [&'static str],
) -> impl Fn(Completing) -> std::future::Ready<contexture::Result<Vec<&'static str>>> {
    move |completing| {
        let fits = values.iter().copied().filter(|value| value.starts_with(&completing.value));
        std::future::ready(Ok(fits.collect()))
    }
}
