//! Who issues tokens for a server, and how they are asked for.
//!
//! The server names its issuers, an issuer describes itself; each document counts only if it is about whom it was
//! asked for. Servers that name nobody are taken for those of the first revision with authorization, whose origin
//! is the issuer. Nothing is sent here but requests for documents.

use reqwest::Url;

use super::policy::Authorization;
use super::{failed, shown};
use crate::auth::canonical::{canonical, resource_metadata_urls, same_resource, server_metadata_urls};
use crate::auth::metadata::{ResourceMetadata, ServerMetadata, harmless};
use crate::auth::outbound::{Outbound, Reach, Unfetched};
use crate::error::AuthorizationStep;
use crate::scopes::Scopes;
use crate::transport::http::is_loopback;
use crate::{Error, Result};

/// What was found out.
#[derive(Debug)]
pub(super) struct Found {
    /// The server, character by character as it names itself.
    pub(super) resource: String,
    /// Who issues its tokens.
    pub(super) issuer: String,
    pub(super) metadata: ServerMetadata,
    /// What the server says it needs.
    pub(super) scopes: Option<Scopes>,
    /// There is no metadata: endpoints are where they were once by default.
    pub(super) is_guess: bool,
}

/// A search on behalf of one server.
pub(super) struct Search<'a> {
    pub(super) outbound: &'a Outbound,
    pub(super) reach: Reach,
    pub(super) server: &'a str,
    pub(super) policy: &'a Authorization,
    /// The issuer that was used so far.
    pub(super) bound: Option<&'a str>,
}

impl Search<'_> {
    /// Finds the issuer. `named` is where the server says that its metadata is.
    pub(super) async fn run(&self, named: Option<&str>) -> Result<Found> {
        match self.resource(named).await? {
            Some(document) => self.by_name(document).await,
            None => self.by_origin().await,
        }
    }

    /// What the server says about itself. `None` if it says nothing anywhere.
    pub(super) async fn resource(&self, named: Option<&str>) -> Result<Option<ResourceMetadata>> {
        if let Some(url) = named {
            let document = self.outbound.get_json(url, &[]).await.map_err(|error| {
                unfound(format!(
                    "the server names {} for its metadata, where it is not: {error}",
                    harmless(url)
                ))
            })?;
            return self.about_server(document).map(Some);
        }
        for url in resource_metadata_urls(self.server) {
            match self.outbound.get_json(&url, &[]).await {
                Ok(document) => return self.about_server(document).map(Some),
                Err(error) if is_elsewhere(&error) => {}
                Err(error) => {
                    return Err(unfound(format!(
                        "the server's metadata cannot be read at {}: {error}",
                        shown(&url)
                    )));
                }
            }
        }
        Ok(None)
    }

    /// A document about another server would have us ask for that one's tokens.
    fn about_server(&self, document: ResourceMetadata) -> Result<ResourceMetadata> {
        if same_resource(self.server, &document.resource) {
            return Ok(document);
        }
        Err(unfound(format!(
            "the server's metadata is about another resource, {:?}: its operator has to set it to {:?}",
            harmless(&document.resource),
            shown(self.server)
        )))
    }

    /// The issuer about itself: the one that the server names, or else its own origin.
    pub(super) async fn described(
        &self,
        document: Option<&ResourceMetadata>,
    ) -> Result<Option<ServerMetadata>> {
        match document {
            Some(document) => {
                let issuer = self.choose(&document.authorization_servers)?;
                self.named_issuer(&issuer).await.map(Some)
            }
            None => {
                let url = Url::parse(self.server).map_err(|error| Error::Misuse(error.to_string()))?;
                self.issuer(&url.origin().ascii_serialization()).await
            }
        }
    }

    async fn by_name(&self, document: ResourceMetadata) -> Result<Found> {
        let issuer = self.choose(&document.authorization_servers)?;
        let metadata = self.named_issuer(&issuer).await?;
        let scopes = document.scopes_supported.map(|scopes| scopes.into_iter().collect());
        Ok(Found { resource: document.resource, issuer, metadata, scopes, is_guess: false })
    }

    /// An issuer that the server names must describe itself.
    async fn named_issuer(&self, issuer: &str) -> Result<ServerMetadata> {
        self.issuer(issuer).await?.ok_or_else(|| {
            let issuer = harmless(issuer);
            unfound(format!("the authorization server {issuer} has no metadata where it must be"))
        })
    }

    fn choose(&self, issuers: &[String]) -> Result<String> {
        let listed = |wanted: &str| issuers.iter().find(|issuer| *issuer == wanted).cloned();
        let Some(first) = issuers.first() else {
            return Err(unfound(
                "the server's metadata names no authorization server: its operator has to add one",
            ));
        };
        if let Some(wanted) = &self.policy.client.issuer {
            return listed(wanted).ok_or_else(|| {
                unfound(format!(
                    "the server takes tokens of {}, and this client is registered at {wanted}: register it there, \
                     or correct the issuer",
                    harmless(&issuers.join(", "))
                ))
            });
        }
        if let Some(choose) = &self.policy.choose {
            let chosen = issuers.get(choose(issuers));
            return chosen
                .cloned()
                .ok_or_else(|| Error::Misuse("an issuer was chosen that is not there".into()));
        }
        Ok(self.bound.and_then(listed).unwrap_or_else(|| first.clone()))
    }

    /// The issuer about itself. `None` if it says nothing anywhere.
    async fn issuer(&self, issuer: &str) -> Result<Option<ServerMetadata>> {
        let mut impostor = None;
        for url in server_metadata_urls(issuer) {
            match self.outbound.get_json::<ServerMetadata>(&url, &[]).await {
                Ok(metadata) if metadata.issuer == issuer => return self.usable(metadata).map(Some),
                Ok(metadata) => impostor = Some(metadata.issuer),
                Err(error) if is_elsewhere(&error) => {}
                Err(error) => {
                    let what =
                        format!("the authorization server's metadata cannot be read at {url}: {error}");
                    return Err(unfound(what));
                }
            }
        }
        match impostor {
            Some(impostor) => Err(unfound(format!(
                "the metadata of the authorization server {} says that it is {:?}: it is not used; the two have to \
                 be the same, character by character",
                harmless(issuer),
                harmless(&impostor)
            ))),
            None => Ok(None),
        }
    }

    /// The rules of the first revision that had authorization: the server's origin is the issuer.
    async fn by_origin(&self) -> Result<Found> {
        let resource = canonical(self.server).map_err(|error| Error::Misuse(error.to_string()))?;
        let url = Url::parse(self.server).map_err(|error| Error::Misuse(error.to_string()))?;
        let issuer = url.origin().ascii_serialization();
        if self.policy.client.issuer.as_ref().is_some_and(|wanted| *wanted != issuer) {
            return Err(unfound(
                "the server does not say whose tokens it takes, so they are not asked for elsewhere",
            ));
        }
        let (metadata, is_guess) = match self.issuer(&issuer).await? {
            Some(metadata) => (metadata, false),
            None => (self.usable(by_default(&issuer))?, true),
        };
        Ok(Found { resource, issuer, metadata, scopes: None, is_guess })
    }

    /// Every endpoint must be one that secrets may be sent to.
    fn usable(&self, metadata: ServerMetadata) -> Result<ServerMetadata> {
        let ServerMetadata { authorization_endpoint, token_endpoint, registration_endpoint, .. } = &metadata;
        let optional = [authorization_endpoint, registration_endpoint, &metadata.revocation_endpoint];
        for endpoint in optional.into_iter().flatten().chain([token_endpoint]) {
            if !is_safe(endpoint, self.reach) {
                return Err(unfound(format!(
                    "the authorization server has an endpoint that is not https: {}; nothing is sent there",
                    harmless(endpoint)
                )));
            }
        }
        Ok(metadata)
    }
}

