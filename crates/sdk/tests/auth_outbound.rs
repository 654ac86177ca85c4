//! Fetches from addresses that others have named: what is reached, what is not, and what an answer may cost.
//!
//! A canary listens where nobody may go. It must see no connection at all, not just no request.
#![cfg(feature = "auth")]

#[path = "auth_outbound/support.rs"]
mod support;

#[path = "auth_outbound/addresses.rs"]
mod addresses;
#[path = "auth_outbound/answers.rs"]
mod answers;
#[path = "auth_outbound/redirects.rs"]
mod redirects;
