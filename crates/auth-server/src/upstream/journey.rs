//! The way to the other issuer and back.
//!
//! Nobody sets out before they have agreed on our page. Whoever comes back does so once, in the browser that they set out in, and
//! within the time; all others see a page and are sent nowhere. What goes wrong on the way the client hears as
//! `access_denied`, and why it did only the log.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Request, StatusCode};
use axum::response::Response;
use contexture::auth::Secret;

use super::Upstream;
use super::issuer::{Found, Redeemed};
use crate::authorize::{STALE, agree, deny, go};
use crate::browser::{Asked, PENDING, Session};
use crate::form::{Form, Repeated};
use crate::pages;
use crate::redirect;
use crate::secrets::{challenge_of, now};
use crate::server::Shared;

/// Somebody who has agreed and is signing in elsewhere.
#[derive(Debug)]
pub(crate) struct Away {
    /// The browser that they set out in.
    session: String,
    asked: Asked,
    verifier: Secret,
    found: Found,
}

const FAILED: &str = "the person could not be signed in";

/// Sends somebody on who has just agreed.
pub(crate) async fn depart(
    shared: &Shared,
    upstream: &Upstream,
    session: &Session,
    asked: Asked,
) -> Response {
    let found = match upstream.find().await {
        Ok(found) => found,
        Err(why) => return failed(shared, upstream, &asked, &why),
    };
    let (Some(state), Some(verifier)) = (shared.secrets.random(), shared.secrets.random()) else {
        return pages::unable(shared);
    };
    let target = redirect::with_parameters(
        &found.authorization_endpoint,
        &[
            ("response_type", "code"),
            ("client_id", &upstream.client_id),
            ("redirect_uri", &shared.endpoint("upstream/callback")),
            ("state", &state),
            ("resource", &shared.issuer),
            ("code_challenge", &challenge_of(&verifier)),
            ("code_challenge_method", "S256"),
        ],
    );
    let away = Away { session: session.id.clone(), asked, verifier: verifier.into(), found };
    let now = now();
    shared.tables().away.insert(shared.secrets.filed(&state), away, now + PENDING, now);
    go(StatusCode::SEE_OTHER, &target)
}

/// `GET /upstream/callback`.
pub(crate) async fn callback(State(shared): State<Arc<Shared>>, request: Request<Body>) -> Response {
    let form = Form::parse(request.uri().query().unwrap_or_default()).unwrap_or_default();
    let (Some(upstream), Some(away)) = (&shared.upstream, shared.back(request.headers(), &form)) else {
        return pages::problem(&shared, StatusCode::FORBIDDEN, STALE);
    };
    match arrive(&shared, upstream, &away, &form).await {
        Ok(person) => agree(&shared, &away.asked, &person, StatusCode::FOUND),
        Err(why) => failed(&shared, upstream, &away.asked, &why),
    }
}

impl Shared {
    /// Whoever this browser set out as, once. Another browser gets nobody, and takes nobody away either.
    fn back(&self, headers: &HeaderMap, form: &Form) -> Option<Away> {
        let session = self.session(headers)?;
        let filed = self.secrets.filed(form.get("state").ok()??);
        let now = now();
        let mut tables = self.tables();
        tables.away.get(&filed, now).filter(|away| away.session == session.id)?;
        tables.away.take(&filed, now)
    }
}

/// Who came back.
async fn arrive(shared: &Shared, upstream: &Upstream, away: &Away, form: &Form) -> Result<String, String> {
    let get = |name| form.get(name).map_err(|Repeated(name)| format!("{name} came back twice"));
    let from_there = match get("iss")? {
        Some(iss) => iss == upstream.issuer,
        None => !away.found.says_iss,
    };
    if !from_there {
        return Err("the response is not from there".to_owned());
    }
    if form.has("error") {
        return Err("it says no".to_owned());
    }
    let redeemed = Redeemed {
        code: get("code")?.ok_or("no code came back")?,
        verifier: away.verifier.expose(),
        redirect_uri: &shared.endpoint("upstream/callback"),
        audience: &shared.issuer,
    };
    let person = upstream.subject(&away.found, &redeemed).await?;
    match shared.users.is_empty() || shared.users.contains(&person) {
        true => Ok(person),
        false => Err("who signed in there is not one of the users here".to_owned()),
    }
}

fn failed(shared: &Shared, upstream: &Upstream, asked: &Asked, why: &str) -> Response {
    tracing::warn!(
        upstream = upstream.issuer,
        client = asked.client.id,
        why,
        "nobody could sign in upstream"
    );
    deny(shared, asked, FAILED)
}
