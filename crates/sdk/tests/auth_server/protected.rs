//! A protected server with things that need scopes, and its issuer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use contexture::auth::{Issuer as Trusted, Protection};
use contexture::server::{Completing, prompt, resource};
use contexture::{Context, Server, tool};
use serde_json::{Value, json};

use super::issuer::Issuer;
use super::raw::{Ask, Reply};
use super::support::{MODERN, Site};

/// What a tool, a prompt and a resource need.
pub(crate) const NEEDED: &str = "files:write";

/// A protected server.
pub(crate) struct Protected {
    pub(crate) site: Site,
    pub(crate) issuer: Issuer,
    /// The URL that clients connect to.
    pub(crate) resource: String,
    /// Handlers that ran.
    pub(crate) ran: Arc<AtomicUsize>,
}

impl Protected {
    pub(crate) async fn start() -> Self {
        Self::with(|protection| protection).await
    }

    /// With something to say about its protection.
    pub(crate) async fn with(change: impl FnOnce(Protection) -> Protection) -> Self {
        let issuer = Issuer::start().await;
        let protection = change(Protection::new(issuer.url.as_str()));
        Self::by(issuer, protection).await
    }

    /// With something to say about its issuer.
    pub(crate) async fn trusting(change: impl FnOnce(Trusted) -> Trusted) -> Self {
        let issuer = Issuer::start().await;
        let protection = Protection::new(change(Trusted::new(issuer.url.as_str())));
        Self::by(issuer, protection).await
    }

    pub(crate) async fn by(issuer: Issuer, protection: Protection) -> Self {
        let ran = Arc::new(AtomicUsize::new(0));
        let site = Site::with(server(&ran), |http| http.protect(protection)).await;
        let resource = format!("http://{}/mcp", site.address);
        Self { site, issuer, resource, ran }
    }

    /// A good token for this server.
    pub(crate) fn token(&self, subject: &str, scope: &str) -> String {
        self.issuer.token(subject, &self.resource, scope)
    }

    /// How many handlers have run.
    pub(crate) fn ran(&self) -> usize {
        self.ran.load(Ordering::SeqCst)
    }

    /// A modern call of a tool, without a token.
    pub(crate) fn call(&self, tool: &str) -> Ask {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({ "name": tool, "arguments": {}, "_meta": meta });
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let ask = self.site.post(&message).unjudged();
        ask.and("mcp-protocol-version", MODERN).and("mcp-method", "tools/call").and("mcp-name", tool)
    }

    /// The answer to a call of the tool that tells who calls.
    pub(crate) async fn who(&self, token: &str) -> Reply {
        self.call("who").and("authorization", &format!("Bearer {token}")).send().await
    }
}

/// A server whose tools, prompts and resources count when they run.
fn server(ran: &Arc<AtomicUsize>) -> Server {
    let counted = |text: &'static str| {
        let ran = Arc::clone(ran);
        move || {
            ran.fetch_add(1, Ordering::SeqCst);
            std::future::ready(text)
        }
    };
    let who = {
        let ran = Arc::clone(ran);
        move |context: Context| {
            ran.fetch_add(1, Ordering::SeqCst);
            let principal = context.principal();
            let scopes = principal.scopes().map(ToString::to_string).unwrap_or_default();
            let who = format!("{} {} [{scopes}]", principal.issuer(), principal.subject());
            async move { who }
        }
    };
    let headers = |context: Context| async move {
        let headers = context.headers().expect("this is HTTP");
        headers.iter().map(|(name, value)| format!("{name}: {value:?}\n")).collect::<String>()
    };
    let claims = |context: Context| async move {
        let claims = context.principal().claims::<Value>().expect("claims").expect("any JSON");
        claims.to_string()
    };
    let completer = {
        let ran = Arc::clone(ran);
        move |_: Completing| {
            ran.fetch_add(1, Ordering::SeqCst);
            async { Ok(vec!["ada"]) }
        }
    };
    Server::new("protected", "1.0.0")
        .tool(tool("who").handler(who))
        .tool(tool("headers").handler(headers))
        .tool(tool("claims").handler(claims))
        .tool(tool("open").handler(counted("open")))
        .tool(tool("write").scope(NEEDED).handler(counted("written")))
        .tool(tool("both").scope("files:read").scope(NEEDED).handler(counted("both")))
        .prompt(prompt("open").handler(counted("open")))
        .prompt(prompt("write").scope(NEEDED).handler(counted("written")))
        .resource(resource("test://open").handler(counted("open")))
        .resource(resource("test://write").scope(NEEDED).handler(counted("written")))
        .resource(resource("test://write/{name}").scope(NEEDED).handler(counted("written")))
        .complete_prompt("write", "name", completer)
}

/// The parameters of the challenge in a refusal, by name.
pub(crate) fn challenge(reply: &Reply) -> Vec<(String, String)> {
    let text = reply.header("www-authenticate").unwrap_or_default();
    let Some(params) = text.strip_prefix("Bearer ") else { return Vec::new() };
    let mut found = Vec::new();
    for param in params.split("\", ") {
        let (name, value) = param.split_once("=\"").unwrap_or_else(|| panic!("{text}"));
        found.push((name.to_owned(), value.trim_end_matches('"').to_owned()));
    }
    found
}

/// One parameter of the challenge.
pub(crate) fn challenged(reply: &Reply, name: &str) -> Option<String> {
    challenge(reply).into_iter().find(|(known, _)| known == name).map(|(_, value)| value)
}