impl Found {
    /// Where people go, if this authorization server protects codes on their way back.
    pub(super) fn authorization_endpoint(&self) -> Result<&str> {
        let methods = self.metadata.code_challenge_methods_supported.as_deref();
        if !self.is_guess && !methods.is_some_and(|methods| methods.iter().any(|method| method == "S256")) {
            return Err(unfound(
                "the authorization server does not say that it does PKCE with S256: without it a login could be \
                 stolen; its operator has to switch it on (code_challenge_methods_supported)",
            ));
        }
        self.metadata.authorization_endpoint.as_deref().ok_or_else(|| {
            unfound("the authorization server has no authorization endpoint: people cannot log in there")
        })
    }

    /// Whether the authorization server says that it has this kind of grant.
    pub(super) fn has_grant(&self, grant: &str) -> bool {
        self.metadata.grant_types_supported.as_ref().is_some_and(|grants| grants.iter().any(|it| it == grant))
    }
}

fn unfound(message: impl Into<String>) -> Error {
    failed(AuthorizationStep::Discovery, message)
}

/// The document may be at the next address.
fn is_elsewhere(error: &Unfetched) -> bool {
    matches!(error, Unfetched::Status(300..500) | Unfetched::Redirected | Unfetched::Malformed(_))
}

fn by_default(issuer: &str) -> ServerMetadata {
    let at = |path: &str| format!("{issuer}/{path}");
    ServerMetadata {
        issuer: issuer.to_owned(),
        authorization_endpoint: Some(at("authorize")),
        token_endpoint: at("token"),
        registration_endpoint: Some(at("register")),
        ..ServerMetadata::default()
    }
}

/// https; on this machine also http, if the server is there as well.
fn is_safe(endpoint: &str, reach: Reach) -> bool {
    // The spelling is that of an address and of nothing else, for it may be shown to a browser.
    let plain = endpoint.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"'<>\\^`{|}".contains(&byte));
    let Ok(url) = Url::parse(endpoint) else { return false };
    let bare = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
    let scheme = match url.scheme() {
        "https" => true,
        "http" => is_loopback(&url) && reach == Reach::Loopback,
        _ => false,
    };
    plain && bare && scheme && url.has_host()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows F04 and F05 of the security bar.
    #[test]
    fn endpoints_are_https_or_on_this_machine() {
        for safe in
            ["https://as.example/token", "https://as.example:8443/t?tenant=1", "https://[2001:db8::1]/t"]
        {
            assert!(is_safe(safe, Reach::Public), "{safe}");
        }
        for local in ["http://127.0.0.1:1/t", "http://localhost:1/t", "http://[::1]:1/t"] {
            assert!(is_safe(local, Reach::Loopback), "{local}");
            assert!(!is_safe(local, Reach::Public), "{local}");
        }
        for bad in [
            "http://as.example/token",
            "http://127.0.0.1.evil.example/t",
            "http://localhost.evil.example/t",
            "http://localhost@evil.example/t",
            "javascript:alert(1)",
            "JaVaScRiPt:alert(1)",
            "java\tscript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "vbscript:x",
            "calculator://x",
            "https://as.example/\" & calc",
            "https://as.example/$(x)\n",
            "-https://as.example",
            "https://user:pass@as.example/t",
            "https://as.example/t#x",
            "https:",
            "",
        ] {
            assert!(!is_safe(bad, Reach::Loopback), "{bad}");
        }
    }
}
