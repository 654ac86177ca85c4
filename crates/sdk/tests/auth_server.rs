//! Protected servers, through their public door: the rows of section E of the adversarial catalogue, with two people,
//! two issuers and tokens of every kind.
#![cfg(all(feature = "auth", feature = "http-server"))]

#[allow(dead_code, reason = "shared with tests that need other parts of it")]
#[path = "support/issuer.rs"]
mod issuer;
#[allow(dead_code, reason = "shared with tests that need other parts of it")]
#[path = "http_server/raw.rs"]
mod raw;
#[allow(dead_code, reason = "shared with tests that need other parts of it")]
#[path = "http_server/support.rs"]
mod support;

#[path = "auth_server/protected.rs"]
mod protected;

#[path = "auth_server/documents.rs"]
mod documents;
#[path = "auth_server/introspection.rs"]
mod introspection;
#[path = "auth_server/keys.rs"]
mod keys;
#[path = "auth_server/owners.rs"]
mod owners;
#[path = "auth_server/requests.rs"]
mod requests;
#[path = "auth_server/same.rs"]
mod same;
#[path = "auth_server/scopes.rs"]
mod scopes;
#[path = "auth_server/secrets.rs"]
mod secrets;
#[path = "auth_server/setup.rs"]
mod setup;
#[path = "auth_server/tokens.rs"]
mod tokens;
