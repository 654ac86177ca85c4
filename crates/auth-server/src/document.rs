//! Finding clients: those that were set up, those that registered, and those whose id is the URL of a document that
//! describes them (Client ID Metadata Documents).
//!
//! The URL is somebody else's choice, so it is fetched through the guard that all such fetches go through: no private
//! addresses, few redirects, little time. This machine is allowed, because this server is for development; our own
//! address is not, or we could be made to ask ourselves without end. A document proves nothing but that whoever
//! controls the URL published it, and it must say so itself by naming the URL.

use std::sync::Arc;

use contexture::auth::jwt::KeySet;
use serde_json::Value;
use serde_json::value::RawValue;
use url::Url;

use crate::client::{Grants, Known, Origin, Proof};
use crate::redirect;
use crate::registration::{MOST_REDIRECTS, redirects};
use crate::secrets::now;
use crate::server::Shared;

/// Seconds for which a document is not fetched again.
const FRESH: u64 = 5 * 60;
/// Bytes of a document.
const MOST_BYTES: usize = 16 * 1024;
/// Bytes of a client's id.
const MOST_ID: usize = 2048;

impl Shared {
    /// The client of this id; the error is for whoever asks.
    pub(crate) async fn find_client(&self, id: &str) -> Result<Arc<Known>, String> {
        if let Some(client) = self.clients.iter().find(|client| client.id == id) {
            return Ok(Arc::clone(client));
        }
        if let Some(registered) = self.tables().registered.get(id, now()) {
            return Ok(Arc::clone(&registered.client));
        }
        if !id.starts_with("https://") && !id.starts_with("http://") {
            return Err("The client is not known here (any more): it has to register first.".to_owned());
        }
        if let Some(client) = self.tables().documents.get(id, now()) {
            return Ok(Arc::clone(client));
        }
        let client = self
            .fetch_client(id)
            .await
            .map_err(|why| format!("The client cannot be known by its id: {why}."))?;
        let client = Arc::new(client);
        let now = now();
        self.tables().documents.insert(id.to_owned(), Arc::clone(&client), now + FRESH, now);
        Ok(client)
    }

    async fn fetch_client(&self, id: &str) -> Result<Known, String> {
        check_id(id, self.port)?;
        let _place = self.fetches.try_acquire().map_err(|_| "too many are asked for at the moment")?;
        let fetched: Result<Box<RawValue>, _> = self.outbound.get_json(id, &[]).await;
        let text = fetched.map_err(|error| error.to_string())?;
        if text.get().len() > MOST_BYTES {
            return Err("its document is too large".to_owned());
        }
        let document: Value = serde_json::from_str(text.get()).map_err(|_| "its document is not JSON")?;
        read(id, &document)
    }
}

/// An address that a client can be known by. `port` is our own.
fn check_id(id: &str, port: u16) -> Result<(), &'static str> {
    if id.len() > MOST_ID {
        return Err("it is too long");
    }
    let url = Url::parse(id).map_err(|_| "it is not a URL")?;
    if url.as_str() != id {
        return Err("it is not in its normal form");
    }
    let local = redirect::is_this_machine(&url);
    if url.scheme() != "https" && !local {
        return Err("it is neither https nor on this machine");
    }
    if local && url.port_or_known_default() == Some(port) {
        return Err("it is our own address");
    }
    if url.path() == "/" || url.query().is_some() || id.contains('#') {
        return Err("it needs a path, and neither a query nor a fragment");
    }
    if !url.username().is_empty() || url.password().is_some() || url.authority().contains('@') {
        return Err("it has a user name");
    }
    Ok(())
}

/// What the document says, if it is about this client and can be one of a public or a signing client.
fn read(id: &str, document: &Value) -> Result<Known, String> {
    let document = document.as_object().ok_or("its document is not an object")?;
    let text = |name: &str| document.get(name).and_then(Value::as_str);
    if text("client_id") != Some(id) {
        return Err("its document is about another client".to_owned());
    }
    if document.contains_key("client_secret") || document.contains_key("client_secret_expires_at") {
        return Err("its document publishes a secret".to_owned());
    }
    let name = text("client_name").filter(|name| !name.is_empty());
    let name = name.ok_or("its document has no client_name")?;
    let redirects = redirects(document.get("redirect_uris"), MOST_REDIRECTS)?;
    let proof = match text("token_endpoint_auth_method") {
        None | Some("none") => Proof::Nothing,
        Some("private_key_jwt") => {
            let keys = document.get("jwks").ok_or("its document has no jwks; a jwks_uri is not looked at")?;
            Proof::Keys(KeySet::parse(keys.to_string().as_bytes())?)
        }
        Some(_) => return Err("its document asks for a secret, which nobody could keep".to_owned()),
    };
    let kinds = document.get("grant_types").and_then(Value::as_array);
    let has = |kind: &str| kinds.is_some_and(|kinds| kinds.iter().any(|known| known == kind));
    let grants = Grants {
        code: kinds.is_none() || has("authorization_code"),
        refresh: has("refresh_token"),
        machine: false,
    };
    Ok(Known {
        id: id.to_owned(),
        name: Some(name.to_owned()),
        redirects,
        proof,
        grants,
        scopes: None,
        origin: Origin::Document,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn ids_are_plain_addresses() {
        for id in [
            "https://app.example/client.json",
            "https://app.example:8443/a/b",
            "http://127.0.0.1:1/c",
            "http://localhost:1/c",
        ] {
            assert_eq!(check_id(id, 9), Ok(()), "{id}");
        }
        let bad = [
            "https://app.example",
            "https://app.example/",
            "http://app.example/c",
            "http://10.0.0.1/c",
            "https://u@app.example/c",
            "https://app.example/c#f",
            "https://app.example/c#",
            "https://app.example/c?q",
            "https://app.example/a/../c",
            "https://APP.example/c",
            "http://127.0.0.1:9/c",
            "http://localhost:9/authorize",
            "http://127.1:1/c",
            "https://@app.example/c",
            "https://app.example\\c",
            "ftp://app.example/c",
        ];
        for id in bad {
            assert!(check_id(id, 9).is_err(), "{id}");
        }
        assert!(check_id(&format!("https://app.example/{}", "a".repeat(MOST_ID)), 9).is_err());
    }

    #[test]
    fn documents_are_about_the_client_and_publish_no_secret() {
        let id = "https://app.example/c";
        let good = json!({ "client_id": id, "client_name": "App", "redirect_uris": ["http://127.0.0.1/cb"] });
        let client = read(id, &good).expect("a client");
        assert!(client.grants.code && !client.grants.refresh && !client.is_confidential());
        let changes = [
            ("client_id", json!("https://app.example/d")),
            ("client_id", json!("https://app.example/c/")),
            ("client_id", json!(1)),
            ("client_name", json!("")),
            ("client_name", json!(null)),
            ("redirect_uris", json!([])),
            ("redirect_uris", json!("x")),
            ("redirect_uris", json!(["http://evil.example/cb"])),
            ("redirect_uris", json!(["javascript:alert(1)"])),
            ("redirect_uris", json!([1])),
            ("redirect_uris", json!(null)),
            ("client_secret", json!("x")),
            ("client_secret_expires_at", json!(0)),
            ("token_endpoint_auth_method", json!("client_secret_basic")),
            ("token_endpoint_auth_method", json!("client_secret_post")),
            ("token_endpoint_auth_method", json!("private_key_jwt")),
        ];
        for (member, value) in changes {
            let mut document = good.clone();
            document[member] = value.clone();
            assert!(read(id, &document).is_err(), "{member}: {value}");
        }
        assert!(read(id, &json!([])).is_err());
    }
}
