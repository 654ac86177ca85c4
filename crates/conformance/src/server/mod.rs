//! The server under test: the tools, prompts and resources that the suite's scenarios ask for by name.
//!
//! It has nothing of the extensions (tasks, skills), and no handler looks at the revision.

mod asks;
mod changes;
mod content;
mod forms;
mod prompts;
mod resources;
mod rounds;
mod schemas;
mod signals;

use contexture::Server;

/// A picture: one red point.
const PNG: &[u8] = include_bytes!("../assets/red.png");
/// A sound: a millisecond of silence.
const WAV: &[u8] = include_bytes!("../assets/silence.wav");

/// The server, ready to be served.
///
/// The order matters in one place: the suite calls the first tool of the list without arguments.
pub fn server() -> Server {
    let server = Server::new("contexture-conformance", env!("CARGO_PKG_VERSION"))
        .description("What the official conformance suite calls");
    let server = content::register(server);
    let server = signals::register(server);
    let server = asks::register(server);
    let server = forms::register(server);
    let server = rounds::register(server);
    let server = schemas::register(server);
    let server = changes::register(server);
    let server = prompts::register(server);
    resources::register(server)
}
