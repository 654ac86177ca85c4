//! Named regressions: what has gone wrong in other implementations, asked of ours. One test for each advisory.
//!
//! The advisories are those about authorization (who may do what), flows of OAuth, requests to addresses of somebody
//! else's choice, leaked credentials, and things that belong to somebody else.
#![cfg(all(feature = "auth", feature = "http-server"))]

#[allow(dead_code, reason = "shared with auth_outbound")]
#[path = "auth_outbound/support.rs"]
mod played;
#[allow(dead_code, reason = "shared with http_slow")]
#[path = "http_slow/support.rs"]
mod raw;

#[path = "auth_regressions/support.rs"]
mod support;

#[path = "auth_regressions/clients.rs"]
mod clients;
#[path = "auth_regressions/doors.rs"]
mod doors;
#[path = "auth_regressions/fetches.rs"]
mod fetches;
#[path = "auth_regressions/owners.rs"]
mod owners;
#[path = "auth_regressions/tokens.rs"]
mod tokens;
