//! Bad input, from outside: the built demo server and our client, over real pipes and sockets, against the rows
//! of the adversarial catalogue. `security/README.md` says which test holds which row.
//!
//! Nothing here looks inside: a row is bytes and what may be seen of their effect. Waiting is always for
//! something that must come; limits on waiting are only nets under tests that would otherwise hang.

#[path = "security/child.rs"]
mod child;
#[path = "security/findings.rs"]
mod findings;
#[path = "security/site.rs"]
mod site;
#[path = "security/stage.rs"]
mod stage;
#[path = "security/wire.rs"]
mod wire;

#[path = "security/batches.rs"]
mod batches;
#[path = "security/hostile.rs"]
mod hostile;
#[path = "security/vices.rs"]
mod vices;

#[path = "security/advisories.rs"]
mod advisories;
#[path = "security/bounds.rs"]
mod bounds;
#[path = "security/client_alone.rs"]
mod client_alone;
#[path = "security/client_lists.rs"]
mod client_lists;
#[path = "security/client_messages.rs"]
mod client_messages;
#[path = "security/client_process.rs"]
mod client_process;
#[path = "security/client_rounds.rs"]
mod client_rounds;
#[path = "security/envelope.rs"]
mod envelope;
#[path = "security/features.rs"]
mod features;
#[path = "security/framing.rs"]
mod framing;
#[path = "security/guard.rs"]
mod guard;
#[path = "security/h2.rs"]
mod h2;
#[path = "security/header_mirror.rs"]
mod header_mirror;
#[path = "security/http.rs"]
mod http;
#[path = "security/http_bodies.rs"]
mod http_bodies;
#[path = "security/lifecycle.rs"]
mod lifecycle;
#[path = "security/memory.rs"]
mod memory;
#[path = "security/pair.rs"]
mod pair;
#[path = "security/pairing.rs"]
mod pairing;
#[path = "security/process.rs"]
mod process;
#[path = "security/sessions.rs"]
mod sessions;
#[path = "security/streams.rs"]
mod streams;
#[path = "security/terminal.rs"]
mod terminal;
