//! The principles of trust and safety: nothing happens, and nothing is told, that a person did not agree to.
//!
//! Whole clients and whole servers, with everything between them on the record: a decision counts by what reached
//! the wire. What strangers send is in the tests of the binary; tokens are in the tests of authorization.

#[path = "security/support.rs"]
mod support;

#[path = "security/asked.rs"]
mod asked;
#[path = "security/data.rs"]
mod data;
#[path = "security/defaults.rs"]
mod defaults;
#[path = "security/document.rs"]
mod document;
#[path = "security/host.rs"]
mod host;
#[path = "security/privacy.rs"]
mod privacy;
#[path = "security/sampling.rs"]
mod sampling;
#[path = "security/stdio.rs"]
mod stdio;
#[path = "security/strategies.rs"]
mod strategies;
#[path = "security/tools.rs"]
mod tools;
