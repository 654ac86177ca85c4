//! The authorization server for development through its public door: a real listener, and browsers and clients that
//! say what they are told to.

#[path = "auth_server/support.rs"]
mod support;

#[path = "auth_server/clients.rs"]
mod clients;
#[path = "auth_server/codes.rs"]
mod codes;
#[path = "auth_server/consent.rs"]
mod consent;
#[path = "auth_server/documents.rs"]
mod documents;
#[path = "auth_server/elsewhere.rs"]
mod elsewhere;
#[path = "auth_server/flow.rs"]
mod flow;
#[path = "auth_server/inspect.rs"]
mod inspect;
#[path = "auth_server/metadata.rs"]
mod metadata;
#[path = "auth_server/pages.rs"]
mod pages;
#[path = "auth_server/pkce.rs"]
mod pkce;
#[path = "auth_server/redirects.rs"]
mod redirects;
#[path = "auth_server/refresh.rs"]
mod refresh;
#[path = "auth_server/registration.rs"]
mod registration;
#[path = "auth_server/resources.rs"]
mod resources;
#[path = "auth_server/upstream.rs"]
mod upstream;
