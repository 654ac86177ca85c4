//! Tools that need nobody: text, structure, content kinds, progress, logs, failures.
//!
//! The ones that misbehave (`panic`, `print`, `block`, `big`) are here so that tests can see the server
//! survive them.

use std::time::Duration;

use contexture::model::{CallToolResult, Content, LoggingLevel, Resource, ResourceContents};
use contexture::{Args, Context, Json, Server, tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::resources::{LOGO, README_URI};
use crate::terminal::note;
use crate::terminal::text::safe;

const CHIME: &[u8] = include_bytes!("chime.wav");
/// A line of this length still fits the default limit of a client.
const MOST_BYTES: usize = 16_000_000;

pub(super) fn register(server: Server, is_guest: bool) -> Server {
    let server = values(server);
    let server = signals(server);
    let server = time(server);
    trouble(server, is_guest)
}

#[derive(Deserialize, JsonSchema)]
struct Echo {
    /// What to say back.
    message: String,
}

#[derive(Deserialize, JsonSchema)]
struct Add {
    /// One number.
    a: i64,
    /// The other.
    b: i64,
}

#[derive(Deserialize, JsonSchema)]
struct City {
    /// Where.
    city: String,
}

#[derive(Serialize, JsonSchema)]
struct Weather {
    /// Where.
    city: String,
    /// How warm it is.
    celsius: f64,
    /// What one sees looking up.
    sky: String,
}

fn values(server: Server) -> Server {
    server
        .tool(
            tool("echo")
                .title("Echo")
                .description("Says back what it is told.")
                .read_only()
                .handler(|Args(Echo { message })| async move { message }),
        )
        .tool(tool("add").description("Adds two whole numbers.").read_only().handler(
            |Args(Add { a, b }): Args<Add>| async move { a.checked_add(b).ok_or("the sum is too large") },
        ))
        .tool(
            tool("weather").description("The weather in a city, always fine.").read_only().handler(
                |Args(City { city })| async move {
                    Json(Weather { city, celsius: 21.5, sky: "clear".to_owned() })
                },
            ),
        )
        .tool(
            tool("kinds")
                .description("Returns every kind of content.")
                .read_only()
                .handler(|| async { every_kind() }),
        )
}

fn every_kind() -> Vec<Content> {
    let embedded = ResourceContents::text("demo://notes/alpha", "note alpha").mime_type("text/plain");
    vec![
        Content::text("Text, an image, a sound, a link and a resource."),
        Content::image(LOGO, "image/png"),
        Content::audio(CHIME, "audio/wav"),
        Resource::new(README_URI, "readme").mime_type("text/markdown").into(),
        Content::resource(embedded),
    ]
}

#[derive(Deserialize, JsonSchema)]
struct Countdown {
    /// How many steps.
    #[schemars(range(min = 1, max = 1000))]
    steps: u32,
    /// Milliseconds between two steps.
    #[serde(default)]
    #[schemars(range(max = 60_000))]
    delay_ms: u64,
}

fn signals(server: Server) -> Server {
    server
        .tool(
            tool("countdown")
                .description("Counts its steps, reporting each as progress.")
                .read_only()
                .handler(|context: Context, Args(Countdown { steps, delay_ms })| async move {
                    for step in 1..=steps {
                        let message = format!("{step} of {steps}");
                        context.progress_message(f64::from(step), Some(f64::from(steps)), message);
                        if delay_ms > 0 {
                            tokio::time::sleep(Duration::from_millis(delay_ms)).await;
                        }
                    }
                    "liftoff"
                }),
        )
        .tool(tool("log_lines").description("Logs one message at every level.").read_only().handler(
            |context: Context| async move {
                let logger = context.logger("demo");
                for level in LoggingLevel::ALL {
                    logger.log(level, format!("a message at level {}", level.as_str()));
                }
                "logged"
            },
        ))
}

#[derive(Deserialize, JsonSchema)]
struct Wait {
    /// For how many milliseconds.
    #[schemars(range(max = 3_600_000))]
    ms: u64,
}

fn time(server: Server) -> Server {
    server
        .tool(tool("sleep").description("Waits; can be cancelled.").read_only().handler(
            |Args(Wait { ms })| async move {
                tokio::time::sleep(Duration::from_millis(ms)).await;
                "slept"
            },
        ))
        .tool(tool("block").description("Blocks a thread, while others are served.").read_only().blocking(
            |_context, Wait { ms }| {
                std::thread::sleep(Duration::from_millis(ms));
                "blocked"
            },
        ))
}

#[derive(Deserialize, JsonSchema)]
struct Fail {
    /// What to fail with.
    message: String,
}

#[derive(Deserialize, JsonSchema)]
struct Print {
    /// What to print.
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct Big {
    /// How much text.
    #[schemars(range(max = MOST_BYTES))]
    bytes: usize,
}

fn trouble(server: Server, is_guest: bool) -> Server {
    server
        .tool(
            tool("fail")
                .description("Fails with this message, which the model sees.")
                .read_only()
                .handler(|Args(Fail { message })| async move { CallToolResult::error(message) }),
        )
        .tool(tool("panic").description("Panics; the server survives.").read_only().handler(panics))
        .tool(
            tool("print")
                .description("Prints to standard output, which must not disturb the protocol.")
                .destructive(false)
                .handler(move |Args(Print { text })| async move { prints(&text, is_guest) }),
        )
        .tool(
            tool("big")
                .description("Returns this many bytes of text.")
                .read_only()
                .handler(|Args(Big { bytes })| async move { "x".repeat(bytes) }),
        )
}

async fn panics() -> &'static str {
    panic!("the demo was asked to panic")
}

#[allow(clippy::print_stdout, reason = "this is what careless handlers do")]
fn prints(text: &str, is_guest: bool) -> &'static str {
    // Where it is served over a pipe, the library sees to that by itself.
    if is_guest {
        note(&safe(text))
    } else {
        println!("{text}")
    }
    "printed"
}
