//! Dynamic registration (RFC 7591): anyone may register, so a registration is worth nothing by itself.
//!
//! What is registered is what the answer says, which may be less than was asked for. Registrations are bounded in
//! size and number; the oldest that nobody ever agreed to goes first, and if somebody agreed to all of them, there is no
//! room. A client that registers cannot get tokens for itself: no person would have agreed to anything.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{Request, StatusCode};
use axum::response::{IntoResponse as _, Response};
use contexture::auth::jwt::KeySet;
use serde_json::{Map, Value, json};

use crate::answer::{self, Refusal};
use crate::client::{Grants, Known, Origin, Proof, Way};
use crate::form;
use crate::redirect;
use crate::secrets::now;
use crate::server::{Registered, Shared};

/// Bytes of a registration.
const MOST_BYTES: usize = 16 * 1024;
/// Redirect URIs of one client.
pub(crate) const MOST_REDIRECTS: usize = 10;
/// Bytes of a name.
const MOST_NAME: usize = 200;
/// Seconds for which a registration is kept: thirty days, or until the server ends.
const LIFE: u64 = 30 * 24 * 60 * 60;

/// `POST /register`.
pub(crate) async fn register(State(shared): State<Arc<Shared>>, request: Request<Body>) -> Response {
    match registered(&shared, request).await {
        Ok(client) => answer::json(StatusCode::CREATED, &client),
        Err(refusal) => refusal.into_response(),
    }
}

async fn registered(shared: &Shared, request: Request<Body>) -> Result<Value, Refusal> {
    let wanted = Wanted::read(&object(request).await?)?;
    let random = || shared.secrets.random().ok_or_else(Refusal::busy);
    let id = random()?;
    let now = now();
    let mut answer = wanted.answer(&id, now);
    let proof = match wanted.method {
        Method::Nothing => Proof::Nothing,
        Method::Secret(way) => {
            let secret = random()?;
            let fingerprint = shared.secrets.fingerprint(&secret);
            answer["client_secret"] = secret.into();
            answer["client_secret_expires_at"] = json!(now + LIFE);
            Proof::Secret { fingerprint, way: Some(way) }
        }
        Method::Keys(keys) => Proof::Keys(keys),
    };
    let client = Known {
        id: id.clone(),
        name: wanted.name,
        redirects: wanted.redirects,
        proof,
        grants: Grants { code: true, refresh: wanted.refresh, machine: false },
        scopes: None,
        origin: Origin::Registered,
    };
    let registered = Registered { client: Arc::new(client), approved: false };
    let mut tables = shared.tables();
    match tables.registered.insert_unless(id, registered, now + LIFE, now, |known| known.approved) {
        true => Ok(answer),
        false => Err(Refusal::busy()),
    }
}

async fn object(request: Request<Body>) -> Result<Map<String, Value>, Refusal> {
    let (head, body) = request.into_parts();
    let kind = head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    // A page of another site cannot send this without asking first.
    if !kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json") {
        return Err(invalid("the body must be application/json"));
    }
    let bytes = form::whole(body, MOST_BYTES).await;
    let bytes = bytes.ok_or_else(|| invalid("the registration is too large, or came too slowly"))?;
    serde_json::from_slice(&bytes).map_err(|_| invalid("the body is not a JSON object"))
}

fn invalid(why: impl Into<String>) -> Refusal {
    Refusal::new("invalid_client_metadata", why)
}

/// How a client wants to prove itself.
enum Method {
    Nothing,
    Secret(Way),
    Keys(KeySet),
}

