//! Transcripts through the binary: what is recorded replays, serves as a mock and makes tests, in every revision.

#[path = "transcripts/bad.rs"]
mod bad;
#[path = "transcripts/compared.rs"]
mod compared;
#[path = "transcripts/differences.rs"]
mod differences;
#[path = "transcripts/every.rs"]
mod every;
#[path = "transcripts/saved.rs"]
mod saved;
#[cfg(unix)]
#[path = "screen/mod.rs"]
mod screen;
#[path = "transcripts/secrets.rs"]
mod secrets;
#[path = "transcripts/stage.rs"]
mod stage;
#[cfg(unix)]
#[path = "transcripts/watched.rs"]
mod watched;

/// All revisions, the oldest first.
const REVISIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];
