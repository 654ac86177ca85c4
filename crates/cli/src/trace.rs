//! Diagnostics of this program, on standard error and never anywhere else.
//!
//! Without `RUST_LOG` only warnings are told, in plain words, and lines of a server that are no messages
//! are not told one by one but remembered: whoever fails to connect says so once. `RUST_LOG` takes levels
//! and `target=level` pairs; regular expressions and spans are not understood.
//!
//! What serves says more: on a terminal in lines, elsewhere one JSON object a line, for whoever collects them.

use std::fmt::{Debug, Write};
use std::io::IsTerminal as _;
use std::sync::OnceLock;

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

use crate::terminal::note;
use crate::terminal::text::{cut, safe_line};

/// Where the client tells of lines that it skipped, by a field `what`.
const SKIPPED: &str = "contexture::client::incoming";
/// Enough of a line to recognize it.
const EXCERPT: usize = 60;

static NOISE: OnceLock<String> = OnceLock::new();

/// Begins to report.
pub(crate) fn start() {
    // Only a second call can fail, and then reporting has begun already.
    let Some(wanted) = std::env::var("RUST_LOG").ok().and_then(|wanted| wanted.parse::<Targets>().ok())
    else {
        let _ = tracing::subscriber::set_global_default(Warnings);
        return;
    };
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false);
    let _ = tracing_subscriber::registry().with(wanted).with(lines).try_init();
}

/// Begins to report on serving: what happens from day to day, and each exchange at `debug`.
pub(crate) fn start_serving() {
    let wanted = std::env::var("RUST_LOG").ok().and_then(|wanted| wanted.parse::<Targets>().ok());
    let wanted = wanted.unwrap_or_else(|| {
        let ours =
            ["contexture_host", "contexture::gateway", "contexture::verbs"].map(|ours| (ours, Level::INFO));
        Targets::new().with_default(Level::WARN).with_targets(ours)
    });
    let registry = tracing_subscriber::registry().with(wanted);
    // Only a second call can fail, and then reporting has begun already.
    let _ = if std::io::stderr().is_terminal() {
        registry.with(Lines).try_init()
    } else {
        let lines = tracing_subscriber::fmt::layer().json().flatten_event(true).with_current_span(false);
        registry.with(lines.with_span_list(false).with_writer(std::io::stderr)).try_init()
    };
}

/// Events for a person at a terminal, one line each, harmless whatever is in them.
struct Lines;

impl<S: Subscriber> Layer<S> for Lines {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut words = Words::default();
        event.record(&mut words);
        let level = event.metadata().level().as_str().to_ascii_lowercase();
        note(&format!("contexture: {level}: {}{}", safe_line(&words.message), words.fields));
    }
}

/// What the server wrote first that is no message, if it did, in words.
pub(crate) fn noise() -> Option<&'static str> {
    NOISE.get().map(String::as_str)
}

/// Warnings and errors, one line each. There are no spans.
struct Warnings;

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() <= Level::WARN
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::WARN)
    }

    fn event(&self, event: &Event<'_>) {
        let mut words = Words::default();
        event.record(&mut words);
        match words.what {
            Some(what) if event.metadata().target() == SKIPPED => {
                NOISE.get_or_init(|| match words.line {
                    Some(line) => format!("its first line was \"{}\"", cut(&safe_line(&line), EXCERPT)),
                    None => format!("its first line was no message ({})", safe_line(&what)),
                });
            }
            _ => note(&format!("contexture: warning: {}{}", safe_line(&words.message), words.fields)),
        }
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// What an event says.
#[derive(Default)]
struct Words {
    message: String,
    what: Option<String>,
    line: Option<String>,
    fields: String,
}

impl Visit for Words {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "what" => self.what = Some(value.to_owned()),
            "line" => self.line = Some(value.to_owned()),
            _ => {}
        }
        self.record_debug(field, &value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            self.message = format!("{value:?}");
        } else {
            // Writing to a string does not fail.
            let _ = write!(self.fields, " {}={}", field.name(), safe_line(&format!("{value:?}")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_is_no_message_is_remembered_and_harmless() {
        tracing::subscriber::with_default(Warnings, || {
            tracing::warn!(target: SKIPPED, what = "not JSON", line = "\u{1b}[31mhello", "skipped");
            tracing::warn!(target: SKIPPED, what = "not JSON", line = "again", "skipped");
        });
        assert_eq!(noise(), Some("its first line was \"\\u{1b}[31mhello\""));
    }
}
