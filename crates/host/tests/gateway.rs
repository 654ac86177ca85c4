//! The gateway through its public door: real clients in front, real servers behind, in all four pairings of eras.

#[path = "gateway/rich.rs"]
mod rich;
#[path = "gateway/support.rs"]
mod support;

#[allow(dead_code, reason = "the program that it was written for uses the rest")]
#[path = "sampling/scripted.rs"]
mod scripted;

#[path = "gateway/answers.rs"]
mod answers;
#[path = "gateway/asks.rs"]
mod asks;
#[path = "gateway/begun.rs"]
mod begun;
#[path = "gateway/calls.rs"]
mod calls;
#[path = "gateway/changes.rs"]
mod changes;
#[path = "gateway/consent.rs"]
mod consent;
#[path = "gateway/deaths.rs"]
mod deaths;
#[path = "gateway/failures.rs"]
mod failures;
#[path = "gateway/gone.rs"]
mod gone;
#[path = "gateway/parked.rs"]
mod parked;
#[path = "gateway/people.rs"]
mod people;
#[path = "gateway/reload.rs"]
mod reload;
#[path = "gateway/signals.rs"]
mod signals;
#[path = "gateway/together.rs"]
mod together;
#[path = "gateway/told.rs"]
mod told;
