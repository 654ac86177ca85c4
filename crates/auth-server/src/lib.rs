//! The Contexture authorization server **for development**: OAuth 2.1 on this machine, to try protected MCP
//! servers and their clients on.
//!
//! Its state is in memory, anyone may sign in who knows a name (and the development password, if there is one), and it
//! listens on loopback only: it refuses every other address. Do not put it behind a proxy to get around that.
//!
//! What it does it does strictly, so that a client which works here works elsewhere: PKCE with S256, exact
//! redirect URIs, `iss` in every response, resource indicators, one-shot codes, rotated refresh tokens,
//! consent for every request. Clients come registered in code, by dynamic registration, or by a metadata document
//! at the URL that is their id.
//!
//! ```no_run
//! use contexture_auth_server::{AuthServer, Client};
//!
//! # async fn example() -> contexture::Result<()> {
//! let server = AuthServer::new()
//!     .user("ada")
//!     .scopes(["notes:read", "notes:write"])
//!     .client(Client::public("my-app").redirect("http://127.0.0.1/callback"))
//!     .bind("127.0.0.1:0")
//!     .await?;
//! println!("for development: {}", server.issuer());
//! server.serve().await
//! # }
//! ```

mod answer;
mod authorize;
mod bound;
mod browser;
mod client;
mod config;
mod document;
mod form;
mod grants;
mod inspect;
mod metadata;
mod pages;
mod proof;
mod redirect;
mod registration;
mod secrets;
mod server;
mod service;
mod table;
mod token;
mod upstream;

pub use bound::Bound;
pub use client::Client;
pub use config::AuthServer;
pub use upstream::Upstream;

/// What every page and every log line calls it.
const NAME: &str = "Contexture authorization server for development";
