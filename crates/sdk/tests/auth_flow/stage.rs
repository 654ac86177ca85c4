//! The authorization server, servers that it protects, and clients for them.

use std::sync::Arc;
use std::time::Duration;

use contexture::auth::{Authorization, MemoryStore, Protection, StoreKey, Stored, TokenStore};
use contexture::client::Builder;
use contexture::revision::Revision;
use contexture::{Args, Client, Context, Server, tool};
use contexture_auth_server::AuthServer;

use crate::person::Person;

/// Needed for everything.
pub(crate) const READ: &str = "notes:read";
/// Needed for one tool.
pub(crate) const WRITE: &str = "notes:write";

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Echo {
    message: String,
}

fn server() -> Server {
    Server::new("notes", "1.0.0")
        .tool(tool("echo").handler(|Args(echo): Args<Echo>| async move { echo.message }))
        .tool(tool("who").handler(|ctx: Context| async move { ctx.principal().subject().to_owned() }))
        .tool(tool("write").scope(WRITE).handler(|| async { "written" }))
}

/// An authorization server at work, for as long as the test runs.
pub(crate) async fn issuer(lifetime: Duration) -> String {
    let server = AuthServer::new().user("ada").access_lifetime(lifetime);
    let bound = server.bind("127.0.0.1:0").await.expect("a port");
    let issuer = bound.issuer();
    tokio::spawn(bound.serve());
    issuer
}

/// A server that it protects: where Streamable HTTP is, and where HTTP+SSE.
pub(crate) async fn protected(issuer: &str) -> (String, String) {
    // No leeway: a token that has expired is refused.
    let protection = Protection::new(issuer).scopes([READ]).leeway(Duration::ZERO);
    let http = server().into_http().expect("a server").protect(protection);
    let bound = http.bind("127.0.0.1:0").await.expect("a port");
    let (url, address) = (bound.url(), bound.address());
    tokio::spawn(bound.serve_until(std::future::pending()));
    (url, format!("http://{address}/sse"))
}

/// Somebody with a client: who logs in, and what is kept of it.
#[derive(Default)]
pub(crate) struct Desk {
    pub(crate) person: Person,
    pub(crate) store: Arc<MemoryStore>,
}

impl Desk {
    pub(crate) fn client(&self, revision: Revision) -> Builder {
        let authorization = Authorization::visitor(self.person.clone()).store(Arc::clone(&self.store));
        Client::builder().revisions(&[revision]).authorization(authorization)
    }

    /// What is kept of the only login.
    pub(crate) async fn kept(&self) -> (StoreKey, Stored) {
        kept(&self.store).await
    }
}

/// What is kept of the only login.
pub(crate) async fn kept(store: &impl TokenStore) -> (StoreKey, Stored) {
    let keys = store.list().await.expect("a list");
    let [key] = keys.as_slice() else { panic!("{} logins", keys.len()) };
    let stored = store.load(key).await.expect("readable").expect("kept");
    (key.clone(), stored)
}

/// Its access token.
pub(crate) fn access(stored: &Stored) -> String {
    stored.tokens.as_ref().expect("tokens").access.expose().to_owned()
}

/// Its refresh token.
pub(crate) fn refresh(stored: &Stored) -> String {
    stored
        .tokens
        .as_ref()
        .and_then(|tokens| tokens.refresh.as_ref())
        .expect("a refresh token")
        .expose()
        .to_owned()
}
