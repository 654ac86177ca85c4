//! The authorization endpoint and its two pages: signing in, and agreeing.
//!
//! Until the client and its redirect URI are known to belong together, everything that is wrong is said on a page and nobody
//! is redirected anywhere, whatever the branch. After that, errors go to the client; but a browser is sent on by
//! itself only to a program on this machine or to a client that was set up. To all others it goes when the person says so.
//! With an upstream there is no signing in here, and it is asked only after the person has agreed.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, HeaderValue, LOCATION, REFERRER_POLICY, SET_COOKIE};
use axum::http::{HeaderMap, Request, StatusCode};
use axum::response::Response;

use crate::browser::{Asked, Returned, Session};
use crate::client::Known;
use crate::form::{Form, Repeated};
use crate::pages;
use crate::redirect;
use crate::server::{Shared, check_user};
use crate::upstream;

/// Bytes of a state. It is given back as it came.
const MOST_STATE: usize = 4 * 1024;

/// What is wrong with a request.
enum Fault {
    /// It is not known whom to tell but the person.
    Page(String),
    /// The client can be told.
    Client {
        client: Arc<Known>,
        redirect_uri: String,
        state: Option<String>,
        error: &'static str,
        why: String,
    },
}

impl From<Repeated> for Fault {
    fn from(Repeated(name): Repeated) -> Self {
        Self::Page(format!("The parameter {name} is there twice."))
    }
}

/// `GET /authorize`.
pub(crate) async fn start(State(shared): State<Arc<Shared>>, request: Request<Body>) -> Response {
    let Some(form) = Form::parse(request.uri().query().unwrap_or_default()) else {
        return pages::problem(&shared, StatusCode::URI_TOO_LONG, "The request is too long.");
    };
    let asked = match read(&shared, &form).await {
        Ok(asked) => asked,
        Err(fault) => return refuse(&shared, fault),
    };
    if let Some(user) = shared.auto_approve.as_ref().filter(|_| asked.client.trusts(&asked.redirect_uri)) {
        tracing::warn!(client = asked.client.id, user, "approved without asking anybody");
        return agree(&shared, &asked, user, StatusCode::FOUND);
    }
    let headers = request.headers();
    match shared.session(headers) {
        Some(session) => ask(&shared, &session, asked),
        None => match shared.open_session(None, headers, None) {
            Some((session, cookie)) => with_cookie(ask(&shared, &session, asked), &cookie),
            None => pages::unable(&shared),
        },
    }
}

/// Whose request it is, and that it may be answered there; then everything else.
async fn read(shared: &Shared, form: &Form) -> Result<Asked, Fault> {
    let page = |text: &str| Fault::Page(text.to_owned());
    let id = form.get("client_id")?.ok_or_else(|| page("The request names no client (client_id)."))?;
    let client = shared.find_client(id).await.map_err(Fault::Page)?;
    let uri = form.get("redirect_uri")?;
    let uri = uri.ok_or_else(|| page("The request does not say where to go afterwards (redirect_uri)."))?;
    if !redirect::is_registered(&client.redirects, uri) {
        return Err(page(
            "The client has not registered the redirect URI of this request, so nobody is sent there.",
        ));
    }
    let state = form.get("state");
    let told = state.as_ref().ok().copied().flatten().filter(|state| state.len() <= MOST_STATE);
    let told = told.map(str::to_owned);
    match details(shared, &client, form) {
        Ok((scopes, resource, challenge)) => {
            let redirect_uri = uri.to_owned();
            Ok(Asked { client, redirect_uri, state: told, scopes, resource, challenge })
        }
        Err((error, why)) => {
            Err(Fault::Client { client, redirect_uri: uri.to_owned(), state: told, error, why })
        }
    }
}

type Details = (contexture::auth::Scopes, String, String);

