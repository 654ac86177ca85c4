//! How the client under test logs in: as the scenario says, without a browser.
//!
//! The suite's authorization servers ask nobody and redirect at once. The redirect is read and not followed: nobody
//! listens where it leads.

use std::io;

use contexture::auth::client::{CallbackParams, Visiting};
use contexture::auth::jwt::Algorithm;
use contexture::auth::{Authorization, Enterprise, MemoryStore, Secret, Visit, Visitor};
use contexture::{Error, Result};
use serde::Deserialize;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The client id of clients that describe themselves. The suite looks at the text only.
const METADATA: &str = "https://conformance-test.local/client-metadata.json";
/// Where the suite's authorization servers would send a browser.
const REDIRECT: &str = "http://127.0.0.1:3000/callback";
/// Bytes of the head of an answer.
const HEAD_BYTES: usize = 64 * 1024;

/// What a scenario knows.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Known {
    client_id: String,
    client_secret: Option<String>,
    issuer: Option<String>,
    private_key_pem: String,
    signing_algorithm: String,
    idp_client_id: String,
    idp_id_token: String,
    idp_issuer: String,
    idp_token_endpoint: String,
    valid_jwt: String,
}

/// The policy for a scenario of this name.
pub(super) fn authorization(scenario: &str, context: &Value) -> Result<Authorization> {
    let known = Option::<Known>::deserialize(context)
        .map_err(|error| {
            Error::Invalid(format!("MCP_CONFORMANCE_CONTEXT is not what it should be: {error}"))
        })?
        .unwrap_or_default();
    let policy = policy(scenario, known)?;
    Ok(policy.client_metadata_url(METADATA).client_name("conformance").store(MemoryStore::new()))
}

fn policy(scenario: &str, known: Known) -> Result<Authorization> {
    let secret = Secret::new(known.client_secret.clone().unwrap_or_default());
    Ok(match scenario {
        "auth/client-credentials-basic" => Authorization::client_credentials(known.client_id, secret),
        "auth/client-credentials-jwt" => {
            let algorithm = Algorithm::by_name(&known.signing_algorithm)
                .ok_or_else(|| Error::Invalid(format!("no algorithm {:?}", known.signing_algorithm)))?;
            Authorization::private_key(known.client_id, &known.private_key_pem, algorithm)?
        }
        "auth/enterprise-managed-authorization" => {
            let id_token = Secret::new(known.idp_id_token);
            let enterprise = Enterprise::new(known.idp_issuer, known.idp_client_id, move || {
                let id_token = id_token.clone();
                async move { Ok(id_token) }
            });
            let enterprise = enterprise.token_endpoint(known.idp_token_endpoint);
            Authorization::enterprise(enterprise).client_id(known.client_id).client_secret(secret)
        }
        "auth/wif-jwt-bearer" => {
            let assertion = Secret::new(known.valid_jwt);
            Authorization::workload(known.client_id, move |_| {
                let assertion = assertion.clone();
                async move { Ok(assertion) }
            })
        }
        _ => person(known),
    })
}

fn person(known: Known) -> Authorization {
    let mut policy = Authorization::visitor(Agreeable);
    if !known.client_id.is_empty() {
        policy = policy.client_id(known.client_id);
    }
    if let Some(secret) = known.client_secret {
        policy = policy.client_secret(secret);
    }
    match known.issuer {
        Some(issuer) => policy.issuer(issuer),
        None => policy,
    }
}

/// Somebody who agrees to everything.
struct Agreeable;

impl Visitor for Agreeable {
    fn prepare<'a>(&'a self, _: Option<&'a str>) -> Visiting<'a, Box<dyn Visit>> {
        Box::pin(async { Ok(Box::new(Self) as Box<dyn Visit>) })
    }
}

impl Visit for Agreeable {
    fn redirect_uri(&self) -> &str {
        REDIRECT
    }

    fn go<'a>(self: Box<Self>, url: &'a str, _: &'a str) -> Visiting<'a, CallbackParams> {
        Box::pin(async move {
            let location = redirect_of(url).await?;
            CallbackParams::parse(&location)
        })
    }
}

/// Where a page leads to.
async fn redirect_of(url: &str) -> Result<String> {
    let wrong = || Error::Invalid(format!("the suite's authorization server is at {url:?}"));
    let rest = url.strip_prefix("http://").ok_or_else(wrong)?;
    let slash = rest.find('/').ok_or_else(wrong)?;
    let (host, target) = rest.split_at(slash);
    let mut stream = TcpStream::connect(host).await?;
    let request = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut head = Vec::new();
    while !head.windows(4).any(|four| four == b"\r\n\r\n") && head.len() < HEAD_BYTES {
        if stream.read_buf(&mut head).await? == 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
    }
    let head = String::from_utf8_lossy(&head);
    let mut headers = head.lines().skip(1).filter_map(|line| line.split_once(':'));
    let location = headers.find(|(name, _)| name.eq_ignore_ascii_case("location"));
    let location = location.map(|(_, value)| value.trim().to_owned());
    location.ok_or_else(|| Error::Invalid("the suite's authorization server did not redirect".into()))
}
