//! Our three parts together: the authorization server for development, a protected server and a client that logs in.
//!
//! Over real sockets, in every revision and over both HTTP transports. The person at the browser is played by
//! [`person`], who reads the pages and sends their forms.
#![cfg(all(feature = "auth", feature = "http-server"))]

#[path = "auth_flow/expiry.rs"]
mod expiry;
#[path = "auth_flow/person.rs"]
mod person;
#[path = "auth_flow/processes.rs"]
mod processes;
#[path = "auth_flow/scopes.rs"]
mod scopes;
#[path = "auth_flow/stage.rs"]
mod stage;
#[path = "auth_flow/story.rs"]
mod story;
