//! The verbs that change configurations, through the binary: what is typed, what is printed, and which bytes of which file change.
#![cfg(unix)]

#[path = "screen/mod.rs"]
mod screen;

#[path = "servers/adding.rs"]
mod adding;
#[path = "servers/mistakes.rs"]
mod mistakes;
#[path = "servers/moving.rs"]
mod moving;
#[path = "servers/stage.rs"]
mod stage;
#[path = "servers/stories.rs"]
mod stories;
