//! What the specification asks of hosts, and of those who decide for people: `contexture run` as a process, between clients
//! that see their wire and servers that keep everything that they are sent.
//!
//! Each test shows on the wire what happens and what does not. That something is *not* sent is shown by something later
//! that is: both would have come the same way.

#[path = "../../host/tests/login/browser.rs"]
#[allow(dead_code, reason = "other tests do more with it")]
mod browser;
#[path = "../../sdk/tests/support/issuer.rs"]
#[allow(dead_code, reason = "other tests do more with it")]
mod issuer;
#[path = "host/people.rs"]
mod people;
#[path = "host/provider.rs"]
mod provider;
#[path = "host/stage.rs"]
mod stage;
#[path = "host/upstream.rs"]
mod upstream;

#[path = "host/approval.rs"]
mod approval;
#[path = "host/completion.rs"]
mod completion;
#[path = "host/deputy.rs"]
mod deputy;
#[path = "host/elicitation.rs"]
mod elicitation;
#[path = "host/isolation.rs"]
mod isolation;
#[path = "host/memory.rs"]
mod memory;
#[path = "host/offers.rs"]
mod offers;
#[path = "host/principals.rs"]
mod principals;
#[path = "host/records.rs"]
mod records;
#[path = "host/roots.rs"]
mod roots;
#[path = "host/sampling.rs"]
mod sampling;
#[path = "host/sessions.rs"]
mod sessions;
