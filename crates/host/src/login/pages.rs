//! What browsers ask for under `/login`: a link that somebody was given, and the way back from authorization servers.
//!
//! The order is always the same. Whoever opens a link proves who they are; only then, and only if the link was made for
//! them, they are shown who wants what in their name; only when they agree they are sent on. Nothing of a request is believed
//! beyond the secrets that it carries, and each of those belongs to one browser.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use contexture::Principal;
use contexture::auth::{Authorization, CallbackParams, Secret};
use contexture::server::BoxFuture;
use http::header::COOKIE;
use http::{HeaderMap, Request, StatusCode};
use tokio::sync::oneshot;

use super::approvals::Approval;
use super::html::{self, Answer};
use super::passage::{Departure, Passage};
use super::pending::{
    Away, Browser, Ending, Filed, Pending, Reason, Standing, TIME, Want, filed, unguessable,
};
use super::person::account;
use super::{Logins, Web, said};

/// Where pages are.
pub(super) const PATH: &str = "/login";
/// How long an authorization server may take, to be found or to answer.
const PATIENCE: Duration = Duration::from_secs(30);

impl Logins {
    /// What answers under `/login`: give it to the gateway's HTTP server as a route.
    pub fn pages(
        self: &Arc<Self>,
    ) -> impl Fn(Request<()>) -> BoxFuture<http::Response<Bytes>> + Send + Sync + 'static {
        let logins = Arc::clone(self);
        move |request| {
            let logins = Arc::clone(&logins);
            Box::pin(async move { logins.answer(&request).await })
        }
    }

    async fn answer(self: Arc<Self>, request: &Request<()>) -> Answer {
        let Some(name) = request.uri().path().strip_prefix(PATH).and_then(|rest| rest.strip_prefix('/'))
        else {
            return html::problem(StatusCode::NOT_FOUND, html::OVER);
        };
        let Some((web, origin)) = self.web() else {
            return html::problem(StatusCode::NOT_FOUND, html::OVER);
        };
        let visitor = Visitor { logins: &self, web, origin, headers: request.headers() };
        let query = request.uri().query().unwrap_or_default();
        match name {
            "callback" => visitor.back(query).await,
            name => visitor.open(name, query).await,
        }
    }
}

/// A browser's request.
struct Visitor<'a> {
    logins: &'a Arc<Logins>,
    web: &'a Web,
    /// Where browsers reach us.
    origin: &'a str,
    headers: &'a HeaderMap,
}

/// What to do about a link.
enum Next {
    Page(Answer),
    Identify,
    Agreed(Approval),
    Denied,
}

