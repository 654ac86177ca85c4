//! Resources: text, bytes, one that changes, and two templates.
//!
//! The "files" are words in memory; nothing on disk can be reached.

use contexture::model::{Annotations, Role};
use contexture::{Args, Error, Server, State, resource};
use schemars::JsonSchema;
use serde::Deserialize;

use super::beginning_with;
use super::changes::Clock;

pub(super) const README_URI: &str = "demo://readme";
pub(super) const CLOCK_URI: &str = "demo://clock";
pub(super) const LOGO: &[u8] = include_bytes!("logo.png");

const README: &str = include_str!("readme.md");
const NOTES: &[&str] = &["alpha", "beta", "gamma"];
const FILES: &[(&str, &str)] = &[
    ("docs/guide.md", "# Guide\n\nThere is nothing to see here.\n"),
    ("src/main.rs", "fn main() {}\n"),
    ("todo.txt", "write more files\n"),
];

#[derive(Deserialize, JsonSchema)]
struct Note {
    id: String,
}

#[derive(Deserialize, JsonSchema)]
struct File {
    path: String,
}

pub(super) fn register(server: Server) -> Server {
    let server = fixed(server);
    server
        .resource(
            resource("demo://notes/{id}")
                .name("note")
                .title("A note")
                .description("Short notes: alpha, beta and gamma.")
                .mime_type("text/plain")
                .handler(note),
        )
        .complete_resource("demo://notes/{id}", "id", beginning_with(NOTES))
        .resource(
            resource("demo://files/{+path}")
                .name("file")
                .title("A file")
                .description("Files that exist in memory only, for example docs/guide.md.")
                .handler(file),
        )
}

fn fixed(server: Server) -> Server {
    server
        .resource(
            resource(README_URI)
                .name("readme")
                .title("Read me")
                .description("What this server is for.")
                .mime_type("text/markdown")
                .annotations(Annotations::new().audience(vec![Role::User, Role::Assistant]))
                .text(README),
        )
        .resource(
            resource("demo://logo.png")
                .name("logo")
                .title("Logo")
                .description("A woven mark.")
                .mime_type("image/png")
                .bytes(LOGO),
        )
        .resource(
            resource(CLOCK_URI)
                .name("clock")
                .title("Clock")
                .description("The time, and how often the tool `touch` was called.")
                .mime_type("text/plain")
                .handler(|clock: State<Clock>| async move { clock.text() }),
        )
}

async fn note(Args(Note { id }): Args<Note>) -> Result<String, Error> {
    if NOTES.contains(&id.as_str()) { Ok(format!("note {id}")) } else { Err(Error::NotFound) }
}

async fn file(Args(File { path }): Args<File>) -> Result<&'static str, Error> {
    FILES.iter().find(|(known, _)| *known == path).map(|(_, text)| *text).ok_or(Error::NotFound)
}
