//! Logging in: a whole client, a server that wants tokens, and authorization servers that do as a test says.
//!
//! Rows F02 to F15, F19 and F21 to F23 of the security bar; what is fetched, stored and shown to browsers has tests of
//! its own.
#![cfg(all(unix, feature = "auth", feature = "http-server"))]

#[path = "auth_client/support.rs"]
mod support;
#[path = "auth_client/world.rs"]
mod world;

#[path = "auth_client/discovery.rs"]
mod discovery;
#[path = "auth_client/grants.rs"]
mod grants;
#[path = "auth_client/login.rs"]
mod login;
#[path = "auth_client/people.rs"]
mod people;
#[path = "auth_client/processes.rs"]
mod processes;
#[path = "auth_client/refresh.rs"]
mod refresh;
#[path = "auth_client/registration.rs"]
mod registration;
#[path = "auth_client/scopes.rs"]
mod scopes;
#[path = "auth_client/tokens.rs"]
mod tokens;
