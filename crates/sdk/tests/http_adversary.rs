//! Our client against servers on HTTP without manners: raw bytes on a socket, rows of the adversarial catalogue.
//!
//! The server misbehaves in one thing and is well-behaved in all others, so that whatever the client does
//! about it is about that. Each row ends with a typed error or a right answer, and with a look at what was sent.
#![cfg(feature = "http-client")]

#[path = "http_adversary/support.rs"]
mod support;

#[path = "http_adversary/answers.rs"]
mod answers;
#[path = "http_adversary/headers.rs"]
mod headers;
#[path = "http_adversary/redirects.rs"]
mod redirects;
#[path = "http_adversary/streams.rs"]
mod streams;