/// What the client wants. The error is one of OAuth, and its reason.
fn details(shared: &Shared, client: &Known, form: &Form) -> Result<Details, (&'static str, String)> {
    let invalid = |why: &str| ("invalid_request", why.to_owned());
    let get =
        |name| form.get(name).map_err(|Repeated(name)| ("invalid_request", format!("{name} is there twice")));
    if get("state")?.is_some_and(|state| state.len() > MOST_STATE) {
        return Err(invalid("the state is too long"));
    }
    if form.has("request") || form.has("request_uri") {
        let error = if form.has("request") { "request_not_supported" } else { "request_uri_not_supported" };
        return Err((error, "the parameters of a request are in its query".to_owned()));
    }
    match get("response_type")? {
        Some("code") => {}
        None => return Err(invalid("response_type is missing")),
        Some(_) => return Err(("unsupported_response_type", "only codes are given out".to_owned())),
    }
    if !client.grants.code {
        return Err(("unauthorized_client", "this client is not set up for codes".to_owned()));
    }
    if get("response_mode")?.is_some_and(|mode| mode != "query") {
        return Err(invalid("only response_mode query is possible"));
    }
    let challenge =
        get("code_challenge")?.ok_or_else(|| invalid("PKCE is required: code_challenge is missing"))?;
    if get("code_challenge_method")? != Some("S256") {
        return Err(invalid("PKCE is required with code_challenge_method S256"));
    }
    if challenge.len() != 43 || !challenge.bytes().all(is_base64url) {
        return Err(invalid("the code_challenge is not a SHA-256 in base64url"));
    }
    let scopes = shared.scopes_for(client, get("scope")?).map_err(|why| ("invalid_scope", why))?;
    let resource = resource(shared, form).ok_or_else(|| ("invalid_target", TARGET.to_owned()))?;
    Ok((scopes, resource, challenge.to_owned()))
}

/// What is said about a resource that is not one of ours.
pub(crate) const TARGET: &str =
    "tokens are issued for one known resource at a time, an absolute URI without a fragment";

/// The one resource that a form names.
pub(crate) fn resource(shared: &Shared, form: &Form) -> Option<String> {
    let mut named = form.all("resource");
    let first = named.next();
    match named.next() {
        Some(_) => None,
        None => shared.resource(first),
    }
}

fn is_base64url(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'
}

fn refuse(shared: &Shared, fault: Fault) -> Response {
    match fault {
        Fault::Page(why) => pages::problem(shared, StatusCode::BAD_REQUEST, &why),
        Fault::Client { client, redirect_uri, state, error, why } => {
            let target = response_uri(
                shared,
                &redirect_uri,
                state.as_deref(),
                &[("error", error), ("error_description", why.as_str())],
            );
            match client.trusts(&redirect_uri) {
                true => go(StatusCode::FOUND, &target),
                false => pages::way_back(shared, &client, &redirect_uri, &target, &why),
            }
        }
    }
}

/// The page that this browser has to see next.
fn ask(shared: &Shared, session: &Session, asked: Asked) -> Response {
    match shared.wait(session, asked.clone()) {
        Some(request) => show(shared, session, &request, &asked),
        None => pages::unable(shared),
    }
}

fn show(shared: &Shared, session: &Session, request: &str, asked: &Asked) -> Response {
    match &session.user {
        Some(user) => pages::consent(shared, session, request, asked, Some(user)),
        None if shared.upstream.is_some() => pages::consent(shared, session, request, asked, None),
        None => pages::login(shared, session, request, asked, None),
    }
}

pub(crate) const STALE: &str = "This page is too old, was already answered, or belongs to another browser. \
     Begin again in the program that sent you here.";

/// A form of ours, or the page that says that it is none.
async fn form_of(shared: &Shared, request: Request<Body>) -> Result<(HeaderMap, Form, Returned), Response> {
    let stale = |why| pages::problem(shared, StatusCode::FORBIDDEN, why);
    let (headers, form) = Form::read(request).await.map_err(stale)?;
    let returned = shared.returned(&headers, &form).ok_or_else(|| stale(STALE))?;
    Ok((headers, form, returned))
}

