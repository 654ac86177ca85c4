//! Bad servers, bad callers and bad luck, through `contexture run`: sections H and J of the adversarial catalogue.
//!
//! Nothing here looks inside: the built gateway is started with a configuration, real programs and sockets are behind it, and
//! what they were told is what they noted themselves. Waiting is always for something that must come; limits on waiting
//! are only nets under tests that would otherwise hang. `gateway/README.md` says which test holds which row.
#![cfg(unix)]

#[path = "../../host/tests/login/browser.rs"]
mod browser;
#[path = "gateway/stage.rs"]
mod stage;
#[path = "gateway/upstream.rs"]
mod upstream;
#[path = "gateway/vices.rs"]
mod vices;
#[path = "gateway/website.rs"]
mod website;

#[path = "gateway/bounds.rs"]
mod bounds;
#[path = "gateway/ends.rs"]
mod ends;
#[path = "gateway/headers.rs"]
mod headers;
#[path = "gateway/late.rs"]
mod late;
#[path = "gateway/logins.rs"]
mod logins;
#[path = "gateway/mixed.rs"]
mod mixed;
#[path = "gateway/names.rs"]
mod names;
#[path = "gateway/processes.rs"]
mod processes;
#[path = "gateway/rights.rs"]
mod rights;
#[path = "gateway/watching.rs"]
mod watching;
