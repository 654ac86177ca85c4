//! Servers over HTTP under a short policy, and callers who take their time, take too much, or are somebody else.
//!
//! The demo cannot show these rows of the adversarial catalogue: its bounds are generous, and it knows nobody.
//! Nothing is measured; a bound is seen from what the server does once it is reached.
#![cfg(feature = "http-server")]

#[path = "http_slow/support.rs"]
mod support;

#[path = "http_slow/bounds.rs"]
mod bounds;
#[path = "http_slow/cancellation.rs"]
mod cancellation;
#[path = "http_slow/principals.rs"]
mod principals;
#[path = "http_slow/slow.rs"]
mod slow;