impl Method {
    fn read(object: &Map<String, Value>) -> Result<Self, Refusal> {
        match said(object, "token_endpoint_auth_method").map(Value::as_str) {
            // RFC 7591's default.
            None | Some(Some("client_secret_basic")) => Ok(Self::Secret(Way::Basic)),
            Some(Some("client_secret_post")) => Ok(Self::Secret(Way::Post)),
            Some(Some("none")) => Ok(Self::Nothing),
            Some(Some("private_key_jwt")) => {
                let keys = object
                    .get("jwks")
                    .ok_or_else(|| invalid("private_key_jwt needs jwks; a jwks_uri is not looked at"))?;
                KeySet::parse(keys.to_string().as_bytes()).map(Self::Keys).map_err(invalid)
            }
            _ => Err(invalid("this token_endpoint_auth_method is not possible")),
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Nothing => "none",
            Self::Secret(Way::Basic) => "client_secret_basic",
            Self::Secret(Way::Post) => "client_secret_post",
            Self::Keys(_) => "private_key_jwt",
        }
    }
}

/// What of a registration can be had.
struct Wanted {
    name: Option<String>,
    redirects: Vec<String>,
    method: Method,
    refresh: bool,
    application: Option<String>,
}

impl Wanted {
    fn read(object: &Map<String, Value>) -> Result<Self, Refusal> {
        let redirects = redirects(object.get("redirect_uris"), MOST_REDIRECTS);
        let redirects = redirects.map_err(|why| Refusal::new("invalid_redirect_uri", why))?;
        let text = |name: &str| match said(object, name) {
            None => Ok(None),
            Some(Value::String(text)) if text.len() <= MOST_NAME => Ok(Some(text.clone())),
            Some(_) => Err(invalid(format!("{name} is not a short text"))),
        };
        let grants = words(object, "grant_types", "authorization_code")?;
        if !grants.contains(&"authorization_code") {
            return Err(invalid("who registers gets tokens by authorization_code only"));
        }
        if !words(object, "response_types", "code")?.contains(&"code") {
            return Err(invalid("the only response type is code"));
        }
        let application = text("application_type")?;
        if application.as_ref().is_some_and(|kind| kind != "web" && kind != "native") {
            return Err(invalid("application_type is web or native"));
        }
        let refresh = grants.contains(&"refresh_token");
        Ok(Self {
            name: text("client_name")?,
            redirects,
            method: Method::read(object)?,
            refresh,
            application,
        })
    }

    /// What is registered, in the words of the request.
    fn answer(&self, id: &str, now: u64) -> Value {
        let mut grants = vec!["authorization_code"];
        grants.extend(self.refresh.then_some("refresh_token"));
        let mut answer = json!({
            "client_id": id,
            "client_id_issued_at": now,
            "redirect_uris": self.redirects,
            "grant_types": grants,
            "response_types": ["code"],
            "token_endpoint_auth_method": self.method.name(),
        });
        for (name, value) in [("client_name", &self.name), ("application_type", &self.application)] {
            if let Some(value) = value {
                answer[name] = json!(value);
            }
        }
        answer
    }
}

/// A member that says something; some clients send all there are.
fn said<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    object.get(name).filter(|value| !value.is_null())
}

/// A short list of words, or what it is if nothing is said.
fn words<'a>(object: &'a Map<String, Value>, name: &str, default: &'a str) -> Result<Vec<&'a str>, Refusal> {
    let Some(value) = said(object, name) else { return Ok(vec![default]) };
    let list = value.as_array().filter(|list| list.len() <= 20);
    let words = list.and_then(|list| list.iter().map(Value::as_str).collect::<Option<Vec<_>>>());
    words.ok_or_else(|| invalid(format!("{name} is not a short list of words")))
}

/// Redirect URIs that can be registered; the error says what is wrong with which.
pub(crate) fn redirects(value: Option<&Value>, most: usize) -> Result<Vec<String>, String> {
    let list = value.and_then(Value::as_array).filter(|list| !list.is_empty());
    let list = list.ok_or("redirect_uris is missing or empty")?;
    if list.len() > most {
        return Err(format!("there are more than {most} redirect_uris"));
    }
    let check = |(index, uri): (usize, &Value)| -> Result<String, String> {
        let uri = uri.as_str().ok_or(format!("redirect URI {} is not a text", index + 1))?;
        redirect::check(uri).map_err(|why| format!("redirect URI {} {why}", index + 1))?;
        Ok(uri.to_owned())
    };
    list.iter().enumerate().map(check).collect()
}
