//! Diagnostics of this program, on standard error and never anywhere else.
//!
//! `RUST_LOG` takes levels and `target=level` pairs; regular expressions and spans are not understood.

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Begins to report. Warnings and errors only, unless `RUST_LOG` says otherwise.
pub(crate) fn start() {
    let wanted = std::env::var("RUST_LOG").ok().and_then(|wanted| wanted.parse::<Targets>().ok());
    let filter = wanted.unwrap_or_else(|| Targets::new().with_default(LevelFilter::WARN));
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false);
    // Only a second call can fail, and then reporting has begun already.
    let _ = tracing_subscriber::registry().with(filter).with(lines).try_init();
}