impl Visitor<'_> {
    /// The browser that the page of a login is open in, if this is it. A cookie that is there twice is none: somebody
    /// else has planted one of them.
    fn browser<'p>(&self, pending: &'p Pending) -> Option<&'p Browser> {
        let name = self.cookie_name(pending);
        let all = self.headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let pairs = all.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let mut ours = pairs.filter(|(known, _)| *known == name).map(|(_, value)| filed(value));
        let cookie = ours.next().filter(|_| ours.next().is_none())?;
        pending.page.browser.as_ref().filter(|browser| browser.cookie == cookie)
    }

    /// One for each login, so that several can be under way in one browser. Cookies know no ports, and there may be
    /// several of us on one machine.
    fn cookie_name(&self, pending: &Pending) -> String {
        let prefix = if self.origin.starts_with("https:") { "__Secure-" } else { "" };
        format!("{prefix}contexture-login-{}", pending.id)
    }

    fn set_cookie(&self, name: &str, value: &str) -> String {
        let secure = if self.origin.starts_with("https:") { "; Secure" } else { "" };
        let seconds = TIME.as_secs();
        format!("{name}={value}; HttpOnly; SameSite=Lax; Max-Age={seconds}; Path={PATH}{secure}")
    }

    /// `GET /login/NAME`, with or without an answer of the person.
    async fn open(&self, name: &str, query: &str) -> Answer {
        let filed = filed(name);
        match self.look(&filed, query) {
            Next::Page(answer) => answer,
            Next::Identify => self.identify(&filed).await,
            Next::Denied => {
                let ended = self.logins.finish(&filed, Standing::Denied);
                html::denied(&ended.unwrap_or_default())
            }
            Next::Agreed(approval) => {
                tracing::info!(
                    server = html::without_query(&approval.server),
                    client = approval.client,
                    "a person agreed to a login"
                );
                self.web.approvals.add(approval).await;
                self.depart(&filed).await
            }
        }
    }

    fn look(&self, name: &Filed, query: &str) -> Next {
        let no = |status, why| Next::Page(html::problem(status, why));
        let mut table = self.logins.table();
        let Some(pending) = table.get(name) else { return no(StatusCode::NOT_FOUND, html::OVER) };
        let Some(browser) = self.browser(pending).filter(|browser| browser.proven) else {
            return match query {
                "" if !pending.page.agreed => Next::Identify,
                "" => no(StatusCode::FORBIDDEN, html::ELSEWHERE),
                _ => no(StatusCode::FORBIDDEN, html::STRANGE),
            };
        };
        match query.split_once('=') {
            None if query.is_empty() => {
                let action = pending.url.strip_prefix(self.origin).unwrap_or_default();
                Next::Page(html::consent(pending, action, browser.token.expose()))
            }
            Some(("agree", token)) if browser.token.is(token) => {
                let approval = Approval {
                    person: account(&pending.person),
                    client: pending.caller.id.clone(),
                    server: pending.target.url.clone(),
                };
                pending.page.agreed = true;
                Next::Agreed(approval)
            }
            Some(("deny", token)) if browser.token.is(token) => Next::Denied,
            _ => no(StatusCode::FORBIDDEN, html::STRANGE),
        }
    }

    /// Has whoever opened a link say who they are.
    async fn identify(&self, name: &Filed) -> Answer {
        let (Some(cookie), Some(token)) = (unguessable(), unguessable()) else { return unable() };
        let browser = Browser { cookie: filed(&cookie), token: Secret::new(token), proven: false };
        let cookie_name = {
            let mut table = self.logins.table();
            let Some(pending) = table.get(name).filter(|pending| !pending.page.agreed) else {
                return html::problem(StatusCode::NOT_FOUND, html::OVER);
            };
            if !pending.may_leave() {
                table.remove(name);
                return html::problem(StatusCode::TOO_MANY_REQUESTS, html::OVER);
            }
            pending.page.browser = Some(browser);
            pending.page.away = None;
            self.cookie_name(pending)
        };
        let (departures, work) = self.web.door.identify(&self.web.endpoint(), self.redirect());
        let (found, known) = oneshot::channel();
        let task = tokio::spawn(async move { drop(found.send(work.await)) });
        let ending = Ending::of(&task);
        let departure = match leaving(departures).await {
            Some(departure) => departure,
            None => {
                let why = match known.await {
                    Ok(Err(why)) => why,
                    _ => "it takes too long".to_owned(),
                };
                tracing::warn!(why, "people cannot prove who they are");
                let why = format!(
                    "You cannot sign in at this gateway, and only whoever runs it can do something about it: {why}"
                );
                return html::problem(StatusCode::BAD_GATEWAY, &why);
            }
        };
        let answer = self.send(name, departure, Reason::Identity(known), ending);
        html::with_cookie(answer, &self.set_cookie(&cookie_name, &cookie))
    }

    /// Sends somebody on who has agreed.
    async fn depart(&self, name: &Filed) -> Answer {
        let (target, account, want, standing) = {
            let mut table = self.logins.table();
            let Some(pending) = table.get(name) else {
                return html::problem(StatusCode::NOT_FOUND, html::OVER);
            };
            if !pending.may_leave() {
                table.remove(name);
                return html::problem(StatusCode::TOO_MANY_REQUESTS, html::OVER);
            }
            pending.page.away = None;
            pending.standing.send_replace(Standing::Open);
            (
                pending.target.clone(),
                account(&pending.person),
                pending.want.clone(),
                pending.standing.subscribe(),
            )
        };
        let Want::Login(scopes) = want else {
            let ended = self.logins.finish(name, Standing::In);
            return html::done(&ended.unwrap_or_default());
        };
        let (passage, departures) = Passage::new(self.redirect());
        let authorization = said(Authorization::visitor(passage), &target.login, &scopes)
            .store(self.web.vault.of(&account))
            .account(account);
        let (logins, filed, server) = (Arc::clone(self.logins), *name, target.name.clone());
        let task = tokio::spawn(async move {
            let standing = match authorization.login(&target.url).await {
                Ok(_) => Standing::In,
                Err(error) => Standing::Failed(error.to_string()),
            };
            logins.finish(&filed, standing);
        });
        let ending = Ending::of(&task);
        match leaving(departures).await {
            Some(departure) => self.send(name, departure, Reason::Login, ending),
            None => {
                drop(ending);
                let standing = standing.borrow().clone();
                tracing::warn!(server, ?standing, "nobody could be sent to an authorization server");
                told(&server, standing)
            }
        }
    }

    fn send(&self, name: &Filed, departure: Departure, reason: Reason, task: Ending) -> Answer {
        let mut table = self.logins.table();
        let Some(pending) = table.get(name) else { return html::problem(StatusCode::NOT_FOUND, html::OVER) };
        let away = Away { state: filed(&departure.state), back: departure.back, reason, task };
        pending.page.away = Some(away);
        html::go(&departure.url)
    }

    fn redirect(&self) -> String {
        format!("{}{PATH}/callback", self.origin)
    }

    /// `GET /login/callback`. Another browser brings nobody back, and takes nobody away either.
    async fn back(&self, query: &str) -> Answer {
        let Ok(params) = CallbackParams::parse(query) else {
            return html::problem(StatusCode::BAD_REQUEST, html::STRANGE);
        };
        let state = filed(params.state.as_deref().unwrap_or_default());
        let taken = {
            let mut table = self.logins.table();
            table.away(&state).and_then(|(name, pending)| {
                self.browser(pending)?;
                let (server, standing) = (pending.target.name.clone(), pending.standing.subscribe());
                Some((name, server, standing, pending.page.away.take()?))
            })
        };
        let Some((name, server, mut standing, away)) = taken else {
            return html::problem(StatusCode::FORBIDDEN, html::STRANGE);
        };
        let Away { back, reason, task, .. } = away;
        drop(back.send(params));
        match reason {
            Reason::Identity(known) => {
                let known = tokio::time::timeout(PATIENCE, known).await;
                drop(task);
                match known {
                    Ok(Ok(known)) => self.identified(&name, known),
                    _ => html::problem(
                        StatusCode::BAD_GATEWAY,
                        "Your issuer did not answer in time. Open the link again.",
                    ),
                }
            }
            Reason::Login => {
                // A code is redeemed whether or not the browser waits for its page.
                task.let_go();
                let _ = tokio::time::timeout(PATIENCE, standing.wait_for(|now| *now != Standing::Open)).await;
                told(&server, standing.borrow().clone())
            }
        }
    }

    /// Somebody said who they are.
    fn identified(&self, name: &Filed, known: Result<Principal, String>) -> Answer {
        let known = match known {
            Ok(known) => known,
            Err(why) => {
                tracing::info!(why, "somebody who opened a link could not prove who they are");
                return html::problem(StatusCode::FORBIDDEN, &format!("You could not be signed in: {why}"));
            }
        };
        let mut table = self.logins.table();
        let Some(pending) = table.get(name) else { return html::problem(StatusCode::NOT_FOUND, html::OVER) };
        if known != pending.person {
            tracing::warn!(
                made_for = pending.person.subject(),
                opened_by = known.subject(),
                server = pending.target.name,
                "a link was opened by somebody whom it was not made for"
            );
            pending.page.browser = None;
            return html::problem(StatusCode::FORBIDDEN, html::SOMEBODY_ELSE);
        }
        if self.browser(pending).is_none() {
            return html::problem(StatusCode::FORBIDDEN, html::STRANGE);
        }
        if let Some(browser) = &mut pending.page.browser {
            browser.proven = true;
        }
        html::go(&pending.url)
    }
}

fn told(server: &str, standing: Standing) -> Answer {
    match standing {
        Standing::In => html::done(server),
        Standing::Denied => html::denied(server),
        Standing::Open => html::problem(
            StatusCode::GATEWAY_TIMEOUT,
            "The authorization server takes too long. Open the link again.",
        ),
        Standing::Failed(why) => {
            html::problem(StatusCode::BAD_GATEWAY, &format!("{why}. You can open the link again."))
        }
    }
}

/// Waits until somebody can set out; nothing if it takes too long, or nobody will.
async fn leaving(departures: oneshot::Receiver<Departure>) -> Option<Departure> {
    tokio::time::timeout(PATIENCE, departures).await.ok()?.ok()
}

fn unable() -> Answer {
    html::problem(StatusCode::SERVICE_UNAVAILABLE, "This machine gives no random numbers: try again later.")
}