/// `POST /login`.
pub(crate) async fn login(State(shared): State<Arc<Shared>>, request: Request<Body>) -> Response {
    let (headers, form, returned) = match form_of(&shared, request).await {
        Ok(form) => form,
        Err(page) => return page,
    };
    let Returned { session, request, asked } = returned;
    let name = form.get("name").ok().flatten().unwrap_or_default().trim().to_owned();
    if let Err(why) = may_sign_in(&shared, &name, form.get("password").ok().flatten()) {
        return match shared.may_try_again(&request) {
            true => pages::login(&shared, &session, &request, &asked, Some(why)),
            false => pages::problem(&shared, StatusCode::FORBIDDEN, STALE),
        };
    }
    match shared.open_session(Some(session), &headers, Some(name)) {
        Some((session, cookie)) => with_cookie(show(&shared, &session, &request, &asked), &cookie),
        None => pages::unable(&shared),
    }
}

fn may_sign_in(shared: &Shared, name: &str, password: Option<&str>) -> Result<(), &'static str> {
    check_user(name).map_err(|_| "That cannot be a name here.")?;
    let known = shared.users.is_empty() || shared.users.iter().any(|user| user == name);
    let right = shared.password.as_ref().is_none_or(|right| right.is(password.unwrap_or_default()));
    match known && right {
        true => Ok(()),
        false => Err("The name or the development password is wrong."),
    }
}

/// `POST /consent`.
pub(crate) async fn consent(State(shared): State<Arc<Shared>>, request: Request<Body>) -> Response {
    let (headers, form, returned) = match form_of(&shared, request).await {
        Ok(form) => form,
        Err(page) => return page,
    };
    let Returned { session, request, asked } = returned;
    let decision = form.get("decision").ok().flatten().unwrap_or_default();
    if let Some(upstream) = &shared.upstream {
        return match (shared.settle(&request), decision) {
            (Some(asked), "allow") => upstream::depart(&shared, upstream, &session, asked).await,
            (Some(asked), _) => deny(&shared, &asked, SAID_NO),
            (None, _) => pages::problem(&shared, StatusCode::FORBIDDEN, STALE),
        };
    }
    let Some(user) = session.user.clone() else {
        return pages::login(&shared, &session, &request, &asked, None);
    };
    if decision == "switch" {
        return match shared.open_session(Some(session), &headers, None) {
            Some((session, cookie)) => with_cookie(show(&shared, &session, &request, &asked), &cookie),
            None => pages::unable(&shared),
        };
    }
    let Some(asked) = shared.settle(&request) else {
        return pages::problem(&shared, StatusCode::FORBIDDEN, STALE);
    };
    match decision {
        "allow" => agree(&shared, &asked, &user, StatusCode::SEE_OTHER),
        // Whatever is not a yes is a no.
        _ => deny(&shared, &asked, SAID_NO),
    }
}

const SAID_NO: &str = "the person said no";

/// Tells the client that there will be no code.
pub(crate) fn deny(shared: &Shared, asked: &Asked, why: &str) -> Response {
    let error = [("error", "access_denied"), ("error_description", why)];
    let target = response_uri(shared, &asked.redirect_uri, asked.state.as_deref(), &error);
    go(StatusCode::SEE_OTHER, &target)
}

/// Sends the client its code.
pub(crate) fn agree(shared: &Shared, asked: &Asked, user: &str, status: StatusCode) -> Response {
    match shared.issue_code(asked, user) {
        Some(code) => {
            go(status, &response_uri(shared, &asked.redirect_uri, asked.state.as_deref(), &[("code", &code)]))
        }
        None => pages::unable(shared),
    }
}

/// The client's address with our response: every one says who it is from (RFC 9207).
fn response_uri(shared: &Shared, redirect_uri: &str, state: Option<&str>, said: &[(&str, &str)]) -> String {
    let mut parameters = said.to_vec();
    parameters.extend(state.map(|state| ("state", state)));
    parameters.push(("iss", &shared.issuer));
    redirect::with_parameters(redirect_uri, &parameters)
}

/// Sends the browser on.
pub(crate) fn go(status: StatusCode, target: &str) -> Response {
    let mut response = Response::new(Body::empty());
    // Checked URIs and encoded parameters are ASCII.
    let Ok(target) = HeaderValue::from_str(target) else {
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        return response;
    };
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(LOCATION, target);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

fn with_cookie(mut response: Response, cookie: &str) -> Response {
    if let Ok(cookie) = HeaderValue::from_str(cookie) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}
